/* Actions of reactions: jobs, enrollments, events, log lines. */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/enroll/admission.h"
#include "fleet/master/audit.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/jobs/dispatcher.h"
#include "fleet/master/reactor/reactor_engine.h"
#include "fleet/master/peels/roster.h"
#include "fleet/master/services.h"
#include "fleet/master/settings/settings_cache.h"
#include "fleet/nats/header.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/publisher.h"
#include "fleet/reactor/action.h"
#include "fleet/reactor/admit.h"
#include "core/sys/clock.h"
#include "core/sys/crash_point.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"

/* Time limit for settings that a target needs; then the event is redelivered. */
#define SETTINGS_NS (20 * CLOCK_SECOND)

static void answer_reaction_run(struct reaction_run *reaction_run, enum outcome_result result,
                                const char *message)
{
    reaction_run_answer(reaction_run,
                        &(struct reaction_run_answer){ .result = result, .message = message });
}

/* It may succeed when the event is redelivered. */
static void answer_later(struct reaction_run *reaction_run, const char *message)
{
    reaction_run_answer(reaction_run, &(struct reaction_run_answer){ .result = OUTCOME_ERROR,
                                                                     .may_pass = true,
                                                                     .message = message });
}

/* --- jobs --------------------------------------------------------------------------- */

static void on_reaction_dispatched(void *self, enum dispatch_outcome outcome, const char *text)
{
    struct reaction_run *reaction_run = self;

    crash_point("reaction-dispatched");
    switch (outcome) {
    case DISPATCH_SENT: answer_reaction_run(reaction_run, OUTCOME_DISPATCHED, NULL); break;
    /* A redelivered event; its targets may have changed meanwhile. */
    case DISPATCH_DUPLICATE:
    case DISPATCH_CONFLICT: answer_reaction_run(reaction_run, OUTCOME_DUPLICATE, NULL); break;
    case DISPATCH_INVALID: answer_reaction_run(reaction_run, OUTCOME_ERROR, text); break;
    case DISPATCH_PENDING: answer_later(reaction_run, "another master has claimed the job"); break;
    case DISPATCH_FAILED: answer_later(reaction_run, text); break;
    }
}

static void send_reaction_job(struct reactor_engine *engine, struct reaction_run *reaction_run,
                              const struct reaction_run_job *wanted, const struct param_strs *peels)
{
    const struct job job = {
        .jid = wanted->jid,
        .function = wanted->dispatch->function,
        .args = wanted->dispatch->args,
        .targets = *peels,
        .timeout = wanted->dispatch->timeout,
        .user = wanted->user,
        .owner = "",
        .state_id = wanted->dispatch->state_id,
        .target_expr = wanted->dispatch->expr,
        .v = EXEC_PROTOCOL,
        .metadata = wanted->metadata,
    };

    log_info("job %s: %s by '%s' for %zu targets", job.jid, job.function, job.user, peels->n);
    dispatcher_send(master_dispatcher(engine->master), &job, wanted->is_again,
                    on_reaction_dispatched, reaction_run);
}

static void send_to_target(struct reactor_engine *engine, struct reaction_run *reaction_run,
                           const struct reaction_run_job *job,
                           const struct roster_question *question)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct param_strs peels;
    struct err err;

    if (roster_resolve(master_roster(engine->master), &arena, question, &peels, &err) < 0) {
        answer_reaction_run(reaction_run, OUTCOME_ERROR, err.text);
    } else if (peels.n == 0) {
        answer_reaction_run(reaction_run, OUTCOME_NO_TARGETS, "no peel matches the target");
    } else if (job->dispatch->max_targets > 0 && (int64_t)peels.n > job->dispatch->max_targets) {
        answer_reaction_run(reaction_run, OUTCOME_ABORTED,
                            arena_printf(&arena, "%zu peels match the target, max_targets is %lld",
                                         peels.n, (long long)job->dispatch->max_targets));
    } else {
        send_reaction_job(engine, reaction_run, job, &peels);
    }
}

/* A job whose target needs settings. */
struct settled {
    struct settings_wait wait;
    struct reactor_engine *engine;
    struct reaction_run *reaction_run;
    const struct reaction_run_job *job;
};

static struct roster_question make_reaction_question(const struct reactor_engine *engine,
                                                     const struct reaction_run_job *job,
                                                     bool with_settings)
{
    return (struct roster_question){ .expr = job->dispatch->target,
                                     .type = target_type_name(job->dispatch->type),
                                     .groups = engine->master->conf.nodegroups,
                                     .with_settings = with_settings };
}

static void on_reaction_settings(struct settings_wait *wait, const char *problem)
{
    struct settled *settled = container_of(wait, struct settled, wait);
    const struct settled copy = *settled;
    const struct roster_question question = make_reaction_question(copy.engine, copy.job, true);

    free(settled);
    if (problem)
        answer_later(copy.reaction_run, problem);
    else if (copy.engine->is_stopping || !master_dispatcher(copy.engine->master))
        answer_later(copy.reaction_run, "this master is stopping");
    else
        send_to_target(copy.engine, copy.reaction_run, copy.job, &question);
}

static void wait_for_settings(struct reactor_engine *engine, struct reaction_run *reaction_run,
                              const struct reaction_run_job *job)
{
    struct settled *settled = mem_zalloc(sizeof(*settled));

    *settled = (struct settled){ { .ready = on_reaction_settings }, engine, reaction_run, job };
    settings_cache_await(master_settings_cache(engine->master), &settled->wait, SETTINGS_NS);
}

/* All facts were read before the first event was pulled (begin_event_pull). */
void reactor_dispatch(void *user, struct reaction_run *reaction_run,
                      const struct reaction_run_job *job)
{
    struct reactor_engine *engine = user;

    if (engine->is_stopping || !master_roster(engine->master) ||
        !master_dispatcher(engine->master)) {
        answer_later(reaction_run, "this master is stopping");
    } else if (job->dispatch->by_master) {
        static const char *const master[] = { JOB_TARGET_MASTER };

        send_reaction_job(engine, reaction_run, job,
                          &(struct param_strs){ ARRAY_LEN(master), master });
    } else {
        const struct roster_question question = make_reaction_question(engine, job, false);

        if (roster_needs_settings(&question))
            wait_for_settings(engine, reaction_run, job);
        else
            send_to_target(engine, reaction_run, job, &question);
    }
}

/* --- enrollments -------------------------------------------------------------------- */

struct verdict {
    struct arena arena; /* the verdict is in it */
    struct reactor_engine *engine;
    struct reaction_run *reaction_run;
    const struct action_enroll *action;
    const char *rule;
    struct enrollment_request request;
};

static void end_verdict(struct verdict *verdict, const struct reaction_run_answer *answer)
{
    struct reaction_run *reaction_run = verdict->reaction_run;
    struct arena arena = verdict->arena;

    reaction_run_answer(reaction_run, answer);
    arena_done(&arena);
}

static void log_verdict(const struct verdict *verdict, const char *peel, const char *error)
{
    static const char *const actions[] = {
        [ACTION_APPROVE] = "enroll.approve",
        [ACTION_REJECT] = "enroll.reject",
        [ACTION_REVOKE] = "enroll.revoke",
    };
    AUTO_BUF struct buf by = BUF_INIT(BUF_NO_LIMIT);

    buf_printf(&by, REACTION_RUN_USER_PREFIX "%s", verdict->rule);
    audit_log(&(struct audit){
        .action = actions[verdict->action->decision],
        .by = buf_text(&by),
        .id = verdict->action->id,
        .peel = peel,
        .reason = verdict->action->reason,
        .error = error,
    });
}

static void on_admission_decided(void *self, const struct registry_verdict *decided)
{
    struct verdict *verdict = self;
    /* Permanent refusals were found earlier, so another decision was faster, or the bus failed. The
     * next delivery finds out which. */
    const struct reaction_run_answer answer = {
        .result = decided->error ? OUTCOME_ERROR : OUTCOME_DISPATCHED,
        .may_pass = decided->error,
        .message = decided->error,
    };

    log_verdict(verdict, decided->record ? decided->record->peel_id : NULL, decided->error);
    end_verdict(verdict, &answer);
}

static void decide_admission(struct verdict *verdict, const struct enrollment *record)
{
    static const enum admission_decision decisions[] = {
        [ACTION_APPROVE] = ADMISSION_APPROVE,
        [ACTION_REJECT] = ADMISSION_REJECT,
        [ACTION_REVOKE] = ADMISSION_REVOKE,
    };
    const struct authority *authority = master_find(verdict->engine->master, &authority_service);
    const enum admission_decision decision = decisions[verdict->action->decision];
    struct reaction_run_answer answer = { .result = OUTCOME_REFUSED };
    struct enrollment after;
    struct err err;

    if (admit_judge(verdict->action, record, &answer) == ADMIT_ANSWERED || !record) {
        log_verdict(verdict, record ? record->peel_id : NULL, answer.message);
        end_verdict(verdict, &answer);
        return;
    }
    if (admission_decide(decision, record, &verdict->request, &authority->registry.policy,
                         bus_time(), &after, &err) < 0) {
        answer.message = err.text; /* the trust of the machine does not allow it */
        log_verdict(verdict, record->peel_id, err.text);
        end_verdict(verdict, &answer);
        return;
    }
    registry_decide(&authority->registry, decision, &verdict->request, on_admission_decided,
                    verdict);
}

static void on_reaction_enrollment(void *self, const struct nats_error *error,
                                   const struct nats_kv_entry *entry)
{
    struct verdict *verdict = self;
    struct reaction_run_answer later = { .result = OUTCOME_ERROR, .may_pass = true };
    struct enrollment record;
    struct err err;

    if (error && error->fault != NATS_FAULT_NOT_FOUND) {
        later.message = error->text;
        end_verdict(verdict, &later);
    } else if (entry && record_decode(&verdict->arena, &enrollment_type, 1, entry->value, &record,
                                      &err) < 0) {
        later.message = err.text;
        later.may_pass = false;
        end_verdict(verdict, &later);
    } else {
        decide_admission(verdict, entry ? &record : NULL);
    }
}

/* A verdict is moved into its own arena. */
static struct verdict *make_verdict(struct reactor_engine *engine,
                                    struct reaction_run *reaction_run, const char *rule,
                                    const struct action_enroll *action)
{
    struct arena arena = ARENA_INIT;
    struct verdict *verdict = ARENA_NEW(&arena, struct verdict);

    *verdict = (struct verdict){
        .engine = engine,
        .reaction_run = reaction_run,
        .action = action,
        .rule = rule,
        .request = { .id = action->id,
                     .operator_name = REACTION_RUN_OPERATOR,
                     .reason = action->reason },
    };
    verdict->arena = arena;
    return verdict;
}

void reactor_enroll(void *user, struct reaction_run *reaction_run, const char *rule,
                    const struct action_enroll *action)
{
    struct reactor_engine *engine = user;
    const struct nats_kv kv = { .js = engine->master->js,
                                .bucket = store_bucket_name(STORE_ENROLLMENTS),
                                .indirect = true };
    struct verdict *verdict;
    struct err err;

    if (engine->is_stopping) {
        answer_later(reaction_run, "this master is stopping");
        return;
    }
    verdict = make_verdict(engine, reaction_run, rule, action);
    if (str_starts(str_from(action->id), STR(ADMISSION_ID)) &&
        nats_kv_get(&kv, action->id, on_reaction_enrollment, verdict, &err) == 0)
        return;
    decide_admission(verdict, NULL); /* not the id of an enrollment */
}

/* --- events ------------------------------------------------------------------------- */

static void on_reaction_event_sent(void *self, const struct nats_error *error,
                                   const struct nats_stored_ack *ack)
{
    struct reaction_run *reaction_run = self;

    if (error)
        answer_later(reaction_run, error->text);
    else
        answer_reaction_run(reaction_run, ack->duplicate ? OUTCOME_DUPLICATE : OUTCOME_DISPATCHED,
                            NULL);
}

void reactor_send(void *user, struct reaction_run *reaction_run,
                  const struct reaction_run_send *send)
{
    struct reactor_engine *engine = user;
    AUTO_BUF struct buf bytes = BUF_INIT(REACTOR_EVENT_BYTES), header = BUF_INIT(NATS_HEADER_MAX),
                        id = BUF_INIT(NATS_HEADER_MAX);
    struct err err;

    if (engine->is_stopping) {
        answer_later(reaction_run, "this master is stopping");
        return;
    }
    /* Include the origin: another source may have sent an event with the same id. */
    buf_printf(&id, "%s/%s", reaction_run_event(reaction_run)->source.origin, send->event.id);
    /* Leave out an id that is not valid in a header. */
    (void)nats_header_add(&header, REACTOR_PARENT_HEADER, str_from(send->parent), &err);
    if (record_encode(&bytes, &event_type, &send->event, &err) < 0) {
        answer_reaction_run(reaction_run, OUTCOME_ERROR, err.text);
        return;
    }
    if (nats_publisher_send(engine->publisher,
                            &(struct nats_store){ .subject = str_from(send->subject),
                                                  .payload = buf_view(&bytes),
                                                  .header = buf_view(&header),
                                                  .id = buf_view(&id) },
                            on_reaction_event_sent, reaction_run, &err) < 0)
        answer_later(reaction_run, err.text);
}

/* --- log ---------------------------------------------------------------------------- */

void reactor_log(void *user, const struct reaction_run *reaction_run, const char *rule,
                 const char *message)
{
    const struct event_gate_event *event = reaction_run_event(reaction_run);

    (void)user;
    log_fields(LOG_LEVEL_INFO, message,
               (const struct log_field[]){ { "rule", rule },
                                           { "event_id", event->event.id },
                                           { "tag", event->source.tag },
                                           { "origin", event->source.origin } },
               4);
}
