/* What MySQL servers print about accounts, and what is granted. */
#include "test.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/modules/mysql/server.h"
#include "states/modules/mysql_grants/privileges.h"
#include "states/modules/mysql_user/identity.h"

static const char *identity(struct arena *arena, const char *statement)
{
    struct mysql_identity found;

    identity_parse(arena, str_from(statement), &found);
    return arena_printf(arena, "%s|%s|%d", found.plugin.p, found.hash.p, found.several);
}

TEST(an_account_is_read_as_each_server_prints_it)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    CHECK_STR(identity(&arena, "CREATE USER `a'b`@`%` IDENTIFIED BY PASSWORD '*6C'"),
              "mysql_native_password|*6C|0");
    CHECK_STR(identity(&arena, "CREATE USER `IDENTIFIED`@`x`"), "mysql_native_password||0");
    CHECK_STR(identity(&arena, "CREATE USER `a`@`x` REQUIRE SSL"), "mysql_native_password||0");
    CHECK_STR(identity(&arena, "CREATE USER `a`@`x` IDENTIFIED VIA unix_socket"), "unix_socket||0");
    CHECK_STR(identity(&arena, "CREATE USER `a`@`x` IDENTIFIED VIA mysql_native_password USING "
                               "'inv' OR unix_socket"),
              "mysql_native_password|inv|1");
    CHECK_STR(identity(&arena,
                       "CREATE USER 'a'@'x' IDENTIFIED WITH 'sha256_password' AS 'a''b\\'c' "
                       "REQUIRE NONE PASSWORD EXPIRE DEFAULT"),
              "sha256_password|a'b'c|0");
    CHECK_STR(identity(&arena, ""), "mysql_native_password||0");
}

TEST(altering_an_account_back_removes_a_new_password)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    CHECK_STR(identity_alter(&arena, STR("CREATE USER `a`@`x` IDENTIFIED VIA s REQUIRE SSL")),
              "ALTER USER `a`@`x` IDENTIFIED VIA s REQUIRE SSL");
    CHECK_STR(identity_alter(&arena, STR("CREATE USER `a b`@`x` REQUIRE SSL")),
              "ALTER USER `a b`@`x` IDENTIFIED BY '' REQUIRE SSL");
}

TEST(a_native_hash_equals_that_of_the_server)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *hash;
    struct err err;

    CHECK_INT(identity_hash_native(&arena, "mypass", &hash, &err), 0);
    CHECK_STR(hash, "*6C8989366EAF75BB670AD8EA7A7FC1176A95CEF4");
}

static const char *granted(struct arena *arena, const char *line, const char *object)
{
    struct privileges set = { 0 };
    struct err err;

    if (privileges_add_grant(arena, str_from(line), str_from(object), &set, &err) < 0)
        return arena_strdup(arena, err.text);
    return privileges_text(arena, &set);
}

TEST(a_line_of_grants_counts_for_its_object_only)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    CHECK_STR(granted(&arena,
                      "GRANT SELECT, INSERT (`a`, `b`) ON `d`.`t` TO `u`@`h` WITH GRANT OPTION",
                      "`d`.`t`"),
              "GRANT OPTION, SELECT, INSERT (`a`), INSERT (`b`)");
    CHECK_STR(granted(&arena, "GRANT SELECT ON `d`.* TO `u`@`h`", "`d`.`t`"), "USAGE");
    CHECK_STR(granted(&arena, "GRANT SELECT ON `d ON ``x`.* TO `GRANT OPTION`@`h`", "`d ON ``x`.*"),
              "SELECT");
    CHECK_STR(granted(&arena, "GRANT `role` TO `u`@`h`", "*.*"), "USAGE");
    CHECK_STR(granted(&arena, "GRANT USAGE ON *.* TO `u`@`h` IDENTIFIED BY PASSWORD 'x'", "*.*"),
              "USAGE");
}

static const char *object(struct arena *arena, const char *level, bool escape)
{
    struct str found;
    struct err err;

    return privileges_object(arena, str_from(level), escape, NULL, &found, &err) < 0 ? "refused"
                                                                                     : found.p;
}

TEST(objects_are_quoted_and_wildcards_escaped_on_request)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    CHECK_STR(object(&arena, "my_db.*", true), "`my\\_db`.*");
    CHECK_STR(object(&arena, "my%db.*", false), "`my%db`.*");
    CHECK_STR(object(&arena, "`my``db`.*", false), "`my``db`.*");
    CHECK_STR(object(&arena, "my_db.a_t", true), "`my_db`.`a_t`");
    CHECK_STR(object(&arena, "*.*", true), "*.*");
    CHECK_STR(object(&arena, "PROCEDURE d.p", true), "PROCEDURE `d`.`p`");
    CHECK_STR(object(&arena, "d.t` TO x; DROP", true), "`d`.`t`` TO x; DROP`");
    CHECK_STR(object(&arena, "*", true), "refused");
    CHECK_STR(object(&arena, "d", true), "refused");
    CHECK_STR(object(&arena, "d.", true), "refused");
}

TEST(words_that_are_not_privileges_are_refused)
{
    static const char *const texts[] = { "",         "select,",   "select; drop",
                                         "select (", "select ()", "all 'x'" };
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct privileges set = { 0 };
        struct err err;

        CHECK_INT(privileges_parse(&arena, str_from(texts[i]), &set, &err), -1);
    }
}

TEST(all_privileges_do_not_cover_the_grant_option)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct privileges all = { 0 }, some = { 0 }, left;
    struct err err;

    CHECK_INT(privileges_parse(&arena, STR("all"), &all, &err), 0);
    CHECK_INT(privileges_parse(&arena, STR("select, insert (a), Lock  Tables, grant option"), &some,
                               &err),
              0);
    left = privileges_minus(&arena, &some, &all);
    CHECK_STR(privileges_text(&arena, &left), "GRANT OPTION");
    left = privileges_minus(&arena, &all, &some);
    CHECK_STR(privileges_text(&arena, &left), "ALL PRIVILEGES");
}

TEST(texts_and_names_cannot_end_their_quotes)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);

    server_add_text(&sql, STR("a'b\\"));
    server_add_name(&sql, STR("c`d"));
    CHECK_STR(buf_text(&sql), "'a''b\\\\'`c``d`");
}
