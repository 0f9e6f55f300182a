#include "core/data/param_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/base/suggest.h"
#include "core/data/mode_number.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "core/data/words.h"

/* "item 18446744073709551615" and NUL. */
#define ITEM_SIZE 32
/* 2^63: the first double that does not fit int64_t. */
#define INT_END 9223372036854775808.0

typedef int reader_fn(const struct param_reader *r, const struct value *v, void *field);

/* clang-format off */
static const char *const wanted[] = {
    [PARAM_BOOL]     = "true or false",
    [PARAM_TRISTATE] = "true or false",
    [PARAM_INT]      = "a whole number",
    [PARAM_DOUBLE]   = "a number",
    [PARAM_STR]      = "text",
    [PARAM_TEXT]     = "text",
    [PARAM_PATH]     = "an absolute path",
    [PARAM_MODE]     = "a file mode such as \"0644\"",
    [PARAM_DURATION] = "a duration such as \"10s\"",
    [PARAM_SIZE]     = "a size such as \"10M\"",
    [PARAM_CHOICE]   = "one of",
    [PARAM_STRS]     = "a list of strings",
    [PARAM_STRMAP]   = "a map of strings",
    [PARAM_LIST]     = "a list",
    [PARAM_MAP]      = "a map",
    [PARAM_ANY]      = "a value",
};
/* clang-format on */
_Static_assert(ARRAY_LEN(wanted) == PARAM_KINDS, "every kind says what it must be");

/* --- saying what is wrong ------------------------------------------------- */

static bool is_secret(const struct param_reader *r, const struct value *v)
{
    return (r->param->flags & PARAM_SECRET) || (v->flags & VALUE_SECRET);
}

static const char *describe_value(const struct param_reader *r, const struct value *v)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    if (v->kind == VALUE_LIST || v->kind == VALUE_MAP || v->kind == VALUE_NULL ||
        v->kind == VALUE_OBJECT)
        return value_describe(v);
    if (is_secret(r, v))
        return "<redacted>";
    if (value_is_textual(v))
        words_quote(&out, v->s);
    else
        words_print(&out, v);
    return arena_strdup(r->diags->arena, buf_text(&out));
}

/* Add `text` at the value; returns -1. */
static int report_param_mistake(const struct param_reader *r, const struct value *v,
                                const char *text)
{
    const char *mark = r->mark ? r->mark : "";

    if (r->no_source || is_secret(r, v))
        (void)diag_add(r->diags, value_place(v), "'%s%.*s' %s", mark, STR_ARG(r->key), text);
    else
        (void)value_diag(r->diags, v, "'%s%.*s' %s", mark, STR_ARG(r->key), text);
    return -1;
}

static const char *choices_text(const struct param_reader *r)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct str rest = str_from(r->param->choices);

    buf_add_text(&out, wanted[PARAM_CHOICE]);
    for (const char *comma = " "; rest.p; comma = ", ") {
        struct str word = str_cut(&rest, '|');

        buf_printf(&out, "%s'%.*s'", comma, STR_ARG(word));
    }
    return arena_strdup(r->diags->arena, buf_text(&out));
}

/* "must be this, got that"; returns -1. */
static int refuse_param_kind(const struct param_reader *r, const struct value *v)
{
    const char *want = r->param->kind == PARAM_CHOICE ? choices_text(r) : wanted[r->param->kind];

    return report_param_mistake(
        r, v, arena_printf(r->diags->arena, "must be %s, got %s", want, describe_value(r, v)));
}

/* A text that is not a number of its kind, or one that is too large; `err` explains it. */
static int refuse_number(const struct param_reader *r, const struct value *v, const struct err *err)
{
    if (err->code != ERR_LIMIT || is_secret(r, v))
        return refuse_param_kind(r, v);
    return report_param_mistake(r, v, arena_printf(r->diags->arena, "is too large: %s", err->text));
}

/* In strict documents a missing or superfluous quote is the usual mistake. */
static int refuse_quoted(const struct param_reader *r, const struct value *v)
{
    (void)refuse_param_kind(r, v);
    if (r->strict && (v->flags & VALUE_QUOTED))
        diag_hint(r->diags, "write it without quotes");
    return -1;
}

/* Refuse numbers outside the range of the parameter; `print` prints a bound. */
static int check_range(const struct param_reader *r, const struct value *v, int64_t n,
                       void (*print)(int64_t n, struct buf *out))
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct param *p = r->param;

    if (p->min >= p->max || (n >= p->min && n <= p->max))
        return 0;
    buf_add_text(&out, n < p->min ? "must be at least " : "must be at most ");
    print(n < p->min ? p->min : p->max, &out);
    buf_printf(&out, ", got %s", describe_value(r, v));
    return report_param_mistake(r, v, buf_text(&out));
}

/* --- readers -------------------------------------------------------------- */

static bool parse_bool(struct str text, bool *ret_b)
{
    static const struct {
        const char *word;
        bool means;
    } words[] = {
        { "true", true },   { "yes", true }, { "1", true },  { "on", true },
        { "false", false }, { "no", false }, { "0", false }, { "off", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (text.n == strlen(words[i].word) && strncasecmp(text.p, words[i].word, text.n) == 0) {
            *ret_b = words[i].means;
            return true;
        }
    return false;
}

static int take_bool(const struct param_reader *r, const struct value *v, bool *ret_b)
{
    if (v->kind == VALUE_BOOL) {
        *ret_b = v->b;
        return 0;
    }
    if (r->strict)
        return refuse_quoted(r, v);
    if (v->kind == VALUE_INT && (v->i == 0 || v->i == 1)) {
        *ret_b = v->i == 1;
        return 0;
    }
    if (v->kind == VALUE_STR && parse_bool(v->s, ret_b))
        return 0;
    return refuse_param_kind(r, v);
}

static int read_bool(const struct param_reader *r, const struct value *v, void *field)
{
    return take_bool(r, v, field);
}

static int read_tristate(const struct param_reader *r, const struct value *v, void *field)
{
    bool b;

    if (take_bool(r, v, &b) < 0)
        return -1;
    *(enum param_tristate *)field = b ? PARAM_IS_TRUE : PARAM_IS_FALSE;
    return 0;
}

static void print_int(int64_t n, struct buf *out)
{
    buf_printf(out, "%lld", (long long)n);
}

static int take_int(const struct param_reader *r, const struct value *v, int64_t *ret_n)
{
    struct err err;

    if (v->kind == VALUE_INT) {
        *ret_n = v->i;
        return 0;
    }
    if (r->strict)
        return refuse_quoted(r, v);
    if (v->kind == VALUE_DOUBLE && v->d >= -INT_END && v->d < INT_END && trunc(v->d) == v->d) {
        *ret_n = (int64_t)v->d;
        return 0;
    }
    if (v->kind != VALUE_STR)
        return refuse_param_kind(r, v);
    if (number_parse_int(str_trim(v->s), ret_n, &err) < 0)
        return refuse_number(r, v, &err);
    return 0;
}

static int read_int_param(const struct param_reader *r, const struct value *v, void *field)
{
    int64_t n;

    if (take_int(r, v, &n) < 0 || check_range(r, v, n, print_int) < 0)
        return -1;
    *(int64_t *)field = n;
    return 0;
}

static int read_double_param(const struct param_reader *r, const struct value *v, void *field)
{
    struct err err;
    double d;

    if (v->kind == VALUE_INT)
        d = (double)v->i;
    else if (v->kind == VALUE_DOUBLE && isfinite(v->d))
        d = v->d;
    else if (r->strict || v->kind != VALUE_STR)
        return refuse_quoted(r, v);
    else if (number_parse_double(str_trim(v->s), &d, &err) < 0)
        return refuse_number(r, v, &err);
    *(double *)field = d;
    return 0;
}

/* Any scalar as text, or strings only when strict. */
static int take_param_text(const struct param_reader *r, const struct value *v,
                           struct str *ret_text)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct str own;

    if (value_is_textual(v)) {
        *ret_text = v->s;
        return 0;
    }
    if (!words_print(&out, v))
        return refuse_param_kind(r, v);
    if (r->strict) {
        (void)refuse_param_kind(r, v);
        diag_hint(r->diags, "put it in quotes");
        return -1;
    }
    own = words_own(v, r->cursor);
    *ret_text = own.p ? arena_str(r->arena, own) : buf_copy(&out, r->arena);
    return 0;
}

static int take_cstring(const struct param_reader *r, const struct value *v, const char **ret_text)
{
    struct str text;

    if (take_param_text(r, v, &text) < 0)
        return -1;
    if (text.n > 0 && memchr(text.p, '\0', text.n))
        return report_param_mistake(r, v, "must not contain a NUL byte");
    *ret_text = text.p ? text.p : "";
    return 0;
}

static int check_filled(const struct param_reader *r, const struct value *v, size_t n)
{
    if (n > 0 || !(r->param->flags & PARAM_FILLED))
        return 0;
    return report_param_mistake(r, v, "must not be empty");
}

static int read_str(const struct param_reader *r, const struct value *v, void *field)
{
    const char *text;

    if (take_cstring(r, v, &text) < 0 || check_filled(r, v, strlen(text)) < 0)
        return -1;
    *(const char **)field = text;
    return 0;
}

static int read_text_param(const struct param_reader *r, const struct value *v, void *field)
{
    struct str text;

    if (take_param_text(r, v, &text) < 0 || check_filled(r, v, text.n) < 0)
        return -1;
    *(struct str *)field = text;
    return 0;
}

static int read_path_param(const struct param_reader *r, const struct value *v, void *field)
{
    const char *text;

    if (!value_is_textual(v))
        return refuse_param_kind(r, v);
    if (take_cstring(r, v, &text) < 0)
        return -1;
    if (text[0] != '/')
        return refuse_param_kind(r, v);
    *(const char **)field = text;
    return 0;
}

static int read_mode_param(const struct param_reader *r, const struct value *v, void *field)
{
    struct err err;
    unsigned mode;

    if (v->kind == VALUE_STR) {
        if (number_parse_mode(v->s, &mode, &err) < 0)
            return refuse_number(r, v, &err);
        *(mode_t *)field = mode;
        return 0;
    }
    if (v->kind != VALUE_INT)
        return refuse_param_kind(r, v);
    if (mode_number_read(v, words_written(v, r->cursor), field))
        return 0;
    (void)refuse_param_kind(r, v);
    if (!is_secret(r, v) && mode_number_has_digits(v->i))
        diag_hint(r->diags, "quote it: \"%04d\" (the number %d is the mode 0%o)", (int)v->i,
                  (int)v->i, (unsigned)v->i);
    return -1;
}

/* A number is seconds; whether a unit may be left out is up to the caller. */
static bool seconds_to_ns(const struct value *v, int64_t *ret_ns)
{
    if (v->kind == VALUE_INT)
        return v->i >= 0 && !__builtin_mul_overflow(v->i, NUMBER_NS_PER_S, ret_ns);

    double ns = v->d * (double)NUMBER_NS_PER_S;
    if (!(ns >= 0 && ns < INT_END))
        return false;
    *ret_ns = (int64_t)ns;
    return true;
}

static int take_duration(const struct param_reader *r, const struct value *v, int64_t *ret_ns)
{
    bool is_number = v->kind == VALUE_INT || v->kind == VALUE_DOUBLE;
    struct err err;

    if (r->strict && is_number) {
        (void)refuse_param_kind(r, v);
        diag_hint(r->diags, "write it as text with a unit: ms, s, m, h or d");
        return -1;
    }
    if (is_number)
        return seconds_to_ns(v, ret_ns) ? 0 : refuse_param_kind(r, v);
    if (v->kind != VALUE_STR)
        return refuse_param_kind(r, v);
    if (r->strict ? number_parse_duration_strict(v->s, ret_ns, &err) < 0
                  : number_parse_duration(str_trim(v->s), ret_ns, &err) < 0)
        return refuse_number(r, v, &err);
    return 0;
}

static int read_duration(const struct param_reader *r, const struct value *v, void *field)
{
    int64_t ns;

    if (take_duration(r, v, &ns) < 0 || check_range(r, v, ns, number_print_duration) < 0)
        return -1;
    *(int64_t *)field = ns;
    return 0;
}

static void print_param_size(int64_t n, struct buf *out)
{
    number_print_size((uint64_t)n, out);
}

static int read_size(const struct param_reader *r, const struct value *v, void *field)
{
    struct err err;
    uint64_t n;

    if (v->kind == VALUE_INT && v->i >= 0)
        n = (uint64_t)v->i;
    else if (v->kind != VALUE_STR)
        return refuse_param_kind(r, v);
    else if (number_parse_size(str_trim(v->s), &n, &err) < 0)
        return refuse_number(r, v, &err);
    if (n > INT64_MAX)
        return report_param_mistake(r, v, "is too large: at most 8 EiB less one byte");
    if (check_range(r, v, (int64_t)n, print_param_size) < 0)
        return -1;
    *(int64_t *)field = (int64_t)n;
    return 0;
}

/* In any case; 'no' is 'false'. */
static bool is_same_word(struct str a, struct str b)
{
    bool first, second;

    if (parse_bool(a, &first) && parse_bool(b, &second))
        return first == second;
    return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

/* The index of the choice with this text, or of the one that spells the bool which some YAML
 * readers make of 'no' and 'on'; -1 when there is none. */
static int find_param_choice(const struct param_reader *r, const struct value *v, struct str text)
{
    struct str rest = str_from(r->param->choices);
    bool means;

    for (int i = 0; rest.p; i++) {
        struct str word = str_cut(&rest, '|');

        if (str_eq(word, text))
            return i;
        if ((r->param->flags & PARAM_ANY_CASE) && is_same_word(word, text))
            return i;
        if (v->kind == VALUE_BOOL && parse_bool(word, &means) && means == v->b)
            return i;
    }
    return -1;
}

static void suggest_choice(const struct param_reader *r, const struct value *v, struct str text)
{
    struct str rest = str_from(r->param->choices);
    struct suggest suggest;

    if (is_secret(r, v))
        return;
    suggest_init(&suggest, text);
    while (rest.p)
        suggest_offer(&suggest, str_cut(&rest, '|'));
    if (suggest_best(&suggest).p)
        diag_hint(r->diags, "did you mean '%.*s'?", STR_ARG(suggest_best(&suggest)));
}

static int read_choice(const struct param_reader *r, const struct value *v, void *field)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    int found;

    if (!words_print(&text, v))
        return refuse_param_kind(r, v);
    found = find_param_choice(r, v, buf_view(&text));
    if (found < 0) {
        (void)refuse_param_kind(r, v);
        suggest_choice(r, v, buf_view(&text));
        return -1;
    }
    memcpy(field, &found, sizeof(found)); /* the field may be an enum */
    return 0;
}

/* An element of a list or map is a scalar; `which` says which one it is. */
static int take_element(const struct param_reader *r, const struct value *v, const char *which,
                        const char **ret_text)
{
    if (v->kind == VALUE_LIST || v->kind == VALUE_MAP || v->kind == VALUE_NULL ||
        v->kind == VALUE_OBJECT)
        return report_param_mistake(r, v,
                                    arena_printf(r->diags->arena, "must be %s, but %s is %s",
                                                 wanted[r->param->kind], which, value_describe(v)));
    return take_cstring(r, v, ret_text);
}

static int take_item(const struct param_reader *r, const struct value_list *list, size_t i,
                     const char **ret_text)
{
    char which[ITEM_SIZE];

    (void)snprintf(which, sizeof(which), "item %zu", i + 1);
    return take_element(r, &list->items[i], which, ret_text);
}

static int read_strs(const struct param_reader *r, const struct value *v, void *field)
{
    struct value_list one = { .count = 1, .items = NULL };
    struct value item = *v;
    const struct value_list *list = &one;
    int result = 0;

    one.items = &item;
    if (v->kind == VALUE_LIST)
        list = v->list;
    else if (r->strict || !value_is_textual(v))
        return refuse_param_kind(r, v);
    if (check_filled(r, v, list->count) < 0)
        return -1;

    const char **texts = ARENA_ARRAY(r->arena, const char *, list->count + 1);
    for (size_t i = 0; i < list->count; i++)
        if (take_item(r, list, i, &texts[i]) < 0)
            result = -1;
    if (result == 0)
        *(struct param_strs *)field = (struct param_strs){ list->count, texts };
    return result;
}

/* Environments and headers: numbers and bools are accepted as values even when strict, and null is
 * empty text. */
static int take_param_pair(const struct param_reader *r, const struct value_pair *pair,
                           struct param_pair *ret_pair)
{
    struct param_reader loose = *r;
    AUTO_BUF struct buf which = BUF_INIT(BUF_NO_LIMIT);

    loose.strict = false;
    if (take_element(&loose, &pair->key, "a key", &ret_pair->key) < 0)
        return -1;
    ret_pair->value = "";
    if (pair->value.kind == VALUE_NULL)
        return 0;
    if (is_secret(r, &pair->value))
        buf_add_text(&which, "a value");
    else
        words_quote(&which, str_from(ret_pair->key));
    return take_element(&loose, &pair->value, buf_text(&which), &ret_pair->value);
}

static int read_strmap(const struct param_reader *r, const struct value *v, void *field)
{
    int result = 0;

    if (v->kind != VALUE_MAP)
        return refuse_param_kind(r, v);
    if (check_filled(r, v, v->map->count) < 0)
        return -1;

    struct param_pair *pairs = ARENA_ARRAY(r->arena, struct param_pair, v->map->count + 1);
    for (size_t i = 0; i < v->map->count; i++)
        if (take_param_pair(r, &v->map->pairs[i], &pairs[i]) < 0)
            result = -1;
    if (result == 0)
        *(struct param_strmap *)field = (struct param_strmap){ v->map->count, pairs };
    return result;
}

/* The value may be on a stack or in a tree: the field points to a copy. */
static const struct value *copy_param_value(const struct param_reader *r, struct value v)
{
    struct value *copy = ARENA_NEW(r->arena, struct value);

    *copy = v;
    return copy;
}

static int read_list_param(const struct param_reader *r, const struct value *v, void *field)
{
    struct value_list *list;

    if (v->kind == VALUE_LIST) {
        if (check_filled(r, v, v->list->count) < 0)
            return -1;
        *(const struct value **)field = copy_param_value(r, *v);
        return 0;
    }
    if (r->strict || v->kind != VALUE_STR)
        return refuse_param_kind(r, v);
    list = value_list_new(r->arena, 1);
    value_list_push(r->arena, list, *v);
    *(const struct value **)field = copy_param_value(r, value_at(value_list(list), v));
    return 0;
}

static int read_map_param(const struct param_reader *r, const struct value *v, void *field)
{
    if (v->kind != VALUE_MAP)
        return refuse_param_kind(r, v);
    if (check_filled(r, v, v->map->count) < 0)
        return -1;
    *(const struct value **)field = copy_param_value(r, *v);
    return 0;
}

static int read_any_param(const struct param_reader *r, const struct value *v, void *field)
{
    *(const struct value **)field = copy_param_value(r, *v);
    return 0;
}

/* clang-format off */
static reader_fn *const readers[] = {
    [PARAM_BOOL]     = read_bool,
    [PARAM_TRISTATE] = read_tristate,
    [PARAM_INT]      = read_int_param,
    [PARAM_DOUBLE]   = read_double_param,
    [PARAM_STR]      = read_str,
    [PARAM_TEXT]     = read_text_param,
    [PARAM_PATH]     = read_path_param,
    [PARAM_MODE]     = read_mode_param,
    [PARAM_DURATION] = read_duration,
    [PARAM_SIZE]     = read_size,
    [PARAM_CHOICE]   = read_choice,
    [PARAM_STRS]     = read_strs,
    [PARAM_STRMAP]   = read_strmap,
    [PARAM_LIST]     = read_list_param,
    [PARAM_MAP]      = read_map_param,
    [PARAM_ANY]      = read_any_param,
};
/* clang-format on */
_Static_assert(ARRAY_LEN(readers) == PARAM_KINDS, "every kind has a reader");

int param_read(const struct param_reader *r, const struct value *v, void *args)
{
    return readers[r->param->kind](r, v, (char *)args + r->param->offset);
}
