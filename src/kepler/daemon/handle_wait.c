/* Requests for programs that manage configs: check, wait. */
#include "core/base/buf.h"
#include "kepler/config/condition.h"
#include "kepler/config/config.h"
#include "kepler/config/reason.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/client.h"
#include "kepler/daemon/loader.h"
#include "kepler/daemon/project.h"

/* --- check ---------------------------------------------------------------------------------- */

static void step_check(struct call *call)
{
    const struct config *config;
    struct value_list *warnings;
    struct value_map *body;

    if (!loader_is_done(call->loader))
        return;
    call->step = NULL;
    config = loader_config(call->loader);
    if (!config) {
        loader_refuse(call);
        return;
    }
    body = value_map_new(&call->arena, 1);
    warnings = value_list_new(&call->arena, 0);
    VEC_EACH (&config->warnings, text)
        value_list_push(&call->arena, warnings, value_text(*text));
    value_map_set(&call->arena, body, value_text("warnings"), value_list(warnings));
    call_finish(call, value_map(body));
}

void handle_check(struct call *call)
{
    const struct request_check *args = call->args;
    struct config_source *source = ARENA_NEW(&call->arena, struct config_source);

    *source = (struct config_source){
        .path = args->config,
        .text = str_from(args->text),
        .owner = { call->client->peer.uid, call->client->peer.gid },
    };
    call->source = source;
    loader_begin(call, step_check);
}

/* --- wait ----------------------------------------------------------------------------------- */

struct waiting {
    struct call *call;
    enum condition condition;
    bool named; /* the condition is meant for these services, and for nothing else */
};

/* Is an unnamed service done: a one-shot that has ended, or one whose `if` is false? */
static bool is_through(const struct condition_facts *facts)
{
    return facts->status == STATUS_SKIPPED ||
           (facts->status == STATUS_EXITED && facts->has_exit_code && facts->exit_code == 0 &&
            !condition_will_restart(facts));
}

static enum condition_verdict judge_waited_service(const struct waiting *waiting,
                                                   const struct service *service,
                                                   struct buf *reason)
{
    const struct condition_codes any = { 0 };
    struct condition_facts facts = service_facts(service);
    enum condition condition = waiting->condition;

    facts.unchecked = !service->config->health.given;
    if (!waiting->named && is_through(&facts))
        return CONDITION_HOLDS;
    if (!waiting->named && facts.unchecked && condition_needs_health(condition))
        condition = CONDITION_STARTED;
    return condition_judge(condition, &any, false, &facts, reason);
}

/* Describes the service of the verdict. */
static struct value describe_wait(struct arena *arena, const struct service *service,
                                  const struct buf *reason)
{
    const struct buf *said = service->reason.n > 0 ? &service->reason : reason;
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_printf(&text, "service '%s' is %s%s", service->config->name,
               status_name(service_status(service)), said->n > 0 ? ": " : "");
    reason_print(buf_view(said), &text);
    return value_str(buf_copy(&text, arena));
}

/* Counts the services with this verdict; with `words`, describes each there. */
static size_t count_verdicts(const struct waiting *waiting, enum condition_verdict verdict,
                             struct value_list *words)
{
    struct call *call = waiting->call;
    const struct engine *engine = call->project->engine;
    size_t n = call->set.count > 0 ? call->set.count : engine_count(engine), count = 0;

    for (size_t i = 0; i < n; i++) {
        const struct service *service =
            engine_get(engine, call->set.count > 0 ? call->set.services[i] : (uint32_t)i);
        AUTO_BUF struct buf reason = BUF_INIT(BUF_NO_LIMIT);

        if (judge_waited_service(waiting, service, &reason) != verdict)
            continue;
        count++;
        if (words)
            value_list_push(&call->arena, words, describe_wait(&call->arena, service, &reason));
    }
    return count;
}

static struct value wait_body(const struct waiting *waiting)
{
    struct arena *arena = &waiting->call->arena;
    struct value_map *body = value_map_new(arena, 3);
    struct value_list *pending = value_list_new(arena, 0), *errors = value_list_new(arena, 0);
    size_t unmet = count_verdicts(waiting, CONDITION_WAIT, pending) +
                   count_verdicts(waiting, CONDITION_SKIP, errors);

    value_map_set(arena, body, value_text("met"), value_bool(unmet == 0));
    value_map_set(arena, body, value_text("pending"), value_list(pending));
    value_map_set(arena, body, value_text("errors"), value_list(errors));
    return value_map(body);
}

/* Called often: allocates nothing until the end. */
static void step_wait(struct call *call)
{
    const struct request_wait *args = call->args;
    struct waiting waiting = { .call = call, .named = args->services.n > 0 };

    if (!call->project) {
        call_refuse(call, MESSAGE_UNKNOWN, "'%s' was unloaded in the meantime", args->config);
        return;
    }
    (void)condition_parse(str_from(args->condition), &waiting.condition); /* handle_wait checked */
    if (!args->now && call->project->changing)
        return; /* what 'apply' has stopped is about to start again */
    if (!args->now && count_verdicts(&waiting, CONDITION_SKIP, NULL) == 0 &&
        count_verdicts(&waiting, CONDITION_WAIT, NULL) > 0)
        return;
    call->step = NULL;
    call_finish(call, wait_body(&waiting));
}

void handle_wait(struct call *call)
{
    const struct request_wait *args = call->args;
    enum condition condition;

    if (condition_parse(str_from(args->condition), &condition) < 0) {
        AUTO_BUF struct buf names = BUF_INIT(BUF_NO_LIMIT);

        condition_print_names(&names);
        call_refuse(call, MESSAGE_ERROR, "unknown condition '%s': expected %s", args->condition,
                    buf_text(&names));
        return;
    }
    if (call_find_loaded(call, args->config, args->services) < 0)
        return;
    call->step = step_wait;
    step_wait(call);
}
