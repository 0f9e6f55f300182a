#include "states/modules/cmd/stateful.h"

#include <strings.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "states/state/module.h"

static struct str find_last_line(struct str output)
{
    struct str rest = output, last = STR("");

    while (rest.p) {
        const struct str line = str_trim(str_cut(&rest, '\n'));

        if (line.n > 0)
            last = line;
    }
    return last;
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* Cut a word, or a quoted string, from the front of `rest`. */
static struct str take_state_word(struct str *rest)
{
    struct str word;
    size_t end;

    if (rest->n > 0 && is_quote(rest->p[0])) {
        end = str_find_char(*rest, rest->p[0], 1);
        word = str_slice(*rest, 1, end == STR_NONE ? rest->n : end - 1);
        *rest = str_from_offset(*rest, end == STR_NONE ? rest->n : end + 1);
        return word;
    }
    end = str_find_char(*rest, ' ', 0);
    word = str_slice(*rest, 0, end == STR_NONE ? rest->n : end);
    *rest = str_from_offset(*rest, word.n);
    return word;
}

static int read_state_pairs(struct state_run *run, struct str line, struct value_map *map,
                            struct err *err)
{
    struct str rest = line;

    while ((rest = str_trim_left(rest)).n > 0) {
        const size_t equals = str_find_char(rest, '=', 0);
        struct str key;

        if (equals == STR_NONE || equals == 0)
            return err_set(
                err, ERR_INVALID,
                "stateful: the last line of output must be changed=yes or changed=no, got '%.*s'",
                STR_ARG(line));
        key = str_slice(rest, 0, equals);
        rest = str_from_offset(rest, equals + 1);
        value_map_set(run->arena, map, value_str(arena_str(run->arena, key)),
                      value_str(arena_str(run->arena, take_state_word(&rest))));
    }
    return 0;
}

static bool read_truth(const struct value *v, bool *ret)
{
    static const struct {
        const char *word;
        bool means;
    } words[] = {
        { "yes", true },
        { "true", true },
        { "no", false },
        { "false", false },
    };

    if (v->kind == VALUE_BOOL) {
        *ret = v->b;
        return true;
    }
    for (size_t i = 0; v->kind == VALUE_STR && i < ARRAY_LEN(words); i++)
        if (strcasecmp(v->s.p, words[i].word) == 0) {
            *ret = words[i].means;
            return true;
        }
    return false;
}

static int parse_result(struct state_run *run, struct str line, struct value *ret, struct err *err)
{
    struct err ignored;

    if (line.n > 0 && line.p[0] == '{' && json_decode(run->arena, line, ret, &ignored) == 0 &&
        ret->kind == VALUE_MAP)
        return 0;
    *ret = value_map(value_map_new(run->arena, 4));
    return read_state_pairs(run, line, ret->map, err);
}

static const struct value *find_test_name(const struct value *v)
{
    if (value_is(v, VALUE_LIST) && v->list->count > 0)
        v = &v->list->items[0];
    return value_is(v, VALUE_MAP) ? value_get(v, "test_name") : NULL;
}

int stateful_validate(const struct value *v, struct diags *diags)
{
    bool truth;

    if (!v || v->kind == VALUE_NULL || read_truth(v, &truth) ||
        value_is(find_test_name(v), VALUE_STR))
        return 0;
    (void)value_diag(diags, v, "'stateful' must be true or false, got %s", value_describe(v));
    diag_hint(diags, "or a list with the command of dry runs: '- test_name: COMMAND'");
    return -1;
}

bool stateful_is_on(const struct value *v)
{
    bool truth = false;

    return v && (find_test_name(v) || (read_truth(v, &truth) && truth));
}

const char *stateful_test_name(const struct value *v)
{
    const struct value *name = find_test_name(v);

    return value_is(name, VALUE_STR) ? name->s.p : NULL;
}

int stateful_foretell(struct state_run *run, struct str output, bool *ret_changes, struct err *err)
{
    const struct str line = find_last_line(output);
    struct value said;
    bool changed;

    if (parse_result(run, line, &said, err) < 0)
        return -1;

    const struct value *truth = value_get(&said, "changed");
    if (!truth || !read_truth(truth, &changed))
        return err_set(
            err, ERR_INVALID,
            "stateful: the last line of output does not contain changed=yes or changed=no: '%.*s'",
            STR_ARG(line));
    for (size_t i = 0; i < said.map->count; i++)
        if (!str_is(said.map->pairs[i].key.s, "changed"))
            state_detail_value(run, said.map->pairs[i].key.s.p, said.map->pairs[i].value);
    *ret_changes = changed;
    return 0;
}

int stateful_read(struct state_run *run, struct str output, struct err *err)
{
    bool changed;

    if (stateful_foretell(run, output, &changed, err) < 0)
        return -1;
    if (!changed)
        state_unchanged(run);
    return 0;
}
