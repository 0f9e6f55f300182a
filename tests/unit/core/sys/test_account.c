#include "test.h"

#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/account.h"

static struct arena arena = ARENA_INIT;
static struct err err;

TEST(accounts_are_found_by_name_and_number)
{
    const struct account *account;
    const struct account_group *group;

    CHECK_INT(account_find(&arena, "root", &account, &err), 0);
    CHECK_INT(account->uid, 0);
    CHECK_STR(account->home, "/root");
    CHECK_INT(account_find_uid(&arena, 0, &account, &err), 0);
    CHECK_STR(account->name, "root");
    CHECK_INT(account_find_group(&arena, "daemon", &group, &err), 0);
    CHECK_INT(group->gid, 1);
    CHECK_INT(account_find_gid(&arena, 1, &group, &err), 0);
    CHECK_STR(group->name, "daemon");
}

TEST(a_missing_account_is_not_an_error)
{
    const struct account *account;
    const struct account_group *group;

    CHECK_INT(account_find(&arena, "no-such-user", &account, &err), 0);
    CHECK(account == NULL);
    CHECK_INT(account_find_uid(&arena, 4242424, &account, &err), 0);
    CHECK(account == NULL);
    CHECK_INT(account_find_group(&arena, "no-such-group", &group, &err), 0);
    CHECK(group == NULL);
}

TEST(the_groups_of_an_account_begin_with_its_own)
{
    const struct account *account;
    struct account_gids gids;

    CHECK_INT(account_find(&arena, "root", &account, &err), 0);
    CHECK_INT(account_groups(&arena, account, &gids, &err), 0);
    CHECK(gids.list.n >= 1);
    CHECK_INT(gids.list.p[0], 0);
}

TEST(owners_are_parsed)
{
    static const struct {
        const char *text;
        long uid, gid;
    } cases[] = {
        { "root", 0, -1 },    { "root:daemon", 0, 1 }, { ":daemon", -1, 1 }, { "daemon:", 1, 1 },
        { "1234", 1234, -1 }, { "1234:55", 1234, 55 }, { "0:", 0, 0 },
    };
    struct account_owner owner;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_INT(account_parse_owner(cases[i].text, &owner, &err), 0);
        CHECK_INT(owner.uid, (uid_t)cases[i].uid);
        CHECK_INT(owner.gid, (gid_t)cases[i].gid);
    }
}

TEST(owners_that_make_no_sense_say_why)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        { "no-such-user", "no user 'no-such-user'" },
        { "root:no-such-group", "no group 'no-such-group'" },
        { "", "an owner is 'user', 'user:group' or ':group'" },
        { "4242424:", "'4242424:': no login group" },
        { "4294967295", "no user '4294967295'" },
    };
    struct account_owner owner;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_INT(account_parse_owner(cases[i].text, &owner, &err), -1);
        CHECK_STR(err.text, cases[i].why);
    }
}
