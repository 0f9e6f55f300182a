#include "states/compile/slot.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/compile/salt.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "states/state/host.h"
#include "states/state/module.h"

#define PREFIX   "__slot__:"
#define ENGINE   "salt:"
#define TEXT_MAX ((size_t)16 << 20)

struct slot_call {
    struct str name;
    struct value words, pairs; /* arguments of the function */
    struct str keys;           /* ".a.b" into its answer; may be empty */
    struct str append;         /* may be empty */
};

static bool is_slot_text(const struct value *v)
{
    return v->kind == VALUE_STR && str_starts(v->s, STR(PREFIX));
}

const struct value *slot_find(const struct value *v)
{
    const struct value *found = NULL;

    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count && !found; i++)
        found = slot_find(&v->list->items[i]);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count && !found; i++)
        found = slot_find(&v->map->pairs[i].value);
    return is_slot_text(v) ? v : found;
}

/* --- reading -------------------------------------------------------------------------------- */

/* Where the first of `ends` is, outside of quotes and brackets; STR_NONE. */
static size_t find_argument_end(struct str text, const char *ends)
{
    unsigned depth = 0;
    char quote = '\0';

    for (size_t i = 0; i < text.n; i++) {
        const char c = text.p[i];

        if (quote != '\0')
            quote = c == quote ? '\0' : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (depth == 0 && str_find_char(str_from(ends), c, 0) != STR_NONE)
            return i;
        else if (c == '[' || c == '{' || c == '(')
            depth++;
        else if ((c == ']' || c == '}' || c == ')') && depth > 0)
            depth--;
    }
    return STR_NONE;
}

static bool is_slot_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static int add_slot_argument(struct arena *arena, struct slot_call *slot, struct str text,
                             struct err *err)
{
    const struct yaml_options options = { .dialect = YAML_DIALECT_SALT };
    struct diags diags = DIAGS_INIT(arena);
    const size_t equals = find_argument_end(text, "=");
    struct str key = { text.p, equals == STR_NONE ? 0 : equals };
    struct str rest = equals == STR_NONE ? text : str_from_offset(text, equals + 1);
    struct value v;

    key = str_trim(key);
    for (size_t i = 0; i < key.n; i++)
        if (!is_slot_letter(key.p[i]))
            key.n = 0; /* not a name: all of it is the argument */
    if (key.n == 0)
        rest = text;
    if (yaml_parse(arena, NULL, str_trim(rest), &options, &v, &diags) < 0)
        return diags_to_err(&diags, err);
    if (key.n > 0)
        value_map_set(arena, slot->pairs.map, value_str(arena_str(arena, key)), v);
    else
        value_list_push(arena, slot->words.list, v);
    return 0;
}

static int read_slot_arguments(struct arena *arena, struct slot_call *slot, struct str text,
                               struct err *err)
{
    while (str_trim(text).n > 0) {
        const size_t end = find_argument_end(text, ",");
        const struct str one = { text.p, end == STR_NONE ? text.n : end };

        if (add_slot_argument(arena, slot, str_trim(one), err) < 0)
            return -1;
        text = end == STR_NONE ? STR("") : str_from_offset(text, end + 1);
    }
    return 0;
}

static struct str unquote_argument(struct str text)
{
    if (text.n >= 2 && (text.p[0] == '"' || text.p[0] == '\'') && text.p[text.n - 1] == text.p[0])
        return (struct str){ text.p + 1, text.n - 2 };
    return text;
}

static int parse_slot(struct arena *arena, struct str text, struct slot_call *ret, struct err *err)
{
    struct slot_call slot = {
        .words = value_list(value_list_new(arena, 2)),
        .pairs = value_map(value_map_new(arena, 2)),
    };
    struct str rest = str_from_offset(text, sizeof(PREFIX) - 1);
    size_t open, close, tilde;

    if (!str_starts(rest, STR(ENGINE)))
        return err_set(err, ERR_INVALID, "unknown kind of slot; expected '" PREFIX ENGINE "'");
    rest = str_from_offset(rest, sizeof(ENGINE) - 1);
    open = str_find_char(rest, '(', 0);
    close = open == STR_NONE ? STR_NONE : find_argument_end(str_from_offset(rest, open + 1), ")");
    if (close == STR_NONE)
        return err_set(err, ERR_INVALID, "a slot has the form '" PREFIX ENGINE "mod.fun(...)'");
    slot.name = arena_str(arena, (struct str){ rest.p, open });
    if (read_slot_arguments(arena, &slot, (struct str){ rest.p + open + 1, close }, err) < 0)
        return -1;
    rest = str_from_offset(rest, open + 1 + close + 1);
    tilde = find_argument_end(rest, "~");
    slot.keys = str_trim((struct str){ rest.p, tilde == STR_NONE ? rest.n : tilde });
    slot.append =
        tilde == STR_NONE ? STR("") : unquote_argument(str_trim(str_from_offset(rest, tilde + 1)));
    if (slot.keys.n > 0 && slot.keys.p[0] != '.')
        return err_set(err, ERR_INVALID, "unexpected '%.*s' after the slot", STR_ARG(slot.keys));
    *ret = slot;
    return 0;
}

int slot_check(struct arena *arena, const struct value *v, struct diags *diags)
{
    const struct module *module;
    struct slot_call slot;
    struct err err;
    int result = 0;

    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        result |= slot_check(arena, &v->list->items[i], diags);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        result |= slot_check(arena, &v->map->pairs[i].value, diags);
    if (!is_slot_text(v))
        return result;
    if (parse_slot(arena, v->s, &slot, &err) < 0)
        return value_diag(diags, v, "%s", err.text);
    module = module_find(slot.name);
    if (!(module && module->call) && !salt_has(slot.name))
        return value_diag(diags, v, "no function '%.*s'", STR_ARG(slot.name));
    return 0;
}

/* --- filling -------------------------------------------------------------------------------- */

static int follow_keys(const struct slot_call *slot, struct value *answer, struct err *err)
{
    struct str rest = str_from_offset(slot->keys, slot->keys.n > 0 ? 1 : 0);

    while (rest.p && rest.n > 0) {
        const struct value key = value_str(str_cut(&rest, '.'));
        const struct value *found =
            answer->kind == VALUE_MAP ? value_map_find(answer->map, &key) : NULL;

        if (!found)
            return err_set(err, ERR_NOT_FOUND, "the answer of %.*s has no '%.*s'",
                           STR_ARG(slot->name), STR_ARG(key.s));
        *answer = *found;
    }
    return 0;
}

static int append_text(struct arena *arena, const struct slot_call *slot, struct value *answer,
                       struct err *err)
{
    if (slot->append.n == 0)
        return 0;
    if (answer->kind != VALUE_STR)
        return err_set(err, ERR_INVALID, "the answer of %.*s is %s, to which no text can be added",
                       STR_ARG(slot->name), value_describe(answer));
    *answer =
        value_text(arena_printf(arena, "%.*s%.*s", STR_ARG(answer->s), STR_ARG(slot->append)));
    return 0;
}

/* Commands, and functions that say that they act. */
static bool may_change(const struct module *module)
{
    return module && (module->apply || (module->flags & MODULE_ACTS));
}

static int fill_one(struct arena *arena, struct state_host *host, const struct value *v,
                    struct value *ret, const char **ret_forecast, struct err *err)
{
    struct diags diags = DIAGS_INIT(arena);
    struct slot_call slot;

    if (parse_slot(arena, v->s, &slot, err) < 0)
        return -1;
    if (host->test && may_change(module_find(slot.name))) {
        *ret_forecast = arena_printf(arena, "depends on what %.*s will return", STR_ARG(slot.name));
        *ret = value_at(
            value_text(arena_printf(arena, "(what %.*s will return)", STR_ARG(slot.name))), v);
        return 0;
    }
    if (salt_call_by_hand(arena, host, slot.name.p, &slot.words, &slot.pairs, ret, &diags) < 0)
        return diags_to_err(&diags, err);
    if (follow_keys(&slot, ret, err) < 0 || append_text(arena, &slot, ret, err) < 0)
        return -1;
    *ret = value_at(*ret, v);
    return 0;
}

int slot_fill(struct arena *arena, struct state_host *host, const struct value *v,
              struct value *ret, const char **ret_forecast, struct err *err)
{
    struct value made = *v;

    if (!slot_find(v)) {
        *ret = *v;
        return 0;
    }
    if (is_slot_text(v))
        return fill_one(arena, host, v, ret, ret_forecast, err);
    if (v->kind == VALUE_LIST) {
        made.list = value_list_new(arena, v->list->count);
        for (size_t i = 0; i < v->list->count; i++) {
            struct value item;

            if (slot_fill(arena, host, &v->list->items[i], &item, ret_forecast, err) < 0)
                return -1;
            value_list_push(arena, made.list, item);
        }
    } else {
        made.map = value_map_new_like(arena, v->map);
        for (size_t i = 0; i < v->map->count; i++) {
            struct value item;

            if (slot_fill(arena, host, &v->map->pairs[i].value, &item, ret_forecast, err) < 0)
                return -1;
            value_map_set(arena, made.map, v->map->pairs[i].key, item);
        }
    }
    *ret = made;
    return 0;
}
