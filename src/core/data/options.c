#include "core/data/options.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/suggest.h"
#include "core/base/vec.h"
#include "core/data/value.h"

/* The column of explanations; longer names have a separate line. */
#define USAGE_COLUMN 28
/* The right margin of explanations, unless one word is longer. */
#define USAGE_WIDTH 96

struct reader {
    struct arena *arena;
    const struct param *table;
    struct diags *diags;
    int argc, at;
    char *const *argv;
    struct value_map *given;
    VEC(const char *) operands;
};

static bool is_short_alias(struct str alias)
{
    return alias.n == 1;
}

/* The parameter with this one-letter alias. */
static const struct param *find_short(const struct param *table, char letter)
{
    for (const struct param *p = table; p->name; p++) {
        struct str rest = p->aliases ? str_from(p->aliases) : (struct str){ NULL, 0 };

        while (rest.p) {
            struct str alias = str_cut(&rest, ',');

            if (is_short_alias(alias) && alias.p[0] == letter)
                return p;
        }
    }
    return NULL;
}

/* The option that has this word as its value: --json means --format json. */
static const struct param *find_option_by_choice(const struct param *table, struct str word)
{
    for (const struct param *p = table; p->name; p++)
        for (struct str rest = str_from(p->choices ? p->choices : ""); rest.p;)
            if (word.n > 0 && str_eq(str_cut(&rest, '|'), word))
                return p;
    return NULL;
}

static int refuse_unknown_option(struct reader *reader, struct str word)
{
    const struct param *chooses = find_option_by_choice(reader->table, word);
    struct suggest near;
    struct str best;

    suggest_init(&near, word);
    suggest_offer(&near, STR("help"));
    for (const struct param *p = reader->table; p->name; p++)
        if (!(p->flags & PARAM_HIDDEN))
            suggest_offer(&near, str_from(p->name));
    best = suggest_best(&near);
    (void)diag_add(reader->diags, (struct place){ 0 }, "unknown option '--%.*s'", STR_ARG(word));
    if (chooses)
        diag_hint(reader->diags, "did you mean '--%s %.*s'?", chooses->name, STR_ARG(word));
    else if (best.p)
        diag_hint(reader->diags, "did you mean '--%.*s'?", STR_ARG(best));
    return -1;
}

/* An option of another program; `has_value`: in the same word. Else the next word is its value. */
static int foreign_option(struct reader *reader, const struct param *param, const char *dashes,
                          struct str word, bool has_value)
{
    (void)diag_add(reader->diags, (struct place){ 0 }, "unknown option '%s%.*s'", dashes,
                   STR_ARG(word));
    diag_hint(reader->diags, "%s", param->doc);
    if (param->kind != PARAM_BOOL && !has_value && reader->at < reader->argc)
        reader->at++;
    return -1;
}

/* Stored under the proper name, so that short and long forms are one option; lists grow. */
static int keep_option(struct reader *reader, const struct param *param, struct value value)
{
    struct value name = value_text(param->name);
    const struct value *known = value_map_find(reader->given, &name);

    if (param->kind == PARAM_STRS) {
        struct value list = known ? *known : value_list(value_list_new(reader->arena, 0));

        value_list_push(reader->arena, list.list, value);
        value = list;
    } else if (known) {
        return diag_add(reader->diags, (struct place){ 0 }, "option '--%s' given twice",
                        param->name);
    }
    value_map_set(reader->arena, reader->given, name, value);
    return 0;
}

/* The word after the option; there must be one, unless the option may be bare. */
static int take_option_value(struct reader *reader, const struct param *param)
{
    const bool last = reader->at >= reader->argc;

    if ((param->flags & PARAM_BARE) && (last || reader->argv[reader->at][0] == '-'))
        return keep_option(reader, param, value_text(""));
    if (last)
        return diag_add(reader->diags, (struct place){ 0 }, "option '--%s' requires a value",
                        param->name);
    return keep_option(reader, param, value_text(reader->argv[reader->at++]));
}

static int read_long_option(struct reader *reader, struct str word)
{
    size_t equals = str_find_char(word, '=', 0);
    struct str name = str_slice(word, 0, equals);
    const struct param *param = params_find(reader->table, name);

    if (!param || name.n < 2)
        return refuse_unknown_option(reader, name);
    if (param->flags & PARAM_UNSUPPORTED)
        return foreign_option(reader, param, "--", name, equals != STR_NONE);
    if (equals != STR_NONE)
        return keep_option(reader, param, value_text(word.p + equals + 1));
    if (param->kind == PARAM_BOOL)
        return keep_option(reader, param, value_bool(true));
    return take_option_value(reader, param);
}

/* "-x", "-xvalue", "-x=value", and "-xy" for options without a value. */
static int read_short_options(struct reader *reader, const char *letters)
{
    for (; *letters; letters++) {
        const struct param *param = find_short(reader->table, *letters);

        if (!param)
            return diag_add(reader->diags, (struct place){ 0 }, "unknown option '-%c'", *letters);
        if (param->flags & PARAM_UNSUPPORTED)
            return foreign_option(reader, param, "-", (struct str){ letters, 1 }, letters[1]);
        if (param->kind != PARAM_BOOL)
            return letters[1]
                       ? keep_option(reader, param, value_text(letters + 1 + (letters[1] == '=')))
                       : take_option_value(reader, param);
        if (keep_option(reader, param, value_bool(true)) < 0)
            return -1;
    }
    return 0;
}

static void read_words(struct reader *reader)
{
    while (reader->at < reader->argc) {
        const char *word = reader->argv[reader->at++];

        if (strcmp(word, "--") == 0)
            break;
        if (word[0] == '-' && word[1] == '-')
            (void)read_long_option(reader,
                                   str_from(word + 2)); /* reported; the others are read as well */
        else if (word[0] == '-' && word[1])
            (void)read_short_options(reader, word + 1);
        else
            VEC_PUSH_IN(reader->arena, &reader->operands, word);
    }
    while (reader->at < reader->argc)
        VEC_PUSH_IN(reader->arena, &reader->operands, reader->argv[reader->at++]);
}

int options_read(struct arena *arena, const struct param *table, int argc, char *const *argv,
                 struct value *ret_given, struct param_strs *ret_operands, struct diags *diags)
{
    struct reader reader = {
        .arena = arena,
        .table = table,
        .diags = diags,
        .argc = argc,
        .argv = argv,
        .given = value_map_new(arena, 0),
    };
    size_t before = diags_count(diags);

    read_words(&reader);
    *ret_given = value_map(reader.given);
    *ret_operands = (struct param_strs){ reader.operands.n, reader.operands.p };
    return diags_count(diags) > before ? -1 : 0;
}

int options_parse(struct arena *arena, const struct param *table, int argc, char *const *argv,
                  void *args, struct param_strs *ret_operands, struct diags *diags)
{
    const struct params_policy policy = { .noun = "option", .mark = "--" };
    struct param_strs operands;
    struct value given;
    int result = options_read(arena, table, argc, argv, &given, &operands, diags);

    if (params_decode(arena, table, &policy, &given, args, diags) < 0 || result < 0)
        return -1;
    *ret_operands = operands;
    return 0;
}

bool options_has(int argc, char *const *argv, const char *word)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

static const struct param *find_by_word(const struct param *table, const char *word)
{
    if (word[0] != '-' || !word[1])
        return NULL;
    if (word[1] != '-')
        return find_short(table, word[1]);
    return params_find(table,
                       str_slice(str_from(word + 2), 0, str_find_char(str_from(word + 2), '=', 0)));
}

bool options_has_foreign(const struct param *table, int argc, char *const *argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const struct param *param = find_by_word(table, argv[i]);

        if (param && (param->flags & PARAM_UNSUPPORTED))
            return true;
    }
    return false;
}

static bool is_own_option(const struct param *param)
{
    return param && !(param->flags & PARAM_UNSUPPORTED);
}

/* The number of words of an option and its value; 0: not an option of the table. */
static int count_words(const struct param *table, const char *word)
{
    const struct param *param;
    size_t equals;

    if (word[0] != '-' || !word[1])
        return 0;
    if (word[1] != '-') {
        param = find_short(table, word[1]);
        return is_own_option(param) ? (param->kind != PARAM_BOOL && !word[2] ? 2 : 1) : 0;
    }
    equals = str_find_char(str_from(word + 2), '=', 0);
    param = params_find(table, str_slice(str_from(word + 2), 0, equals));
    return is_own_option(param) ? (param->kind != PARAM_BOOL && equals == STR_NONE ? 2 : 1) : 0;
}

int options_skip(const struct param *table, int argc, char *const *argv)
{
    int at = 0, words = 1;

    while (at < argc && words > 0) {
        words = count_words(table, argv[at]);
        at += words;
    }
    return at < argc ? at : argc; /* the last option may lack its value */
}

/* The placeholder of the value: its own word, the choices, or the kind in capitals. NULL for a
 * BOOL, which takes no value. */
static const char *find_value_word(const struct param *param)
{
    static const char *const words[PARAM_KINDS] = {
        [PARAM_INT] = "N",      [PARAM_DOUBLE] = "N",      [PARAM_STR] = "TEXT",
        [PARAM_TEXT] = "TEXT",  [PARAM_PATH] = "PATH",     [PARAM_MODE] = "MODE",
        [PARAM_SIZE] = "SIZE",  [PARAM_DURATION] = "TIME", [PARAM_STRS] = "TEXT",
        [PARAM_STRMAP] = "K=V", [PARAM_LIST] = "LIST",     [PARAM_MAP] = "MAP",
        [PARAM_ANY] = "VALUE",  [PARAM_TRISTATE] = "BOOL", [PARAM_CHOICE] = "WORD",
    };

    if (param->kind == PARAM_BOOL)
        return NULL;
    if (param->kind_text)
        return param->kind_text;
    return param->choices ? param->choices : words[param->kind];
}

static void print_option_names(const struct param *param, struct buf *out)
{
    struct str rest = param->aliases ? str_from(param->aliases) : (struct str){ NULL, 0 };

    buf_printf(out, "--%s", param->name);
    while (rest.p) {
        struct str alias = str_cut(&rest, ',');

        buf_printf(out, ", %s%.*s", is_short_alias(alias) ? "-" : "--", STR_ARG(alias));
    }
}

/* The text from column USAGE_COLUMN on, in as many lines as it needs. */
static void print_wrapped_usage(struct str text, struct buf *out)
{
    size_t column = USAGE_COLUMN;

    while (text.p) {
        struct str word = str_cut(&text, ' ');

        if (column > USAGE_COLUMN && column + 1 + word.n > USAGE_WIDTH) {
            buf_add_char(out, '\n');
            buf_fill(out, ' ', USAGE_COLUMN);
            column = USAGE_COLUMN;
        } else if (column > USAGE_COLUMN) {
            buf_add_char(out, ' ');
            column++;
        }
        buf_add_str(out, word);
        column += word.n;
    }
    buf_add_char(out, '\n');
}

/* Its purpose; its choices, where the placeholder does not list them; its default. */
static void print_explanation(const struct param *param, struct buf *out)
{
    buf_add_text(out, param->doc ? param->doc : "");
    if (param->kind_text && param->choices) {
        struct str rest = str_from(param->choices);

        for (const char *before = ": "; rest.p; before = ", ") {
            struct str choice = str_cut(&rest, '|');

            buf_printf(out, "%s%.*s", before, STR_ARG(choice));
        }
    }
    if (param->default_text)
        buf_printf(out, " (%s)", param->default_text);
}

void options_print(const struct param *table, struct buf *out)
{
    for (const struct param *param = table; param->name; param++) {
        AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
        const char *word = find_value_word(param);
        size_t start = out->n;

        if (param->flags & PARAM_HIDDEN)
            continue;
        buf_add_text(out, "  ");
        print_option_names(param, out);
        buf_printf(out, "%s%s", word ? " " : "", word ? word : "");
        if (out->n - start + 2 > USAGE_COLUMN) {
            buf_add_char(out, '\n');
            start = out->n;
        }
        buf_fill(out, ' ', USAGE_COLUMN - (out->n - start));
        print_explanation(param, &text);
        print_wrapped_usage(buf_view(&text), out);
    }
}

static struct value describe_option(struct arena *arena, const struct param *param)
{
    AUTO_BUF struct buf names = BUF_INIT(BUF_NO_LIMIT), text = BUF_INIT(BUF_NO_LIMIT);
    const char *word = find_value_word(param);
    struct value_map *map = value_map_new(arena, 3);

    print_option_names(param, &names);
    print_explanation(param, &text);
    value_map_set(arena, map, value_text("names"), value_str(arena_str(arena, buf_view(&names))));
    value_map_set(arena, map, value_text("value"), value_text(word ? word : ""));
    value_map_set(arena, map, value_text("text"), value_str(arena_str(arena, buf_view(&text))));
    return value_map(map);
}

struct value options_describe(struct arena *arena, const struct param *table)
{
    struct value_list *list = value_list_new(arena, 0);

    for (const struct param *param = table; param->name; param++)
        if (!(param->flags & PARAM_HIDDEN))
            value_list_push(arena, list, describe_option(arena, param));
    return value_list(list);
}
