#include "fleet/master/jobs/dispatcher.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "fleet/bus/secret_args.h"
#include "fleet/jobs/claim.h"
#include "fleet/jobs/rollout.h"
#include "fleet/master/jobs/job_run.h"
#include "fleet/master/peels/roster.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "fleet/wire/peel_id.h"

const char *dispatcher_drop_name(enum dispatcher_drop reason)
{
    static const char *const names[DISPATCHER_DROPS] = {
        [DISPATCHER_MALFORMED] = "malformed",
        [DISPATCHER_SPOOF] = "spoof",
        [DISPATCHER_STRANGER] = "stranger",
    };

    return names[reason];
}

/* Buffer for returns until they are stored. */
#define RETURNS_BYTES_MAX ((size_t)256 << 20)
/* Returns are stored in batches; the last one of a job does not wait. */
#define RETURNS_LINGER_NS (5 * CLOCK_MS)

/* Messages missed while disconnected are in the stream. */
static void on_dispatcher_bus_event(struct nats_listener *listener, const struct nats_event *event)
{
    struct dispatcher *dispatcher = container_of(listener, struct dispatcher, listener);

    if (event->kind != NATS_EVENT_CONNECTED)
        return;
    MAP_EACH (&dispatcher->runs, entry) {
        struct job_run *run = entry->value;

        if (run->step == JOB_RUN_WATCHING || job_run_is_replaying(run))
            job_run_replay(run);
    }
}

struct dispatcher *dispatcher_new(const struct dispatcher_options *options, struct err *err)
{
    struct dispatcher *dispatcher = mem_zalloc(sizeof(*dispatcher));

    (void)err;
    dispatcher->options = *options;
    dispatcher->publisher = nats_publisher_new(&options->js, &(struct nats_publisher_options){ 0 });
    dispatcher->returns = nats_publisher_new(
        &options->js, &(struct nats_publisher_options){ .queue_max = DISPATCHER_TARGETS_MAX,
                                                        .bytes_max = RETURNS_BYTES_MAX,
                                                        .linger = RETURNS_LINGER_NS });
    nats_listen(options->js.conn, &dispatcher->listener, on_dispatcher_bus_event);
    return dispatcher;
}

void dispatcher_free(struct dispatcher *dispatcher)
{
    if (!dispatcher)
        return;
    nats_unlisten(dispatcher->options.js.conn, &dispatcher->listener);
    dispatcher->replays.is_held = true;
    job_rescues_drop(&dispatcher->rescues);
    for (struct map_entry *entry; (entry = map_next(&dispatcher->runs, NULL));)
        job_run_drop(entry->value);
    nats_publisher_free(dispatcher->returns);
    nats_publisher_free(dispatcher->publisher);
    map_done(&dispatcher->runs);
    free(dispatcher);
}

/* --- validation --------------------------------------------------------------------- */

bool dispatcher_is_jid(const char *jid)
{
    size_t n = strlen(jid);

    return n > 0 && n <= JOB_ID_MAX &&
           strspn(jid, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == n;
}

/* family.name, in lower case. */
bool dispatcher_is_function(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    size_t descendants = strspn(name, letters);
    size_t rest = name[descendants] == '.' ? strspn(name + descendants + 1, letters) : 0;

    return descendants > 0 && rest > 0 && name[descendants + 1 + rest] == '\0' &&
           descendants + rest < DISPATCHER_FUNCTION_MAX;
}

static int check_rollout(const struct job *job, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct rollout rollout;

    if (rollout_check(job, err) < 0)
        return -1;
    rollout_read(job, &rollout);
    if (rollout.gate_function.n > 0 &&
        !dispatcher_is_function(arena_str(&arena, rollout.gate_function).p))
        return err_set(err, ERR_INVALID, "gate: '%.*s' is not the name of a function (family.name)",
                       (int)(rollout.gate_function.n > 128 ? 128 : rollout.gate_function.n),
                       rollout.gate_function.p);
    return 0;
}

int dispatcher_check(const struct job *job, struct err *err)
{
    if (!dispatcher_is_jid(job->jid))
        return err_set(err, ERR_INVALID, "'%.64s' is not a valid job id", job->jid);
    if (!dispatcher_is_function(job->function))
        return err_set(err, ERR_INVALID, "'%.128s' is not the name of a function (family.name)",
                       job->function);
    if (job->targets.n == 0)
        return err_set(err, ERR_INVALID, "job %s has no targets", job->jid);
    if (job->targets.n > DISPATCHER_TARGETS_MAX)
        return err_set(err, ERR_LIMIT, "%zu targets, the limit is %d", job->targets.n,
                       DISPATCHER_TARGETS_MAX);
    if (job->timeout < 0 || job->timeout > DISPATCHER_TIMEOUT_MAX)
        return err_set(err, ERR_LIMIT, "the timeout must be between 0 and 24 hours");
    if (job_node_timeout(job) < 0)
        return err_set(err, ERR_LIMIT, "the peel timeout must be at most 24 hours");
    if (job_queue_seconds(job) < 0)
        return err_set(err, ERR_LIMIT, "a job can be queued for at most 6 days");
    for (size_t i = 0; i < job->targets.n; i++)
        if (!peel_id_is_valid(str_from(job->targets.p[i])))
            return err_set(err, ERR_INVALID, "'%.128s' is not a valid peel id", job->targets.p[i]);
    return check_rollout(job, err);
}

/* Before it is recorded: secrets that cannot be decrypted would never reach a peel. */
static int check_secrets(const struct dispatcher *dispatcher, const struct job *job,
                         struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value secrets;

    if (!job_has_secrets(job))
        return 0;
    if (secret_args_open(&arena, dispatcher->options.account(dispatcher->options.self), job,
                         &secrets, err) < 0)
        return -1;
    secret_args_wipe(&secrets);
    return 0;
}

/* --- jobs --------------------------------------------------------------------------- */

void dispatcher_send(struct dispatcher *dispatcher, const struct job *job, bool is_again,
                     dispatcher_fn *fn, void *self)
{
    struct job_run *run;
    struct err err;

    if (!job_is_orchestration(job) &&
        (dispatcher_check(job, &err) < 0 || check_secrets(dispatcher, job, &err) < 0)) {
        fn(self, DISPATCH_INVALID, err.text);
        return;
    }
    run = map_find(&dispatcher->runs, str_from(job->jid));
    if (run) {
        if (claim_is_same(job, &run->job))
            fn(self, run->step > JOB_RUN_MARKING ? DISPATCH_DUPLICATE : DISPATCH_PENDING, job->jid);
        else
            fn(self, DISPATCH_CONFLICT, "job id is already in use");
        return;
    }
    run = job_run_new(dispatcher, job);
    run->fn = fn;
    run->self = self;
    job_run_claim(run, is_again);
}

bool dispatcher_cancel(struct dispatcher *dispatcher, struct str jid)
{
    struct job_run *run = map_find(&dispatcher->runs, jid);

    return run && job_run_cancel(run);
}

bool dispatcher_has(const struct dispatcher *dispatcher, struct str jid)
{
    return map_has(&dispatcher->runs, jid);
}

bool dispatcher_hand_return(struct dispatcher *dispatcher, struct str jid, struct str subject,
                            struct str payload)
{
    struct job_run *run = map_find(&dispatcher->runs, jid);

    return run && job_run_hand_return(run, subject, payload);
}

bool dispatcher_knows_return(const struct dispatcher *dispatcher, struct str jid, struct str peel)
{
    const struct job_run *run = map_find(&dispatcher->runs, jid);

    return run && job_run_knows_return(run, peel);
}

void dispatcher_list(const struct dispatcher *dispatcher, struct arena *arena,
                     struct param_strs *ret_jids)
{
    VEC(const char *) jids = VEC_INIT;

    MAP_EACH (&dispatcher->runs, entry) {
        const struct job_run *run = entry->value;

        if (run->step < JOB_RUN_LINGERING)
            VEC_PUSH_IN(arena, &jids, run->job.jid);
    }
    *ret_jids = (struct param_strs){ jids.n, jids.p };
}

const struct dispatcher_counts *dispatcher_counts(const struct dispatcher *dispatcher)
{
    return &dispatcher->counts;
}

void dispatcher_note_gone(struct dispatcher *dispatcher, struct str peel)
{
    MAP_EACH (&dispatcher->runs, entry)
        job_run_note_gone(entry->value, peel);
}

void dispatcher_note_job(struct dispatcher *dispatcher, const struct job *job)
{
    if (job_queue_seconds(job) <= 0)
        return;
    MAP_EACH (&dispatcher->runs, entry)
        job_run_note_job(entry->value, job);
}
