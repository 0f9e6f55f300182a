#include "kepler/engine/op.h"

#include "kepler/engine/edge.h"
#include "kepler/engine/engine.h"
#include "kepler/engine/readiness.h"
#include "kepler/engine/service.h"

enum op_result op_jump(struct service *service, const struct routine *routine)
{
    service->routine = routine;
    service->at = 0;
    return OP_JUMP;
}

struct world *op_world(const struct service *service)
{
    return engine_world(service->engine);
}

void op_clear_logs(struct service *service, enum config_keep keep)
{
    struct engine_event event = { .kind = EVENT_CLEAR_LOGS };

    if (keep == CONFIG_CLEAR)
        engine_emit(service->engine, service, &event);
}

void op_end_run(struct service *service)
{
    struct world *world = op_world(service);

    world->ops->end_run(world, service->index);
}

/* Becomes inactive. */
enum op_result op_settle(struct service *service, enum status status)
{
    struct engine_event event = { .kind = EVENT_UNHANDLED_FAILURE };

    edge_end(service);
    op_end_run(service);
    if (status == STATUS_SKIPPED)
        op_clear_logs(service, service->plan.logs.on_skipped);
    service_enter(service, status);
    if (readiness_is_unhandled(service)) {
        event.reason = buf_text(&service->reason);
        engine_emit(service->engine, service, &event);
    }
    return op_jump(service, NULL);
}

enum op_result op_fail(struct service *service, const char *why)
{
    service_set_reason(service, "%s", why);
    service_because(service, "%s", why);
    return op_settle(service, STATUS_FAILED);
}

/* True when the answer is there; otherwise the routine waits for it. */
enum op_result op_note_answer(struct service *service, enum world_answer answer,
                              const struct err *err)
{
    service->asking = answer == WORLD_LATER;
    service_set_answer(service, answer == WORLD_NO ? err : NULL);
    return service->asking ? OP_WAIT : OP_NEXT;
}

/* --- hooks ------------------------------------------------------------------------------ */

static enum op_result run_hook(struct service *service, enum hook_phase phase)
{
    return hook_begin(service, phase) ? OP_NEXT : OP_WAIT;
}

enum op_result op_pre_start(struct service *service)
{
    return run_hook(service, HOOK_PRE_START);
}

/* The only hook without which a service does not start. */
enum op_result op_need_pre_start(struct service *service)
{
    return service->hook.failed ? op_fail_start(service, buf_text(&service->hook.error)) : OP_NEXT;
}

enum op_result op_post_start(struct service *service)
{
    return run_hook(service, HOOK_POST_START);
}

enum op_result op_pre_stop(struct service *service)
{
    return run_hook(service, HOOK_PRE_STOP);
}

enum op_result op_post_stop(struct service *service)
{
    return run_hook(service, HOOK_POST_STOP);
}

enum op_result op_pre_restart(struct service *service)
{
    return run_hook(service, HOOK_PRE_RESTART);
}

enum op_result op_post_restart(struct service *service)
{
    return run_hook(service, HOOK_POST_RESTART);
}

enum op_result op_post_exit(struct service *service)
{
    return run_hook(service, HOOK_POST_EXIT);
}

enum op_result op_pre_cleanup(struct service *service)
{
    return run_hook(service, HOOK_PRE_CLEANUP);
}

enum op_result op_healthy(struct service *service)
{
    return run_hook(service, HOOK_POST_HEALTHCHECK_SUCCESS);
}

enum op_result op_unhealthy(struct service *service)
{
    return run_hook(service, HOOK_POST_HEALTHCHECK_FAIL);
}
