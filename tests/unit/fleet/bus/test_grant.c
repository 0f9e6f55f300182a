#include "fleet/bus/grant.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/bus/fleet.h"
#include "fleet/nats/creds.h"
#include "fleet/nats/scene.h"
#include "fleet/nats/tls.h"
#include "core/sys/chance.h"
#include "fleet/wire/subject.h"
#include "test.h"

#define PEEL  "alice"
#define OTHER "bob"

/* --- the table alone --------------------------------------------------------------- */

TEST(a_peel_may_write_its_own_and_nothing_of_others)
{
    static const struct {
        enum grant_verb verb;
        const char *subject;
        bool allowed;
    } cases[] = {
        { GRANT_PUBLISH, "zester.job.J.return.alice", true },
        { GRANT_PUBLISH, "zester.job.J.return.bob", false },
        { GRANT_PUBLISH, "zester.event.alice.send.a.b", true },
        { GRANT_PUBLISH, "zester.event._master.a", false },
        { GRANT_PUBLISH, "$KV.facts.alice", true },
        { GRANT_PUBLISH, "$KV.facts.bob", false },
        { GRANT_PUBLISH, "$KV.facts.alice.x", false },
        { GRANT_PUBLISH, "$KV.secrets.alice", false },
        { GRANT_PUBLISH, "$JS.API.DIRECT.GET.KV_secrets.$KV.secrets.alice", true },
        { GRANT_PUBLISH, "$JS.API.DIRECT.GET.KV_secrets.$KV.secrets.bob", false },
        { GRANT_PUBLISH, "$JS.API.STREAM.MSG.GET.KV_secrets", false },
        { GRANT_PUBLISH, "zester.dispatch", false },
        { GRANT_PUBLISH, "zester.reactor.test", false },
        { GRANT_PUBLISH, "$KV.reactor-files.reactor/top.zy", false },
        { GRANT_PUBLISH, "$JS.API.DIRECT.GET.KV_reactor-files.$KV.reactor-files._manifest", false },
        { GRANT_PUBLISH, "$JS.API.STREAM.MSG.GET.KV_reactor-files", false },
        { GRANT_PUBLISH, "$JS.API.DIRECT.GET.KV_state-files.$KV.state-files._canary", true },
        { GRANT_PUBLISH, "$JS.API.DIRECT.GET.KV_state-files.$KV.state-files._canary.file.x", true },
        { GRANT_PUBLISH, "$KV.state-files._canary", false },
        { GRANT_PUBLISH, "$KV.state-files._canary.manifest", false },
        { GRANT_PUBLISH, "$KV.tree-history.states.revision.1", false },
        { GRANT_PUBLISH, "$JS.API.DIRECT.GET.KV_tree-history.$KV.tree-history.states.manifest.1",
          false },
        { GRANT_PUBLISH, "$JS.API.STREAM.MSG.GET.KV_tree-history", false },
        { GRANT_PUBLISH, "$JS.API.CONSUMER.CREATE.KV_reactor-files", false },
        { GRANT_PUBLISH, "$JS.API.CONSUMER.MSG.NEXT.events.reactor", false },
        { GRANT_PUBLISH, "$KV.update-status.peel.alice", true },
        { GRANT_PUBLISH, "$KV.update-status.peel.bob", false },
        { GRANT_PUBLISH, "$KV.update-status.master.alice", false },
        { GRANT_PUBLISH, "$KV.update-manifests.peel.linux.amd64.1", false },
        { GRANT_PUBLISH, "$KV.update-rollouts.rol-1", false },
        { GRANT_PUBLISH, "$O.update-binaries.C.x", false },
        { GRANT_PUBLISH, "zester.update.rollout.start", false },
        { GRANT_PUBLISH, "zester.update.cmd.alice", false },
        { GRANT_SUBSCRIBE, "zester.update.cmd.alice", true },
        { GRANT_SUBSCRIBE, "zester.update.cmd.bob", false },
        { GRANT_SUBSCRIBE, "zester.update.master.alice", false },
        { GRANT_SUBSCRIBE, "$KV.reactor-files.>", false },
        { GRANT_SUBSCRIBE, "zester.event.alice.>", false },
        { GRANT_SUBSCRIBE, "zester.cmd.alice", true },
        { GRANT_SUBSCRIBE, "zester.cmd.*", false },
        { GRANT_SUBSCRIBE, "zester.cmd.bob", false },
        { GRANT_SUBSCRIBE, "zester.event.>", false },
        { GRANT_SUBSCRIBE, ">", false },
        { GRANT_SUBSCRIBE, "_INBOX.alice.>", true },
        { GRANT_SUBSCRIBE, "_INBOX.>", false },
        { GRANT_SUBSCRIBE, "_INBOX.bob.x", false },
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct grants grants;
    struct err err;

    CHECK_INT(grant_list(&arena, GRANT_PEEL, PEEL, &grants, &err), 0);
    CHECK(grants.may_reply);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(grant_allows(&grants, cases[i].verb, cases[i].subject), cases[i].allowed);
    CHECK_INT(grant_list(&arena, GRANT_PEEL, "*", &grants, &err), -1);
    CHECK_INT(grant_list(&arena, GRANT_PEEL, "a.b", &grants, &err), -1);
}

TEST(a_leaf_node_may_what_its_peels_may_and_nothing_of_masters_and_operators)
{
    static const struct {
        enum grant_verb verb;
        const char *subject;
        bool allowed;
    } cases[] = {
        { GRANT_PUBLISH, "zester.job.J.return.alice", true },
        { GRANT_PUBLISH, "zester.event.bob.send.a.b", true },
        { GRANT_PUBLISH, "$KV.facts.bob", true },
        { GRANT_PUBLISH, "_INBOX.master.x", true },
        { GRANT_SUBSCRIBE, "zester.cmd.alice", true },
        { GRANT_SUBSCRIBE, "_INBOX.bob.x.1", true },
        { GRANT_PUBLISH, "zester.dispatch", false },
        { GRANT_PUBLISH, "zester.cmd.alice", false },
        { GRANT_PUBLISH, "$KV.jobs.J", false },
        { GRANT_PUBLISH, "$KV.secrets.alice", false },
        { GRANT_PUBLISH, "$KV.enrollments.x", false },
        { GRANT_PUBLISH, "$JS.API.STREAM.DELETE.KV_jobs", false },
        { GRANT_PUBLISH, "zester.event._master.a", false },
        { GRANT_SUBSCRIBE, "zester.job.J.return.alice", false },
        { GRANT_SUBSCRIBE, "zester.event.>", false },
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct grants grants;
    struct err err;

    CHECK_INT(grant_list(&arena, GRANT_LEAF, NULL, &grants, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(grant_allows(&grants, cases[i].verb, cases[i].subject), cases[i].allowed);
}

TEST(an_operator_with_a_name_asks_masters_and_publishes_nothing_else)
{
    static const struct {
        enum grant_verb verb;
        const char *subject;
        bool allowed, deaf; /* the second for those who hear nothing */
    } cases[] = {
        { GRANT_PUBLISH, "zester.operator.alice.dispatch", true, true },
        { GRANT_PUBLISH, "zester.operator.alice.js.STREAM.MSG.GET.KV_jobs", true, true },
        { GRANT_PUBLISH, "zester.operator.bob.dispatch", false, false },
        { GRANT_PUBLISH, "zester.operator.alice", false, false },
        { GRANT_PUBLISH, "zester.dispatch", false, false },
        { GRANT_PUBLISH, "zester.target.resolve", false, false },
        { GRANT_PUBLISH, "zester.cmd.web-01", false, false },
        { GRANT_PUBLISH, "zester.job.J.cancel", false, false },
        { GRANT_PUBLISH, "zester.admin.enroll.approve", false, false },
        { GRANT_PUBLISH, "zester.event._admin.send.a", false, false },
        { GRANT_PUBLISH, "$KV.operators.alice", false, false },
        { GRANT_PUBLISH, "$KV.jobs.J", false, false },
        { GRANT_PUBLISH, "$KV.facts.alice", false, false },
        { GRANT_PUBLISH, "$JS.API.STREAM.MSG.GET.KV_jobs", false, false },
        { GRANT_PUBLISH, "$JS.API.STREAM.MSG.GET.KV_secrets", false, false },
        { GRANT_PUBLISH, "$JS.API.CONSUMER.CREATE.KV_jobs", false, false },
        { GRANT_PUBLISH, "$JS.API.DIRECT.GET.KV_jobs.$KV.jobs.J", false, false },
        { GRANT_PUBLISH, "_INBOX._operator.alice.x", false, false },
        { GRANT_PUBLISH, "_INBOX.x", false, false },
        { GRANT_SUBSCRIBE, "_INBOX._operator.alice.>", true, true },
        { GRANT_SUBSCRIBE, "_INBOX._operator.bob.>", false, false },
        { GRANT_SUBSCRIBE, "_INBOX._operator.>", false, false },
        { GRANT_SUBSCRIBE, "_INBOX.alice.>", false, false }, /* the peel of that name */
        { GRANT_SUBSCRIBE, "_INBOX.>", false, false },
        { GRANT_SUBSCRIBE, "zester.job.J.return.*", true, false },
        { GRANT_SUBSCRIBE, "zester.job.J.progress.*", true, false },
        { GRANT_SUBSCRIBE, "zester.event.>", true, false },
        { GRANT_SUBSCRIBE, "zester.job.J.cancel", false, false },
        { GRANT_SUBSCRIBE, "zester.job.>", false, false },
        { GRANT_SUBSCRIBE, "zester.cmd.*", false, false },
        { GRANT_SUBSCRIBE, "zester.dispatch", false, false },
        { GRANT_SUBSCRIBE, "zester.operator.alice.>", false, false },
        { GRANT_SUBSCRIBE, "zester.operator.>", false, false },
        { GRANT_SUBSCRIBE, "$KV.>", false, false },
        { GRANT_SUBSCRIBE, ">", false, false },
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct grants grants, deaf, others;
    struct err err;

    CHECK_INT(grant_list(&arena, GRANT_OPERATOR, PEEL, &grants, &err), 0);
    CHECK_INT(grant_list(&arena, GRANT_OPERATOR_DEAF, PEEL, &deaf, &err), 0);
    CHECK(!grants.may_reply && !deaf.may_reply);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_INT(grant_allows(&grants, cases[i].verb, cases[i].subject), cases[i].allowed);
        CHECK_INT(grant_allows(&deaf, cases[i].verb, cases[i].subject), cases[i].deaf);
    }
    CHECK(grant_is_operator(&grants.allow[GRANT_PUBLISH], PEEL));
    CHECK(!grant_is_operator(&grants.allow[GRANT_PUBLISH], OTHER));
    CHECK_STR(grant_operator_inbox(&arena, PEEL), "_INBOX._operator." PEEL);
    for (int role = GRANT_PEEL; role <= GRANT_LEAF; role++) {
        CHECK_INT(grant_list(&arena, (enum grant_role)role, PEEL, &others, &err), 0);
        CHECK(!grant_is_operator(&others.allow[GRANT_PUBLISH], PEEL));
    }
    CHECK_INT(grant_list(&arena, GRANT_OPERATOR, "a.b", &grants, &err), -1);
    CHECK_INT(grant_list(&arena, GRANT_OPERATOR, ">", &grants, &err), -1);
}

TEST(an_admin_sends_events_as_admin_reads_all_of_them_and_tests_rules)
{
    static const struct {
        enum grant_verb verb;
        const char *subject;
        bool allowed;
    } cases[] = {
        { GRANT_PUBLISH, "zester.event._admin.send.a.b", true },
        { GRANT_PUBLISH, "zester.event._master.a", false },
        { GRANT_PUBLISH, "zester.event.alice.send.a", false },
        { GRANT_PUBLISH, "zester.reactor.test", true },
        { GRANT_SUBSCRIBE, "zester.event.>", true },
        { GRANT_SUBSCRIBE, "zester.event.alice.>", true },
        { GRANT_SUBSCRIBE, "zester.reactor.test", false }, /* who answers is a master */
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct grants grants;
    struct err err;

    CHECK_INT(grant_list(&arena, GRANT_ADMIN, "", &grants, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(grant_allows(&grants, cases[i].verb, cases[i].subject), cases[i].allowed);
}

/* --- every row, against a real server ------------------------------------------------ */

/* A server, and a peel that logs in to it. */
struct fleet {
    struct scene scene;
    struct fleet_server server;
    struct arena arena;
    struct nats_tls *tls;
    struct watched peel;
    struct nats_creds creds;
    int refused; /* subscriptions */
};

static int copy_creds(void *self, struct nats_creds *ret_creds, struct err *err)
{
    const struct fleet *fleet = self;

    (void)err;
    *ret_creds =
        (struct nats_creds){ .jwt = mem_strdup(fleet->creds.jwt), .key = fleet->creds.key };
    return 0;
}

static void issue_peel(struct fleet *fleet, const struct identity_issuer *issuer, int64_t now)
{
    unsigned char seed[ED25519_SEED_SIZE];
    char public_key[NATS_NKEY_TEXT_SIZE];
    const char *jwt;
    struct err err;

    chance_bytes(seed, sizeof(seed));
    nats_nkey_make(NATS_NKEY_USER, seed, &fleet->creds.key);
    nats_nkey_print_public(&fleet->creds.key, public_key);
    CHECK_INT(identity_issue_peel(&fleet->arena, issuer, PEEL, public_key, now, &jwt, &err), 0);
    fleet->creds.jwt = mem_strdup(jwt);
}

static void issue_operator(struct fleet *fleet, const struct identity_issuer *issuer,
                           enum grant_role role, int64_t now)
{
    const struct identity_operator who = {
        .name = PEEL, .is_deaf = role == GRANT_OPERATOR_DEAF, .now = now, .expires = now + 3600
    };
    const char *key;
    struct str creds;
    struct err err;

    CHECK_INT(identity_issue_operator(&fleet->arena, issuer, &who, &creds, &key, &err), 0);
    CHECK_INT(nats_creds_parse(creds, &fleet->creds, &err), 0);
}

/* GRANT_PEEL, or an operator of that name. */
static void fleet_begin(struct fleet *fleet, enum grant_role role)
{
    struct identity_issuer issuer;
    struct accounts accounts;
    bool is_separate;
    struct err err;
    int64_t now = clock_wall() / CLOCK_SECOND;

    *fleet = (struct fleet){ .arena = ARENA_INIT };
    scene_begin(&fleet->scene);
    fleet_start(&fleet->server);
    fleet->tls = nats_tls_new(&(struct nats_tls_options){ .ca_pem = fleet->server.root_pem }, &err);
    CHECK(fleet->tls != NULL);
    CHECK_INT(identity_read_accounts(fleet->server.auth_dir, &accounts, &is_separate, &err), 0);
    issuer = identity_issuer(&accounts, role == GRANT_PEEL ? ACCOUNT_PEELS : ACCOUNT_OPERATORS,
                             is_separate);
    if (role == GRANT_PEEL)
        issue_peel(fleet, &issuer, now);
    else
        issue_operator(fleet, &issuer, role, now);
    accounts_done(&accounts);
    watched_start(
        &fleet->scene, &fleet->peel,
        &(struct nats_options){ .servers = &fleet->server.url,
                                .server_count = 1,
                                .tls = fleet->tls,
                                .creds = copy_creds,
                                .creds_self = fleet,
                                .inbox_prefix = role == GRANT_PEEL
                                                    ? grant_inbox(&fleet->arena, PEEL)
                                                    : grant_operator_inbox(&fleet->arena, PEEL) });
    SCENE_RUN(&fleet->scene, fleet->peel.counts[NATS_EVENT_CONNECTED] > 0 ||
                                 fleet->peel.counts[NATS_EVENT_RETRY] > 0);
    CHECK_STR(fleet->peel.error, "");
}

static void fleet_end(struct fleet *fleet)
{
    nats_conn_free(fleet->peel.conn);
    scene_end(&fleet->scene);
    fleet_stop(&fleet->server);
    nats_tls_free(fleet->tls);
    nats_creds_done(&fleet->creds);
    arena_done(&fleet->arena);
}

static void on_flushed(void *self, const struct nats_error *error)
{
    CHECK(error == NULL);
    *(bool *)self = true;
}

static void flush(struct fleet *fleet)
{
    bool done = false;
    struct err err;

    CHECK_INT(nats_flush(fleet->peel.conn, on_flushed, &done, &err), 0);
    SCENE_RUN(&fleet->scene, done);
}

static void on_refused(void *self, const struct nats_error *error)
{
    CHECK(error != NULL);
    ((struct fleet *)self)->refused++;
}

static void on_message(void *self, const struct nats_msg *msg)
{
    (void)self;
    (void)msg;
}

/* Does the server let the peel do it? */
static bool is_let(struct fleet *fleet, enum grant_verb verb, const char *subject)
{
    int before = fleet->peel.counts[NATS_EVENT_DENIED] + fleet->refused;
    struct nats_sub *sub = NULL;
    struct err err;

    if (verb == GRANT_PUBLISH)
        CHECK_INT(nats_publish(fleet->peel.conn, &(struct nats_pub){ .subject = str_from(subject) },
                               &err),
                  0);
    else
        sub = nats_sub_new(
            fleet->peel.conn,
            &(struct nats_sub_options){
                .subject = subject, .message = on_message, .failed = on_refused, .self = fleet },
            &err);
    flush(fleet);
    nats_sub_free(sub);
    return fleet->peel.counts[NATS_EVENT_DENIED] + fleet->refused == before;
}

/* A subject that a pattern covers; patterns themselves are for subscriptions. */
static const char *fill_wildcards(struct arena *arena, const char *pattern)
{
    AUTO_BUF struct buf out = BUF_INIT(4096);

    for (const char *p = pattern; *p; p++)
        if (*p == '*')
            buf_add_text(&out, "X1");
        else if (*p == '>')
            buf_add_text(&out, "x.y");
        else
            buf_add_char(&out, *p);
    return buf_copy(&out, arena).p;
}

static void check_one(struct fleet *fleet, const struct grants *own, enum grant_verb verb,
                      const char *subject, int counts[2])
{
    bool expected = grant_allows(own, verb, subject), let = is_let(fleet, verb, subject);

    if (let != expected)
        print_error("%s %s\n", verb == GRANT_PUBLISH ? "publish" : "subscribe", subject);
    CHECK_INT(let, expected);
    counts[expected]++;
}

/* Everything that somebody may do, in the client's own name and in that of another. */
static void check_all(enum grant_role own_role, int counts[2])
{
    static const char *const peels[] = { PEEL, OTHER };
    struct fleet fleet;
    struct grants own;
    struct err err;

    fleet_begin(&fleet, own_role);
    CHECK_INT(grant_list(&fleet.arena, own_role, PEEL, &own, &err), 0);
    for (size_t p = 0; p < ARRAY_LEN(peels); p++)
        for (int role = 0; role < GRANT_ROLES; role++) {
            struct grants theirs;

            CHECK_INT(grant_list(&fleet.arena, (enum grant_role)role, peels[p], &theirs, &err), 0);
            for (int verb = 0; verb < GRANT_VERBS; verb++)
                for (size_t i = 0; i < theirs.allow[verb].n; i++) {
                    const char *pattern = theirs.allow[verb].p[i];

                    check_one(&fleet, &own, (enum grant_verb)verb,
                              fill_wildcards(&fleet.arena, pattern), counts);
                    if (verb == GRANT_SUBSCRIBE)
                        check_one(&fleet, &own, GRANT_SUBSCRIBE, pattern, counts);
                }
        }
    fleet_end(&fleet);
}

TEST(the_server_refuses_a_peel_everything_that_the_table_does_not_give_it)
{
    int counts[2] = { 0 };

    check_all(GRANT_PEEL, counts);
    CHECK(counts[true] > 20 && counts[false] > 60);
}

TEST(the_server_refuses_an_operator_everything_that_the_table_does_not_give_them)
{
    int counts[2] = { 0 };

    check_all(GRANT_OPERATOR, counts);
    CHECK(counts[true] > 5 && counts[false] > 100);
}

TEST(the_server_lets_an_operator_who_hears_nothing_ask_masters_only)
{
    int counts[2] = { 0 };

    check_all(GRANT_OPERATOR_DEAF, counts);
    CHECK(counts[true] > 2 && counts[false] > 100);
}

TEST(no_subject_of_the_fleet_can_be_used_in_the_name_of_another_peel)
{
    const struct subject_names names = { STR(OTHER), STR("J1"), STR("a.b") };
    static const char *const more[] = {
        "$JS.API.INFO",
        "$JS.API.STREAM.CREATE.x",
        "$JS.API.STREAM.DELETE.KV_secrets",
        "$JS.API.STREAM.PURGE.KV_facts",
        "$JS.API.STREAM.MSG.GET.KV_secrets",
        "$JS.API.STREAM.INFO.KV_secrets",
        "$JS.API.CONSUMER.CREATE.KV_secrets",
        "$JS.API.CONSUMER.CREATE.KV_secrets.x.$KV.secrets.bob",
        "$JS.API.DIRECT.GET.KV_secrets",
        "$JS.API.DIRECT.GET.KV_facts.$KV.facts.alice",
        "$JS.API.DIRECT.GET.KV_jobs.$KV.jobs.x",
        "$KV.jobs.x",
        "$KV.job-returns.x.alice",
        "$KV.enrollments.x",
        "$KV.leases.publisher",
        "$KV.state-files.a",
        "$KV.settings-files._revision",
        "$KV.reactor-files.a",
        "$KV.master-heartbeat.x",
        "$KV.peel-heartbeat.bob",
        "$KV.basket.bob.x",
        "$SYS.REQ.CLAIMS.UPDATE",
        "$SYS.REQ.SERVER.PING",
        "_INBOX.bob.x",
        "_INBOX.x",
        "zester.cmd.alice",
        "zester.update.cmd.alice",
    };
    struct fleet fleet;

    fleet_begin(&fleet, GRANT_PEEL);
    for (int kind = 0; kind < SUBJECT_KINDS; kind++) {
        AUTO_BUF struct buf subject = BUF_INIT(4096);
        struct err err;
        /* Anybody may ask who is meant; what a job is called is for those who know it. */
        bool open = kind == SUBJECT_RESOLVE;

        CHECK_INT(subject_print(&subject, (enum subject_kind)kind, &names, &err), 0);
        CHECK_INT(is_let(&fleet, GRANT_PUBLISH, buf_text(&subject)), open);
        CHECK_INT(is_let(&fleet, GRANT_SUBSCRIBE, buf_text(&subject)), kind == SUBJECT_JOB_CANCEL);
    }
    for (size_t i = 0; i < ARRAY_LEN(more); i++)
        CHECK(!is_let(&fleet, GRANT_PUBLISH, more[i]));
    fleet_end(&fleet);
}
