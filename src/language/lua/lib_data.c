/* json and yaml: parse and stringify. */
#include "language/lua/lib.h"

#include <lauxlib.h>

#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/yaml.h"
#include "core/data/yaml_print.h"
#include "language/lua/convert.h"
#include "language/lua/state.h"

/* Maximum text to read: its tree takes many times as much. */
#define DATA_TEXT_MAX ((size_t)4 << 20)

typedef int parse_fn(struct arena *arena, struct str text, struct value *ret, struct diags *diags);

static int parse_json_text(struct arena *arena, struct str text, struct value *ret,
                           struct diags *diags)
{
    return json_parse(arena, NULL, text, ret, diags);
}

static int parse_yaml_document(struct arena *arena, struct str text, struct value *ret,
                               struct diags *diags)
{
    static const struct yaml_options options = { .dialect = YAML_DIALECT_1_2 };

    return yaml_parse(arena, NULL, text, &options, ret, diags);
}

/* No function raises while the scratch arena is in use, and the sandbox owns it: so nothing is
 * lost. */
static int parse_document(lua_State *L, parse_fn *fn)
{
    struct sandbox *sandbox = state_of(L);
    struct diags diags = DIAGS_INIT(&sandbox->scratch);
    struct str text;
    struct value v;

    text.p = luaL_checklstring(L, 1, &text.n);
    luaL_argcheck(L, text.n <= DATA_TEXT_MAX, 1, "text is longer than 4 MiB");
    limits_charge(L, text.n);
    arena_clear(&sandbox->scratch);
    if (fn(&sandbox->scratch, text, &v, &diags) < 0) {
        struct err err;

        (void)diags_to_err(&diags, &err);
        return luaL_error(L, "%s", err.text);
    }
    convert_push(L, &v);
    return 1;
}

/* The value at 1 in the scratch arena. */
static struct value pull_argument(lua_State *L)
{
    struct sandbox *sandbox = state_of(L);
    struct value v;
    struct err err;

    luaL_checkany(L, 1);
    arena_clear(&sandbox->scratch);
    if (convert_pull(L, 1, &sandbox->scratch, &v, &err) < 0)
        luaL_error(L, "%s", err.text);
    limits_charge(L, sandbox->scratch.used / 16);
    return v;
}

static int push_printed_text(lua_State *L, int failed, const struct err *err)
{
    struct buf *text = &state_of(L)->text;

    if (failed)
        return luaL_error(L, "%s", err->text);
    lua_pushlstring(L, buf_text(text), text->n);
    return 1;
}

static int json_parse_fn(lua_State *L)
{
    return parse_document(L, parse_json_text);
}

static int json_stringify(lua_State *L)
{
    struct buf *text = &state_of(L)->text;
    unsigned style = lua_toboolean(L, 2) ? JSON_STYLE_PRETTY : JSON_STYLE_COMPACT;
    struct value v = pull_argument(L);
    struct err err;

    buf_clear(text);
    return push_printed_text(L, json_print(text, &v, style, &err), &err);
}

static int yaml_parse_fn(lua_State *L)
{
    return parse_document(L, parse_yaml_document);
}

static int yaml_stringify(lua_State *L)
{
    struct buf *text = &state_of(L)->text;
    struct value v = pull_argument(L);
    struct err err;

    buf_clear(text);
    return push_printed_text(L, yaml_print(text, &v, &err), &err);
}

void lib_open_data(lua_State *L)
{
    static const luaL_Reg json[] = {
        { "parse", json_parse_fn },
        { "stringify", json_stringify },
        { NULL, NULL },
    };
    static const luaL_Reg yaml[] = {
        { "parse", yaml_parse_fn },
        { "stringify", yaml_stringify },
        { NULL, NULL },
    };

    luaL_newlib(L, json);
    lib_publish(L, "json");
    luaL_newlib(L, yaml);
    lib_publish(L, "yaml");
}
