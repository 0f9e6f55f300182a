/*
 * op - one operation of a routine, and the operations' shared helpers.
 *
 * Operations in op_up.c lead to a running service, those in op_down.c away from one; op.c has the
 * hooks.
 *
 * Used by routine.c alone. Threads: the loop's.
 */
#ifndef KEPLER_ENGINE_OP_H
#define KEPLER_ENGINE_OP_H

#include "kepler/config/config.h"
#include "kepler/config/status.h"
#include "kepler/engine/world.h"

struct err;
struct routine;
struct service;

enum op_result {
    OP_NEXT,
    OP_WAIT, /* until routine_continue */
    OP_JUMP, /* switched to another routine, or none */
};

typedef enum op_result op_fn(struct service *service);

struct routine {
    op_fn *const *ops; /* ends in NULL */
};

/* --- shared by the steps ------------------------------------------------------------------ */

struct world *op_world(const struct service *service);
void op_clear_logs(struct service *service, enum config_keep keep);
/* Switches to another routine; NULL: to none. */
enum op_result op_jump(struct service *service, const struct routine *routine);
/* Revokes what the run was lent. */
void op_end_run(struct service *service);
/* Makes the service inactive. */
enum op_result op_settle(struct service *service, enum status status);
enum op_result op_fail(struct service *service, const char *why);
/* Makes a start inactive after a failure; a restart by policy tries again. */
enum op_result op_fail_start(struct service *service, const char *why);
/* True when the answer is there; otherwise the routine waits for it. */
enum op_result op_note_answer(struct service *service, enum world_answer answer,
                              const struct err *err);

/* --- hooks ---------------------------------------------------------------------------------- */

op_fn op_pre_start;
op_fn op_need_pre_start;
op_fn op_post_start;
op_fn op_pre_stop;
op_fn op_post_stop;
op_fn op_pre_restart;
op_fn op_post_restart;
op_fn op_post_exit;
op_fn op_pre_cleanup;
op_fn op_healthy;
op_fn op_unhealthy;

/* --- up ------------------------------------------------------------------------------------- */

op_fn op_waiting;
op_fn op_waiting_again;
op_fn op_await;
op_fn op_turn;
op_fn op_pause;
op_fn op_starting;
op_fn op_starting_again;
op_fn op_resolve;
op_fn op_plan;
op_fn op_clear_outputs;
op_fn op_keep_start;
op_fn op_keep_restart;
op_fn op_spawn;
op_fn op_running;
op_fn op_up;

/* --- down ----------------------------------------------------------------------------------- */

op_fn op_stopping;
op_fn op_restarting;
op_fn op_terminate;
op_fn op_stopped;
op_fn op_turn_round;
op_fn op_leave;
op_fn op_judge_exit;
op_fn op_keep_outputs;
op_fn op_ended;
op_fn op_judge_unhealthy;
op_fn op_cleaned;

#endif
