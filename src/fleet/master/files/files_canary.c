/*
 * Canary: an operator tests a revision of the states on some peels first.
 *
 * The record in the bucket (fleet/wire/canary.h) is authoritative: while it exists, the folder is
 * published to the matching peels, and all others keep the base. Each act is a chain of steps, and
 * the record holds its progress. So the next publishing master resumes it when this one dies at any
 * step:
 *
 *     begin      publish the folder to all, then to the canary; write the record
 *     promote    record: promoting; publish the folder to all; record: ended; remove it
 *     abort      publish and record the folder; record: aborting; bring the folder back to the
 *                base; remove the record
 *
 * Peels check again when the bucket's number rises, so each relevant change of the record is
 * followed by a new number, and peels return to the base as soon as the record says so. Only the
 * holder of the lease writes the record, by CAS.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/bus_time.h"
#include "core/data/record.h"
#include "fleet/master/announce.h"
#include "fleet/master/audit.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/peels/roster.h"
#include "fleet/master/services.h"
#include "fleet/master/files/files_service.h"
#include "fleet/master/files/standby.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/crash_point.h"
#include "core/sys/loop.h"
#include "language/target/target.h"

/* A step of an act is done. */
#define CRASH_POINT "canary-step"

struct files_service_act {
    struct files_service *files_service;
    struct arena arena;
    enum canary_act act;
    const char *operator;
    struct str subject; /* of the answer; empty: resumed after a restart */
    struct canary next; /* the record being written */
    struct canary_reply reply;
    struct publisher_cause cause; /* of the recorded round */
    bool has_turned;              /* the rounds of the act have begun */
    bool is_restoring, is_dropped;
};

static struct files_service_branch *get_states_branch(struct files_service *service)
{
    return &service->branches[FILES_SERVICE_STATES];
}

/* --- the answer ---------------------------------------------------------------------- */

/* Counts the matching peels, and those with the newest revision. */
static void count_canary_peels(struct files_service *service, struct canary_reply *reply)
{
    const struct canary *record = &service->canary.record;
    const struct value *groups = record->groups.kind == VALUE_MAP ? &record->groups : NULL;
    const struct roster *roster = master_roster(service->master);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct param_strs peels;
    struct err err;

    if (!roster || roster_resolve(roster, &arena,
                                  &(struct roster_question){
                                      .expr = record->target, .type = "", .groups = groups },
                                  &peels, &err) < 0)
        return;
    reply->peels = peels.n;
    for (size_t i = 0; i < peels.n; i++) {
        const struct value *facts = roster_facts(roster, str_from(peels.p[i]));
        const struct value *has = facts ? value_get(facts, CANARY_FACT) : NULL;

        reply->following += has && has->kind == VALUE_INT && has->i == (int64_t)reply->revision;
    }
}

static void fill_reply(struct files_service *service, struct canary_reply *reply)
{
    const struct canary *record = &service->canary.record;

    reply->master = service->master->id;
    reply->active = service->canary.is_there;
    reply->phase = reply->target = reply->operator= "";
    if (!service->canary.is_there || !get_states_branch(service)->publisher)
        return;
    reply->phase = canary_phase_name(record->phase);
    reply->target = record->target;
    reply->operator= record->operator;
    reply->since_unix = record->since_unix;
    reply->base = record->base;
    reply->revision = publisher_canary(get_states_branch(service)->publisher);
    count_canary_peels(service, reply);
}

static void audit_act(enum canary_act act, const char *by, const char *target, const char *error)
{
    static const char *const actions[] = { [CANARY_BEGIN] = "fileserver.canary",
                                           [CANARY_PROMOTE] = "fileserver.promote",
                                           [CANARY_ABORT] = "fileserver.abort" };

    if (act != CANARY_SHOW)
        audit_log(
            &(struct audit){ .action = actions[act], .by = by, .target = target, .error = error });
}

static void answer_act(struct files_service_act *act, const char *error)
{
    struct files_service *service = act->files_service;
    AUTO_ARENA struct arena arena = ARENA_INIT;

    audit_act(act->act, act->operator, act->next.target, error);
    if (!act->subject.n)
        return;
    act->reply.err = error;
    fill_reply(service, &act->reply);
    act->reply.trees = files_service_show_trees(service, &arena);
    master_answer(service->master, act->subject, &canary_reply_type, &act->reply);
}

/* A failed end of a canary is retried soon; until then nothing is published. */
static void end_canary_act(struct files_service_act *act, const char *error)
{
    struct files_service *service = act->files_service;
    struct files_service_canary *canary = &service->canary;
    const bool is_over = act->is_dropped;

    canary->act = NULL;
    answer_act(act, error ? error : "");
    if (!is_over && files_service_is_held_by_canary(service)) {
        files_service_refuse_updates(get_states_branch(service),
                                     error ? error : "a canary is ending");
        files_service_retry_canary(service);
    } else if (!is_over) {
        files_service_advance(service); /* continue waiting work */
    }
    arena_done(&act->arena);
    free(act);
}

static void continue_canary(struct files_service_act *act);

/* --- shared steps -------------------------------------------------------------------- */

/* Why the act cannot continue; NULL: it can. */
static const char *find_canary_end(const struct files_service_act *act)
{
    crash_point(CRASH_POINT);
    if (act->is_dropped)
        return "this master is shutting down";
    return lease_is_held(&act->files_service->lease) ? NULL : "this master no longer publishes";
}

/* A round of the act has ended; returns why the act cannot continue, or NULL. */
static const char *read_outcome(struct files_service_act *act,
                                const struct publisher_outcome *outcome)
{
    const char *why = find_canary_end(act);

    files_service_note_round(get_states_branch(act->files_service), outcome);
    if (why || outcome->manifest.n)
        return why;
    return outcome->error[0] ? arena_strdup(&act->arena, outcome->error)
                             : "there are no states to publish";
}

/* The first round waits for git, if the tree uses it; after that the folder is unchanged until the
 * act ends, so that all its rounds publish the same files. */
static void begin_round_for(struct files_service_act *act, publisher_fn *fn,
                            const struct publisher_cause *cause)
{
    struct files_service_branch *branch = get_states_branch(act->files_service);
    const struct publisher_wish wish = { .cause = cause, .fn = fn, .self = act };

    if (act->has_turned)
        publisher_round(branch->publisher, &wish);
    else
        files_service_begin_round(branch, &(struct files_service_round){ .wish = wish });
    act->has_turned = true;
}

static void begin_canary_round(struct files_service_act *act, publisher_fn *fn)
{
    begin_round_for(act, fn, NULL);
}

/* A round recorded as the operator's action. */
static void begin_noted_round(struct files_service_act *act, const char *what, publisher_fn *fn)
{
    act->cause = (struct publisher_cause){ .by = act->operator,
                                           .note = arena_printf(&act->arena, "canary of %s %s",
                                                                act->next.target, what) };
    begin_round_for(act, fn, &act->cause);
}

/* The same for a new number only. */
static const char *read_tell(struct files_service_act *act, const struct publisher_outcome *outcome)
{
    const char *why = find_canary_end(act);

    return why || !outcome->error[0] ? why : arena_strdup(&act->arena, outcome->error);
}

static void write_canary_record(struct files_service_act *act, nats_kv_revision_fn *fn)
{
    const struct nats_kv kv = files_service_canary_bucket(act->files_service);
    const struct files_service_canary *canary = &act->files_service->canary;
    AUTO_BUF struct buf bytes = BUF_INIT(CANARY_RECORD_MAX);
    struct err err;
    int rc;

    if (record_encode(&bytes, &canary_type, &act->next, &err) < 0)
        rc = -1;
    else if (canary->is_there)
        rc = nats_kv_update(&kv, CANARY_RECORD, buf_view(&bytes), canary->revision, fn, act, &err);
    else
        rc = nats_kv_create(&kv, CANARY_RECORD, buf_view(&bytes), fn, act, &err);
    if (rc < 0) {
        files_service_aim_publisher(act->files_service);
        end_canary_act(act, err.text);
    }
}

/* The record was written, or not; false: the act has ended. */
static bool take_canary_record(struct files_service_act *act, const struct nats_error *error,
                               uint64_t revision)
{
    AUTO_BUF struct buf bytes = BUF_INIT(CANARY_RECORD_MAX);
    const char *why;
    struct err err;

    if (!error && record_encode(&bytes, &canary_type, &act->next, &err) == 0)
        files_service_set_canary(act->files_service, buf_view(&bytes), revision);
    why = find_canary_end(act);
    if (!error && !why)
        return true;
    if (!act->is_dropped)
        files_service_aim_publisher(act->files_service);
    end_canary_act(act, why ? why : arena_strdup(&act->arena, error->text));
    return false;
}

/* Recorded: continue with the rest of this phase. */
static void on_phase(void *self, const struct nats_error *error, uint64_t revision)
{
    if (take_canary_record(self, error, revision))
        continue_canary(self);
}

static void enter_phase(struct files_service_act *act, enum canary_phase phase)
{
    act->next.phase = phase;
    act->next.ended_by = act->operator;
    write_canary_record(act, on_phase);
}

static void on_canary_record_removed(void *self, const struct nats_error *error, uint64_t revision)
{
    struct files_service_act *act = self;
    const char *why = find_canary_end(act);

    if (!error) {
        files_service_set_canary(act->files_service, (struct str){ NULL, 0 }, revision);
        log_info("canary of the states ended: all peels have the same states");
    }
    end_canary_act(act, error ? arena_strdup(&act->arena, error->text) : why);
}

static void remove_record(struct files_service_act *act)
{
    const struct nats_kv kv = files_service_canary_bucket(act->files_service);
    struct err err;

    if (nats_kv_purge(&kv, CANARY_RECORD, act->files_service->canary.revision,
                      on_canary_record_removed, act, &err) < 0)
        end_canary_act(act, err.text);
}

/* The last step, unless an earlier one failed. */
static void remove_or_end(struct files_service_act *act, const char *why)
{
    if (why)
        end_canary_act(act, why);
    else
        remove_record(act);
}

/* --- begin --------------------------------------------------------------------------- */

static void on_begin_told(void *self, const struct publisher_outcome *outcome)
{
    struct files_service_act *act = self;

    (void)outcome; /* the next round reports it as well */
    end_canary_act(act, find_canary_end(act));
}

static void on_canary_begun(void *self, const struct nats_error *error, uint64_t revision)
{
    struct files_service_act *act = self;

    if (!take_canary_record(act, error, revision))
        return;
    log_info("canary of the states started target=%s", act->next.target);
    publisher_tell(get_states_branch(act->files_service)->publisher, on_begin_told, act);
}

/* The set is published before the record, so that followers find it. */
static void on_copied(void *self, const struct publisher_outcome *outcome)
{
    struct files_service_act *act = self;
    const char *why = read_outcome(act, outcome);

    if (!why) {
        write_canary_record(act, on_canary_begun);
        return;
    }
    if (!act->is_dropped)
        files_service_aim_publisher(act->files_service);
    end_canary_act(act, why);
}

static void on_base(void *self, const struct publisher_outcome *outcome)
{
    struct files_service_act *act = self;
    const char *why = read_outcome(act, outcome);

    if (!why && !outcome->revision)
        why = "what is published now could not be recorded";
    if (why) {
        end_canary_act(act, why);
        return;
    }
    act->next.base = outcome->revision;
    act->next.manifest = arena_strdup(&act->arena, outcome->sum);
    publisher_divert(get_states_branch(act->files_service)->publisher, true);
    begin_canary_round(act, on_copied);
}

/* Peels match the target themselves, so the groups that it names are added. */
static const char *read_canary_target(struct files_service_act *act, const char *text)
{
    const struct value *groups = act->files_service->master->conf.nodegroups;
    const struct target *target;
    struct err err;

    act->next.target = arena_strdup(&act->arena, text);
    if (!text[0])
        return "target required: the peels that get the changes first";
    if (target_read(&act->arena, str_from(act->next.target), TARGET_COMPOUND,
                    &(struct target_options){ .groups = groups, .no_settings = true }, &target,
                    &err) < 0)
        return arena_printf(&act->arena, "%s (peels match the target of a canary themselves)",
                            err.text);
    if (target_read(&act->arena, str_from(act->next.target), TARGET_COMPOUND,
                    &(struct target_options){ .no_settings = true }, &target, &err) < 0)
        act->next.groups = value_copy(&act->arena, groups);
    return NULL;
}

static const char *begin_canary(struct files_service_act *act, const struct canary_request *request)
{
    const char *why;

    act->next = (struct canary){ .phase = CANARY_RUNNING,
                                 .target = "",
                                 .since_unix = bus_time_seconds(),
                                 .operator= act->operator,
                                 .ended_by = "",
                                 .manifest = "" };
    why = read_canary_target(act, request->target);
    if (!why)
        begin_canary_round(act, on_base);
    return why;
}

/* --- promote ------------------------------------------------------------------------- */

static void on_end_told(void *self, const struct publisher_outcome *outcome)
{
    struct files_service_act *act = self;

    remove_or_end(act, read_tell(act, outcome));
}

static void log_canary_end(struct files_service_act *act)
{
    publisher_tell(get_states_branch(act->files_service)->publisher, on_end_told, act);
}

static void on_promoted(void *self, const struct publisher_outcome *outcome)
{
    struct files_service_act *act = self;
    const char *why = read_outcome(act, outcome);

    act->reply.published = outcome->revision;
    if (why)
        end_canary_act(act, why);
    else
        enter_phase(act, CANARY_ENDED);
}

static void publish_to_all(struct files_service_act *act)
{
    publisher_divert(get_states_branch(act->files_service)->publisher, false);
    begin_noted_round(act, "promoted", on_promoted);
}

/* All peels get exactly the tested files, so untested edits are published to the canary first. */
static void on_tried(void *self, const struct publisher_outcome *outcome)
{
    struct files_service_act *act = self;
    const char *why = read_outcome(act, outcome);

    if (!why && outcome->is_new)
        why = "the folder has changed since the canary was published: the canary has the changes "
              "now, try again when they are tested";
    if (why)
        end_canary_act(act, why);
    else
        enter_phase(act, CANARY_PROMOTING);
}

/* --- abort --------------------------------------------------------------------------- */

static void on_canary_reverted(void *self, const struct publisher_outcome *outcome)
{
    struct files_service_act *act = self;
    const char *why = read_outcome(act, outcome);

    act->reply.published = outcome->revision;
    remove_or_end(act, why);
}

static void on_canary_folder_restored(void *self, const char *error, size_t files)
{
    struct files_service_branch *branch = self;
    struct files_service_act *act = branch->files_service->canary.act;

    act->is_restoring = false;
    act->reply.files = files;
    branch->unfinished = standby_unfinished(branch->standby);
    publisher_divert(branch->publisher, error != NULL);
    if (!error) {
        act->cause =
            (struct publisher_cause){ .by = act->operator, .restored = act->next.base, .note = "" };
        publisher_round(branch->publisher, &(struct publisher_wish){ .cause = &act->cause,
                                                                     .fn = on_canary_reverted,
                                                                     .self = act });
    }
    publisher_resume(branch->publisher);
    if (error)
        end_canary_act(act, arena_strdup(&act->arena, error));
}

static void on_abort_told(void *self, const struct publisher_outcome *outcome)
{
    struct files_service_act *act = self;
    struct files_service_branch *branch = get_states_branch(act->files_service);
    const char *why = read_tell(act, outcome);

    if (why) {
        end_canary_act(act, why);
        return;
    }
    publisher_pause(branch->publisher);
    act->is_restoring = true;
    standby_restore(branch->standby, act->next.base, on_canary_folder_restored);
}

/* Its peels return to the base now, independent of the folder. */
static void log_canary_abort(struct files_service_act *act)
{
    publisher_tell(get_states_branch(act->files_service)->publisher, on_abort_told, act);
}

/* Who else controls the folder, and what to do; NULL: no one. */
static const char *find_folder_owner(struct files_service_act *act)
{
    struct files_service_branch *branch = get_states_branch(act->files_service);
    struct err err;

    if (files_service_is_from_git(branch))
        return "the states come from git ('gitfs.remotes'): revert the commit there instead, then "
               "abort the canary";
    if (standby_check(branch->standby, &err) < 0)
        return arena_printf(&act->arena, "%s, then abort the canary", err.text);
    return NULL;
}

/* The folder was recorded, so that it can be restored, unless it is empty. */
static void on_canary_folder_recorded(void *self, const struct publisher_outcome *outcome)
{
    struct files_service_act *act = self;
    const bool is_base = strcmp(outcome->sum, act->next.manifest) == 0;
    const char *why = outcome->files > 0 ? read_outcome(act, outcome) : find_canary_end(act);

    if (!why && outcome->files > 0 && !outcome->revision)
        why = "cannot record the canary's files";
    if (!why && !is_base)
        why = find_folder_owner(act);
    if (why)
        end_canary_act(act, why);
    else
        enter_phase(act, CANARY_ABORTING);
}

static void record_canary_folder(struct files_service_act *act)
{
    begin_noted_round(act, "aborted", on_canary_folder_recorded);
}

/* --- operators ----------------------------------------------------------------------- */

static struct files_service_act *new_act(struct files_service *service, enum canary_act kind,
                                         const char *operator)
{
    struct files_service_act *act = mem_zalloc(sizeof(*act));

    act->files_service = service;
    act->act = kind;
    act->operator= arena_strdup(&act->arena, operator);
    act->next.target = "";
    service->canary.act = act;
    return act;
}

/* The next record starts as a copy of the current one. */
static void copy_canary_record(struct files_service_act *act)
{
    const struct canary *record = &act->files_service->canary.record;

    act->next = *record;
    act->next.target = arena_strdup(&act->arena, record->target);
    act->next.groups = value_copy(&act->arena, &record->groups);
    act->next.operator= arena_strdup(&act->arena, record->operator);
    act->next.manifest = arena_strdup(&act->arena, record->manifest);
}

/* Why it is not possible; NULL: it is. */
static const char *find_canary_obstacle(struct files_service *service, enum canary_act kind,
                                        struct arena *arena)
{
    struct files_service_branch *branch = get_states_branch(service);
    const struct files_service_canary *canary = &service->canary;

    if (canary->is_odd)
        return "the record of the canary cannot be read by this version";
    if (kind == CANARY_BEGIN && canary->is_there)
        return arena_printf(arena,
                            "a canary for %s already exists: end it with 'zester fileserver "
                            "promote' or 'zester fileserver canary --abort' first",
                            canary->record.target);
    if (kind != CANARY_BEGIN && canary->is_known && !canary->is_there)
        return "no canary: start one with 'zester fileserver canary TARGET'";
    if (branch->rollback || (branch->unfinished && !canary->is_there))
        return "rollback of the states in progress; try again later";
    if (files_service_is_held_by_canary(service) || !files_service_is_in_step(branch) ||
        standby_is_busy(branch->standby))
        return "this master is not in sync yet, or a canary is ending; try again later";
    return NULL;
}

static void refuse_act(struct files_service *service, struct str subject,
                       const struct canary_request *request, const char *why)
{
    struct canary_reply reply = { .err = why };

    fill_reply(service, &reply);
    audit_act(request->act, request->operator, request->target, why);
    master_answer(service->master, subject, &canary_reply_type, &reply);
}

static void begin_canary_act(struct files_service *service, struct str subject,
                             const struct canary_request *request)
{
    struct files_service_act *act = new_act(service, request->act, request->operator);
    const char *why = NULL;

    act->subject = arena_str(&act->arena, subject);
    if (request->act == CANARY_BEGIN) {
        why = begin_canary(act, request);
    } else {
        copy_canary_record(act);
        if (request->act == CANARY_ABORT)
            record_canary_folder(act);
        else
            begin_canary_round(act, on_tried);
    }
    if (why)
        end_canary_act(act, why);
}

void files_service_on_canary(void *self, const struct nats_msg *msg)
{
    struct files_service *service = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct canary_request request = { .target = "", .operator= "" };
    const char *why = NULL;
    struct err err;

    if (!lease_is_held(&service->lease) || msg->reply.n == 0)
        return;
    if (record_decode(&arena, &canary_request_type, 1, msg->payload, &request, &err) < 0) {
        request = (struct canary_request){ .target = "", .operator= "" };
        why = err.text;
    } else if (request.act != CANARY_SHOW) {
        why = authority_check_order(service->master, msg, &err) < 0
                  ? err.text
                  : find_canary_obstacle(service, request.act, &arena);
    }
    if (why || request.act == CANARY_SHOW)
        refuse_act(service, msg->reply, &request, why ? why : "");
    else
        begin_canary_act(service, msg->reply, &request);
}

/* --- resuming after a crash ---------------------------------------------------------- */

/* The remaining work of each phase. */
static const struct {
    enum canary_act act;
    void (*go_on)(struct files_service_act *act);
} rests[] = {
    [CANARY_RUNNING] = { CANARY_SHOW, NULL },
    [CANARY_PROMOTING] = { CANARY_PROMOTE, publish_to_all },
    [CANARY_ABORTING] = { CANARY_ABORT, log_canary_abort },
    [CANARY_ENDED] = { CANARY_PROMOTE, log_canary_end },
};

static void continue_canary(struct files_service_act *act)
{
    rests[act->next.phase].go_on(act);
}

bool files_service_resume_canary(struct files_service *service)
{
    const struct files_service_canary *canary = &service->canary;
    const enum canary_phase phase = canary->record.phase;
    struct files_service_branch *branch = get_states_branch(service);
    struct files_service_act *act;

    if (canary->act)
        return true;
    if (!canary->is_known || canary->is_odd || !rests[phase].go_on)
        return false;
    if (standby_is_busy(branch->standby) || !publisher_is_caught_up(branch->publisher) ||
        (phase == CANARY_PROMOTING && !files_service_is_in_step(branch)))
        return false;
    log_warning("resuming the interrupted end of the canary for %s phase=%s", canary->record.target,
                canary_phase_name(phase));
    act = new_act(service, rests[phase].act, canary->record.ended_by);
    copy_canary_record(act);
    continue_canary(act);
    return true;
}

void files_service_close_canary(struct files_service *service)
{
    struct files_service_canary *canary = &service->canary;
    struct files_service_act *act = canary->act;

    timer_clear(loop_timers(service->master->loop), &canary->retry);
    canary->is_known = false;
    if (!act)
        return;
    act->is_dropped = true;
    if (act->is_restoring)
        end_canary_act(act, "this master is shutting down");
}
