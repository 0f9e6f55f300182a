#include "language/lua/chunk.h"

#include <lauxlib.h>

#include "core/base/diag.h"
#include "language/lua/fault.h"
#include "language/lua/spot.h"
#include "language/lua/state.h"

/* The cache is cleared beyond this many chunks. */
#define CHUNKS_MAX 10000

static struct str get_chunk_text(const struct chunk_code *code)
{
    return str_slice(code->origin->s, code->offset, code->n);
}

/* --- compiling ----------------------------------------------------------------------- */

/* The input of lua_load: a word in front, then the text. */
struct reader {
    struct str parts[2];
    size_t next;
};

static const char *read_chunk_part(lua_State *L, void *data, size_t *ret_n)
{
    struct reader *reader = data;

    (void)L;
    while (reader->next < ARRAY_LEN(reader->parts)) {
        struct str part = reader->parts[reader->next++];

        if (part.n > 0) {
            *ret_n = part.n;
            return part.p;
        }
    }
    return NULL;
}

/* Only functions outlive the run of a chunk. Their exact place must be found now, since the
 * document may be gone when they fail; for all others the search would be wasted. */
static void find_chunk_lines(const struct chunk_code *code, struct chunk *chunk)
{
    if (str_find(get_chunk_text(code), STR("function"), 0) == STR_NONE)
        return;
    chunk->at = spot_find(code->origin, code->offset);
    chunk->is_block = spot_is_block(code->origin);
}

/* Number a new chunk and push its name. */
static void push_name(lua_State *L, const struct chunk_code *code)
{
    struct sandbox *sandbox = state_of(L);
    struct chunk chunk = { .at = value_place(code->origin) };

    find_chunk_lines(code, &chunk);
    if (chunk.at.file)
        chunk.at.file = arena_strdup(&sandbox->arena, chunk.at.file);
    sandbox->running = sandbox->chunks_before + sandbox->chunks.n;
    lua_pushfstring(L, "=#%d", (int)sandbox->running);
    VEC_PUSH(&sandbox->chunks, chunk);
}

static void forget_chunks(lua_State *L)
{
    struct sandbox *sandbox = state_of(L);

    sandbox->chunks_before += sandbox->chunks.n;
    vec_clear(&sandbox->chunks);
    state_clear_cache(L);
}

/* Push the compiled function, or raise. */
static void push_compiled(lua_State *L, const struct chunk_code *code)
{
    struct reader reader = { { { "return ", 7 }, get_chunk_text(code) }, 0 };

    if (code->kind != CHUNK_EXPRESSION)
        reader.parts[0].n = 0;
    if (state_of(L)->chunks.n >= CHUNKS_MAX)
        forget_chunks(L);
    push_name(L, code);
    limits_charge(L, code->n);
    if (lua_load(L, read_chunk_part, &reader, lua_tostring(L, -1), "t") != LUA_OK) {
        state_of(L)->unreadable = true;
        lua_error(L);
    }
    lua_remove(L, -2);
}

/* The key of the cache: the kind and the text. */
static void push_key(lua_State *L, const struct chunk_code *code)
{
    struct str text = get_chunk_text(code);
    luaL_Buffer key;

    luaL_buffinit(L, &key);
    luaL_addchar(&key, (char)('0' + code->kind));
    luaL_addlstring(&key, text.p, text.n);
    luaL_pushresult(&key);
}

static void push_function(lua_State *L, const struct chunk_code *code)
{
    state_push_cache(L);
    push_key(L, code);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, -3) != LUA_TFUNCTION) {
        lua_pop(L, 1);
        push_compiled(L, code);
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_rawset(L, -5);
    }
    lua_replace(L, -3);
    lua_pop(L, 1);
}

/* --- running --------------------------------------------------------------------------- */

/* The number of the chunk on top, from its name "=#17". */
static size_t get_chunk_number(lua_State *L)
{
    lua_Debug ar;
    size_t number = 0;

    lua_pushvalue(L, -1);
    lua_getinfo(L, ">S", &ar);
    for (const char *p = ar.short_src + 1; *p; p++)
        number = number * 10 + (size_t)(*p - '0');
    return number;
}

static int run_inside(lua_State *L)
{
    const struct chunk_code *code = lua_touserdata(L, 1);

    push_function(L, code);
    state_of(L)->running = get_chunk_number(L);
    if (code->kind == CHUNK_SCRIPT)
        state_give_user(L);
    else
        state_give_env(L);
    lua_call(L, 0, 1);
    return 1;
}

static int check_inside(lua_State *L)
{
    push_function(L, lua_touserdata(L, 1));
    return 1;
}

static int call_protected(struct sandbox *sandbox, lua_CFunction inside,
                          const struct chunk_code *code, struct diags *diags)
{
    lua_State *L = sandbox->L;
    int status;

    if (code->n > CHUNK_TEXT_MAX)
        return value_diag(diags, code->origin, "the Lua code is longer than %zu KiB",
                          CHUNK_TEXT_MAX >> 10);
    if (code->kind == CHUNK_EXPRESSION && str_trim(get_chunk_text(code)).n == 0)
        return value_diag(diags, code->origin, "the expression is empty");
    sandbox->secret = sandbox->unreadable = false;
    sandbox->miss.key[0] = '\0';
    lua_settop(L, 0);
    lua_pushcfunction(L, fault_on_error);
    lua_pushcfunction(L, inside);
    lua_pushlightuserdata(L, (void *)(uintptr_t)code);
    status = lua_pcall(L, 1, 1, 1);
    if (status == LUA_OK)
        return 0;
    fault_report(sandbox, code, status, diags);
    lua_settop(L, 0);
    return -1;
}

int chunk_check(struct sandbox *sandbox, const struct chunk_code *code, struct diags *diags)
{
    if (call_protected(sandbox, check_inside, code, diags) < 0)
        return -1;
    lua_settop(sandbox->L, 0);
    return 0;
}

int chunk_run(struct sandbox *sandbox, const struct chunk_code *code, struct diags *diags)
{
    return call_protected(sandbox, run_inside, code, diags);
}
