#include "language/lua/sandbox.h"

#include <stdio.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "language/lua/expr.h"
#include "test.h"

/* No test of a limit may take longer, sanitizers and a busy machine included. */
#define PATIENCE_SECONDS 20

static const struct sandbox_options small = {
    .memory_max = (size_t)4 << 20,
    .steps_max = 300000,
};

/* Run a block in a sandbox of its own; the text of the error, or of the result. */
static const char *run_with(const struct sandbox_options *options, struct arena *arena,
                            const char *code)
{
    static const struct value_source source = { .file = "test", .tag = "!lua" };
    struct sandbox *sandbox = sandbox_new(options);
    struct diags diags = DIAGS_INIT(arena);
    struct value block = value_text(code), got;
    const char *text;

    block.source = &source;
    if (expr_eval_value(sandbox, &block, arena, &got, &diags) < 0)
        text = diags.list.p[0].text;
    else
        text = got.kind == VALUE_STR ? got.s.p : value_kind_name(got.kind);
    sandbox_free(sandbox);
    return text;
}

static const char *run(struct arena *arena, const char *code)
{
    return run_with(&small, arena, code);
}

/* --- limits ------------------------------------------------------------------------------ */

static const struct {
    const char *name, *code, *error;
} bombs[] = {
    { "a loop", "while true do end", "instruction limit" },
    { "a loop by goto", "::again:: goto again", "instruction limit" },
    { "a loop of pcall", "while true do pcall(function() while true do end end) end",
      "instruction limit" },
    { "a loop of xpcall", "while true do xpcall(error, function() while true do end end) end",
      "instruction limit" },
    { "a handler that loops after the limit",
      "xpcall(function() while true do end end, function() while true do end end)",
      "instruction limit" },
    { "an error whose text loops",
      "error(setmetatable({}, {__tostring = function() while true do end end}))",
      "instruction limit" },
    { "pcall in pcall", "local function f() while true do pcall(f) end end f()",
      "instruction limit" },
    { "a coroutine", "coroutine.wrap(function() while true do end end)()", "instruction limit" },
    { "coroutines that are caught",
      "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
      "instruction limit" },
    { "coroutines in coroutines",
      "local function f() while true do pcall(coroutine.wrap(f)) end end f()", "limit" },
    { "a coroutine that yields",
      "local f = coroutine.wrap(function() while true do coroutine.yield() end end) "
      "while true do f() end",
      "instruction limit" },
    { "a close that loops",
      "local x <close> = setmetatable({}, {__close = function() while true do end end}) "
      "while true do end",
      "instruction limit" },
    { "an iterator without end", "for k in function() return 1 end do end", "instruction limit" },
    { "an __index without end",
      "for i, v in ipairs(setmetatable({}, {__index = function() return 1 end})) do end",
      "instruction limit" },
    { "growing a table", "local t = {} for i = 1, 1e9 do t[i] = i end", "limit" },
    { "growing a string", "local s = 'x' while true do s = s .. s end", "memory limit" },
    { "string.rep", "return #string.rep('x', 1e9)", "the memory limit" },
    { "string.rep of nothing", "return string.rep('', 1e18) .. 'done'", "done" },
    { "string.rep in a loop", "while true do string.rep('x', 1e6) end", "instruction limit" },
    { "string.rep that is caught", "while true do pcall(string.rep, 'x', 1e9) end",
      "instruction limit" },
    { "memory that is caught",
      "local t = {} while true do pcall(function() for i = 1, 1e6 do t[#t + 1] = {} end end) end",
      "limit" },
    { "string.format",
      "local s = string.rep('x', 1e6) return #string.format(string.rep('%s', 99), "
      "table.unpack(table.create(99, s)))",
      "limit" },
    { "table.concat", "local t = table.create(100, string.rep('x', 1e6)) return table.concat(t)",
      "limit" },
    { "table.concat with a false length",
      "return table.concat(setmetatable({}, {__len = function() return 1e15 end, "
      "__index = function() return '' end}))",
      "instruction limit" },
    { "table.insert with a false length",
      "table.insert(setmetatable({}, {__len = function() return math.maxinteger - 1 end}), 1, 1)",
      "instruction limit" },
    { "table.remove with a false length",
      "table.remove(setmetatable({}, {__len = function() return math.maxinteger end}), 1)",
      "instruction limit" },
    { "table.move", "table.move({}, 1, math.maxinteger - 1, 2)", "instruction limit" },
    { "table.unpack", "return table.unpack({}, 1, 1e8)", "too many results to unpack" },
    { "table.find", "return table.find(setmetatable({}, {__index = function() return 1 end}), 2)",
      "instruction limit" },
    { "table.sort with a false length",
      "table.sort(setmetatable({}, {__len = function() return 1e9 end}))", "cannot be sorted" },
    { "table.sort of much", "local t = {} for i = 1, 30000 do t[i] = -i end table.sort(t)",
      "instruction limit" },
    { "a bad order",
      "local t = {} for i = 1, 100 do t[i] = i end table.sort(t, function() return true end)",
      "invalid order function" },
    { "find with many questions",
      "return string.find(string.rep('a', 30), string.rep('a?', 30) .. string.rep('a', 30) .. 'b')",
      "instruction limit" },
    { "find with many stars",
      "return string.find(string.rep('a', 3000), string.rep('.*', 20) .. 'b')",
      "instruction limit" },
    { "match with minus", "return string.match(string.rep('a', 9999), '.-.-.-.-.-b')",
      "instruction limit" },
    { "gsub", "return string.gsub(string.rep('a', 9999), '.-.-.-b', '')", "instruction limit" },
    { "gsub that grows", "return string.gsub(string.rep('a', 9999), 'a', string.rep('b', 9999))",
      "limit" },
    { "gmatch", "for w in string.gmatch(string.rep('a', 9999), '.-.-.-.-b') do end",
      "instruction limit" },
    { "find of balance", "return string.find(string.rep('(', 99999), '%b()')",
      "instruction limit" },
    { "find of references", "return string.find(string.rep('a', 9999), '(.-)(.-)%1%2b')",
      "instruction limit" },
    { "deep recursion", "local function f() return 1 + f() end return f()", "limit" },
    { "recursion through a metatable",
      "local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end "
      "return t.x",
      "overflow" },
    { "recursion through gsub",
      "local function f(s) return (string.gsub(s, '.', f)) end return f('x')", "overflow" },
    { "deep nesting of the code", NULL, "overflow" },
    { "a finalizer", "setmetatable({}, {__gc = function() while true do end end})",
      "'__gc' is not available" },
    { "json of much", "return json.stringify(table.create(1000, string.rep('x', 1e6)))", "MiB" },
    { "json of tables inside one another",
      "local t = {} for i = 1, 30 do t = {t, t} end return json.stringify(t)", "parts" },
    { "a result that is too large", "local t = {} for i = 1, 30 do t = {t, t} end return t",
      "parts" },
    { "printing without end", "while true do print(string.rep('x', 1000)) end",
      "instruction limit" },
    { "utf8.len in a loop", "local s = string.rep('x', 1e6) while true do utf8.len(s) end",
      "instruction limit" },
};

TEST(no_bomb_gets_past_its_limit)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf nested = BUF_INIT(100000);
    clock_t begin = clock(); /* of the processor: others may need it too */

    buf_add_text(&nested, "return ");
    buf_fill(&nested, '(', 1000);
    for (size_t i = 0; i < ARRAY_LEN(bombs); i++) {
        const char *code = bombs[i].code ? bombs[i].code : buf_text(&nested);
        const char *got = run(&arena, code);

        if (!strstr(got, bombs[i].error))
            print_error("%s:\n", bombs[i].name);
        CHECK_HAS(got, bombs[i].error);
    }
    CHECK((clock() - begin) / CLOCKS_PER_SEC < PATIENCE_SECONDS);
}

TEST(a_limit_names_its_number)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    CHECK_STR(run(&arena, "while true do end"),
              "the script took more than 300000 steps, the instruction limit");
    CHECK_STR(run_with(&(struct sandbox_options){ .memory_max = (size_t)4 << 20 }, &arena,
                       "local t = {} for i = 1, 1e5 do t[i] = {} end return 1"),
              "the script needs more than 4096 KiB, the memory limit");
}

static int64_t ticking(void *user)
{
    return *(int64_t *)user += 1000000; /* each look takes a millisecond */
}

/* How often it was asked for the time. */
static int64_t counting(void *user)
{
    int64_t *count = user;

    (*count)++;
    return 0;
}

TEST(the_clock_is_looked_at_more_often_where_one_instruction_may_be_slow)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    int64_t small_texts = 0, large_texts = 0;
    struct sandbox_options options = { .clock = counting, .user = &small_texts };

    CHECK_STR(run_with(&options, &arena,
                       "local a, b = string.rep('1', 9), 0 "
                       "for i = 1, 1000 do b = a + 1 end return 'done'"),
              "done");
    options.user = &large_texts;
    CHECK_STR(run_with(&options, &arena,
                       "local a, b = string.rep('1', 2e6), 0 "
                       "for i = 1, 1000 do b = #a + 1 end return 'done'"),
              "done");
    CHECK(small_texts >= 3000 / 250);
    CHECK(large_texts >= 3000 / 10);
}

TEST(time_is_limited_by_the_callers_clock)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    int64_t now = 5;
    const struct sandbox_options options = {
        .steps_max = INT64_C(1) << 40,
        .nanoseconds_max = 50000000,
        .clock = ticking,
        .user = &now,
    };

    CHECK_STR(run_with(&options, &arena, "while true do end"),
              "the script ran longer than 50 ms, the time limit");
    CHECK_HAS(run_with(&options, &arena, "while true do pcall(string.rep, 'x', 1e5) end"),
              "time limit");
    CHECK_HAS(
        run_with(&options, &arena, "return string.find(string.rep('a', 99999), '.-.-.-.-.-.-b')"),
        "time limit");
    CHECK_STR(run_with(&options, &arena, "return 'in time'"), "in time");
}

TEST(a_sandbox_works_on_after_a_limit)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct sandbox *sandbox = sandbox_new(&small);
    struct diags diags = DIAGS_INIT(&arena);
    struct value good = value_text("${{ 1 + 1 }}$"), got, script;

    static const char *const bad[] = {
        "${{ (function() while true do end end)() }}$",
        "${{ (function() global.f = coroutine.wrap(every) while true do global.f() end end)() }}$",
        "${{ (function() local s = 'x' while true do s = s .. s end end)() }}$",
    };

    script = value_text("function every() while true do coroutine.yield() end end");
    CHECK(expr_run_script(sandbox, &script, &diags) == 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct value v = value_text(bad[i]);

        CHECK(expr_eval_value(sandbox, &v, &arena, &got, &diags) == -1);
        CHECK(expr_eval_value(sandbox, &good, &arena, &got, &diags) == 0);
        CHECK_INT(got.i, 2);
    }
    good = value_text("${{ (function() for i = 1, 100 do global.f() end return 3 end)() }}$");
    CHECK(expr_eval_value(sandbox, &good, &arena, &got, &diags) == 0);
    CHECK_INT(got.i, 3);
    sandbox_free(sandbox);
}

TEST(setting_a_name_in_a_full_sandbox_fails)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct sandbox *sandbox =
        sandbox_new(&(struct sandbox_options){ .memory_max = SANDBOX_MEMORY_MIN });
    struct diags diags = DIAGS_INIT(&arena);
    struct value v, got;
    struct err err;
    AUTO_FREE char *text = mem_alloc(1 << 20);

    v = value_text("${{ (function() local t = {} global.t = t while true do t[#t + 1] = {} end"
                   " end)() }}$");
    CHECK(expr_eval_value(sandbox, &v, &arena, &got, &diags) == -1);
    memset(text, 'x', (1 << 20) - 1);
    text[(1 << 20) - 1] = '\0';
    v = value_text(text);
    CHECK(sandbox_set(sandbox, "big", &v, &err) == -1);
    CHECK_HAS(err.text, "set 'big': the script needs more than 256 KiB, the memory limit");
    sandbox_free(sandbox);
}

/* --- ways out -------------------------------------------------------------------------------- */

static const struct {
    const char *code, *result;
} escapes[] = {
    { "getmetatable('').__index = nil", "attempt to index a boolean value" },
    { "getmetatable('').__index.rep = nil", "attempt to index a boolean value" },
    { "string.rep = nil", "'string' is read-only" },
    { "rawset(string, 'rep', nil)", "the table is read-only" },
    { "rawset(_ENV, 'string', nil) return type(string)", "table" },
    { "setmetatable(string, nil)", "the table is read-only" },
    { "setmetatable(_ENV, nil)", "cannot change a protected metatable" },
    { "table.clear(string)", "the table is read-only" },
    { "table.insert(math, 1)", "the table is read-only" },
    { "table.move({1}, 1, 1, 1, math)", "the table is read-only" },
    { "for k, v in pairs(string) do string[k] = nil end", "'string' is read-only" },
    { "string.x.y = 1", "nil" },
    { "return ('x'):rep(3)", "xxx" },
    { "return tostring(load)", "nil" },
    { "return tostring(debug)", "nil" },
    { "return tostring(io)", "nil" },
    { "return tostring(require)", "nil" },
    { "return tostring(package)", "nil" },
    { "return tostring(string.dump)", "nil" },
    { "return tostring(os.execute)", "nil" },
    { "return tostring(coroutine.running) and 'ok'", "ok" },
    { "local t = table.freeze({1}) rawset(t, 1, 2)", "the table is read-only" },
    { "local t = table.freeze({1}) table.remove(t)", "the table is read-only" },
    { "local t = table.freeze({1}) setmetatable(t, {})", "the table is read-only" },
    { "return setmetatable({}, string)", "a frozen table cannot be a metatable" },
    { "local m = {} local t = setmetatable({}, m) m.__gc = error t = nil return 'ok'", "ok" },
    { "\033Lua", "attempt to load a binary chunk" },
    { "local t = setmetatable({}, {__pairs = function() return next, {a = 1} end}) "
      "for k in pairs(t) do return k end",
      "a" },
    { "return math.randomseed()", "number expected" },
    { "string.format = nil", "'string' is read-only" },
    { "math = nil", "'math' is read-only" },
    { "json.parse = nil", "'json' is read-only" },
    { "return type(os) .. type(yaml) .. type(utf8)", "tabletabletable" },
    { "function string.new() end", "'string' is read-only" },
};

TEST(nothing_leads_out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(escapes); i++)
        CHECK_HAS(run(&arena, escapes[i].code), escapes[i].result);
}

/* --- the rest ---------------------------------------------------------------------------- */

static void keep_line(void *user, struct str line)
{
    buf_add_str(user, line);
    buf_add_char(user, '\n');
}

TEST(print_goes_to_the_caller)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(1000);
    const struct sandbox_options options = { .print = keep_line, .user = &out };

    (void)run_with(&options, &arena, "print('a', 1, nil, true) print()");
    CHECK_STR(buf_text(&out), "a\t1\tnil\ttrue\n\n");
}

static int count_args(void *user, const struct value *args, size_t count, struct arena *arena,
                      struct value *ret, struct err *err)
{
    (void)args;
    (void)arena;
    (void)err;
    *(size_t *)user += count;
    *ret = value_int((int64_t)count);
    return 0;
}

TEST(functions_of_the_caller_have_limits_too)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct sandbox *sandbox = sandbox_new(&small);
    struct diags diags = DIAGS_INIT(&arena);
    struct value v, got;
    struct err err;
    size_t seen = 0;

    CHECK(sandbox_add_function(sandbox, "count", count_args, &seen, &err) == 0);
    CHECK(sandbox_add_function(sandbox, "nolib.count", count_args, &seen, &err) == -1);
    CHECK_STR(err.text, "add the Lua function 'nolib.count'");
    v = value_text("${{ count(1, nil, {}) }}$");
    CHECK(expr_eval_value(sandbox, &v, &arena, &got, &diags) == 0);
    CHECK_INT(got.i, 3);
    v = value_text("${{ count(table.unpack(table.create(33, 1))) }}$");
    CHECK(expr_eval_value(sandbox, &v, &arena, &got, &diags) == -1);
    CHECK_HAS(diags.list.p[0].text, "too many arguments");
    v = value_text("${{ (function() while true do pcall(count) end end)() }}$");
    CHECK(expr_eval_value(sandbox, &v, &arena, &got, &diags) == -1);
    CHECK_HAS(diags.list.p[1].text, "instruction limit");
    CHECK_INT(seen, 3);
    sandbox_free(sandbox);
}

TEST(random_numbers_repeat_for_the_same_seed)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct sandbox_options one = { .random_seed = 1 }, two = { .random_seed = 2 };
    const char *code = "return tostring(math.random(1 << 60))";
    const char *first = run_with(&one, &arena, code);

    CHECK_STR(run_with(&one, &arena, code), first);
    CHECK(strcmp(run_with(&two, &arena, code), first) != 0);
}

/* A large tree is not copied: a name that is set costs as little as its size does not matter. */
TEST(a_large_context_costs_no_memory)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct sandbox *sandbox = sandbox_new(&small);
    struct value_list *list = value_list_new(&arena, 0);
    struct diags diags = DIAGS_INIT(&arena);
    struct value root, v, got;
    size_t before = sandbox_memory(sandbox);
    struct err err;

    for (int i = 0; i < 200000; i++)
        value_list_push(&arena, list, value_int(i));
    root = value_list(list);
    CHECK(sandbox_set(sandbox, "numbers", &root, &err) == 0);
    CHECK(sandbox_memory(sandbox) < before + 4096);
    v = value_text("${{ numbers[200000] + #numbers }}$");
    CHECK(expr_eval_value(sandbox, &v, &arena, &got, &diags) == 0);
    CHECK_INT(got.i, 399999);
    sandbox_free(sandbox);
}
