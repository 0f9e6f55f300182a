#include "kepler/config/dotenv.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/utf8.h"
#include "kepler/config/environment.h"

struct dotenv_scan {
    const char *file;
    struct str text;
    size_t at, line_start;
    uint32_t line;
    const struct environment *scope;
    struct environment *env;
    struct diags *diags;
};

/* --- characters ------------------------------------------------------------------------- */

/* NUL at the end: a NUL inside is refused where values are read. */
static char peek_char(const struct dotenv_scan *s)
{
    return s->at < s->text.n ? s->text.p[s->at] : '\0';
}

static bool at_end(const struct dotenv_scan *s)
{
    return s->at >= s->text.n;
}

static void advance_char(struct dotenv_scan *s)
{
    if (s->text.p[s->at++] == '\n') {
        s->line++;
        s->line_start = s->at;
    }
}

static void skip_dotenv_blanks(struct dotenv_scan *s)
{
    while (peek_char(s) == ' ' || peek_char(s) == '\t' || (peek_char(s) == '\r' && !at_end(s)))
        advance_char(s);
}

static void skip_line(struct dotenv_scan *s)
{
    while (!at_end(s) && peek_char(s) != '\n')
        advance_char(s);
    if (!at_end(s))
        advance_char(s);
}

static bool begins_name(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name_char(char c)
{
    return begins_name(c) || (c >= '0' && c <= '9');
}

static struct place find_dotenv_place(const struct dotenv_scan *s, size_t at)
{
    struct str before = str_slice(s->text, s->line_start, at - s->line_start);

    return (struct place){ s->file, s->line, (uint32_t)utf8_count(before) + 1 };
}

static int refuse_dotenv(const struct dotenv_scan *s, struct place at, const char *text)
{
    (void)diag_add(s->diags, at, "%s", text);
    /* The line may hold a secret: it is not shown. */
    return -1;
}

/* --- values ------------------------------------------------------------------------------- */

static const char *find_dotenv_variable(const struct dotenv_scan *s, struct str name)
{
    const char *value = environment_find(s->env, name);

    return !value && s->scope ? environment_find(s->scope, name) : value;
}

static void append_variable(const struct dotenv_scan *s, struct str name, struct buf *out)
{
    const char *value = find_dotenv_variable(s, name);

    buf_add_text(out, value ? value : "");
}

/* After the name in braces: '}', or '-' or ':-' and the default (':': also for an empty value). */
static int read_otherwise(struct dotenv_scan *s, struct place at, struct str name, struct buf *out)
{
    const char *value = find_dotenv_variable(s, name);
    bool empty_counts = peek_char(s) == ':';
    size_t from;

    if (empty_counts)
        advance_char(s);
    if (peek_char(s) != '-')
        return refuse_dotenv(s, at, "'${' must be followed by a name and '}'");
    advance_char(s);
    from = s->at;
    while (!at_end(s) && peek_char(s) != '}' && peek_char(s) != '\n')
        advance_char(s);
    if (peek_char(s) != '}')
        return refuse_dotenv(s, at, "'${' must be followed by a name and '}'");
    if (!value || (empty_counts && !*value))
        buf_add_str(out, str_slice(s->text, from, s->at - from));
    else
        buf_add_text(out, value);
    advance_char(s);
    return 0;
}

/* $NAME or ${NAME}; a '$' before anything else is itself. */
static int read_variable_reference(struct dotenv_scan *s, struct buf *out)
{
    struct place at = find_dotenv_place(s, s->at);
    bool braces;
    size_t from;

    advance_char(s);
    braces = peek_char(s) == '{';
    if (braces)
        advance_char(s);
    from = s->at;
    if (begins_name(peek_char(s)))
        while (is_name_char(peek_char(s)))
            advance_char(s);
    struct str name = str_slice(s->text, from, s->at - from);
    if (!braces) {
        if (name.n == 0)
            buf_add_char(out, '$');
        else
            append_variable(s, name, out);
        return 0;
    }
    if (name.n == 0)
        return refuse_dotenv(s, at, "'${' must be followed by a name and '}'");
    if (peek_char(s) != '}')
        return read_otherwise(s, at, name, out);
    advance_char(s);
    append_variable(s, name, out);
    return 0;
}

static int read_single_quoted(struct dotenv_scan *s, struct buf *out)
{
    struct place at = find_dotenv_place(s, s->at);

    for (advance_char(s); !at_end(s); advance_char(s)) {
        if (peek_char(s) == '\'') {
            advance_char(s);
            return 0;
        }
        buf_add_char(out, peek_char(s));
    }
    return refuse_dotenv(s, at, "unclosed quote '");
}

/* The character after a backslash between double quotes. */
static int read_dotenv_escape(struct dotenv_scan *s, struct buf *out)
{
    static const struct {
        char letter, means;
    } escapes[] = {
        { 'n', '\n' },  { 'r', '\r' }, { 't', '\t' }, { '\\', '\\' }, { '"', '"' },
        { '\'', '\'' }, { '$', '$' },  { '`', '`' },  { ' ', ' ' },
    };
    struct place at = find_dotenv_place(s, s->at);

    advance_char(s);
    for (size_t i = 0; i < ARRAY_LEN(escapes); i++)
        if (!at_end(s) && peek_char(s) == escapes[i].letter) {
            buf_add_char(out, escapes[i].means);
            advance_char(s);
            return 0;
        }
    if (peek_char(s) == '\n') { /* line continuation */
        advance_char(s);
        return 0;
    }
    return refuse_dotenv(s, at,
                         "unknown escape; supported are \\n"
                         " \\r \\t \\\\ \\\" \\' \\$");
}

static int read_double_quoted(struct dotenv_scan *s, struct buf *out)
{
    struct place at = find_dotenv_place(s, s->at);

    advance_char(s);
    while (!at_end(s)) {
        int failed = 0;

        if (peek_char(s) == '"') {
            advance_char(s);
            return 0;
        }
        if (peek_char(s) == '\\') {
            failed = read_dotenv_escape(s, out);
        } else if (peek_char(s) == '$') {
            failed = read_variable_reference(s, out);
        } else {
            buf_add_char(out, peek_char(s));
            advance_char(s);
        }
        if (failed)
            return -1;
    }
    return refuse_dotenv(s, at, "unclosed quote \"");
}

/* One part of a value: quoted, a variable, or a character. */
static int read_value_part(struct dotenv_scan *s, struct buf *out)
{
    switch (peek_char(s)) {
    case '\'': return read_single_quoted(s, out);
    case '"': return read_double_quoted(s, out);
    case '$': return read_variable_reference(s, out);
    case '\\':
        advance_char(s);
        if (at_end(s) || peek_char(s) == '\n')
            return refuse_dotenv(s, find_dotenv_place(s, s->at - (at_end(s) ? 1 : 0)),
                                 "a backslash at the end of a line; put the value in quotes");
        break;
    case '\0': return refuse_dotenv(s, find_dotenv_place(s, s->at), "a NUL byte");
    default: break;
    }
    buf_add_char(out, peek_char(s));
    advance_char(s);
    return 0;
}

/* Up to the end of the line, or to a comment after a blank. Blanks inside stay, those at the end do
 * not unless they were quoted. */
static int read_dotenv_value(struct dotenv_scan *s, struct buf *out)
{
    size_t keep = 0; /* up to the last quoted or non-blank character */

    while (!at_end(s) && peek_char(s) != '\n') {
        char c = peek_char(s);
        bool blank = c == ' ' || c == '\t' || c == '\r';

        if (c == '#' && out->n > keep)
            break;
        if (c == '#' && out->n == 0 && s->text.p[s->at - 1] != '=')
            break; /* NAME= # nothing but a comment */
        if (read_value_part(s, out) < 0)
            return -1;
        if (!blank)
            keep = out->n;
    }
    buf_cut(out, keep);
    return 0;
}

/* --- lines ----------------------------------------------------------------------------------- */

static struct str read_variable_name(struct dotenv_scan *s)
{
    size_t from = s->at;

    if (begins_name(peek_char(s)))
        while (is_name_char(peek_char(s)) || peek_char(s) == '.')
            advance_char(s);
    return str_slice(s->text, from, s->at - from);
}

static bool at_line_end(const struct dotenv_scan *s)
{
    return at_end(s) || peek_char(s) == '\n' || peek_char(s) == '#';
}

static int set_dotenv_variable(struct dotenv_scan *s, struct place at, struct str name,
                               const struct buf *value)
{
    if (value->full || name.n + value->n + 1 >= ENVIRONMENT_TEXT_MAX)
        return diag_add(s->diags, at, "the value of '%.*s' is longer than %zu KiB",
                        STR_ARG(str_slice(name, 0, 100)), ENVIRONMENT_TEXT_MAX >> 10);
    if (memchr(buf_text(value), '\0', value->n))
        return refuse_dotenv(s, at, "a NUL byte");
    environment_set(s->env, name, buf_view(value));
    return 0;
}

static int read_dotenv_line(struct dotenv_scan *s)
{
    AUTO_BUF struct buf value = BUF_INIT(ENVIRONMENT_TEXT_MAX);
    struct place at = find_dotenv_place(s, s->at);
    struct str name = read_variable_name(s);
    bool exported = str_is(name, "export") && (peek_char(s) == ' ' || peek_char(s) == '\t');

    skip_dotenv_blanks(s);
    if (exported && peek_char(s) != '=') {
        at = find_dotenv_place(s, s->at);
        name = read_variable_name(s);
        skip_dotenv_blanks(s);
    }
    if (name.n == 0)
        return refuse_dotenv(s, at, "must be NAME=value");
    if (exported && at_line_end(s))
        return 0; /* `export NAME` alone sets nothing */
    if (peek_char(s) != '=')
        return refuse_dotenv(s, find_dotenv_place(s, s->at), "expected '=' after the name");
    advance_char(s);
    skip_dotenv_blanks(s);
    if (read_dotenv_value(s, &value) < 0)
        return -1;
    return set_dotenv_variable(s, at, name, &value);
}

int dotenv_parse(const char *file, struct str text, const struct environment *scope,
                 struct environment *env, struct diags *diags)
{
    static const struct str mark = { "\xef\xbb\xbf", 3 };
    struct dotenv_scan s = {
        .file = file, .text = text, .line = 1, .scope = scope, .env = env, .diags = diags
    };
    int result = 0;

    if (str_starts(text, mark))
        s.at = s.line_start = mark.n;
    while (!at_end(&s)) {
        skip_dotenv_blanks(&s);
        if (!at_line_end(&s) && read_dotenv_line(&s) < 0)
            result = -1;
        skip_line(&s);
    }
    return result;
}
