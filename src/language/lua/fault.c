#include "language/lua/fault.h"

#include <lauxlib.h>
#include <string.h>

#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/suggest.h"
#include "language/lua/chunk.h"
#include "language/lua/proxy.h"
#include "language/lua/spot.h"
#include "language/lua/state.h"

/* Longer messages are cut. */
#define MESSAGE_MAX 2000

/* --- while the stack is still there ------------------------------------------------------ */

/* The "#3:7: " of the innermost function from a chunk. */
static void push_where(lua_State *L)
{
    lua_Debug ar;

    for (int level = 1; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline > 0 && ar.short_src[0] == '#') {
            lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
            return;
        }
    }
    lua_pushliteral(L, "");
}

int fault_on_error(lua_State *L)
{
    const char *text;

    lua_settop(L, 1);
    if (lua_type(L, 1) == LUA_TTABLE && !luaL_getmetafield(L, 1, "__tostring")) {
        lua_pushliteral(L, "error value is a table, expected a string");
        lua_replace(L, 1);
    }
    if (lua_isnil(L, 1)) {
        lua_pushliteral(L, "error() was called without a message");
        lua_replace(L, 1);
    }
    text = luaL_tolstring(L, 1, NULL);
    if (text[0] == '#')
        return 1;
    push_where(L);
    lua_insert(L, -2);
    lua_concat(L, 2);
    return 1;
}

/* --- reading the message ---------------------------------------------------------------- */

struct fault {
    struct sandbox *sandbox;
    const struct chunk_code *code;
    struct diags *diags;
    struct str text; /* without the places in front */
    size_t chunk;    /* number; STR_NONE: not known */
    size_t line;     /* line in the chunk, from 1 */
};

static bool take_fault_number(struct str *rest, size_t *ret)
{
    size_t n = 0, i = 0;

    while (i < rest->n && i < 9 && rest->p[i] >= '0' && rest->p[i] <= '9')
        n = n * 10 + (size_t)(rest->p[i++] - '0');
    if (i == 0)
        return false;
    *rest = str_from_offset(*rest, i);
    *ret = n;
    return true;
}

/* Take "#17:3: " off the front. */
static bool take_prefix(struct fault *fault)
{
    struct str rest = fault->text;
    size_t chunk, line;

    if (!str_starts(rest, STR("#")))
        return false;
    rest = str_from_offset(rest, 1);
    if (!take_fault_number(&rest, &chunk) || !str_starts(rest, STR(":")))
        return false;
    rest = str_from_offset(rest, 1);
    if (!take_fault_number(&rest, &line) || !str_starts(rest, STR(": ")))
        return false;
    fault->text = str_from_offset(rest, 2);
    fault->chunk = chunk;
    fault->line = line;
    return true;
}

/* --- places ------------------------------------------------------------------------------- */

/* The start of line `line` of the code in the text of its value, after its blanks. */
static size_t offset_of_line(const struct chunk_code *code, size_t line)
{
    struct str text = str_slice(code->origin->s, code->offset, code->n);
    size_t at = 0;

    for (size_t i = 1; i < line; i++) {
        size_t end = str_find_char(text, '\n', at);

        if (end == STR_NONE)
            break;
        at = end + 1;
    }
    while (at < text.n && strchr(" \t\r\n", text.p[at]))
        at++;
    if (at == text.n) /* nothing there: the beginning is more helpful */
        at = 0;
    return code->offset + at;
}

/* The chunk of the failed function, unless it is the running one. */
static const struct chunk *foreign_chunk(const struct fault *fault)
{
    const struct sandbox *sandbox = fault->sandbox;

    if (fault->chunk == sandbox->running || fault->chunk < sandbox->chunks_before ||
        fault->chunk - sandbox->chunks_before >= sandbox->chunks.n)
        return NULL;
    return &sandbox->chunks.p[fault->chunk - sandbox->chunks_before];
}

/* A mistake in the running code; a note when it was made elsewhere. */
static void add_fault(struct fault *fault, struct str text)
{
    const struct chunk *foreign = foreign_chunk(fault);
    const struct value *origin = fault->code->origin;
    size_t line = foreign || fault->chunk == STR_NONE ? 1 : fault->line;
    struct place at = value_place(origin);

    if (fault->diags->list.n < DIAGS_MAX) /* more are not shown */
        at = spot_find(origin, offset_of_line(fault->code, line));
    (void)diag_add(fault->diags, at, "%.*s", STR_ARG(text));
    if (origin->source && origin->source->text.p && fault->diags->dropped == 0)
        diag_source(fault->diags, origin->source->text);
    if (foreign) {
        at = foreign->at;
        at.column = 0;
        if (foreign->is_block)
            at.line += (uint32_t)fault->line - 1;
        diag_note(fault->diags, at, "raised here");
    }
}

/* --- nil ------------------------------------------------------------------------------------ */

/* The part in quotes of "attempt to index a nil value (field 'databse')". */
static struct str nil_name(struct str text)
{
    static const struct str mark = { " a nil value (", 14 };
    size_t at = str_find(text, mark, 0);
    size_t begin, end;

    if (at == STR_NONE)
        return (struct str){ NULL, 0 };
    begin = str_find_char(text, '\'', at + mark.n);
    if (begin == STR_NONE)
        return (struct str){ NULL, 0 };
    end = str_find_char(text, '\'', begin + 1);
    if (end == STR_NONE)
        return (struct str){ NULL, 0 };
    return str_slice(text, begin + 1, end - begin - 1);
}

static void offer_keys(lua_State *L, struct suggest *nearest)
{
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        struct str name = { NULL, 0 };

        if (lua_type(L, -2) == LUA_TSTRING) {
            name.p = lua_tolstring(L, -2, &name.n);
            suggest_offer(nearest, name);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void suggest_lua_name(struct fault *fault)
{
    const struct miss *miss = &fault->sandbox->miss;
    struct suggest nearest;
    struct str best;

    suggest_init(&nearest, str_from(miss->key));
    if (miss->variable && miss->parent->kind == VALUE_MAP) {
        for (size_t i = 0; i < miss->parent->map->count; i++)
            if (miss->parent->map->pairs[i].key.kind == VALUE_STR)
                suggest_offer(&nearest, miss->parent->map->pairs[i].key.s);
    } else if (!miss->variable) {
        state_push_user(fault->sandbox->L);
        offer_keys(fault->sandbox->L, &nearest);
        state_push_base(fault->sandbox->L);
        offer_keys(fault->sandbox->L, &nearest);
        for (size_t i = 0; state_later_name(i); i++)
            suggest_offer(&nearest, str_from(state_later_name(i)));
    }
    best = suggest_best(&nearest);
    if (best.p)
        diag_hint(fault->diags, "did you mean '%.*s'?", STR_ARG(best));
}

/* The message refers to the last unknown name: show its whole path. */
static bool report_nil(struct fault *fault)
{
    const struct miss *miss = &fault->sandbox->miss;
    struct str name = nil_name(fault->text);
    AUTO_BUF struct buf out = BUF_INIT(MESSAGE_MAX);

    if (!name.p || miss->key[0] == '\0' || !str_is(name, miss->key))
        return false;
    buf_add_char(&out, '\'');
    if (miss->variable) {
        (void)proxy_print_path(miss->variable, miss->parent, &out);
        buf_add_char(&out, '.');
    }
    buf_printf(&out, "%s' is nil: ", miss->key);
    buf_add_str(&out, str_slice(fault->text, 0, str_find(fault->text, STR(" ("), 0)));
    add_fault(fault, buf_view(&out));
    suggest_lua_name(fault);
    return true;
}

/* --- syntax ----------------------------------------------------------------------------------- */

static const struct {
    const char *near; /* part of the message */
    const char *word; /* part of the code */
    const char *hint;
} luau[] = {
    { "near '+'", "+=", "'+=' is Luau's; in Lua 5.4 write 'x = x + y'" },
    { "near '-'", "-=", "'-=' is Luau's; in Lua 5.4 write 'x = x - y'" },
    { "near '*'", "*=", "'*=' is Luau's; in Lua 5.4 write 'x = x * y'" },
    { "near '/'", "/=", "'/=' is Luau's; in Lua 5.4 write 'x = x / y'" },
    { "near '='", "..=", "'..=' is Luau's; in Lua 5.4 write 'x = x .. y'" },
    { "near '..'", "..=", "'..=' is Luau's; in Lua 5.4 write 'x = x .. y'" },
    { "unexpected symbol near 'if'", "if",
      "'if' has no value in Lua 5.4; write 'condition and a or b'" },
    { "unexpected symbol near '`'", "`", "Luau's `text {x}` is 'text ' .. x in Lua 5.4" },
    { "syntax error near", "continue", "'continue' is Luau's; in Lua 5.4 use 'goto' and a label" },
    { "(for iterator", "in", "in Lua 5.4 write 'for k, v in pairs(t)'" },
    { "near ':'", ":", "types are Luau's; in Lua 5.4 leave them out" },
    { "near '!'", "!=", "'not equal' is '~=' in Lua 5.4" },
    { "near '!'", "!", "'not' is written 'not' in Lua 5.4" },
    { "near '&'", "&&", "'and' is written 'and' in Lua 5.4" },
    { "near '|'", "||", "'or' is written 'or' in Lua 5.4" },
};

static void hint_at_syntax(struct fault *fault)
{
    struct str code = str_slice(fault->code->origin->s, fault->code->offset, fault->code->n);

    for (size_t i = 0; i < ARRAY_LEN(luau); i++) {
        if (str_find(fault->text, str_from(luau[i].near), 0) == STR_NONE ||
            str_find(code, str_from(luau[i].word), 0) == STR_NONE)
            continue;
        diag_hint(fault->diags, "%s", luau[i].hint);
        return;
    }
    if (fault->sandbox->unreadable)
        diag_hint(fault->diags, "expressions are Lua 5.4");
}

/* --- all together ------------------------------------------------------------------------ */

static bool is_limit(const struct sandbox *sandbox, int status)
{
    enum limits_reached reached = sandbox->limits.reached;

    return status == LUA_ERRMEM || reached == LIMITS_TIME || reached == LIMITS_INSTRUCTIONS;
}

void fault_report(struct sandbox *sandbox, const struct chunk_code *code, int status,
                  struct diags *diags)
{
    struct fault fault = { sandbox, code, diags, { "", 0 }, STR_NONE, 1 };
    struct err err;

    if (lua_type(sandbox->L, -1) == LUA_TSTRING)
        fault.text.p = lua_tolstring(sandbox->L, -1, &fault.text.n);
    while (take_prefix(&fault))
        ;
    fault.text = str_slice(fault.text, 0, MESSAGE_MAX);
    if (is_limit(sandbox, status)) {
        (void)limits_error(&sandbox->limits, &err);
        add_fault(&fault, str_from(err.text));
    } else if (!report_nil(&fault)) {
        add_fault(&fault,
                  fault.text.n > 0 ? fault.text : STR("the script failed without a message"));
        hint_at_syntax(&fault);
    }
}
