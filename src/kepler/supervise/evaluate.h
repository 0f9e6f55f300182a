/*
 * evaluate - evaluates computed values of services: at start, before a hook step, and at the end.
 *
 * Expressions are Lua, and may take seconds. Values without any are resolved at once. Others are
 * resolved by a worker, from copies of their inputs at the time of the request; the answer comes
 * as an event of the world. Evaluations of one config run one at a time, in order of request:
 * those of one start share a Lua state, and a config with many leaves workers to the others.
 *
 * A canceled request is answered at once. The worker is interrupted and its result is dropped; the
 * next evaluation of the config begins when it is done.
 *
 * Inside supervise/ only. Threads: the loop's; the worker is internal.
 */
#ifndef KEPLER_SUPERVISE_EVALUATE_H
#define KEPLER_SUPERVISE_EVALUATE_H

#include "kepler/engine/world.h"

struct real_service;
struct real_world;

void evaluate_init(struct real_world *real);
/* Its config is new. */
void evaluate_init_service(struct real_service *own);
/* Ends the running one, and drops the rest. */
void evaluate_done(struct real_world *real);

/* A start request begins: its services share a Lua state. */
void evaluate_begin(struct real_world *real);

/* Implementations for struct world_ops. */
enum world_answer evaluate_service(struct real_service *own, unsigned flags,
                                   struct world_plan *plan, struct err *err);
enum world_answer evaluate_step(struct real_service *own, enum hook_phase phase, size_t step,
                                bool failed, struct world_step *ret_step, struct err *err);
enum world_answer evaluate_outputs(struct real_service *own, struct err *err);
void evaluate_cancel(struct real_service *own);

#endif
