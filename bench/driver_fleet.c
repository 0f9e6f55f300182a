/* driver_fleet MODE ...: many agents in one process, and the client who has work for them.
 *
 *     identities AUTH FOLDER KIND FIRST COUNT
 *                                            keys and credentials of COUNT agents, below FOLDER;
 *                                            KIND is one of those of fleet_work.h
 *     peels URL AUTH FOLDER FIRST COUNT      be those agents: src/fleet/peel, with a folder each; says
 *                                            "ready" when all are connected; until it is ended
 *     job URL AUTH COUNT ROUNDS FUNCTION     the sequence of a command line: who is meant by `*`,
 *                                            the job, and its returns. For each round: nanoseconds
 *                                            to the list of names, to the job's id, to the last of
 *                                            COUNT returns and to the end of the job, and the bytes
 *                                            of all returns
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/ksuid.h"
#include "fleet/bus/daemon_log.h"
#include "core/base/map.h"
#include "core/base/mem.h"
#include "fleet/bus/identity.h"
#include "fleet/nats/creds.h"
#include "fleet/nats/error.h"
#include "fleet/nats/request.h"
#include "fleet/peel/conf.h"
#include "fleet/peel/identity.h"
#include "fleet/peel/peel.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/loop.h"
#include "core/sys/pool.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"
#include "fleet/wire/question.h"
#include "fleet/wire/subject.h"

#include "fleet_work.h"
#include "session.h"

/* --- identities -------------------------------------------------------------------- */

static void make_identity(const struct identity_issuer *issuer, const char *folder,
                          const char *prefix, uint64_t number)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(NATS_CREDS_MAX);
    const struct fs_replace_options options = { .attr = { 0600, FS_KEEP, FS_KEEP },
                                                .sync = FS_NO_SYNC };
    const char *name = fleet_work_name(&arena, prefix, number), *jwt;
    const char *auth = arena_printf(&arena, "%s/%s/auth", folder, name);
    char public[NATS_NKEY_TEXT_SIZE];
    struct peel_identity identity;
    struct nats_creds creds;
    struct err err;

    session_check(peel_identity_open(&arena, auth, name, NULL, &identity, &err), &err);
    nats_nkey_print_public(&identity.key, public);
    session_check(
        identity_issue_peel(&arena, issuer, name, public, clock_wall() / CLOCK_SECOND, &jwt, &err),
        &err);
    creds = (struct nats_creds){ .jwt = mem_strdup(jwt), .key = identity.key };
    nats_creds_print(&creds, &text);
    session_check(fs_replace(identity.creds_file, buf_view(&text), &options, &err), &err);
    nats_creds_done(&creds);
}

static void make_identities(char **words)
{
    const uint64_t first = session_number(words[3]), count = session_number(words[4]);
    struct identity_issuer issuer;
    struct accounts accounts;
    bool is_separate;
    struct err err;

    session_check(identity_read_accounts(words[0], &accounts, &is_separate, &err), &err);
    issuer = identity_issuer(&accounts, ACCOUNT_PEELS, is_separate);
    for (uint64_t i = first; i < first + count; i++)
        make_identity(&issuer, words[1], words[2], i);
    accounts_done(&accounts);
}

/* --- peels -------------------------------------------------------------------------- */

/* Jobs that run at once in a process of agents: more would only take turns on the cores, and with
 * the loop that has to acknowledge the jobs of the others. */
#define CROWD_WORKERS 1

struct crowd {
    struct session session;
    struct arena arena;
    struct pool *workers;
    struct peel **peels;
    uint64_t count;
    struct timer timer;
};

static void on_peel_stopped(void *self)
{
    (void)self;
}

static struct peel *start_peel(struct crowd *crowd, char **words, uint64_t number)
{
    struct arena *arena = &crowd->arena;
    const char *name = fleet_work_name(arena, FLEET_WORK_REAL, number);
    const char *folder = arena_printf(arena, "%s/%s", words[2], name);
    struct peel_conf *conf = arena_alloc(arena, sizeof(*conf));
    struct peel *peel;

    *conf = (struct peel_conf){
        .id = name,
        .nats_url = words[0],
        .nats_ca = arena_printf(arena, "%s/nats-ca.crt", words[1]),
        .auth_dir = arena_printf(arena, "%s/auth", folder),
        .data_dir = arena_printf(arena, "%s/data", folder),
        .states_cache = arena_printf(arena, "%s/states", folder),
        .facts_file = arena_printf(arena, "%s/facts", folder),
        .health_addr = "",
        .strict_params = true,
    };
    peel = peel_new(&(struct peel_options){ .loop = crowd->session.loop,
                                            .hub = crowd->session.hub,
                                            .conf = conf,
                                            .hasty = true,
                                            .workers = crowd->workers,
                                            .stopped = on_peel_stopped },
                    &crowd->session.err);
    if (!peel)
        session_die(crowd->session.err.text);
    return peel;
}

static void on_crowd_timer(struct timer *timer)
{
    struct crowd *crowd = container_of(timer, struct crowd, timer);
    uint64_t connected = 0;

    for (uint64_t i = 0; i < crowd->count; i++)
        connected += peel_is_connected(crowd->peels[i]);
    if (connected == crowd->count) {
        (void)puts("ready");
        (void)fflush(stdout);
        return;
    }
    timer_set(loop_timers(crowd->session.loop), timer, clock_after(clock_now(), 20 * CLOCK_MS),
              on_crowd_timer);
}

static void run_peels(char **words)
{
    const uint64_t first = session_number(words[3]);
    struct crowd crowd = { .arena = ARENA_INIT, .count = session_number(words[4]) };
    const struct pool_options workers = { .limit = CROWD_WORKERS };

    daemon_log_start("peel", "bench");
    daemon_log_set(DAEMON_LOG_JSON, DAEMON_LOG_ERROR);
    fd_limit_raise();
    session_begin(&crowd.session);
    crowd.workers = pool_new(&workers, &crowd.session.err);
    if (!crowd.workers)
        session_die(crowd.session.err.text);
    crowd.peels = mem_zalloc(crowd.count * sizeof(struct peel *));
    for (uint64_t i = 0; i < crowd.count; i++)
        crowd.peels[i] = start_peel(&crowd, words, first + i);
    on_crowd_timer(&crowd.timer);
    session_run(&crowd.session);
}

/* --- the client -------------------------------------------------------------------- */

/* Different reasons that are shown when a round fails. */
#define REASONS_MAX 8

/* Why machines failed, and how many of them. */
struct reason {
    const char *text, *first; /* the first machine */
    uint64_t count;
};

struct client {
    struct session session;
    const char *function;
    struct arena arena; /* of a round */
    struct question_resolved resolved;
    struct nats_sub *returns, *status;
    struct map answered; /* peels */
    struct map reasons;  /* struct reason, by text */
    struct timer grace;
    char jid[KSUID_SIZE];
    uint64_t count, got, failed, bytes;
    int64_t began, resolved_at, dispatched_at, returned_at, ended_at;
};

static void ask(struct client *client, enum subject_kind kind, struct str payload,
                nats_reply_fn *fn)
{
    struct session *session = &client->session;

    session_check(nats_request(session->js.conn,
                               &(struct nats_pub){ .subject = str_from(subject_template(kind)),
                                                   .payload = payload },
                               FLEET_WORK_WAIT, fn, client, NULL, &session->err),
                  &session->err);
    session_run(session);
}

static void on_resolved(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct client *client = self;
    struct session *session = &client->session;

    client->resolved_at = clock_now();
    client->resolved = (struct question_resolved){ 0 };
    session_stop(session);
    if (error)
        return; /* no master yet: asked again */
    session_check(record_decode(&client->arena, &question_resolved_type, 0,
                                arena_str(&client->arena, msg->payload), &client->resolved,
                                &session->err),
                  &session->err);
}

static void on_dispatched(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct client *client = self;
    struct job_reply reply;

    session_check_error(error);
    client->dispatched_at = clock_now();
    session_check(record_decode(&client->arena, &job_reply_type, 0, msg->payload, &reply,
                                &client->session.err),
                  &client->session.err);
    if (reply.error[0])
        session_die(reply.error);
    session_stop(&client->session);
}

/* The first state that failed says more than the run. */
static const char *find_reason(struct arena *arena, const struct exec_return *returned)
{
    const struct value *results = value_get(&returned->return_data, "results");

    if (returned->error[0])
        return returned->error;
    for (size_t i = 0; value_is(results, VALUE_LIST) && i < results->list->count; i++) {
        const char *error = value_get_text(&results->list->items[i], "error");

        if (error && error[0])
            return arena_printf(arena, "%s: %s", value_get_text(&results->list->items[i], "name"),
                                error);
    }
    return "no reason given";
}

static void add_reason(struct client *client, const char *text, const char *peel)
{
    struct reason *reason = map_find(&client->reasons, str_from(text));

    if (!reason) {
        reason = ARENA_NEW(&client->arena, struct reason);
        reason->text = arena_strdup(&client->arena, text);
        reason->first = arena_strdup(&client->arena, peel);
        (void)map_set(&client->reasons, str_from(reason->text), reason);
    }
    reason->count++;
}

static void on_return(void *self, const struct nats_msg *msg)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct client *client = self;
    struct exec_return returned;

    session_check(
        record_decode(&arena, &exec_return_type, 0, msg->payload, &returned, &client->session.err),
        &client->session.err);
    if (map_find(&client->answered, str_from(returned.peel_id)))
        return; /* its peel had no answer of the stream in time, and sent it again */
    (void)map_set(&client->answered, str_from(arena_strdup(&client->arena, returned.peel_id)),
                  client);
    client->bytes += msg->payload.n;
    client->failed += !returned.success;
    if (!returned.success)
        add_reason(client, find_reason(&arena, &returned), returned.peel_id);
    if (++client->got < client->count)
        return;
    client->returned_at = clock_now();
    if (client->ended_at)
        session_stop(&client->session);
}

static void on_grace_over(struct timer *timer)
{
    session_stop(&container_of(timer, struct client, grace)->session);
}

/* It is said once, by the master that watched it; its record is final then. Returns come from their
 * peels, and may be on their way still. */
static void on_status(void *self, const struct nats_msg *msg)
{
    struct client *client = self;

    (void)msg;
    client->ended_at = clock_now();
    if (client->got == client->count)
        session_stop(&client->session);
    else
        timer_set(loop_timers(client->session.loop), &client->grace,
                  clock_after(client->ended_at, FLEET_WORK_GRACE), on_grace_over);
}

static void resolve(struct client *client)
{
    const struct question_resolve question = { .expr = "*", .type = "", .basket = "", .scope = "" };

    ask(client, SUBJECT_RESOLVE, session_encode(&client->arena, &question_resolve_type, &question),
        on_resolved);
}

static void dispatch(struct client *client)
{
    const struct job job = { .jid = client->jid,
                             .function = client->function,
                             .targets = client->resolved.peels,
                             .timeout = FLEET_WORK_WAIT,
                             .user = "bench",
                             .owner = "",
                             .state_id = "",
                             .target_expr = "*",
                             .v = EXEC_PROTOCOL };

    ask(client, SUBJECT_DISPATCH, session_encode(&client->arena, &job_type, &job), on_dispatched);
}

/* Machines without a return are a reason, too. */
static void add_silent(struct client *client)
{
    for (size_t i = 0; i < client->resolved.peels.n; i++)
        if (!map_find(&client->answered, str_from(client->resolved.peels.p[i])))
            add_reason(client, "no return", client->resolved.peels.p[i]);
}

static _Noreturn void explain_failure(struct client *client)
{
    size_t shown = 0;

    add_silent(client);
    MAP_EACH (&client->reasons, entry) {
        const struct reason *reason = entry->value;

        if (shown++ < REASONS_MAX)
            (void)fprintf(stderr, "%llu failed, the first is %s: %s\n",
                          (unsigned long long)reason->count, reason->first, reason->text);
    }
    if (shown > REASONS_MAX)
        (void)fprintf(stderr, "and for %zu other reasons\n", shown - REASONS_MAX);
    session_die("a return is missing, or failed");
}

static void run_round(struct client *client)
{
    client->answered = (struct map)MAP_INIT_IN(&client->arena);
    client->reasons = (struct map)MAP_INIT_IN(&client->arena);
    client->got = client->failed = client->bytes = 0;
    client->ended_at = 0;
    ksuid_new(clock_wall() / CLOCK_SECOND, client->jid);
    client->began = clock_now();
    resolve(client);
    if (client->resolved.peels.n != client->count)
        session_die("some peels are missing in the list of names");
    client->returns =
        session_listen(&client->session, SUBJECT_JOB_RETURN, client->jid, on_return, client);
    client->status =
        session_listen(&client->session, SUBJECT_JOB_STATUS, client->jid, on_status, client);
    dispatch(client);
    if (client->ended_at == 0 || client->got < client->count)
        session_run(&client->session);
    timer_clear(loop_timers(client->session.loop), &client->grace);
    nats_sub_free(client->returns);
    nats_sub_free(client->status);
    if (client->got != client->count || client->failed > 0)
        explain_failure(client);
}

static void show_round(const struct client *client)
{
    printf("%lld %lld %lld %lld %llu\n", (long long)(client->resolved_at - client->began),
           (long long)(client->dispatched_at - client->began),
           (long long)(client->returned_at - client->began),
           (long long)(client->ended_at - client->began), (unsigned long long)client->bytes);
}

/* A master may not have read the facts of all yet. */
static void wait_for_peels(struct client *client)
{
    const int64_t deadline = clock_after(clock_now(), FLEET_WORK_WAIT);

    do {
        resolve(client);
        if (clock_now() > deadline)
            session_die("the peels are not all known");
    } while (client->resolved.peels.n != client->count);
}

static void run_job(char **words)
{
    struct client client = { .arena = ARENA_INIT,
                             .count = session_number(words[2]),
                             .function = words[4] };
    const uint64_t rounds = session_number(words[3]);

    session_open(&client.session, words[0], words[1], "admin.creds");
    wait_for_peels(&client);
    for (uint64_t i = 0; i < rounds; i++) {
        arena_clear(&client.arena);
        run_round(&client);
        show_round(&client);
    }
    arena_done(&client.arena);
    session_close(&client.session);
}

static const struct {
    const char *name;
    int words;
    void (*run)(char **words);
} modes[] = {
    { "identities", 5, make_identities },
    { "peels", 5, run_peels },
    { "job", 5, run_job },
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        if (argc < 2 || strcmp(argv[1], modes[i].name) != 0 || argc != modes[i].words + 2)
            continue;
        modes[i].run(argv + 2);
        return EXIT_SUCCESS;
    }
    session_die("usage: see the top of bench/driver_fleet.c");
}
