#include "kepler/access/acl.h"

#include "kepler/access/right.h"
#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "test.h"

enum { ALICE = 1001, BOB = 1002, CAROL = 1003, OPS = 50, DEV = 60 };

#define START  RIGHT_BIT(RIGHT_START)
#define STOP   RIGHT_BIT(RIGHT_STOP)
#define STATUS RIGHT_BIT(RIGHT_STATUS)
#define LOGS   RIGHT_BIT(RIGHT_LOGS)

/* alice owns it; bob may start and is in ops and dev, which may look and stop. */
static struct acl make_acl(struct arena *arena)
{
    static struct value checked, ours, late;
    struct acl acl = { .lua = NULL };

    checked = value_text("user");
    ours = value_text("dev");
    late = value_text("ops");
    VEC_PUSH_IN(arena, &acl.users.list,
                ((struct acl_rule){ .who = "bob", .rights = START, .authorize = &checked }));
    VEC_PUSH_IN(arena, &acl.users.list,
                ((struct acl_rule){ .who = "1003", .rights = LOGS, .authorize = NULL }));
    VEC_PUSH_IN(arena, &acl.groups.list,
                ((struct acl_rule){ .who = "dev", .rights = STATUS, .authorize = &ours }));
    VEC_PUSH_IN(arena, &acl.groups.list,
                ((struct acl_rule){ .who = "50", .rights = STOP, .authorize = &late }));
    return acl;
}

static struct acl_caller make_caller(struct arena *arena, enum acl_caller_kind kind, uid_t uid)
{
    static const char *const names[] = { "alice", "bob", "carol" };
    struct acl_caller caller = { .kind = kind,
                                 .uid = uid,
                                 .gid = uid,
                                 .name = uid == 0 ? "root" : names[uid - ALICE],
                                 .rights = START | STATUS };

    VEC_PUSH_IN(arena, &caller.groups, ((struct acl_group){ uid, NULL }));
    if (uid == BOB) {
        VEC_PUSH_IN(arena, &caller.groups, ((struct acl_group){ DEV, "dev" }));
        VEC_PUSH_IN(arena, &caller.groups, ((struct acl_group){ OPS, "ops" }));
    }
    return caller;
}

TEST(the_table_of_effective_rights_holds)
{
    static const struct {
        enum acl_caller_kind kind;
        uid_t uid;
        bool rules, owned, may_load;
        uint64_t rights;
    } cases[] = {
        { ACL_ROOT, 0, true, true, true, RIGHT_ALL },
        { ACL_ROOT, 0, false, false, true, RIGHT_ALL },
        { ACL_MEMBER, ALICE, true, true, true, RIGHT_ALL },
        { ACL_MEMBER, ALICE, false, true, true, RIGHT_ALL },
        { ACL_MEMBER, BOB, true, true, true, START | STATUS | STOP },
        { ACL_MEMBER, BOB, false, true, true, 0 },
        { ACL_MEMBER, CAROL, true, true, true, LOGS },
        { ACL_MEMBER, BOB, false, false, true, RIGHT_ALL },
        { ACL_TOKEN, 0, true, true, true, START | STATUS },
        { ACL_TOKEN, ALICE, false, true, true, START | STATUS },
        { ACL_TOKEN, BOB, true, true, true, START | STATUS },
        { ACL_TOKEN, CAROL, true, true, true, 0 },
        { ACL_TOKEN, BOB, false, true, true, 0 },
        { ACL_TOKEN, BOB, false, false, true, START | STATUS },
        { ACL_TOKEN, BOB, false, false, false, 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct acl acl = make_acl(&arena);
        const struct acl_subject subject = { cases[i].rules ? &acl : NULL, cases[i].owned, ALICE };
        struct acl_caller caller = make_caller(&arena, cases[i].kind, cases[i].uid);

        caller.may_load = cases[i].may_load;
        CHECK_INT(acl_judge(&arena, &subject, &caller).rights, cases[i].rights);
    }
}

TEST(a_verdict_says_where_its_rights_come_from)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct acl acl = make_acl(&arena);
    const struct acl_subject subject = { &acl, true, ALICE };
    struct acl_caller caller = make_caller(&arena, ACL_TOKEN, BOB);
    static const struct acl_source expected[] = {
        { ACL_FROM_USER, "bob", START, true },
        { ACL_FROM_GROUP, "50", STOP, true },
        { ACL_FROM_GROUP, "dev", STATUS, true },
        { ACL_FROM_TOKEN, "web", START | STATUS, false },
    };
    struct acl_verdict verdict;

    caller.token_name = "web";
    verdict = acl_judge(&arena, &subject, &caller);
    CHECK_INT(verdict.sources.n, ARRAY_LEN(expected));
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        CHECK_INT(verdict.sources.p[i].origin, expected[i].origin);
        CHECK_STR(verdict.sources.p[i].who, expected[i].who);
        CHECK_INT(verdict.sources.p[i].rights, expected[i].rights);
        CHECK_INT(verdict.sources.p[i].authorizes, expected[i].authorizes);
    }
    caller = make_caller(&arena, ACL_MEMBER, ALICE);
    CHECK_INT(acl_judge(&arena, &subject, &caller).sources.p[0].origin, ACL_FROM_OWNER);
}

TEST(authorizers_run_in_order_and_root_bypasses_them)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct acl acl = make_acl(&arena);
    const struct acl_subject subject = { &acl, true, ALICE };
    struct acl_caller caller = make_caller(&arena, ACL_TOKEN, BOB);
    const struct value own = value_text("token");
    static const char *const order[] = { "token", "user", "ops", "dev" };
    struct acl_verdict verdict;

    caller.authorize = &own;
    verdict = acl_judge(&arena, &subject, &caller);
    CHECK_INT(verdict.authorizers.n, ARRAY_LEN(order));
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        CHECK_STR(verdict.authorizers.p[i].code->s.p, order[i]);
    caller = make_caller(&arena, ACL_ROOT, 0);
    CHECK_INT(acl_judge(&arena, &subject, &caller).authorizers.n, 0);
}

TEST(a_rule_that_names_the_owner_runs_its_authorizer)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct acl acl = make_acl(&arena);
    const struct acl_subject subject = { &acl, true, BOB };
    struct acl_caller caller = make_caller(&arena, ACL_MEMBER, BOB);
    struct acl_verdict verdict = acl_judge(&arena, &subject, &caller);

    CHECK(verdict.rights == RIGHT_ALL);
    CHECK_INT(verdict.authorizers.n, 3);
}

TEST(hardening_levels_are_ordered_and_named)
{
    enum hardening level = HARDENING_NONE;
    struct err err;

    CHECK_INT(hardening_max(HARDENING_NO_ROOT, HARDENING_NONE), HARDENING_NO_ROOT);
    CHECK_INT(hardening_max(HARDENING_NO_ROOT, HARDENING_STRICT), HARDENING_STRICT);
    CHECK_INT(hardening_parse(STR("strict"), &level, &err), 0);
    CHECK_INT(level, HARDENING_STRICT);
    CHECK_INT(hardening_parse(STR("no_root"), &level, &err), -1);
    CHECK_STR(err.text, "unknown hardening level 'no_root' (did you mean 'no-root'?)");
    CHECK_INT(hardening_parse(STR("paranoid"), &level, &err), -1);
    CHECK_STR(err.text, "unknown hardening level 'paranoid': expected none, no-root or strict");
    CHECK_INT(level, HARDENING_STRICT);
}
