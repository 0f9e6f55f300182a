#include "fleet/wire/subject.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/wire/event.h"
#include "fleet/wire/job.h"
#include "fleet/wire/peel_id.h"
#include "test.h"

#define TEXT_MAX 2048

TEST(every_subject_is_parsed_back_to_its_row_and_names)
{
    const struct subject_names names = { .peel = STR("web-01"),
                                         .jid = STR("2abC"),
                                         .tag = STR("x.y") };

    for (int kind = 0; kind < SUBJECT_KINDS; kind++) {
        AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
        struct subject_names back;
        enum subject_kind found;
        struct err err;

        CHECK_INT(subject_print(&out, (enum subject_kind)kind, &names, &err), 0);
        CHECK(subject_parse(buf_view(&out), &found, &back));
        CHECK_INT(found, kind);
        CHECK(back.peel.n == 0 || str_eq(back.peel, names.peel));
        CHECK(back.jid.n == 0 || str_eq(back.jid, names.jid));
        CHECK(back.tag.n == 0 || str_eq(back.tag, names.tag));
    }
}

TEST(subjects_are_the_documented_ones)
{
    static const struct {
        enum subject_kind kind;
        const char *subject, *pattern;
    } cases[] = {
        { SUBJECT_COMMAND, "zester.cmd.p", "zester.cmd.*" },
        { SUBJECT_JOB_RETURN, "zester.job.j.return.p", "zester.job.*.return.*" },
        { SUBJECT_EVENT_SEND, "zester.event.p.send.a.b", "zester.event.*.send.>" },
        { SUBJECT_EVENT_BEACON, "zester.event.p.beacon.a.b", "zester.event.*.beacon.>" },
        { SUBJECT_EVENT_MASTER, "zester.event._master.a.b", "zester.event._master.>" },
        { SUBJECT_EVENT_ADMIN, "zester.event._admin.send.a.b", "zester.event._admin.send.>" },
    };
    const struct subject_names names = { STR("p"), STR("j"), STR("a.b") };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf subject = BUF_INIT(TEXT_MAX), pattern = BUF_INIT(TEXT_MAX);
        struct err err;

        CHECK_INT(subject_print(&subject, cases[i].kind, &names, &err), 0);
        CHECK_STR(buf_text(&subject), cases[i].subject);
        CHECK_INT(subject_print_pattern(&pattern, cases[i].kind, NULL, &err), 0);
        CHECK_STR(buf_text(&pattern), cases[i].pattern);
    }
}

TEST(every_documented_subject_and_queue_group_is_in_the_table)
{
    static const struct {
        enum subject_kind kind;
        const char *subject, *queue;
    } documented[] = {
        { SUBJECT_COMMAND, "zester.cmd.p", NULL },
        { SUBJECT_DISPATCH, "zester.dispatch", "zester.masters" },
        { SUBJECT_RESOLVE, "zester.target.resolve", "zester-target-resolvers" },
        { SUBJECT_JOB_DISPATCH, "zester.job.j.dispatch", NULL },
        { SUBJECT_JOB_ACK, "zester.job.j.ack.p", NULL },
        { SUBJECT_JOB_RETURN, "zester.job.j.return.p", NULL },
        { SUBJECT_JOB_STATUS, "zester.job.j.status", NULL },
        { SUBJECT_JOB_CANCEL, "zester.job.j.cancel", NULL },
        { SUBJECT_JOB_SCHEDULE, "zester.job.j.schedule.p", NULL },
        { SUBJECT_FACT, "zester.fact.p", NULL },
        { SUBJECT_REACTOR_TEST, "zester.reactor.test", "zester-reactor-testers" },
        { SUBJECT_ENROLL_APPROVE, "zester.admin.enroll.approve", "zester-masters-admin" },
        { SUBJECT_ENROLL_REJECT, "zester.admin.enroll.reject", "zester-masters-admin" },
        { SUBJECT_ENROLL_REVOKE, "zester.admin.enroll.revoke", "zester-masters-admin" },
        { SUBJECT_FILES_UPDATE, "zester.admin.fileserver.update", NULL },
        { SUBJECT_FILES_STATUS, "zester.admin.fileserver.status", NULL },
        { SUBJECT_FILES_ROLLBACK, "zester.admin.fileserver.rollback", NULL },
        { SUBJECT_FILES_CANARY, "zester.admin.fileserver.canary", NULL },
        { SUBJECT_JOB_APPROVE, "zester.admin.job.approve", "zester-masters-admin" },
        { SUBJECT_JOB_REJECT, "zester.admin.job.reject", "zester-masters-admin" },
        { SUBJECT_OPERATOR, "zester.operator.p.a.b", "zester-operators" },
        { SUBJECT_OPERATOR_REMOVE, "zester.admin.operator.remove", "zester-masters-admin" },
        { SUBJECT_AUDIT_NOTICE, "zester.admin.audit", "zester-masters-admin" },
        { SUBJECT_UPDATE_PEEL, "zester.update.cmd.p", NULL },
        { SUBJECT_UPDATE_START, "zester.update.rollout.start", "zester.masters" },
        { SUBJECT_UPDATE_ABORT, "zester.update.rollout.abort", "zester.masters" },
    };
    const struct subject_names names = { STR("p"), STR("j"), STR("a.b") };

    for (size_t i = 0; i < ARRAY_LEN(documented); i++) {
        AUTO_BUF struct buf subject = BUF_INIT(TEXT_MAX);
        const char *queue = subject_queue(documented[i].kind);
        struct err err;

        CHECK_INT(subject_print(&subject, documented[i].kind, &names, &err), 0);
        CHECK_STR(buf_text(&subject), documented[i].subject);
        CHECK_STR(queue ? queue : "", documented[i].queue ? documented[i].queue : "");
    }
}

TEST(a_name_that_is_missing_or_would_change_the_subject_is_refused)
{
    const struct subject_names wrong[] = {
        { { 0 }, STR("j"), STR("t") },
        { STR("a.b"), STR("j"), STR("t") },
        { STR("*"), STR("j"), STR("t") },
        { STR(">"), STR("j"), STR("t") },
        { STR("_master"), STR("j"), STR("t") },
        { STR("a b"), STR("j"), STR("t") },
        { STR("a\r\nPUB x"), STR("j"), STR("t") },
    };
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        CHECK_INT(subject_print(&out, SUBJECT_JOB_ACK, &wrong[i], &err), -1);
    CHECK_INT(out.n, 0);
}

TEST(a_master_returns_results_under_a_name_that_no_peel_can_have)
{
    const struct subject_names master = { STR(JOB_TARGET_MASTER), STR("j"), STR("t") };
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    char name[PEEL_ID_SIZE];
    enum subject_kind kind;
    struct subject_names back;
    struct err err;

    CHECK(!peel_id_is_valid(STR(JOB_TARGET_MASTER)));
    CHECK_INT(subject_print(&out, SUBJECT_COMMAND, &master, &err), -1);
    CHECK_INT(subject_print(&out, SUBJECT_EVENT_SEND, &master, &err), -1);
    CHECK_INT(subject_print(&out, SUBJECT_JOB_RETURN, &master, &err), 0);
    CHECK_STR(buf_text(&out), "zester.job.j.return._master");
    CHECK(subject_parse(buf_view(&out), &kind, &back));
    CHECK_INT(kind, SUBJECT_JOB_RETURN);
    CHECK(subject_parse(STR("zester.event._master.send.x"), &kind, &back));
    CHECK_INT(kind, SUBJECT_EVENT_MASTER);
    peel_id_decode(STR(JOB_TARGET_MASTER), name);
    CHECK_STR(name, "_master");
}

TEST(a_step_of_an_orchestration_has_the_id_of_its_run_its_state_and_its_attempt)
{
    char first[EVENT_JID_SIZE], again[EVENT_JID_SIZE], others[3][EVENT_JID_SIZE];

    event_step_id("rxn-1", "fleet.state:web", 1, first);
    event_step_id("rxn-1", "fleet.state:web", 1, again);
    event_step_id("rxn-2", "fleet.state:web", 1, others[0]);
    event_step_id("rxn-1", "fleet.state:db", 1, others[1]);
    event_step_id("rxn-1", "fleet.state:web", 2, others[2]);
    CHECK_STR(first, again);
    CHECK(str_starts(str_from(first), STR(EVENT_JOB_PREFIX)));
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        CHECK(strcmp(first, others[i]) != 0);
}

/* --- events ------------------------------------------------------------------------ */

TEST(the_subject_decides_origin_tag_and_key)
{
    static const struct {
        const char *subject, *key;
        enum event_origin type;
    } cases[] = {
        { "zester.event.web-01.send.myco.deploy.finished", "web-01/myco/deploy/finished",
          EVENT_FROM_PEEL },
        { "zester.event.web-01.beacon.service", "web-01/beacon/web-01/service", EVENT_FROM_PEEL },
        { "zester.event.web-01.beacon.disk.root", "web-01/beacon/web-01/disk/root",
          EVENT_FROM_PEEL },
        { "zester.event._master.enroll.pending.enr-123", "_master/enroll/pending/enr-123",
          EVENT_FROM_MASTER },
        { "zester.event._master.x", "_master/x", EVENT_FROM_MASTER },
        { "zester.event._admin.send.maintenance.start", "_admin/maintenance/start",
          EVENT_FROM_ADMIN },
        { "zester.event.a.send._x", "a/_x", EVENT_FROM_PEEL },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct event_source source;

        CHECK(event_parse_subject(&arena, str_from(cases[i].subject), &source));
        CHECK_STR(source.key, cases[i].key);
        CHECK_INT(source.type, cases[i].type);
    }
}

TEST(subjects_of_no_known_shape_are_refused)
{
    static const char *const subjects[] = {
        "",
        "zester",
        "zester.event",
        "zester.event.a",
        "zester.event.a.send",
        "zester.event.a.beacon",
        "zester.event.a.send.",
        "zester.event.a.send..x",
        "zester.event..send.x",
        "zester.event.a.other.x",
        "zester.event._admin.x",
        "zester.event._admin.beacon.x",
        "zester.event._evil.send.x",
        "zester.event._master",
        "zester.event._master.",
        "zester.event.*.send.x",
        "zester.event.a.send.>",
        "zester.event.a.send.*",
        "zester.event.a b.send.x",
        "zester.event.-a.send.x",
        "Zester.event.a.send.x",
        "zester.events.a.send.x",
        "zester.event.a.send.x y",
        "zester.event.a.send.x/y",
        "zester.cmd.a",
        "zester.job.j.ack.a",
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char longest[TEXT_MAX] = "zester.event.a.send.";
    struct event_source source;

    for (size_t i = 0; i < ARRAY_LEN(subjects); i++)
        CHECK(!event_parse_subject(&arena, str_from(subjects[i]), &source));
    memset(longest + strlen(longest), 'x', sizeof(longest) - strlen(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    CHECK(!event_parse_subject(&arena, str_from(longest), &source));
}

TEST(tags_are_read_with_slashes_or_dots_and_nothing_else)
{
    static const struct {
        const char *text, *tag;
    } cases[] = {
        { "a", "a" },      { "a/b", "a/b" },     { "a.b", "a/b" }, { "_a-1/B", "_a-1/B" },
        { "", NULL },      { "/a", NULL },       { "a/", NULL },   { "a//b", NULL },
        { "a.b/c", NULL }, { "a b", NULL },      { "a/*", NULL },  { "a.>", NULL },
        { "a\n", NULL },   { "\xc3\xa4", NULL },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const char *tag = NULL;
        struct err err;

        CHECK_INT(event_tag_read(&arena, str_from(cases[i].text), &tag, &err),
                  cases[i].tag ? 0 : -1);
        if (cases[i].tag)
            CHECK_STR(tag, cases[i].tag);
    }
}

TEST(ids_that_follow_from_others_are_hashes_with_one_zero_between_parts)
{
    char jid[EVENT_JID_SIZE], id[SHA256_HEX_SIZE], hex[SHA256_HEX_SIZE];

    event_job_id("web-01", "E1", "reactor.a", "block", jid);
    sha256_hex("web-01\0E1\0reactor.a\0block", 25, hex);
    CHECK_INT(strlen(jid), 36);
    CHECK(strncmp(jid, "rxn-", 4) == 0 && strncmp(jid + 4, hex, 32) == 0);
    event_derived_id("E1", "reactor.a", "block", id);
    sha256_hex("E1\0reactor.a\0block", 18, hex);
    CHECK_STR(id, hex);
}

/* --- ids of peels -------------------------------------------------------------------- */

TEST(a_host_name_is_one_token_on_the_wire_and_a_host_name_again)
{
    char id[PEEL_ID_SIZE], name[PEEL_ID_SIZE];
    struct err err;

    CHECK_INT(peel_id_encode(STR("web-01.example.com"), id, &err), 0);
    CHECK_STR(id, "web-01_example_com");
    peel_id_decode(str_from(id), name);
    CHECK_STR(name, "web-01.example.com");
}

TEST(names_that_could_not_come_back_or_have_a_meaning_on_subjects_are_refused)
{
    static const char *const names[] = {
        "", "a_b", "_master", "-a", ".a", "a b", "a*", "a>", "a/b"
    };
    char id[PEEL_ID_SIZE], longest[PEEL_ID_MAX + 2];
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        CHECK_INT(peel_id_encode(str_from(names[i]), id, &err), -1);
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    CHECK_INT(peel_id_encode(str_from(longest), id, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK(!peel_id_is_valid(STR("a.b")));
    CHECK(peel_id_is_valid(STR("a_b")));
    CHECK(peel_id_is_local_name(STR("localhost")));
    CHECK(!peel_id_is_local_name(STR("web")));
}
