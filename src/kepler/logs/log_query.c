#include "kepler/logs/log_query.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/glob.h"
#include "core/base/number.h"
#include "core/data/scalar.h"
#include "core/data/value.h"
#include "kepler/logs/log_line.h"

#define NS_PER_MS INT64_C(1000000)
#define MS_PER_S  1000.0
#define BLANKS    " \t\r\n"

enum query_node { NODE_OR, NODE_AND, NODE_NOT, NODE_TEXT, NODE_FIELD };
enum compare { COMPARE_TEXT, COMPARE_LESS, COMPARE_AT_MOST, COMPARE_MORE, COMPARE_AT_LEAST };

struct log_query {
    enum query_node node;
    const struct log_query *left, *right; /* NOT has only a left one */
    const char *field;                    /* for FIELD */
    struct str pattern;                   /* for TEXT, and for FIELD with COMPARE_TEXT */
    enum compare compare;
    bool has_number;
    double number;
};

struct parser {
    struct arena *arena;
    struct str text;
    size_t at, depth, terms;
    const char *const *fields; /* NULL: any, and words without one */
    struct err *err;
};

/* A word of the query, its quotes resolved. */
struct word {
    struct str text;
    struct str pattern; /* the same as a glob, in which only wildcards outside of quotes count */
    bool quoted;        /* in part */
    bool wild;
    size_t at; /* where it begins */
};

static int refuse_at(const struct parser *p, size_t at, const char *what)
{
    return err_set(p->err, ERR_INVALID, "column %zu: %s", at + 1, what);
}

/* --- words ----------------------------------------------------------------------------- */

static char peek_query_char(const struct parser *p)
{
    return p->at < p->text.n ? p->text.p[p->at] : '\0';
}

static bool is_char_in(char c, const char *set)
{
    return c != '\0' && strchr(set, c);
}

static void skip_query_blanks(struct parser *p)
{
    while (is_char_in(peek_query_char(p), BLANKS))
        p->at++;
}

static void add_literal_char(struct buf *text, struct buf *pattern, char c)
{
    buf_add_char(text, c);
    if (is_char_in(c, "*?["))
        buf_printf(pattern, "[%c]", c);
    else
        buf_add_char(pattern, c);
}

static int read_quoted_word(struct parser *p, struct buf *text, struct buf *pattern)
{
    const size_t begin = p->at;
    const char quote = peek_query_char(p);

    for (p->at++; p->at < p->text.n; p->at++) {
        if (peek_query_char(p) == quote) {
            p->at++;
            return 0;
        }
        if (peek_query_char(p) == '\\' && p->at + 1 < p->text.n)
            p->at++;
        add_literal_char(text, pattern, peek_query_char(p));
    }
    return refuse_at(p, begin, "the quote is not closed");
}

static int read_query_word(struct parser *p, struct word *ret)
{
    AUTO_BUF struct buf text = BUF_INIT(LOG_QUERY_SIZE_MAX);
    AUTO_BUF struct buf pattern = BUF_INIT(3 * (size_t)LOG_QUERY_SIZE_MAX);

    *ret = (struct word){ .at = p->at };
    while (p->at < p->text.n && !is_char_in(peek_query_char(p), BLANKS "()")) {
        const char c = peek_query_char(p);

        if (c == '"' || c == '\'') {
            ret->quoted = true;
            if (read_quoted_word(p, &text, &pattern) < 0)
                return -1;
            continue;
        }
        if (c == '*' || c == '?') {
            ret->wild = true;
            buf_add_char(&text, c);
            buf_add_char(&pattern, c);
        } else {
            add_literal_char(&text, &pattern, c);
        }
        p->at++;
    }
    ret->text = buf_copy(&text, p->arena);
    ret->pattern = buf_copy(&pattern, p->arena);
    return 0;
}

/* Is the next word this keyword, in any case? Skips it then. */
static bool skip_keyword(struct parser *p, const char *keyword)
{
    const size_t n = strlen(keyword);
    const struct str rest = str_from_offset(p->text, p->at);

    if (rest.n < n || strncasecmp(rest.p, keyword, n) != 0 ||
        (rest.n > n && !is_char_in(rest.p[n], BLANKS "()")))
        return false;
    p->at += n;
    return true;
}

/* --- terms ------------------------------------------------------------------------------ */

static struct log_query *new_query_node(struct parser *p, enum query_node node,
                                        const struct log_query *left, const struct log_query *right)
{
    struct log_query *query = ARENA_NEW(p->arena, struct log_query);

    *query = (struct log_query){ .node = node, .left = left, .right = right };
    return query;
}

/* "level:" of "level:error", which looks like a field; not "http:" of a URL. */
static bool looks_like_field(const struct word *word)
{
    const size_t colon = str_find_char(word->text, ':', 0);
    const struct str name = colon == STR_NONE ? STR("") : str_slice(word->text, 0, colon);

    if (word->quoted || name.n == 0 || str_starts(str_from_offset(word->text, colon), STR("://")))
        return false;
    for (size_t i = 0; i < name.n; i++)
        if (!is_char_in(name.p[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_."))
            return false;
    return true;
}

static const char *list_fields(const struct parser *p)
{
    const char *text = p->fields[0];

    for (size_t i = 1; p->fields[i]; i++)
        text =
            arena_printf(p->arena, "%s%s%s", text, p->fields[i + 1] ? ", " : " or ", p->fields[i]);
    return text;
}

static bool has_field(const struct parser *p, const char *name)
{
    for (size_t i = 0; p->fields && p->fields[i]; i++)
        if (strcmp(p->fields[i], name) == 0)
            return true;
    return !p->fields;
}

static int add_text_term(struct parser *p, const struct word *word, const struct log_query **ret)
{
    struct log_query *query = new_query_node(p, NODE_TEXT, NULL, NULL);

    if (p->fields)
        return err_set(p->err, ERR_INVALID,
                       "column %zu: '%.*s' has no field: write '@name:value' with %s", word->at + 1,
                       STR_ARG(word->text), list_fields(p));
    if (looks_like_field(word))
        return err_set(p->err, ERR_INVALID,
                       "column %zu: a field is written '@%.*s'; put quotes around it to look for "
                       "the text",
                       word->at + 1, STR_ARG(word->text));
    query->pattern = word->wild
                         ? word->pattern
                         : str_from(arena_printf(p->arena, "*%.*s*", STR_ARG(word->pattern)));
    *ret = query;
    return 0;
}

/* ">=" of ">=500"; returns what follows. */
static struct str cut_compare(struct str text, enum compare *ret)
{
    static const struct {
        const char *sign;
        enum compare compare;
    } signs[] = {
        { ">=", COMPARE_AT_LEAST },
        { "<=", COMPARE_AT_MOST },
        { ">", COMPARE_MORE },
        { "<", COMPARE_LESS },
    };

    *ret = COMPARE_TEXT;
    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (str_starts(text, str_from(signs[i].sign))) {
            *ret = signs[i].compare;
            return str_from_offset(text, strlen(signs[i].sign));
        }
    return text;
}

/* The number that a value stands for: levels count up, times are milliseconds. */
static bool find_number(const char *field, struct str text, double *ret)
{
    enum jsonline_level level;
    struct value time;
    struct err ignored;

    if (strcmp(field, "level") == 0) {
        *ret = jsonline_level_find(text, &level) ? (double)level : 0;
        return jsonline_level_find(text, &level);
    }
    if (strcmp(field, "timestamp") == 0 && scalar_parse_time(text, &time)) {
        *ret = (double)time.t.seconds * MS_PER_S + (double)(time.t.nanoseconds / NS_PER_MS);
        return true;
    }
    return number_parse_double(text, ret, &ignored) == 0;
}

static int add_field_term(struct parser *p, const struct word *word, const struct log_query **ret)
{
    struct log_query *query = new_query_node(p, NODE_FIELD, NULL, NULL);
    const size_t colon = str_find_char(word->text, ':', 0);
    struct str value, rest;

    if (colon == STR_NONE || colon <= 1 || colon + 1 == word->text.n)
        return refuse_at(p, word->at, "a field is written '@name:value'");
    query->field = arena_strndup(p->arena, word->text.p + 1, colon - 1);
    if (!has_field(p, query->field))
        return err_set(p->err, ERR_INVALID, "column %zu: unknown field '%s' (use %s)", word->at + 1,
                       query->field, list_fields(p));
    value = str_from_offset(word->text, colon + 1);
    rest = cut_compare(value, &query->compare);
    if (word->quoted && query->compare != COMPARE_TEXT &&
        is_char_in(p->text.p[word->at + colon + 1], "\"'")) {
        query->compare = COMPARE_TEXT; /* a text that begins with a sign */
        rest = value;
    }
    query->has_number = !word->wild && find_number(query->field, rest, &query->number);
    query->pattern = str_from_offset(word->pattern, str_find_char(word->pattern, ':', 0) + 1);
    if (!query->has_number && strcmp(query->field, "level") == 0 && !word->wild)
        return err_set(p->err, ERR_INVALID,
                       "column %zu: unknown level '%.*s' (use trace, debug, info, warn, error or "
                       "fatal)",
                       word->at + 1, STR_ARG(rest));
    if (!query->has_number && query->compare != COMPARE_TEXT)
        return err_set(p->err, ERR_INVALID, "column %zu: '%.*s' is not a number to compare with",
                       word->at + 1, STR_ARG(rest));
    *ret = query;
    return 0;
}

/* --- expressions ------------------------------------------------------------------------ */

static int parse_query_or(struct parser *p, const struct log_query **ret);

static int parse_group(struct parser *p, const struct log_query **ret)
{
    const size_t begin = p->at++;

    if (parse_query_or(p, ret) < 0)
        return -1;
    skip_query_blanks(p);
    if (peek_query_char(p) != ')')
        return refuse_at(p, begin, "the parenthesis is not closed");
    p->at++;
    return 0;
}

static int parse_term(struct parser *p, const struct log_query **ret)
{
    struct word word;

    if (++p->terms > LOG_QUERY_TERMS_MAX)
        return err_set(p->err, ERR_LIMIT, "more than %d words", LOG_QUERY_TERMS_MAX);
    if (peek_query_char(p) == '(')
        return parse_group(p, ret);
    if (read_query_word(p, &word) < 0)
        return -1;
    if (word.text.n == 0)
        return refuse_at(p, word.at, word.quoted ? "the text is empty" : "a word is missing here");
    return p->text.p[word.at] == '@' ? add_field_term(p, &word, ret) : add_text_term(p, &word, ret);
}

static int parse_query_unary(struct parser *p, const struct log_query **ret)
{
    const struct log_query *inner;
    int result;

    skip_query_blanks(p);
    if (p->depth == LOG_QUERY_DEPTH_MAX)
        return err_set(p->err, ERR_LIMIT, "column %zu: deeper than %d levels", p->at + 1,
                       LOG_QUERY_DEPTH_MAX);
    p->depth++;
    if (skip_keyword(p, "not") || is_char_in(peek_query_char(p), "-!")) {
        p->at += is_char_in(peek_query_char(p), "-!");
        result = parse_query_unary(p, &inner);
        if (result == 0)
            *ret = new_query_node(p, NODE_NOT, inner, NULL);
    } else {
        result = parse_term(p, ret);
    }
    p->depth--;
    return result;
}

/* Does another term follow, joined by AND or by nothing? */
static bool goes_on(struct parser *p)
{
    const size_t before = p->at;

    skip_query_blanks(p);
    if (p->at == p->text.n || peek_query_char(p) == ')')
        return false;
    if (skip_keyword(p, "or")) {
        p->at = before;
        return false;
    }
    (void)skip_keyword(p, "and");
    return true;
}

static int parse_query_and(struct parser *p, const struct log_query **ret)
{
    const struct log_query *right;

    if (parse_query_unary(p, ret) < 0)
        return -1;
    while (goes_on(p)) {
        if (parse_query_unary(p, &right) < 0)
            return -1;
        *ret = new_query_node(p, NODE_AND, *ret, right);
    }
    return 0;
}

static int parse_query_or(struct parser *p, const struct log_query **ret)
{
    const struct log_query *right;

    if (parse_query_and(p, ret) < 0)
        return -1;
    for (skip_query_blanks(p); skip_keyword(p, "or"); skip_query_blanks(p)) {
        if (parse_query_and(p, &right) < 0)
            return -1;
        *ret = new_query_node(p, NODE_OR, *ret, right);
    }
    return 0;
}

int log_query_parse(struct arena *arena, struct str text, const struct log_query **ret_query,
                    struct err *err)
{
    return log_query_parse_fields(arena, text, NULL, ret_query, err);
}

int log_query_parse_fields(struct arena *arena, struct str text, const char *const *fields,
                           const struct log_query **ret_query, struct err *err)
{
    struct parser p = { .arena = arena, .text = text, .fields = fields, .err = err };
    const struct log_query *query;

    if (text.n > LOG_QUERY_SIZE_MAX)
        return err_set(err, ERR_LIMIT, "longer than %d bytes", LOG_QUERY_SIZE_MAX);
    if (parse_query_or(&p, &query) < 0)
        return -1;
    if (p.at < p.text.n)
        return refuse_at(&p, p.at, "nothing opened this parenthesis");
    *ret_query = query;
    return 0;
}

/* --- matching ---------------------------------------------------------------------------- */

/* The queried object: its fields, and the text of a line. */
struct subject {
    struct arena *arena;
    log_query_find_fn *find;
    void *self;
    struct str message;
};

/* Values of a line, computed once for all terms. */
struct spoken {
    const struct log_line *line;
    struct jsonline details;
};

static struct value find_line_field(void *self, const char *field)
{
    const struct spoken *spoken = self;
    const struct jsonline *details = &spoken->details;
    const struct value attributes = { .kind = VALUE_MAP,
                                      .map = (struct value_map *)(uintptr_t)details->attributes };
    const struct value *found;

    if (strcmp(field, "service") == 0)
        return value_text(spoken->line->service);
    if (strcmp(field, "hook") == 0)
        return spoken->line->hook[0] ? value_text(spoken->line->hook) : value_null();
    if (strcmp(field, "level") == 0)
        return value_text(jsonline_level_name(details->level));
    if (strcmp(field, "message") == 0)
        return value_str(details->message);
    if (strcmp(field, "timestamp") == 0)
        return value_int(details->time / NS_PER_MS);
    found = value_get(&attributes, field);
    if (!found)
        found = value_path(&attributes, str_from(field), '.');
    return found ? *found : value_null();
}

static bool compare_term_numbers(enum compare compare, double is, double wanted)
{
    switch (compare) {
    case COMPARE_LESS: return is < wanted;
    case COMPARE_AT_MOST: return is <= wanted;
    case COMPARE_MORE: return is > wanted;
    case COMPARE_AT_LEAST: return is >= wanted;
    default: return is == wanted;
    }
}

/* Null, lists and maps have no text. */
static bool print_field(const struct value *v, struct arena *arena, struct str *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    if (value_is_textual(v)) {
        *ret = v->s;
        return true;
    }
    if (v->kind != VALUE_INT && v->kind != VALUE_DOUBLE && v->kind != VALUE_BOOL)
        return false;
    scalar_print(&out, v);
    *ret = buf_copy(&out, arena);
    return true;
}

static bool match_field(const struct log_query *query, const struct subject *subject)
{
    const struct value v = subject->find(subject->self, query->field);
    struct str text;
    double number;

    if (!print_field(&v, subject->arena, &text))
        return false;
    if (query->has_number && find_number(query->field, text, &number))
        return compare_term_numbers(query->compare, number, query->number);
    return query->compare == COMPARE_TEXT && glob_match(query->pattern, text);
}

static bool match_node(const struct log_query *query, const struct subject *subject)
{
    switch (query->node) {
    case NODE_OR: return match_node(query->left, subject) || match_node(query->right, subject);
    case NODE_AND: return match_node(query->left, subject) && match_node(query->right, subject);
    case NODE_NOT: return !match_node(query->left, subject);
    case NODE_TEXT: return glob_match_with(query->pattern, subject->message, GLOB_FOLD);
    case NODE_FIELD: return match_field(query, subject);
    }
    return false;
}

bool log_query_match(const struct log_query *query, const struct log_line *line)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct spoken spoken = { .line = line };
    struct subject subject = { .arena = &arena, .find = find_line_field, .self = &spoken };

    log_line_details(&arena, line, &spoken.details);
    subject.message = spoken.details.message;
    return match_node(query, &subject);
}

bool log_query_match_fields(const struct log_query *query, log_query_find_fn *find, void *self)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct subject subject = { .arena = &arena, .find = find, .self = self };

    return match_node(query, &subject);
}
