#include "kepler/config/authorizer.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/sys/clock.h"
#include "test.h"

/* A start request from alice. */
static int ask_with(const char *lua, const char *code, bool *ret_agrees, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value text = value_text(code), functions = value_text(lua ? lua : "");
    struct value request = value_map(value_map_new(&arena, 1));
    struct value caller = value_map(value_map_new(&arena, 1));
    const struct authorizer_question question = {
        .code = &text, .lua = lua ? &functions : NULL, .request = &request, .caller = &caller
    };

    value_map_set(&arena, request.map, value_text("action"), value_text("start"));
    value_map_set(&arena, caller.map, value_text("username"), value_text("alice"));
    return authorizer_ask(&question, ret_agrees, err);
}

static bool agrees(const char *lua, const char *code)
{
    struct err err;
    bool answer = false;

    return ask_with(lua, code, &answer, &err) == 0 && answer;
}

TEST(only_true_accepts_a_request)
{
    static const char *const no[] = {
        "return false", "return nil",  "return 1", "return 'true'",
        "return {}",    "local x = 1", "",         "return not true"
    };

    CHECK(agrees(NULL, "return true"));
    CHECK(agrees(NULL, "return request.action == 'start' and caller.username == 'alice'"));
    CHECK(!agrees(NULL, "return request.action == 'stop'"));
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        CHECK(!agrees(NULL, no[i]));
}

TEST(shared_functions_are_defined_and_read_only)
{
    static const char lua[] = "count = 0 table_of = {n = 1}\n"
                              "function may(a) return a == 'start' end\n"
                              "function bump() count = count + 1 return true end\n"
                              "function add() other = 1 return true end\n";

    CHECK(agrees(lua, "return may(request.action)"));
    CHECK(agrees(lua, "return count == 0 and table_of.n == 1"));
    CHECK(!agrees(lua, "return bump()"));
    CHECK(!agrees(lua, "return add()"));
    CHECK(!agrees(lua, "may = function() return true end return true"));
    CHECK(!agrees(lua, "count = 5 return true"));
    CHECK(!agrees(lua, "request.action = 'stop' return true"));
    CHECK(!agrees("error('no')", "return true"));
}

TEST(a_strict_sandbox_lacks_what_expressions_have)
{
    CHECK(agrees(NULL, "return global == nil and os.date == nil and os.getgroups == nil"));
    CHECK(agrees(NULL, "return load == nil and io == nil and debug == nil and require == nil"));
    CHECK(agrees(NULL, "return os.time() > 0 and os.clock() >= 0"));
}

TEST(endless_or_large_authorizers_are_aborted_and_refused)
{
    static const struct {
        const char *lua, *code, *error;
    } cases[] = {
        { NULL, "while true do end", "time limit" },
        { "while true do end", "return true", "time limit" },
        { NULL, "pcall(function() while true do end end) return true", "time limit" },
        { NULL, "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end return true",
          "limit" },
        { NULL, "return (('a'):rep(1e5)):find(('.-'):rep(50) .. 'b') == nil", "limit" },
        { NULL, "error('secret')", "secret" },
        { NULL, "return request.params.x", "params" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t begun = clock_real();
        bool answer = false;
        struct err err;

        CHECK_INT(ask_with(cases[i].lua, cases[i].code, &answer, &err), -1);
        CHECK(!answer);
        CHECK_HAS(err.text, cases[i].error);
        CHECK(clock_real() - begun < 20 * CLOCK_SECOND);
    }
}

TEST(invalid_lua_is_found_before_any_request)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct value good = value_text("return true"), bad = value_text("return (");

    CHECK_INT(authorizer_check(&good, &diags), 0);
    CHECK_INT(authorizer_check(&bad, &diags), -1);
    CHECK_INT(diags.list.n, 1);
}
