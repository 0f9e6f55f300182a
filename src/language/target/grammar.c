#include "language/target/grammar.h"

#include <string.h>
#include <strings.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/suggest.h"
#include "core/base/utf8.h"
#include "core/data/value.h"
#include "language/target/quoted.h"

enum grammar_token_kind {
    TOKEN_END,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_AND,
    TOKEN_OR,
    TOKEN_NOT,
    TOKEN_WORD,
};

struct grammar_token {
    enum grammar_token_kind kind;
    struct str text;
    size_t at; /* byte of the expression */
};

/* An expression; the expression of a group has its user as `outer`. */
struct grammar {
    struct arena *arena;
    struct diags *diags;
    const struct target_options *options;
    const struct value *where;
    struct str text;
    struct grammar_token token; /* the next one */
    size_t at;                  /* after it */
    uint32_t depth;
    uint32_t *terms; /* count for all expressions together */
    const struct grammar *outer;
    struct str group; /* its name, or a NULL view */
};

/* --- mistakes ------------------------------------------------------------------ */

/* The line of the document with the expression, if it stands there unchanged. */
static bool written_as_read(const struct grammar *g, uint32_t *ret_skip)
{
    const struct value *where = g->where;
    struct str text = where->source ? where->source->text : (struct str){ NULL, 0 };
    uint32_t column = where->column > 0 ? where->column - 1U : 0;
    size_t at = 0;

    for (uint32_t line = 1; line < where->line && at != STR_NONE; line++) {
        at = str_find_char(text, '\n', at);
        at = at == STR_NONE ? at : at + 1;
    }
    if (!text.p || where->line == 0 || at == STR_NONE)
        return false;
    text = str_from_offset(text, at);
    text = str_from_offset(text, utf8_offset(text, column));
    *ret_skip =
        text.n > 0 && (text.p[0] == '"' || text.p[0] == '\'') && where->flags & VALUE_QUOTED;
    return str_starts(str_from_offset(text, *ret_skip), g->text);
}

static struct place make_target_place(const struct grammar *g, size_t at)
{
    struct place place = { "target", 1, 1 };
    struct str before = str_slice(g->text, 0, at);
    uint32_t skip;

    if (g->where && g->where->line > 0) {
        place = value_place(g->where);
        if (written_as_read(g, &skip))
            place.column += skip + (uint32_t)utf8_count(before);
        return place;
    }
    for (size_t i = str_find_char(before, '\n', 0); i != STR_NONE;
         i = str_find_char(before, '\n', 0)) {
        before = str_from_offset(before, i + 1);
        place.line++;
    }
    place.column += (uint32_t)utf8_count(before);
    return place;
}

static void show_source(const struct grammar *g)
{
    bool written = g->where && g->where->line > 0;

    if (!written)
        diag_source(g->diags, g->text);
    else if (g->where->source && g->where->source->text.p)
        diag_source(g->diags, g->where->source->text);
}

#define COMPLAIN(g, at, ...)                                                                       \
    (diag_add((g)->diags, make_target_place((g), (at)), __VA_ARGS__), show_source(g), -1)

/* --- words ---------------------------------------------------------------------- */

static bool is_target_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_target_word(struct str text, const char *word)
{
    return text.n == strlen(word) && strncasecmp(text.p, word, text.n) == 0;
}

static enum grammar_token_kind get_token_kind(struct str word)
{
    return is_target_word(word, "and")   ? TOKEN_AND
           : is_target_word(word, "or")  ? TOKEN_OR
           : is_target_word(word, "not") ? TOKEN_NOT
                                         : TOKEN_WORD;
}

/* The end of the set at `at` in a regular expression; its parentheses are literal. */
static size_t find_regex_set_end(struct str word, size_t at)
{
    size_t i = at + 1;

    if (i < word.n && word.p[i] == '^')
        i++;
    if (i < word.n && word.p[i] == ']')
        i++;
    while (i < word.n && word.p[i] != ']' && !is_target_blank(word.p[i]))
        i += word.p[i] == '\\' ? 2 : 1;
    return i < word.n ? i + (word.p[i] == ']') : word.n;
}

/* The length of the word at the start of `text`; STR_NONE and `reterr_at` when a quote stays open.
 */
static size_t measure_word(struct str text, size_t *reterr_at)
{
    bool regex = text.n > 1 && text.p[1] == '@' && term_is_regex(term_prefix_type(text.p[0]));
    size_t i = 0, depth = 0;

    while (i < text.n && !is_target_blank(text.p[i])) {
        size_t end = quoted_skip(text, i);

        if (end == STR_NONE) {
            *reterr_at = i;
            return STR_NONE;
        }
        if (end > i) {
            i = end;
            continue;
        }
        if (text.p[i] == ')' && depth-- == 0)
            break;
        if (text.p[i] == '(' && depth++ == 0 && get_token_kind(str_slice(text, 0, i)) != TOKEN_WORD)
            break;
        if (regex && text.p[i] == '[')
            i = find_regex_set_end(text, i);
        else
            i += regex && text.p[i] == '\\' ? 2 : 1;
    }
    return i < text.n ? i : text.n;
}

/* A list of ids continues after its commas: "L@web-01, web-02". `n` is the length of its first
 * word. */
static size_t list_length(struct str text, size_t n)
{
    size_t next, more, ignored;

    while (str_starts(text, STR("L@"))) {
        for (next = n; next < text.n && is_target_blank(text.p[next]);)
            next++;
        if (next == text.n || text.p[next] == '(' || text.p[next] == ')' ||
            (text.p[n - 1] != ',' && text.p[next] != ','))
            break;
        more = measure_word(str_from_offset(text, next), &ignored);
        if (more == STR_NONE || get_token_kind(str_slice(text, next, more)) != TOKEN_WORD)
            break;
        n = next + more;
    }
    return n;
}

static int read_next_token(struct grammar *g)
{
    struct str rest;
    size_t n, open = 0;

    while (g->at < g->text.n && is_target_blank(g->text.p[g->at]))
        g->at++;
    g->token = (struct grammar_token){ TOKEN_END, { NULL, 0 }, g->at };
    if (g->at == g->text.n)
        return 0;
    rest = str_from_offset(g->text, g->at);
    n = rest.p[0] == '(' || rest.p[0] == ')' ? 1 : measure_word(rest, &open);
    if (n == STR_NONE)
        return COMPLAIN(g, g->at + open, "this quote is never closed");
    n = list_length(rest, n);
    g->token.text = str_slice(rest, 0, n);
    g->token.kind = rest.p[0] == '('   ? TOKEN_OPEN
                    : rest.p[0] == ')' ? TOKEN_CLOSE
                                       : get_token_kind(g->token.text);
    g->at += n;
    return 0;
}

/* --- nodes ------------------------------------------------------------------------ */

static const struct grammar_node *join_grammar_nodes(struct grammar *g, enum grammar_kind kind,
                                                     const struct grammar_node *left,
                                                     const struct grammar_node *right)
{
    struct grammar_node *node = ARENA_NEW(g->arena, struct grammar_node);

    *node = (struct grammar_node){ .kind = kind, .left = left, .right = right };
    return node;
}

/* A term from the word at `at`, without its prefix. */
static int add_term(struct grammar *g, enum target_type type, struct str word, size_t at,
                    const struct grammar_node **ret)
{
    struct grammar_node *node = ARENA_NEW(g->arena, struct grammar_node);
    struct term *term = ARENA_NEW(g->arena, struct term);
    struct err err;
    size_t inside;

    if (++*g->terms > TARGET_TERMS_MAX)
        return COMPLAIN(g, at, "an expression has at most %d matchers", TARGET_TERMS_MAX);
    if (g->options->no_settings && (type == TARGET_SETTINGS || type == TARGET_SETTINGS_PCRE)) {
        (void)COMPLAIN(g, at, "I@ and J@ match settings, which are not known here");
        diag_hint(g->diags,
                  "use a fact, as in G@role:web: facts.set and the file of facts add some");
        return -1;
    }
    if (term_parse(g->arena, type, word, term, &inside, &err) < 0) {
        (void)COMPLAIN(g, at + inside, "%s", err.text);
        if (type == TARGET_FACT || type == TARGET_SETTINGS)
            diag_hint(g->diags, "write %s as in G@os.family:debian", "key:value");
        return -1;
    }
    node->term = term;
    *ret = node;
    return 0;
}

/* Several globs, one of which must match: web1,db*. */
static int add_globs(struct grammar *g, struct str word, size_t at, const struct grammar_node **ret)
{
    const struct grammar_node *all = NULL, *one;
    size_t from = 0;

    while (from <= word.n) {
        size_t end = quoted_find(word, ',', from);
        struct str part = str_slice(word, from, (end == STR_NONE ? word.n : end) - from);

        if (part.n > 0) {
            if (add_term(g, TARGET_GLOB, part, at + from, &one) < 0)
                return -1;
            all = all ? join_grammar_nodes(g, GRAMMAR_OR, all, one) : one;
        }
        from = end == STR_NONE ? word.n + 1 : end + 1;
    }
    if (!all)
        return COMPLAIN(g, at, "a list of ids is empty");
    *ret = all;
    return 0;
}

static bool is_subnet(struct str word)
{
    struct subnet subnet;
    struct err ignored;

    return str_find_char(word, '/', 0) != STR_NONE && subnet_parse(word, &subnet, &ignored) == 0;
}

/* A comma inside a set is a member of it. */
static bool has_comma(struct str word)
{
    size_t comma = quoted_find(word, ',', 0);
    size_t open = str_find_char(word, '[', 0);
    size_t close = open == STR_NONE ? STR_NONE : str_find_char(word, ']', open);

    return comma != STR_NONE && !(open < comma && close != STR_NONE && comma < close);
}

/* The characters of a word without a prefix reveal its type: no id has a colon, slash or comma. */
static int add_bare(struct grammar *g, struct str word, size_t at, const struct grammar_node **ret)
{
    if (is_subnet(word))
        return add_term(g, TARGET_SUBNET, word, at, ret);
    if (quoted_find(word, ':', 0) != STR_NONE)
        return add_term(g, TARGET_FACT, word, at, ret);
    if (has_comma(word))
        return add_globs(g, word, at, ret);
    return add_term(g, TARGET_GLOB, word, at, ret);
}

/* --- groups ------------------------------------------------------------------------- */

static int parse_whole(struct grammar *g, enum target_type type, const struct grammar_node **ret);

/* The expression of a group: text, or a list of words as Salt allows. */
static int group_text(struct grammar *g, const struct value *group, size_t at, struct str *ret)
{
    AUTO_BUF struct buf joined = BUF_INIT(BUF_NO_LIMIT);

    if (group->kind == VALUE_STR) {
        *ret = group->s;
        return 0;
    }
    if (group->kind != VALUE_LIST)
        return COMPLAIN(g, at, "a group is an expression, this one is %s", value_describe(group));
    for (size_t i = 0; i < group->list->count; i++) {
        if (group->list->items[i].kind != VALUE_STR)
            return COMPLAIN(g, at, "a group is a list of words, this one has %s",
                            value_describe(&group->list->items[i]));
        buf_printf(&joined, "%s%.*s", i > 0 ? " " : "", STR_ARG(group->list->items[i].s));
    }
    *ret = buf_copy(&joined, g->arena);
    return 0;
}

static int unknown_group(struct grammar *g, struct str name, size_t at)
{
    const struct value *groups = g->options->groups;
    const struct value_map *map = groups && groups->kind == VALUE_MAP ? groups->map : NULL;
    struct suggest suggest;
    struct str best;

    (void)COMPLAIN(g, at, "no group '%.*s'", STR_ARG(name));
    suggest_init(&suggest, name);
    for (size_t i = 0; map && i < map->count; i++)
        if (map->pairs[i].key.kind == VALUE_STR)
            suggest_offer(&suggest, map->pairs[i].key.s);
    best = suggest_best(&suggest);
    if (best.p)
        diag_hint(g->diags, "did you mean '%.*s'?", STR_ARG(best));
    else if (!map || map->count == 0)
        diag_hint(g->diags, "no groups are configured here");
    return -1;
}

static int add_group_node(struct grammar *g, struct str word, size_t at,
                          const struct grammar_node **ret)
{
    struct str name = quoted_remove(g->arena, word);
    const struct value *group = g->options->groups ? value_get_str(g->options->groups, name) : NULL;
    struct grammar inner = { .arena = g->arena,
                             .diags = g->diags,
                             .options = g->options,
                             .where = group,
                             .terms = g->terms,
                             .depth = g->depth + 1,
                             .outer = g,
                             .group = name };
    size_t mistakes = diags_count(g->diags);

    if (!group && g->options->any_group) /* no id contains this character */
        return add_term(g, TARGET_LIST, str_from(arena_printf(g->arena, "N@%.*s", STR_ARG(name))),
                        at, ret);
    if (!group)
        return unknown_group(g, name, at);
    for (const struct grammar *outer = g; outer; outer = outer->outer)
        if (outer->group.p && str_eq(outer->group, name))
            return COMPLAIN(g, at, "group '%.*s' contains itself", STR_ARG(name));
    if (inner.depth > TARGET_DEPTH_MAX)
        return COMPLAIN(g, at, "groups and parentheses go at most %d deep", TARGET_DEPTH_MAX);
    if (group_text(g, group, at, &inner.text) < 0)
        return -1;
    if (parse_whole(&inner, TARGET_COMPOUND, ret) < 0 || diags_count(g->diags) > mistakes) {
        diag_note(g->diags, make_target_place(g, at), "in group '%.*s'", STR_ARG(name));
        return -1;
    }
    return 0;
}

/* --- the grammar ---------------------------------------------------------------------- */

static int unknown_prefix(struct grammar *g, const struct grammar_token *word, size_t sign)
{
    char upper = (char)(word->text.p[0] & ~0x20);

    (void)COMPLAIN(g, word->at, "no matcher '%.*s'", STR_ARG(str_slice(word->text, 0, sign + 1)));
    if (sign == 1 && term_prefix_type(upper) != TARGET_COMPOUND)
        diag_hint(g->diags, "did you mean '%c@'?", upper);
    else
        diag_hint(g->diags, "there are %s", term_prefixes());
    return -1;
}

static int add_word_node(struct grammar *g, const struct grammar_token *word,
                         const struct grammar_node **ret)
{
    struct str rest = str_from_offset(word->text, 2);
    size_t sign = quoted_find(word->text, '@', 0), colon = quoted_find(word->text, ':', 0);
    enum target_type type = TARGET_COMPOUND;

    if (sign == 1)
        type = term_prefix_type(word->text.p[0]);
    if (type == TARGET_GROUP)
        return add_group_node(g, rest, word->at, ret);
    if (type != TARGET_COMPOUND)
        return add_term(g, type, rest, word->at + 2, ret);
    if (sign != STR_NONE && sign < colon)
        return unknown_prefix(g, word, sign);
    return add_bare(g, word->text, word->at, ret);
}

/* An invalid word has been reported; continue, there may be others. */
static int take_target_word(struct grammar *g, const struct grammar_token *word,
                            const struct grammar_node **ret)
{
    static const struct grammar_node senseless = { .kind = GRAMMAR_TERM };

    if (add_word_node(g, word, ret) == 0)
        return 0;
    *ret = &senseless;
    return *g->terms > TARGET_TERMS_MAX ? -1 : 0;
}

static int parse_target_or(struct grammar *g, const struct grammar_node **ret);

static int parse_parentheses(struct grammar *g, const struct grammar_node **ret)
{
    size_t open = g->token.at;

    if (++g->depth > TARGET_DEPTH_MAX)
        return COMPLAIN(g, open, "groups and parentheses go at most %d deep", TARGET_DEPTH_MAX);
    if (read_next_token(g) < 0)
        return -1;
    if (g->token.kind == TOKEN_CLOSE)
        return COMPLAIN(g, open, "there is nothing between the parentheses");
    if (g->token.kind != TOKEN_END && parse_target_or(g, ret) < 0)
        return -1;
    if (g->token.kind == TOKEN_END)
        return COMPLAIN(g, open, "this parenthesis is never closed");
    g->depth--;
    return read_next_token(g);
}

/* `before` is the operator that needs an operand, or a word of kind END. */
static int parse_operand(struct grammar *g, const struct grammar_token *before,
                         const struct grammar_node **ret)
{
    struct grammar_token word = g->token;

    switch (word.kind) {
    case TOKEN_OPEN: return parse_parentheses(g, ret);
    case TOKEN_WORD: return read_next_token(g) < 0 ? -1 : take_target_word(g, &word, ret);
    case TOKEN_AND:
    case TOKEN_OR:
        if (before->kind == TOKEN_END)
            return COMPLAIN(g, word.at, "'%.*s' has nothing on its left", STR_ARG(word.text));
        break;
    case TOKEN_NOT:
    case TOKEN_CLOSE:
    case TOKEN_END: break;
    }
    if (before->kind == TOKEN_END)
        return COMPLAIN(g, word.at, "no parenthesis is open here");
    return COMPLAIN(g, before->at, "'%.*s' has nothing on its right", STR_ARG(before->text));
}

static int parse_target_unary(struct grammar *g, struct grammar_token before,
                              const struct grammar_node **ret)
{
    bool negated = false;

    while (g->token.kind == TOKEN_NOT) {
        before = g->token;
        negated = !negated;
        if (read_next_token(g) < 0)
            return -1;
    }
    if (parse_operand(g, &before, ret) < 0)
        return -1;
    if (negated)
        *ret = join_grammar_nodes(g, GRAMMAR_NOT, *ret, NULL);
    return 0;
}

static int parse_target_and(struct grammar *g, struct grammar_token before,
                            const struct grammar_node **ret)
{
    const struct grammar_node *left, *right;

    if (parse_target_unary(g, before, &left) < 0)
        return -1;
    while (g->token.kind == TOKEN_AND) {
        struct grammar_token sign = g->token;

        if (read_next_token(g) < 0 || parse_target_unary(g, sign, &right) < 0)
            return -1;
        left = join_grammar_nodes(g, GRAMMAR_AND, left, right);
    }
    *ret = left;
    return 0;
}

static int two_words(struct grammar *g)
{
    (void)COMPLAIN(g, g->token.at, "'%.*s' follows without 'and' or 'or'", STR_ARG(g->token.text));
    if (str_is(g->token.text, "&&") || str_is(g->token.text, "&"))
        diag_hint(g->diags, "write 'and'");
    else if (str_is(g->token.text, "||") || str_is(g->token.text, "|"))
        diag_hint(g->diags, "write 'or'");
    else
        diag_hint(g->diags, "quotes keep blanks in a value: G@key:\"two words\"");
    return -1;
}

static int parse_target_or(struct grammar *g, const struct grammar_node **ret)
{
    const struct grammar_node *left, *right;

    if (parse_target_and(g, (struct grammar_token){ 0 }, &left) < 0)
        return -1;
    while (g->token.kind == TOKEN_OR) {
        struct grammar_token sign = g->token;

        if (read_next_token(g) < 0 || parse_target_and(g, sign, &right) < 0)
            return -1;
        left = join_grammar_nodes(g, GRAMMAR_OR, left, right);
    }
    if (g->token.kind != TOKEN_END && g->token.kind != TOKEN_CLOSE)
        return two_words(g);
    *ret = left;
    return 0;
}

static int parse_whole(struct grammar *g, enum target_type type, const struct grammar_node **ret)
{
    if (g->text.n > TARGET_TEXT_MAX)
        return COMPLAIN(g, 0, "an expression has at most %zu bytes", TARGET_TEXT_MAX);
    if (str_trim(g->text).n == 0) {
        (void)COMPLAIN(g, 0, "the expression is empty");
        diag_hint(g->diags, "'*' means every machine");
        return -1;
    }
    if (type == TARGET_GROUP)
        return add_group_node(g, g->text, 0, ret);
    if (type != TARGET_COMPOUND)
        return add_term(g, type, g->text, 0, ret);
    if (read_next_token(g) < 0 || parse_target_or(g, ret) < 0)
        return -1;
    if (g->token.kind == TOKEN_CLOSE)
        return COMPLAIN(g, g->token.at, "no parenthesis is open here");
    return 0;
}

int grammar_parse(struct arena *arena, struct str text, enum target_type type,
                  const struct target_options *options, struct grammar_tree *ret_tree,
                  struct diags *diags)
{
    size_t mistakes = diags_count(diags);
    uint32_t terms = 0;
    struct grammar g = {
        .arena = arena, .diags = diags, .options = options, .where = options->where, .terms = &terms
    };
    const struct grammar_node *root;

    /* Terms keep views of it. */
    g.text = text.n > TARGET_TEXT_MAX ? text : arena_str(arena, text);
    if (parse_whole(&g, type, &root) < 0 || diags_count(diags) > mistakes)
        return -1;
    *ret_tree = (struct grammar_tree){ root, terms };
    return 0;
}
