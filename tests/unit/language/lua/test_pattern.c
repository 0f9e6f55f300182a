#include "language/lua/pattern.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "test.h"

#define TEXT_MAX    12
#define PATTERN_MAX 10

static bool spend_all(void *user, size_t steps)
{
    size_t *left = user;

    if (!left)
        return true;
    if (steps > *left)
        return false;
    *left -= steps;
    return true;
}

/* Numbers that are the same on each run. */
static unsigned next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(*state >> 33);
}

static struct str random_text(uint64_t *state, const char *alphabet, size_t max, char *out)
{
    size_t n = next_random(state) % (max + 1);
    size_t letters = strlen(alphabet);

    for (size_t i = 0; i < n; i++)
        out[i] = alphabet[next_random(state) % letters];
    out[n] = '\0';
    return (struct str){ out, n };
}

static void print_match(const struct pattern *p, const struct pattern_match *m, struct str text,
                        struct buf *out)
{
    buf_printf(out, "%zu %zu", m->from + 1, m->end);
    for (size_t i = 0; i < p->captures; i++) {
        if (m->captures[i].is_position)
            buf_printf(out, " %zu", m->captures[i].from + 1);
        else
            buf_printf(out, " '%.*s'", (int)m->captures[i].n, text.p + m->captures[i].from);
    }
}

static void ours(struct str text, struct str pattern, struct buf *out)
{
    struct pattern_item items[PATTERN_MAX + 1];
    struct pattern_match match;
    struct pattern p;
    struct err err;

    if (pattern_parse(pattern, true, items, &p, &err) < 0) {
        buf_add_text(out, "error");
        return;
    }
    if (pattern_match(&p, text, 0, spend_all, NULL, &match) == PATTERN_MATCHED)
        print_match(&p, &match, text, out);
    else
        buf_add_text(out, "none");
}

/* The same from Lua's own string.find. */
static void theirs(lua_State *L, struct str text, struct str pattern, struct buf *out)
{
    lua_settop(L, 0);
    lua_getglobal(L, "string");
    lua_getfield(L, -1, "find");
    lua_pushlstring(L, text.p, text.n);
    lua_pushlstring(L, pattern.p, pattern.n);
    if (lua_pcall(L, 2, LUA_MULTRET, 0) != LUA_OK) {
        buf_add_text(out, "error");
        return;
    }
    if (lua_isnil(L, 2)) {
        buf_add_text(out, "none");
        return;
    }
    buf_printf(out, "%d %d", (int)lua_tointeger(L, 2), (int)lua_tointeger(L, 3));
    for (int i = 4; i <= lua_gettop(L); i++) {
        bool is_position = lua_type(L, i) == LUA_TNUMBER;

        buf_printf(out, is_position ? " %s" : " '%s'", lua_tostring(L, i));
    }
}

/* Lua finds mistakes of a pattern only when it gets there, so errors are compared one way: what is
 * not an error to us must match alike. */
TEST(patterns_match_as_luas_own)
{
    lua_State *L = luaL_newstate();
    uint64_t state = 1;
    char text[TEXT_MAX + 1], pattern[PATTERN_MAX + 1];
    int compared = 0;

    luaL_openlibs(L);
    for (int i = 0; i < 300000; i++) {
        AUTO_BUF struct buf a = BUF_INIT(1000);
        AUTO_BUF struct buf b = BUF_INIT(1000);
        struct str t = random_text(&state, "ab(1 ", TEXT_MAX, text);
        struct str p = random_text(&state, "aab.%%*+-?()[]^$1wfbs", PATTERN_MAX, pattern);

        ours(t, p, &a);
        if (strcmp(buf_text(&a), "error") == 0 || pattern_is_plain(p))
            continue;
        theirs(L, t, p, &b);
        if (strcmp(buf_text(&a), buf_text(&b)) != 0)
            print_error("text '%s' pattern '%s'\n", text, pattern);
        CHECK_STR(buf_text(&a), buf_text(&b));
        compared++;
    }
    CHECK(compared > 50000);
    lua_close(L);
}

TEST(patterns_malformed_for_lua_are_malformed_for_us)
{
    static const char *const bad[] = { "%",  "[",    "[a", "[^]", "a%",   "(",   "(a",
                                       ")",  "a)",   "%b", "%bx", "%f",   "%fa", "%1",
                                       "%0", "(a%1", "[%", "[a%", "%2(a)" };
    struct pattern_item items[PATTERN_MAX + 1];
    struct pattern p;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(pattern_parse(str_from(bad[i]), true, items, &p, &err) == -1);
}

TEST(work_is_counted_and_stops)
{
    struct str text = STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    struct str pattern = STR(".-.-.-.-.-.-b");
    struct pattern_item *items = calloc(pattern_items_max(pattern), sizeof(*items));
    struct pattern_match match;
    struct pattern p;
    struct err err;
    size_t left = 100000;

    CHECK(pattern_parse(pattern, true, items, &p, &err) == 0);
    CHECK_INT(pattern_match(&p, text, 0, spend_all, &left, &match), PATTERN_STOPPED);
    CHECK(left < 2000);
    free(items);
}

TEST(too_many_captures_are_refused)
{
    AUTO_BUF struct buf text = BUF_INIT(1000);
    struct pattern_item items[100];
    struct pattern p;
    struct err err;

    for (int i = 0; i < PATTERN_CAPTURES_MAX; i++)
        buf_add_text(&text, "()");
    CHECK(pattern_parse(buf_view(&text), true, items, &p, &err) == 0);
    buf_add_text(&text, "()");
    CHECK(pattern_parse(buf_view(&text), true, items, &p, &err) == -1);
    CHECK_STR(err.text, "too many captures (limit 32)");
}
