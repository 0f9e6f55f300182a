#include "fleet/master/api/token.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "test.h"

TEST(a_header_has_a_secret_or_not)
{
    static const struct {
        const char *header, *secret;
    } cases[] = {
        { "Bearer abc", "abc" }, { "bearer abc", "abc" }, { "Bearer  abc ", "abc" },
        { "Bearer a b", "a b" }, { "Bearer", NULL },      { "Bearer ", NULL },
        { "Basic abc", NULL },   { "Bearerabc", NULL },   { "", NULL },
        { "BearerX abc", NULL }, { NULL, NULL },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str secret = STR("");

        CHECK(api_token_bearer(cases[i].header, &secret) == (cases[i].secret != NULL));
        if (cases[i].secret)
            CHECK(str_is(secret, cases[i].secret));
    }
}

TEST(secrets_are_equal_only_if_every_byte_is)
{
    const struct api_digest one = api_token_digest(STR("secret")),
                            same = api_token_digest(STR("secret"));
    struct api_digest other = one;

    CHECK(api_token_same(&one, &same));
    for (size_t i = 0; i < sizeof(other.bytes); i++) {
        other = one;
        other.bytes[i] ^= 1;
        CHECK(!api_token_same(&one, &other));
    }
}

/* Returns the mistakes of a list, one per line. */
static const char *read_tokens(struct arena *arena, const char *yaml, struct api_tokens *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(arena);
    struct value list;

    CHECK(yaml_parse(arena, "conf", str_from(yaml), NULL, &list, &diags) == 0);
    api_tokens_read(arena, &list, ret, &diags);
    VEC_EACH (&diags.list, diag)
        buf_printf(&out, "%s%u: %s", out.n > 0 ? "\n" : "", diag->at.line, diag->text);
    return buf_copy(&out, arena).p;
}

TEST(a_list_of_tokens_is_read_with_all_its_mistakes)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct api_tokens tokens;

    CHECK_STR(read_tokens(&arena,
                          "- username: ci\n  token_file: a\n- username: tv@hall\n  "
                          "token_file: /b\n  role: viewer\n",
                          &tokens),
              "");
    CHECK_INT(tokens.n, 2);
    CHECK_STR(tokens.p[0].username, "ci");
    CHECK(tokens.p[0].policy.role == OPERATOR_ADMIN);
    CHECK(tokens.p[1].policy.role == OPERATOR_VIEWER);
    CHECK_STR(tokens.p[0].policy.name, "api:ci");
    CHECK_STR(tokens.p[0].policy.target, "*");
    CHECK_STR(tokens.p[0].policy.functions.p[0], "*");
    CHECK(api_tokens_has_user(&tokens, "api:ci") && !api_tokens_has_user(&tokens, "api:c"));
    CHECK_STR(read_tokens(&arena, "- username: a b\n  token_file: a\n- 5\n", &tokens),
              "1: 'username': a name has up to 64 letters, digits and . _ @ -\n"
              "3: 'api.tokens': an item must be a map, got an integer");
    CHECK_STR(read_tokens(&arena, "[]", &tokens), "");
    CHECK_INT(tokens.n, 0);
    api_tokens_read(&arena, NULL, &tokens, NULL);
    CHECK_INT(tokens.n, 0);
}

TEST(a_token_has_the_policy_of_an_operator_or_its_own)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct api_tokens tokens;

    CHECK_STR(read_tokens(&arena,
                          "- {username: a, token_file: a, operator: alice}\n"
                          "- {username: b, token_file: b, role: operator, target: web*, functions: "
                          "[state.*], approvals: cmd.run}\n",
                          &tokens),
              "");
    CHECK_STR(tokens.p[0].operator_name, "alice");
    CHECK(!tokens.p[1].operator_name && tokens.p[1].policy.role == OPERATOR_OPERATOR);
    CHECK_STR(tokens.p[1].policy.target, "web*");
    CHECK_STR(tokens.p[1].policy.approvals.p[0], "cmd.run");
    CHECK(!api_tokens_has_user(&tokens, "api:a"));
    CHECK_STR(read_tokens(&arena,
                          "- {username: a, token_file: a, operator: admin}\n"
                          "- {username: b, token_file: b, operator: bob, role: viewer, target: x}\n"
                          "- {username: c, token_file: c, role: viewer, functions: [a.b]}\n"
                          "- {username: d, token_file: d, target: '(web*'}\n",
                          &tokens),
              "1: 'operator': 'admin' is reserved for the holder of admin.creds\n"
              "2: 'role': not allowed with 'operator', whose policy applies\n"
              "2: 'target': not allowed with 'operator', whose policy applies\n"
              "3: 'functions': has no effect: the role cannot run jobs\n"
              "4: 'target': target:1:1: this parenthesis is never closed");
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    CHECK(file != NULL);
    CHECK(fputs(text, file) >= 0 && fclose(file) == 0);
}

TEST(a_secret_is_compared_with_the_current_file)
{
    static const struct api_token list[] = {
        { .username = "ci", .token_file = "ci" },
        { .username = "pipe", .token_file = "pipe" },
        { .username = "tv", .token_file = "tv", .policy.role = OPERATOR_VIEWER },
    };
    const struct api_tokens tokens = { ARRAY_LEN(list), list };
    const struct api_digest secret = api_token_digest(STR("secret-1")),
                            empty = api_token_digest(STR(""));
    char folder[] = "/tmp/test-api-token-XXXXXX", path[256];

    CHECK(mkdtemp(folder) != NULL);
    CHECK(api_tokens_find(&tokens, folder, &secret) == NULL);
    (void)snprintf(path, sizeof(path), "%s/pipe", folder);
    CHECK(mkfifo(path, 0600) == 0); /* must not block */
    write_file(folder, "ci", "\n");
    CHECK(api_tokens_find(&tokens, folder, &empty) == NULL);
    write_file(folder, "tv", "secret-1\n");
    CHECK(api_tokens_find(&tokens, folder, &secret) == &list[2]);
    write_file(folder, "ci", "secret-1");
    write_file(folder, "tv", "secret-2");
    CHECK(api_tokens_find(&tokens, folder, &secret) == &list[0]);
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, list[i].token_file);
        CHECK(unlink(path) == 0);
    }
    CHECK(rmdir(folder) == 0);
}
