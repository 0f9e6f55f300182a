#include "fleet/master/operators/approvals.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/view/job.h"
#include "fleet/master/announce.h"
#include "fleet/master/api/token.h"
#include "fleet/master/audit.h"
#include "fleet/master/jobs/dispatcher.h"
#include "fleet/master/services.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "core/sys/crash_point.h"
#include "core/sys/loop.h"
#include "fleet/wire/approval.h"
#include "fleet/wire/operator.h"
#include "fleet/wire/subject.h"

#define RECORD_MAX ((size_t)8 << 20)
#define SCAN_NS    (5 * CLOCK_SECOND)
/* How long the master that recorded a decision has for the dispatch. */
#define GRACE_NS (3 * CLOCK_SECOND)

struct approvals;

/* One of the two subjects. */
struct approval_service {
    struct approvals *approvals;
    struct nats_sub *sub;
};

struct approvals {
    struct master *master;
    struct approval_service counters[2];
    struct timer scan;
    bool is_scanning, is_started;
};

static const struct {
    enum subject_kind subject;
    enum approval_state verdict;
    const char *action;
} decisions[] = {
    { SUBJECT_JOB_APPROVE, APPROVAL_APPROVED, "job.approve" },
    { SUBJECT_JOB_REJECT, APPROVAL_REJECTED, "job.reject" },
};

/* A decision, or a dispatch that is owed, under way. */
struct approval_decision {
    struct arena arena;
    struct approvals *approvals;
    size_t decision; /* in `decisions` */
    struct approval_request request;
    struct str reply;
    approvals_decided_fn *fn; /* NULL: the answer goes to `reply` */
    void *self;
    enum approvals_outcome outcome; /* if there is an error */
    struct approval approval;
    uint64_t revision;
};

static struct nats_kv open_bucket(const struct master *master, enum store_bucket bucket)
{
    return (struct nats_kv){
        .js = master->js, .bucket = store_bucket_name(bucket), .indirect = true, .settled = true
    };
}

static struct value_time now_time(void)
{
    const int64_t wall = bus_time();

    return (struct value_time){ wall / CLOCK_SECOND, (uint32_t)(wall % CLOCK_SECOND) };
}

static struct approval_decision *new_ruling(struct approvals *approvals)
{
    struct arena arena = ARENA_INIT;
    struct approval_decision *approval_decision = ARENA_NEW(&arena, struct approval_decision);

    *approval_decision =
        (struct approval_decision){ .approvals = approvals, .outcome = APPROVALS_LATER };
    approval_decision->arena = arena;
    return approval_decision;
}

static void end_ruling(struct approval_decision *approval_decision)
{
    struct arena arena = approval_decision->arena;

    arena_done(&arena); /* the approval decision is in it */
}

/* --- keeping ------------------------------------------------------------------------ */

struct keeping {
    approvals_fn *fn;
    void *self;
};

static void on_kept(void *self, const struct nats_error *error, uint64_t revision)
{
    struct keeping keeping = *(struct keeping *)self;

    (void)revision;
    free(self);
    keeping.fn(keeping.self, error && error->fault != NATS_FAULT_CONFLICT ? error->text : NULL);
}

void approvals_keep(struct master *master, const struct job *job, approvals_fn *fn, void *self)
{
    AUTO_BUF struct buf bytes = BUF_INIT(RECORD_MAX);
    const struct nats_kv kv = open_bucket(master, STORE_APPROVALS);
    const struct approval approval = {
        .jid = job->jid,
        .state = APPROVAL_PENDING,
        .asked_by = job->user,
        .asked = now_time(),
        .decided_by = "",
        .reason = "",
        .error = "",
        .job = *job,
    };
    struct keeping *keeping = mem_alloc(sizeof(*keeping));
    struct err err;

    *keeping = (struct keeping){ fn, self };
    if (record_encode(&bytes, &approval_type, &approval, &err) == 0 &&
        nats_kv_create(&kv, job->jid, buf_view(&bytes), on_kept, keeping, &err) == 0)
        return;
    free(keeping);
    fn(self, err.text);
}

/* --- the end of a decision ------------------------------------------------------------ */

static void finish_decision(struct approval_decision *approval_decision, const char *error)
{
    const struct job *job =
        approval_decision->approval.job.function ? &approval_decision->approval.job : NULL;

    audit_log(&(struct audit){ .action = decisions[approval_decision->decision].action,
                               .by = approval_decision->request.operator,
                               .id = approval_decision->request.jid,
                               .function = job ? job->function : NULL,
                               .target = job ? job->target_expr : NULL,
                               .reason = approval_decision->request.reason,
                               .error = error });
    if (approval_decision->fn)
        approval_decision->fn(approval_decision->self,
                              error ? approval_decision->outcome : APPROVALS_DECIDED, error);
    if (approval_decision->reply.n > 0)
        master_answer(approval_decision->approvals->master, approval_decision->reply,
                      &approval_reply_type, &(struct approval_reply){ .err = error ? error : "" });
}

static int write_approval(struct approval_decision *approval_decision, nats_kv_revision_fn *fn,
                          struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(RECORD_MAX);
    const struct nats_kv kv = open_bucket(approval_decision->approvals->master, STORE_APPROVALS);

    if (record_encode(&bytes, &approval_type, &approval_decision->approval, err) < 0)
        return -1;
    return nats_kv_update(&kv, approval_decision->approval.jid, buf_view(&bytes),
                          approval_decision->revision, fn, approval_decision, err);
}

/* --- dispatching -------------------------------------------------------------------- */

/* When it is not written, the next scan finds the job dispatched already, and writes it. */
static void on_marked(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)revision;
    if (error && error->fault != NATS_FAULT_CANCELED && error->fault != NATS_FAULT_CONFLICT)
        log_debug("approval: %s", error->text);
    end_ruling(self);
}

static void on_dispatched(void *self, enum dispatch_outcome outcome, const char *text)
{
    struct approval_decision *approval_decision = self;
    const struct job *job = &approval_decision->approval.job;
    const bool was_sent = outcome == DISPATCH_SENT || outcome == DISPATCH_DUPLICATE;
    const bool is_final = outcome == DISPATCH_CONFLICT || outcome == DISPATCH_INVALID;
    struct err err;

    if (!was_sent && !is_final) { /* this master, or another one, tries again */
        end_ruling(approval_decision);
        return;
    }
    audit_log(&(struct audit){ .action = "job.dispatch",
                               .by = job->user,
                               .id = job->jid,
                               .function = job->function,
                               .target = job->target_expr,
                               .error = was_sent ? NULL : text });
    approval_decision->approval.state = was_sent ? APPROVAL_DISPATCHED : APPROVAL_FAILED;
    approval_decision->approval.error =
        was_sent ? "" : arena_strdup(&approval_decision->arena, text);
    if (write_approval(approval_decision, on_marked, &err) < 0)
        end_ruling(approval_decision);
}

static void dispatch_job(struct approval_decision *approval_decision, bool is_again)
{
    struct dispatcher *dispatcher = master_dispatcher(approval_decision->approvals->master);
    struct job *job = &approval_decision->approval.job;

    fleet_job_note(&approval_decision->arena, job, APPROVAL_METADATA,
                   approval_decision->approval.decided_by);
    if (dispatcher && approval_decision->approvals->is_started)
        dispatcher_send(dispatcher, job, is_again, on_dispatched, approval_decision);
    else
        end_ruling(approval_decision);
}

/* --- deciding ----------------------------------------------------------------------- */

static void on_recorded(void *self, const struct nats_error *error, uint64_t revision)
{
    struct approval_decision *approval_decision = self;

    if (error) {
        if (error->fault == NATS_FAULT_CONFLICT)
            approval_decision->outcome = APPROVALS_REFUSED;
        finish_decision(approval_decision, error->fault == NATS_FAULT_CONFLICT
                                               ? "somebody else has decided at the same moment"
                                               : error->text);
        end_ruling(approval_decision);
        return;
    }
    crash_point("job-approved");
    approval_decision->revision = revision;
    finish_decision(approval_decision, NULL);
    if (approval_decision->approval.state == APPROVAL_APPROVED)
        dispatch_job(approval_decision, false);
    else
        end_ruling(approval_decision);
}

static void record_decision(struct approval_decision *approval_decision)
{
    struct err err;

    approval_decision->approval.state = decisions[approval_decision->decision].verdict;
    approval_decision->approval.decided_by = approval_decision->request.operator;
    approval_decision->approval.decided = now_time();
    approval_decision->approval.reason = approval_decision->request.reason;
    if (write_approval(approval_decision, on_recorded, &err) == 0)
        return;
    finish_decision(approval_decision, err.text);
    end_ruling(approval_decision);
}

/* Nobody's job goes on who was removed meanwhile. */
static void on_asker(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct approval_decision *approval_decision = self;
    struct operator_policy policy;
    struct err err;

    if (!error &&
        record_decode(&approval_decision->arena, &operator_policy_type, 1,
                      arena_str(&approval_decision->arena, entry->value), &policy, &err) == 0 &&
        !policy.removed) {
        record_decision(approval_decision);
        return;
    }
    approval_decision->outcome = APPROVALS_REFUSED;
    finish_decision(approval_decision, "whoever asked for it is no longer an operator: reject it");
    end_ruling(approval_decision);
}

/* A token with a policy of its own is in the configuration, not on the bus. */
static void check_token(struct approval_decision *approval_decision)
{
    const struct master *master = approval_decision->approvals->master;

    if (api_tokens_has_user(&master->conf.api_tokens, approval_decision->approval.asked_by)) {
        record_decision(approval_decision);
        return;
    }
    approval_decision->outcome = APPROVALS_REFUSED;
    finish_decision(approval_decision,
                    "this master no longer has the token that asked for it: reject it");
    end_ruling(approval_decision);
}

static void check_asker(struct approval_decision *approval_decision)
{
    const struct nats_kv kv = open_bucket(approval_decision->approvals->master, STORE_OPERATORS);
    struct err err;

    if (str_starts(str_from(approval_decision->approval.asked_by), STR(API_USER_PREFIX))) {
        check_token(approval_decision);
        return;
    }
    if (nats_kv_get(&kv, approval_decision->approval.asked_by, on_asker, approval_decision, &err) ==
        0)
        return;
    finish_decision(approval_decision, err.text);
    end_ruling(approval_decision);
}

static const char *find_objection(const struct approval_decision *approval_decision,
                                  struct arena *arena)
{
    const struct approval *approval = &approval_decision->approval;

    if (approval->state != APPROVAL_PENDING)
        return arena_printf(arena, "it no longer waits: %s by %s",
                            approval->state == APPROVAL_REJECTED ? "rejected" : "approved",
                            approval->decided_by);
    if (strcmp(approval->asked_by, approval_decision->request.operator) == 0)
        return "another person than the one who asked for it has to decide";
    return NULL;
}

static void on_found(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct approval_decision *approval_decision = self;
    const char *objection;
    struct err err;

    if (error || record_decode(&approval_decision->arena, &approval_type, 1,
                               arena_str(&approval_decision->arena, entry->value),
                               &approval_decision->approval, &err) < 0)
        objection = !error                                 ? err.text
                    : error->fault == NATS_FAULT_NOT_FOUND ? APPROVAL_UNKNOWN
                                                           : error->text;
    else {
        objection = find_objection(approval_decision, &approval_decision->arena);
        approval_decision->outcome = objection ? APPROVALS_REFUSED : approval_decision->outcome;
    }
    if (error && error->fault == NATS_FAULT_NOT_FOUND)
        approval_decision->outcome = APPROVALS_UNKNOWN;
    if (objection) {
        finish_decision(approval_decision, objection);
        end_ruling(approval_decision);
        return;
    }
    approval_decision->revision = entry->revision;
    if (decisions[approval_decision->decision].verdict == APPROVAL_APPROVED)
        check_asker(approval_decision);
    else
        record_decision(approval_decision);
}

/* Read the record that the request is about. */
static void begin_decision(struct approval_decision *approval_decision)
{
    const struct nats_kv kv = open_bucket(approval_decision->approvals->master, STORE_APPROVALS);
    struct err err;

    if (nats_kv_get(&kv, approval_decision->request.jid, on_found, approval_decision, &err) == 0)
        return;
    finish_decision(approval_decision, err.text);
    end_ruling(approval_decision);
}

static void on_request(void *self, const struct nats_msg *msg)
{
    struct approval_service *approval_service = self;
    struct approval_decision *approval_decision = new_ruling(approval_service->approvals);
    struct err err;

    approval_decision->decision =
        (size_t)(approval_service - approval_service->approvals->counters);
    approval_decision->reply = arena_str(&approval_decision->arena, msg->reply);
    if (record_decode(&approval_decision->arena, &approval_request_type, 1,
                      arena_str(&approval_decision->arena, msg->payload),
                      &approval_decision->request, &err) == 0) {
        begin_decision(approval_decision);
        return;
    }
    finish_decision(approval_decision, err.text);
    end_ruling(approval_decision);
}

void approvals_decide(struct master *master, enum subject_kind decision,
                      const struct approval_request *request, approvals_decided_fn *fn, void *self)
{
    struct approval_decision *approval_decision =
        new_ruling(master_find(master, &approvals_service));

    while (decisions[approval_decision->decision].subject != decision)
        approval_decision->decision++;
    approval_decision->fn = fn;
    approval_decision->self = self;
    approval_decision->request = (struct approval_request){
        .jid = arena_strdup(&approval_decision->arena, request->jid),
        .operator= arena_strdup(&approval_decision->arena, request->operator),
        .reason = arena_strdup(&approval_decision->arena, request->reason),
    };
    begin_decision(approval_decision);
}

/* --- what is owed ------------------------------------------------------------------- */

static void check_entry(struct approvals *approvals, const struct nats_kv_entry *entry)
{
    struct approval_decision *approval_decision = new_ruling(approvals);
    const struct approval *approval = &approval_decision->approval;
    struct err err;

    approval_decision->revision = entry->revision;
    if (record_decode(&approval_decision->arena, &approval_type, 1,
                      arena_str(&approval_decision->arena, entry->value),
                      &approval_decision->approval, &err) == 0 &&
        approval->state == APPROVAL_APPROVED && bus_time() - entry->time > GRACE_NS) {
        log_info("approved job is dispatched, its master has ended jid=%s", approval->jid);
        dispatch_job(approval_decision, true);
        return;
    }
    end_ruling(approval_decision);
}

static void on_entry(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct approvals *approvals = self;

    if (entry) {
        if (approvals->is_started && entry->change == NATS_KV_PUT)
            check_entry(approvals, entry);
        return;
    }
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_debug("looking for approved jobs: %s", error->text);
    approvals->is_scanning = false;
}

static void scan_waiting_jobs(struct timer *timer)
{
    struct approvals *approvals = container_of(timer, struct approvals, scan);
    const struct nats_kv kv = open_bucket(approvals->master, STORE_APPROVALS);
    struct err err;

    timer_set(loop_timers(approvals->master->loop), &approvals->scan,
              clock_after(clock_now(), SCAN_NS), scan_waiting_jobs);
    if (!approvals->is_scanning)
        approvals->is_scanning = nats_kv_list(&kv, NULL, on_entry, approvals, &err) == 0;
}

/* --- the service -------------------------------------------------------------------- */

static void *open_approvals(struct master *master, struct err *err)
{
    struct approvals *approvals = mem_zalloc(sizeof(*approvals));

    (void)err;
    approvals->master = master;
    return approvals;
}

static void stop_approvals(void *self)
{
    struct approvals *approvals = self;

    approvals->is_started = false;
    timer_clear(loop_timers(approvals->master->loop), &approvals->scan);
    for (size_t i = 0; i < ARRAY_LEN(approvals->counters); i++) {
        nats_sub_free(approvals->counters[i].sub);
        approvals->counters[i].sub = NULL;
    }
}

static int start_approvals(void *self, struct err *err)
{
    struct approvals *approvals = self;

    for (size_t i = 0; i < ARRAY_LEN(decisions); i++) {
        struct approval_service *approval_service = &approvals->counters[i];

        approval_service->approvals = approvals;
        approval_service->sub = nats_sub_new(
            approvals->master->js.conn,
            &(struct nats_sub_options){ .subject = subject_template(decisions[i].subject),
                                        .queue = subject_queue(decisions[i].subject),
                                        .message = on_request,
                                        .self = approval_service },
            err);
        if (!approval_service->sub) {
            stop_approvals(approvals);
            return -1;
        }
    }
    approvals->is_started = true;
    scan_waiting_jobs(&approvals->scan);
    return 0;
}

const struct master_service approvals_service = {
    .name = "approvals",
    .open = open_approvals,
    .start = start_approvals,
    .stop = stop_approvals,
    .free = free,
};
