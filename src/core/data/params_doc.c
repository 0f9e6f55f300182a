#include <stddef.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/param_read.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "core/data/words.h"

/* clang-format off */
static const char *const kind_words[] = {
    [PARAM_BOOL]     = "bool",
    [PARAM_TRISTATE] = "bool",
    [PARAM_INT]      = "int",
    [PARAM_DOUBLE]   = "number",
    [PARAM_STR]      = "string",
    [PARAM_TEXT]     = "text",
    [PARAM_PATH]     = "path",
    [PARAM_MODE]     = "file mode",
    [PARAM_DURATION] = "duration",
    [PARAM_SIZE]     = "size",
    [PARAM_CHOICE]   = "choice",
    [PARAM_STRS]     = "list of strings",
    [PARAM_STRMAP]   = "map of strings",
    [PARAM_LIST]     = "list",
    [PARAM_MAP]      = "map",
    [PARAM_ANY]      = "any",
};
/* clang-format on */
_Static_assert(ARRAY_LEN(kind_words) == PARAM_KINDS, "every kind has a word");

const char *param_kind_word(enum param_kind kind)
{
    return kind_words[kind];
}

/* --- for people ------------------------------------------------------------ */

static const char *kind_column(const struct param *p)
{
    if (p->flags & PARAM_UNSUPPORTED)
        return "-";
    if (p->kind_text)
        return p->kind_text;
    return p->kind == PARAM_CHOICE && p->choices ? p->choices : kind_words[p->kind];
}

/* `primary` is the default of the primary parameter; NULL: there is none. */
static const char *default_column(const struct param *p, const char *primary)
{
    if ((p->flags & PARAM_PRIMARY) && primary)
        return primary;
    if (p->flags & PARAM_UNSUPPORTED)
        return "-";
    if (p->flags & PARAM_REQUIRED)
        return "required";
    if (p->default_text && (p->flags & PARAM_SECRET))
        return "<redacted>";
    if (p->default_text && p->default_text[0] == '\0')
        return "\"\"";
    if (!p->default_text && p->kind == PARAM_BOOL)
        return "false";
    return p->default_text ? p->default_text : "-";
}

static size_t get_wider_column(size_t width, const char *text)
{
    size_t n = strlen(text);

    return n > width ? n : width;
}

static void print_column(struct buf *out, const char *text, size_t width)
{
    buf_add_text(out, text);
    buf_fill(out, ' ', width - strlen(text) + 2);
}

/* The prefix of the reason for an unsupported parameter. */
static const char *get_refusal_prefix(const struct param *p)
{
    return p->flags & PARAM_UNSUPPORTED ? "not supported: " : "";
}

static void print_aliases(struct buf *out, const char *aliases)
{
    struct str rest = str_from(aliases);

    for (const char *before = " (also "; rest.p; before = ", ") {
        struct str alias = str_cut(&rest, ',');

        buf_printf(out, "%s'%.*s'", before, STR_ARG(alias));
    }
    buf_add_char(out, ')');
}

void params_print_doc(const struct param *table, const char *primary, struct buf *out)
{
    size_t names = 0, kinds = 0, defaults = 0;

    for (const struct param *p = table; p->name; p++) {
        if (p->flags & PARAM_HIDDEN)
            continue;
        names = get_wider_column(names, p->name);
        kinds = get_wider_column(kinds, kind_column(p));
        defaults = get_wider_column(defaults, default_column(p, primary));
    }
    for (const struct param *p = table; p->name; p++) {
        if (p->flags & PARAM_HIDDEN)
            continue;
        print_column(out, p->name, names);
        print_column(out, kind_column(p), kinds);
        print_column(out, default_column(p, primary), defaults);
        buf_printf(out, "%s%s", get_refusal_prefix(p), p->doc);
        if (p->aliases)
            print_aliases(out, p->aliases);
        buf_add_char(out, '\n');
    }
}

/* Text in a cell of a table: a bar would end it. */
static void print_cell(struct buf *out, const char *text)
{
    for (; *text; text++)
        if (*text == '|')
            buf_add_text(out, "\\|");
        else
            buf_add_char(out, *text);
}

void params_print_markdown(const struct param *table, const char *primary, struct buf *out)
{
    buf_add_text(out, "| parameter | kind | default | what it is |\n|---|---|---|---|\n");
    for (const struct param *p = table; p->name; p++) {
        if (p->flags & PARAM_HIDDEN)
            continue;
        buf_printf(out, "| `%s` | ", p->name);
        print_cell(out, kind_column(p));
        buf_add_text(out, " | ");
        print_cell(out, default_column(p, primary));
        buf_add_text(out, " | ");
        buf_add_text(out, get_refusal_prefix(p));
        print_cell(out, p->doc);
        if (p->aliases)
            print_aliases(out, p->aliases);
        buf_add_text(out, " |\n");
    }
}

/* --- for machines ------------------------------------------------------------ */

static void set_doc_key(struct arena *arena, struct value_map *map, const char *key, struct value v)
{
    value_map_set(arena, map, value_text(key), v);
}

/* The words of "a|b|c" or "a,b,c"; an empty list for NULL. */
static struct value split_doc_words(struct arena *arena, const char *text, char separator)
{
    struct value_list *list = value_list_new(arena, 0);
    struct str rest = text ? str_from(text) : (struct str){ NULL, 0 };

    while (rest.p)
        value_list_push(arena, list, value_str(arena_str(arena, str_cut(&rest, separator))));
    return value_list(list);
}

static struct value get_param_default(const struct param *p)
{
    if (!p->default_text)
        return value_null();
    return value_text(p->flags & PARAM_SECRET ? "<redacted>" : p->default_text);
}

static struct value doc_value(struct arena *arena, const struct param *p)
{
    struct value_map *map = value_map_new(arena, 10);

    set_doc_key(arena, map, "name", value_text(p->name));
    set_doc_key(arena, map, "type", value_text(kind_words[p->kind]));
    set_doc_key(arena, map, "required", value_bool(p->flags & PARAM_REQUIRED));
    set_doc_key(arena, map, "supported", value_bool(!(p->flags & PARAM_UNSUPPORTED)));
    set_doc_key(arena, map, "secret", value_bool(p->flags & PARAM_SECRET));
    set_doc_key(arena, map, "primary", value_bool(p->flags & PARAM_PRIMARY));
    set_doc_key(arena, map, "default", get_param_default(p));
    set_doc_key(arena, map, "choices", split_doc_words(arena, p->choices, '|'));
    set_doc_key(arena, map, "aliases", split_doc_words(arena, p->aliases, ','));
    set_doc_key(arena, map, "doc", value_text(p->doc));
    return value_map(map);
}

struct value params_doc_value(struct arena *arena, const struct param *table)
{
    struct value_list *list = value_list_new(arena, 0);

    for (const struct param *p = table; p->name; p++)
        if (!(p->flags & PARAM_HIDDEN))
            value_list_push(arena, list, doc_value(arena, p));
    return value_list(list);
}

/* --- checks of the tables ------------------------------------------------------- */

static int check_param_names(const struct param *table, const struct param *p, struct err *err)
{
    struct str rest = p->aliases ? str_from(p->aliases) : (struct str){ NULL, 0 };

    if (!(p->flags & PARAM_REST) && params_find(table, str_from(p->name)) != p)
        return err_set(err, ERR_INVALID, "'%s' is listed twice", p->name);
    while (rest.p) {
        struct str alias = str_cut(&rest, ',');

        if (alias.n == 0 || str_is(alias, p->name) || params_find(table, alias) != p)
            return err_set(err, ERR_INVALID, "the alias '%.*s' of '%s' is empty or taken",
                           STR_ARG(alias), p->name);
    }
    return 0;
}

static int check_default(const struct param *p, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct words_cursor cursor = { 0 };
    /* The widest field is a struct of two words. */
    char *args = arena_zalloc(&arena, p->offset + 2 * sizeof(max_align_t));
    const struct param_reader reader = {
        .arena = &arena,
        .param = p,
        .key = str_from(p->name),
        .diags = &diags,
        .cursor = &cursor,
    };
    struct value v = value_text(p->default_text);

    if (param_read(&reader, &v, args) == 0)
        return 0;
    (void)diags_to_err(&diags, err);
    return err_wrap(err, "default");
}

static int check_param(const struct param *table, const struct param *p, struct err *err)
{
    bool numeric = p->kind == PARAM_INT || p->kind == PARAM_DURATION || p->kind == PARAM_SIZE;

    if (check_param_names(table, p, err) < 0)
        return -1;
    if (!p->doc || !*p->doc)
        return err_set(err, ERR_INVALID, "'%s' has no description", p->name);
    if ((p->kind == PARAM_CHOICE) != (p->choices != NULL))
        return err_set(err, ERR_INVALID, "'%s' has choices and is not a choice, or the reverse",
                       p->name);
    if (p->min > p->max || (p->min < p->max && !numeric))
        return err_set(err, ERR_INVALID, "'%s' has a range that makes no sense", p->name);
    if (p->default_text && (p->flags & PARAM_REQUIRED))
        return err_set(err, ERR_INVALID, "'%s' is required and has a default", p->name);
    if ((p->flags & PARAM_REST) && p->kind != PARAM_MAP)
        return err_set(err, ERR_INVALID, "'%s' takes other keys and is not a map", p->name);
    return p->default_text && !(p->flags & PARAM_UNSUPPORTED) ? check_default(p, err) : 0;
}

int params_check(const struct param *table, struct err *err)
{
    const struct param *primary = params_find_primary(table);

    for (const struct param *p = table; p->name; p++) {
        if ((p->flags & PARAM_PRIMARY) && p != primary)
            return err_set(err, ERR_INVALID, "'%s' and '%s' are both primary", primary->name,
                           p->name);
        if (check_param(table, p, err) < 0)
            return -1;
    }
    return 0;
}
