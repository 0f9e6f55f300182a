#include "states/modules/iptables/rule.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/edit/lines.h"
#include "states/modules/file/content.h"
#include "states/provider/tool.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define RULE_ROW(id, key, flag, flags, ...) { key, "--" flag, flags },
static const struct row {
    const char *key, *flag;
    unsigned flags;
} rows[] = { RULE_OPTIONS(RULE_ROW) };
_Static_assert(ARRAY_LEN(rows) == RULE_OPTION_COUNT, "every option has a row");

/* --- values ----------------------------------------------------------------------------- */

static bool is_parameter_given(const struct value *v)
{
    return v && !(v->kind == VALUE_BOOL && !v->b);
}

/* A scalar, or a list with commas. */
static struct str join_rule_value(struct arena *arena, const struct value *v)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++) {
        buf_add_text(&out, i > 0 ? "," : "");
        content_add_scalar(&out, &v->list->items[i]);
    }
    if (v->kind != VALUE_LIST && v->kind != VALUE_NULL && v->kind != VALUE_BOOL)
        content_add_scalar(&out, v);
    return buf_copy(&out, arena);
}

/* "! x" and "not x" are the opposite of x. */
static bool cut_negation(struct str *text)
{
    const size_t n = str_starts(*text, STR("!")) ? 1 : str_starts(*text, STR("not ")) ? 4 : 0;

    if (n > 0)
        *text = str_trim_left(str_from_offset(*text, n));
    return n > 0;
}

/* --- mistakes --------------------------------------------------------------------------- */

static int validate_option(const struct row *row, const struct value *v, struct diags *diags)
{
    struct str text;

    if (!is_parameter_given(v))
        return 0;
    if (v->kind == VALUE_MAP || (v->kind == VALUE_LIST && !(row->flags & RULE_LIST)))
        return value_diag(diags, v, "'%s' must be text", row->key);
    text = join_rule_value(diags->arena, v);
    (void)cut_negation(&text);
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] < ' ')
            return value_diag(diags, v, "'%s' must not contain control characters", row->key);
    if (text.n > 0 && text.p[0] == '-')
        return value_diag(diags, v, "'%s' must not begin with a dash", row->key);
    return 0;
}

int rule_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct rule_args *want = args;
    int result = validate_text("table", want->table, VALIDATE_ARGUMENT, where, diags) |
                 validate_text("chain", want->chain, VALIDATE_ARGUMENT, where, diags) |
                 validate_text("jump", want->jump, VALIDATE_ARGUMENT, where, diags) |
                 validate_text("goto", want->jump_to, VALIDATE_ARGUMENT, where, diags);

    for (size_t i = 0; i < RULE_OPTION_COUNT; i++)
        result |= validate_option(&rows[i], want->options[i], diags);
    if (want->match && (want->match->kind == VALUE_MAP ||
                        str_starts(join_rule_value(diags->arena, want->match), STR("-"))))
        result = value_diag(diags, want->match, "'match' must be a list of names");
    if (want->save && want->save->kind != VALUE_BOOL && want->save->kind != VALUE_NULL &&
        (want->save->kind != VALUE_STR || want->save->s.n == 0 || want->save->s.p[0] != '/'))
        result = value_diag(diags, want->save, "'save' must be true, false or an absolute path");
    if (want->jump && want->jump_to)
        result =
            value_diag(diags, value_point(where, "goto"), "'jump' and 'goto' cannot both be given");
    return result;
}

/* --- words ------------------------------------------------------------------------------ */

static void add_rule_option(const struct tool *tool, struct tool_words *words,
                            const struct row *row, const struct value *v)
{
    struct str text = join_rule_value(tool->arena, v);

    if (cut_negation(&text))
        tool_add(tool, words, "!");
    tool_add(tool, words, row->flag);
    if (!(row->flags & RULE_WORDS)) {
        if (text.n > 0)
            tool_add(tool, words, arena_str(tool->arena, text).p);
        return;
    }
    for (struct str word = lines_word(&text); word.n > 0; word = lines_word(&text))
        tool_add(tool, words, arena_str(tool->arena, word).p);
}

static void add_rule_options(const struct tool *tool, const struct rule_args *args, size_t from,
                             bool after, struct tool_words *words)
{
    for (size_t i = from; i < RULE_OPTION_COUNT; i++)
        if (is_parameter_given(args->options[i]) && ((rows[i].flags & RULE_AFTER) != 0) == after)
            add_rule_option(tool, words, &rows[i], args->options[i]);
}

static bool has_match(struct str matches, const char *name)
{
    while (matches.p)
        if (str_is(str_trim(str_cut(&matches, ',')), name))
            return true;
    return false;
}

/* Options whose match goes without saying. */
static const struct {
    enum rule_option option;
    const char *match;
} implied[] = {
    { RULE_SPORTS, "multiport" }, { RULE_DPORTS, "multiport" }, { RULE_PORTS, "multiport" },
    { RULE_COMMENT, "comment" },  { RULE_CONNSTATE, "state" },  { RULE_CTSTATE, "conntrack" },
};

static void add_rule_matches(const struct tool *tool, const struct rule_args *args,
                             struct tool_words *words)
{
    AUTO_BUF struct buf all = BUF_INIT(BUF_NO_LIMIT);
    struct str rest;

    if (args->match)
        buf_add_str(&all, join_rule_value(tool->arena, args->match));
    for (size_t i = 0; i < ARRAY_LEN(implied); i++)
        if (is_parameter_given(args->options[implied[i].option]) &&
            !has_match(buf_view(&all), implied[i].match))
            buf_printf(&all, ",%s", implied[i].match);
    rest = buf_view(&all);
    while (rest.p) {
        const struct str match = str_trim(str_cut(&rest, ','));

        if (match.n == 0)
            continue;
        tool_add(tool, words, "--match");
        tool_add(tool, words, arena_str(tool->arena, match).p);
    }
}

/* Protocol first: it brings the options of ports. Then matches, which bring theirs. */
void rule_add(const struct tool *tool, const struct rule_args *args, struct tool_words *words)
{
    if (is_parameter_given(args->options[RULE_PROTOCOL]))
        add_rule_option(tool, words, &rows[RULE_PROTOCOL], args->options[RULE_PROTOCOL]);
    add_rule_matches(tool, args, words);
    add_rule_options(tool, args, RULE_PROTOCOL + 1, false, words);
    if (args->jump || args->jump_to) {
        tool_add(tool, words, args->jump ? "--jump" : "--goto");
        tool_add(tool, words, args->jump ? args->jump : args->jump_to);
    }
    add_rule_options(tool, args, 0, true, words);
}
