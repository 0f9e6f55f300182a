#include "commands/cli/fleet/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "commands/cli/fleet/bucket.h"
#include "fleet/bus/bus_time.h"
#include "core/data/msgpack.h"
#include "core/data/value.h"
#include "fleet/nats/conn.h"
#include "core/sys/clock.h"
#include "language/target/target.h"
#include "fleet/wire/approval.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/question.h"
#include "fleet/wire/subject.h"

#define RESOLVE_NS (INT64_C(5) * 1000000000)
/* For the settings of all peels, which take a moment after a change. */
#define PREPARE_NS        (INT64_C(120) * 1000000000)
#define DISPATCH_NS       (INT64_C(15) * 1000000000)
#define DISPATCH_LEAST_NS (INT64_C(5) * 1000000000)
/* A master that does not respond may be stopping: another one takes the job. */
#define DISPATCH_TRIES 8
/* Attempts without any answer. */
#define SILENT_TRIES 2
#define PENDING_NS   (INT64_C(5) * 1000000000)
/* Stored returns are read again after a pause, each twice the last: one may have been published
 * before we listened and stored after we read, or while the connection was down. */
#define STORED_PAUSE_NS     (INT64_C(1) * 1000000000)
#define STORED_PAUSE_MAX_NS (INT64_C(16) * 1000000000)

/* --- targets ------------------------------------------------------------------------ */

/* Only masters know groups and settings. */
static int parse_job_target(struct arena *arena, const char *expr, bool with_master,
                            const struct target **ret_target, struct err *err)
{
    const struct target_options options = { .any_group = with_master, .no_settings = !with_master };

    if (target_read(arena, str_from(expr), TARGET_COMPOUND, &options, ret_target, err) == 0)
        return 0;
    return err_wrap(err, "target '%s'", expr);
}

/* Facts are read one by one if there is no master. */
struct target_search {
    struct arena *arena;
    const struct target *target;
    VEC(const char *) found;
};

static void match_facts(void *self, const struct nats_kv_entry *entry)
{
    struct target_search *scan = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value facts;
    bool matches = false;
    struct err err;

    if (!peel_id_is_valid(entry->key) ||
        msgpack_decode_front(&arena, entry->value, &facts, &err) < 0)
        return;
    if (target_match(scan->target, &(struct target_subject){ .id = entry->key, .facts = &facts },
                     &matches, &err) == 0 &&
        matches)
        VEC_PUSH_IN(scan->arena, &scan->found, arena_str(scan->arena, entry->key).p);
}

static int compare_job_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int scan_facts(struct fleet *fleet, const struct target *target,
                      struct param_strs *ret_peels, struct err *err)
{
    struct target_search scan = { .arena = fleet->arena, .target = target };

    if (fleet_bucket_each(fleet, STORE_FACTS, NULL, match_facts, &scan, err) < 0)
        return -1;
    if (scan.found.n > 1)
        qsort(scan.found.p, scan.found.n, sizeof(scan.found.p[0]), compare_job_texts);
    *ret_peels = (struct param_strs){ scan.found.n, scan.found.p };
    return 0;
}

/* A master that has to work out the settings of a large fleet first is asked again. */
static int ask_until_known(struct fleet *fleet, const char *expr, struct question_resolved *ret,
                           struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const struct question_resolve question = { .expr = expr, .type = "" };
    const int64_t deadline = clock_after(clock_now(), PREPARE_NS);
    struct str reply;

    if (record_encode(&bytes, &question_resolve_type, &question, err) < 0)
        return -1;
    do {
        if (fleet_request(
                fleet,
                &(struct nats_pub){ .subject = str_from(subject_template(SUBJECT_RESOLVE)),
                                    .payload = buf_view(&bytes) },
                RESOLVE_NS, &reply, err) < 0 ||
            record_decode(fleet->arena, &question_resolved_type, 1, reply, ret, err) < 0)
            return -1;
    } while (ret->pending && clock_now() < deadline);
    return 0;
}

static int ask_for_targets(struct fleet *fleet, const char *expr, struct param_strs *ret_peels,
                           struct err *err)
{
    struct question_resolved answer;

    if (ask_until_known(fleet, expr, &answer, err) < 0)
        return -1;
    if (answer.warning[0])
        (void)fprintf(stderr, "warning: %s\n", answer.warning);
    if (answer.invalid)
        return err_set(err, ERR_INVALID, "target '%s': %s", expr, answer.err);
    if (answer.err[0])
        return err_set(err, ERR_BUSY, "%s", answer.err);
    *ret_peels = answer.peels;
    return 0;
}

int fleet_check_target(struct arena *arena, const char *expr, struct err *err)
{
    const struct target *target;

    return parse_job_target(arena, expr, true, &target, err);
}

int fleet_resolve(struct fleet *fleet, const char *expr, struct param_strs *ret_peels,
                  struct err *err)
{
    const struct target *target;

    if (parse_job_target(fleet->arena, expr, true, &target, err) < 0)
        return -1;
    if (ask_for_targets(fleet, expr, ret_peels, err) == 0)
        return 0;
    if (err->code == ERR_INVALID || err->code == ERR_UNSUPPORTED)
        return -1;
    if (fleet->operator_name)
        return err->code == ERR_NOT_FOUND ? err_set(err, ERR_NOT_FOUND, FLEET_NO_MASTER) : -1;
    (void)fprintf(stderr, "warning: no master resolves targets (%s); reading all facts instead\n",
                  err->text);
    if (parse_job_target(fleet->arena, expr, false, &target, err) < 0)
        return -1;
    return scan_facts(fleet, target, ret_peels, err);
}

/* --- records ----------------------------------------------------------------------- */

/* It may wait for a second person, or have been rejected. */
static int explain_missing_job(struct fleet *fleet, const char *jid, struct err *err)
{
    struct approval approval;
    struct str bytes;

    if (fleet_bucket_get(fleet, STORE_APPROVALS, jid, &bytes, err) < 0 ||
        record_decode(fleet->arena, &approval_type, 1, bytes, &approval, err) < 0)
        return err_set(err, ERR_NOT_FOUND, "no such job: '%.64s'", jid);
    approval_explain(&approval, err);
    return -1;
}

int fleet_read_job(struct fleet *fleet, const char *jid, struct job *ret_job, struct err *err)
{
    struct str bytes;

    if (fleet_bucket_get(fleet, STORE_JOBS, jid, &bytes, err) < 0)
        return err->code == ERR_NOT_FOUND || err->code == ERR_INVALID
                   ? explain_missing_job(fleet, jid, err)
                   : -1;
    return record_decode(fleet->arena, &job_type, 1, bytes, ret_job, err);
}

bool fleet_job_is_dry_run(const struct job *job)
{
    const struct value *test = value_get(&job->args, "test");

    return (value_is(test, VALUE_BOOL) && test->b) || strcmp(job->function, "state.test") == 0;
}

static int64_t moment_ns(struct value_time time)
{
    return time.seconds * CLOCK_SECOND + time.nanoseconds;
}

int64_t fleet_job_duration(const struct job *job)
{
    const int64_t end = job_status_is_final(job->status) ? moment_ns(job->updated) : bus_time();

    return end - moment_ns(job->created);
}

/* --- dispatch ----------------------------------------------------------------------- */

/* A job with little time does not wait for long. */
static int64_t find_patience(const struct job *job)
{
    if (job->timeout <= 0 || job->timeout >= DISPATCH_NS)
        return DISPATCH_NS;
    return job->timeout > DISPATCH_LEAST_NS ? job->timeout : DISPATCH_LEAST_NS;
}

static int dispatch_once(struct fleet *fleet, struct str bytes, int64_t timeout,
                         struct job_reply *ret_reply, struct err *err)
{
    struct str reply;

    if (fleet_request(fleet,
                      &(struct nats_pub){ .subject = str_from(subject_template(SUBJECT_DISPATCH)),
                                          .payload = bytes },
                      timeout, &reply, err) < 0)
        return -1;
    return record_decode(fleet->arena, &job_reply_type, 1, reply, ret_reply, err);
}

/* The master that has claimed it sends it, or others see that it is gone. */
static void pause_dispatch(struct fleet *fleet)
{
    const bool never = false;
    struct err err;

    (void)fleet_wait(fleet, &never, PENDING_NS, &err);
}

/* It is unknown whether the job was taken: the request may wait at a master that is busy or
 * stopped, which dispatches it later. */
static int explain_silent_masters(const struct job *job, int64_t waited, struct err *err)
{
    return err_set(err, ERR_TIMEOUT,
                   "no master answered within %lld s: job %s (%.64s, %zu peel(s)) was sent and may "
                   "still run later; 'zester job show %s' shows its record ('no such job': no "
                   "master has taken it so far), and 'zester doctor' checks the masters",
                   (long long)(waited / CLOCK_SECOND), job->jid, job->function, job->targets.n,
                   job->jid);
}

int fleet_dispatch(struct fleet *fleet, const struct job *job, bool *ret_waits, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const int64_t now = clock_wall(), began = clock_now();
    struct job_reply reply = { .error = "" };
    struct job asked = *job;
    int result = -1, silences = 0;

    asked.created = asked.updated =
        (struct value_time){ now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) };
    if (record_encode(&bytes, &job_type, &asked, err) < 0)
        return -1;
    for (int i = 0; i < DISPATCH_TRIES && (result < 0 || reply.pending); i++) {
        if (result == 0)
            pause_dispatch(fleet);
        result = dispatch_once(fleet, buf_view(&bytes), find_patience(job), &reply, err);
        if (result < 0 && err->code == ERR_NOT_FOUND)
            return err_set(err, ERR_NOT_FOUND,
                           "no master is running (start zester-master, or use --direct)");
        if (result < 0 && err->code == ERR_UNSUPPORTED)
            return -1;
        if (result < 0 && err->code == ERR_TIMEOUT &&
            (++silences == SILENT_TRIES || fleet_is_over(fleet)))
            return explain_silent_masters(job, clock_now() - began, err);
    }
    if (result < 0)
        return -1;
    if (reply.error[0])
        return err_set(err, ERR_INVALID, "%s", reply.error);
    if (reply.waits && !ret_waits)
        return err_set(err, ERR_INVALID, "job %s waits for approval: zester job approve %s",
                       job->jid, job->jid);
    if (ret_waits)
        *ret_waits = reply.waits;
    return 0;
}

/* --- answers ------------------------------------------------------------------------ */

static void on_return_message(void *self, const struct nats_msg *msg)
{
    (void)fleet_answers_take(self, msg->subject, msg->payload);
}

int fleet_listen(struct fleet *fleet, const char *jid, struct fleet_answers *answers,
                 struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);

    if (subject_print_pattern(&subject, SUBJECT_JOB_RETURN,
                              &(struct subject_names){ .jid = str_from(jid) }, err) < 0)
        return -1;
    return nats_sub_new(fleet->js.conn,
                        &(struct nats_sub_options){ .subject = buf_text(&subject),
                                                    .message = on_return_message,
                                                    .self = answers },
                        err)
               ? 0
               : -1;
}

struct stored {
    struct fleet_answers *answers;
    const char *jid;
};

static void take_stored(void *self, const struct nats_kv_entry *entry)
{
    struct stored *stored = self;
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);
    struct str peel = entry->key;

    (void)str_cut(&peel, '.');
    buf_printf(&subject, "zester.job.%s.return.%.*s", stored->jid, (int)peel.n, peel.p);
    (void)fleet_answers_take(stored->answers, buf_view(&subject), entry->value);
}

/* Stored returns, from before the subscription. */
static int read_stored_returns(struct fleet *fleet, const char *jid, struct fleet_answers *answers,
                               struct err *err)
{
    struct stored stored = { answers, jid };

    return fleet_bucket_each(fleet, STORE_JOB_RETURNS, arena_printf(fleet->arena, "%s.*", jid),
                             take_stored, &stored, err);
}

int fleet_collect(struct fleet *fleet, const char *jid, int64_t timeout, bool from_store,
                  struct fleet_answers *answers, struct err *err)
{
    const int64_t end = clock_after(clock_now(), timeout);
    int64_t pause = STORED_PAUSE_NS;
    int result = from_store ? read_stored_returns(fleet, jid, answers, err) : 0;

    if (result < 0)
        return -1;
    while (!answers->all_come && clock_now() < end && !fleet_is_over(fleet)) {
        (void)fleet_wait(fleet, &answers->all_come,
                         pause < end - clock_now() ? pause : end - clock_now(), err);
        pause = pause < STORED_PAUSE_MAX_NS ? 2 * pause : pause;
        result = answers->all_come ? 0 : read_stored_returns(fleet, jid, answers, err);
    }
    return result;
}
