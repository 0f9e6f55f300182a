/*
 * evaluate - what services compute when they start, before a step of a hook, and when they end.
 *
 * Expressions are Lua, and may take seconds. What has none is resolved at once. The rest gets
 * copies of all that it looks at, as of the moment when it was asked for, is resolved by a worker,
 * and its answer comes as an event of the world. Evaluations of one config run one at a time, in
 * the order in which they were asked for: those of one start share a Lua state, and a config with
 * many of them keeps no other config from a worker.
 *
 * Who cancels is answered at once. The worker is interrupted and its result is dropped; the next
 * evaluation of the config begins when it is done.
 *
 * Inside supervise/ only. Threads: the loop's; the worker is its own affair.
 */
#ifndef KEPLER_SUPERVISE_EVALUATE_H
#define KEPLER_SUPERVISE_EVALUATE_H

#include "kepler/engine/world.h"

struct real_service;
struct real_world;

void evaluate_init(struct real_world *real);
/* Ends the one at work, and forgets the rest. */
void evaluate_done(struct real_world *real);

/* A request to start begins: the services that it starts share a Lua state. */
void evaluate_begin(struct real_world *real);

/* As the functions of struct world_ops have it. */
enum world_answer evaluate_service(struct real_service *own, unsigned flags,
                                   struct world_plan *plan, struct err *err);
enum world_answer evaluate_step(struct real_service *own, enum hook_phase phase, size_t step,
                                bool failed, struct world_step *ret_step, struct err *err);
enum world_answer evaluate_outputs(struct real_service *own, struct err *err);
void evaluate_cancel(struct real_service *own);

#endif
