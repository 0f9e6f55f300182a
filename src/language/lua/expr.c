#include "language/lua/expr.h"

#include <math.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "core/data/value.h"
#include "language/lua/chunk.h"
#include "language/lua/convert.h"
#include "language/lua/state.h"

/* --- marks ---------------------------------------------------------------------------- */

/* An expression in a text: [from, end) with its marks, and the code between them. */
struct mark {
    size_t from, end;
    size_t code, n;
};

static bool find_expr_mark(struct str text, size_t from, struct mark *ret)
{
    size_t open = str_find(text, STR(EXPR_OPEN), from);
    size_t close;

    if (open == STR_NONE)
        return false;
    close = str_find(text, STR(EXPR_CLOSE), open + strlen(EXPR_OPEN));
    if (close == STR_NONE)
        return false;
    ret->from = open;
    ret->end = close + strlen(EXPR_CLOSE);
    ret->code = open + strlen(EXPR_OPEN);
    ret->n = close - ret->code;
    return true;
}

/* Is the mark the whole text, apart from blanks? */
static bool is_whole_text(struct str text, const struct mark *mark)
{
    struct str before = str_slice(text, 0, mark->from);

    return str_trim(before).n == 0 && str_trim(str_from_offset(text, mark->end)).n == 0;
}

static bool is_block(const struct value *v)
{
    const char *tag = value_tag(v);

    return tag && strcmp(tag, "!lua") == 0;
}

static bool is_dynamic(const struct value *v, int depth)
{
    struct mark mark;

    if (is_block(v))
        return true;
    if (v->kind == VALUE_STR)
        return find_expr_mark(v->s, 0, &mark);
    if (depth > EXPR_DEPTH_MAX)
        return true; /* evaluating it reports the mistake */
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        if (is_dynamic(&v->list->items[i], depth + 1))
            return true;
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        if (is_dynamic(&v->map->pairs[i].value, depth + 1))
            return true;
    return false;
}

bool expr_is_dynamic(const struct value *v)
{
    return is_dynamic(v, 0);
}

bool expr_is_whole(const struct value *v)
{
    struct mark mark;

    return is_block(v) ||
           (v->kind == VALUE_STR && find_expr_mark(v->s, 0, &mark) && is_whole_text(v->s, &mark));
}

/* --- evaluating -------------------------------------------------------------------------- */

struct expr_eval {
    struct sandbox *sandbox;
    struct arena *arena;
    struct diags *diags;
    const struct value_source *tagged, *plain; /* the last source with a tag, and one without */
};

/* The result has the place of the expression, and is not dynamic itself. */
static struct value place_result(struct expr_eval *eval, struct value v, const struct value *where)
{
    const struct value_source *source = where->source;

    v = value_at(v, where);
    if (source && source->tag) {
        if (eval->tagged != source) {
            struct value_source *plain = ARENA_NEW(eval->arena, struct value_source);

            *plain = *source;
            plain->tag = NULL;
            eval->tagged = source;
            eval->plain = plain;
        }
        v.source = eval->plain;
    }
    return v;
}

/* The result of the chunk as a value. */
static int run_to_value(struct expr_eval *eval, const struct chunk_code *code, struct value *ret)
{
    lua_State *L = eval->sandbox->L;
    struct value v;
    struct err err;
    int failed;

    if (chunk_run(eval->sandbox, code, eval->diags) < 0)
        return -1;
    failed = convert_pull(L, -1, eval->arena, &v, &err);
    lua_settop(L, 0);
    if (failed)
        return value_diag(eval->diags, code->origin, "%s", err.text);
    if (eval->sandbox->secret)
        v.flags |= VALUE_SECRET;
    *ret = place_result(eval, v, code->origin);
    return 0;
}

/* Append the value on top of the Lua stack, as text. Must not raise. */
static void add_expr_result(lua_State *L, struct buf *out)
{
    struct str s;
    double d;

    switch (lua_type(L, -1)) {
    case LUA_TNIL: break;
    case LUA_TBOOLEAN: buf_add_text(out, lua_toboolean(L, -1) ? "true" : "false"); break;
    case LUA_TNUMBER:
        d = lua_tonumber(L, -1);
        if (lua_isinteger(L, -1))
            buf_printf(out, LUA_INTEGER_FMT, lua_tointeger(L, -1));
        else if (floor(d) == d && fabs(d) < 1e15)
            buf_printf(out, "%.0f", d);
        else
            buf_printf(out, LUA_NUMBER_FMT, d);
        break;
    case LUA_TSTRING:
        s.p = lua_tolstring(L, -1, &s.n);
        buf_add_str(out, s);
        break;
    case LUA_TFUNCTION: buf_add_text(out, "[function]"); break;
    default: buf_add_text(out, "[table]");
    }
}

static int splice_results(struct expr_eval *eval, const struct value *v, struct buf *out,
                          bool *ret_secret)
{
    struct mark mark;
    size_t at = 0;

    for (; find_expr_mark(v->s, at, &mark); at = mark.end) {
        struct chunk_code code = { CHUNK_EXPRESSION, v, mark.code, mark.n };

        buf_add_str(out, str_slice(v->s, at, mark.from - at));
        if (chunk_run(eval->sandbox, &code, eval->diags) < 0)
            return -1;
        *ret_secret = *ret_secret || eval->sandbox->secret;
        add_expr_result(eval->sandbox->L, out);
        lua_settop(eval->sandbox->L, 0);
    }
    buf_add_str(out, str_from_offset(v->s, at));
    return 0;
}

static int eval_mixed(struct expr_eval *eval, const struct value *v, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(EXPR_TEXT_MAX);
    bool secret = (v->flags & VALUE_SECRET) != 0;
    struct value text;

    if (splice_results(eval, v, &out, &secret) < 0)
        return -1;
    if (out.full)
        return value_diag(eval->diags, v, "the text is longer than %zu MiB", EXPR_TEXT_MAX >> 20);
    text = value_str(buf_copy(&out, eval->arena));
    if (!utf8_is_valid(text.s))
        text.kind = VALUE_BYTES;
    text.flags = (uint8_t)(VALUE_QUOTED | (secret ? VALUE_SECRET : 0));
    *ret = place_result(eval, text, v);
    return 0;
}

static int eval_text(struct expr_eval *eval, const struct value *v, struct value *ret)
{
    struct mark mark;

    if (!find_expr_mark(v->s, 0, &mark)) {
        *ret = *v;
        return 0;
    }
    if (!is_whole_text(v->s, &mark))
        return eval_mixed(eval, v, ret);
    return run_to_value(eval, &(struct chunk_code){ CHUNK_EXPRESSION, v, mark.code, mark.n }, ret);
}

static int eval_block(struct expr_eval *eval, const struct value *v, struct value *ret)
{
    struct chunk_code code = { CHUNK_BLOCK, v, 0, v->s.n };

    if (v->kind != VALUE_STR)
        return value_diag(eval->diags, v, "'!lua' must be text, not %s", value_describe(v));
    return run_to_value(eval, &code, ret);
}

static bool is_limit_reached(const struct expr_eval *eval)
{
    enum limits_reached reached = eval->sandbox->limits.reached;

    return reached == LIMITS_TIME || reached == LIMITS_INSTRUCTIONS;
}

static int eval_value(struct expr_eval *eval, const struct value *v, int depth, struct value *ret);

static int eval_value_list(struct expr_eval *e, const struct value *v, int depth, struct value *ret)
{
    struct value_list *list = value_list_new(e->arena, v->list->count);
    int failed = 0;

    for (size_t i = 0; i < v->list->count && !is_limit_reached(e); i++) {
        struct value item;

        if (eval_value(e, &v->list->items[i], depth + 1, &item) < 0)
            failed = -1;
        else
            value_list_push(e->arena, list, item);
    }
    *ret = place_result(e, value_list(list), v);
    return failed;
}

static int eval_map(struct expr_eval *e, const struct value *v, int depth, struct value *ret)
{
    struct value_map *map = value_map_new(e->arena, v->map->count);
    int failed = 0;

    for (size_t i = 0; i < v->map->count && !is_limit_reached(e); i++) {
        const struct value_pair *pair = &v->map->pairs[i];
        struct value item;

        if (eval_value(e, &pair->value, depth + 1, &item) < 0)
            failed = -1;
        else
            value_map_set(e->arena, map, pair->key, item);
    }
    *ret = place_result(e, value_map(map), v);
    return failed;
}

static int eval_value(struct expr_eval *e, const struct value *v, int depth, struct value *ret)
{
    if (depth > EXPR_DEPTH_MAX)
        return value_diag(e->diags, v, "nested deeper than %d levels", EXPR_DEPTH_MAX);
    if (is_block(v))
        return eval_block(e, v, ret);
    if (v->kind == VALUE_STR)
        return eval_text(e, v, ret);
    if (v->kind == VALUE_LIST)
        return eval_value_list(e, v, depth, ret);
    if (v->kind == VALUE_MAP)
        return eval_map(e, v, depth, ret);
    *ret = *v;
    return 0;
}

int expr_eval_value(struct sandbox *sandbox, const struct value *v, struct arena *arena,
                    struct value *ret, struct diags *diags)
{
    struct expr_eval e = { .sandbox = sandbox, .arena = arena, .diags = diags };
    struct value result;

    limits_begin(&sandbox->limits, sandbox->L);
    if (eval_value(&e, v, 0, &result) < 0)
        return -1;
    *ret = result;
    return 0;
}

int expr_run_block(struct sandbox *sandbox, const struct value *block, struct arena *arena,
                   struct value *ret, struct diags *diags)
{
    struct expr_eval e = { .sandbox = sandbox, .arena = arena, .diags = diags };
    struct value result;

    limits_begin(&sandbox->limits, sandbox->L);
    if (eval_block(&e, block, &result) < 0)
        return -1;
    *ret = result;
    return 0;
}

/* --- checking ------------------------------------------------------------------------- */

/* Each has its own budget, as in evaluation. */
static int check_code(struct sandbox *sandbox, struct chunk_code code, struct diags *diags)
{
    limits_begin(&sandbox->limits, sandbox->L);
    return chunk_check(sandbox, &code, diags);
}

static int check_expr_text(struct sandbox *sandbox, const struct value *v, struct diags *diags)
{
    struct mark mark;
    int result = 0;

    for (size_t at = 0; find_expr_mark(v->s, at, &mark); at = mark.end) {
        struct chunk_code code = { CHUNK_EXPRESSION, v, mark.code, mark.n };

        if (check_code(sandbox, code, diags) < 0)
            result = -1;
    }
    return result;
}

static int check_expr_value(struct sandbox *sandbox, const struct value *v, int depth,
                            struct diags *diags)
{
    int result = 0;

    if (depth > EXPR_DEPTH_MAX)
        return 0; /* evaluating it reports the mistake */
    if (is_block(v) && v->kind == VALUE_STR)
        return check_code(sandbox, (struct chunk_code){ CHUNK_BLOCK, v, 0, v->s.n }, diags);
    if (v->kind == VALUE_STR)
        return check_expr_text(sandbox, v, diags);
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        if (check_expr_value(sandbox, &v->list->items[i], depth + 1, diags) < 0)
            result = -1;
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        if (check_expr_value(sandbox, &v->map->pairs[i].value, depth + 1, diags) < 0)
            result = -1;
    return result;
}

int expr_check_block(struct sandbox *sandbox, const struct value *block, struct diags *diags)
{
    return check_code(sandbox, (struct chunk_code){ CHUNK_BLOCK, block, 0, block->s.n }, diags);
}

int expr_check(struct sandbox *sandbox, const struct value *v, struct diags *diags)
{
    return check_expr_value(sandbox, v, 0, diags);
}

int expr_run_script(struct sandbox *sandbox, const struct value *script, struct diags *diags)
{
    struct chunk_code code = { CHUNK_SCRIPT, script, 0, script->s.n };

    if (script->kind != VALUE_STR)
        return value_diag(diags, script, "must be Lua code as text, not %s",
                          value_describe(script));
    limits_begin(&sandbox->limits, sandbox->L);
    if (chunk_run(sandbox, &code, diags) < 0)
        return -1;
    lua_settop(sandbox->L, 0);
    return 0;
}
