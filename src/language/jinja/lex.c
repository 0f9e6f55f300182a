#include "language/jinja/lex.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"

void lex_init(struct lex *lex, struct str text, bool trim_blocks, bool lstrip_blocks)
{
    lex->text = text;
    lex->pos = 0;
    lex->trim_blocks = trim_blocks;
    lex->lstrip_blocks = lstrip_blocks;
    lex->state = LEX_DATA;
    lex->error = NULL;
    lex->brackets = 0;
}

/* --- blanks ------------------------------------------------------------------------ */

static bool is_wide_space(uint32_t c)
{
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
           c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/* The size of the blank at `at`, by Python's definition; 0 when there is none. */
static size_t get_blank_size(struct str text, size_t at)
{
    if (at >= text.n)
        return 0;

    unsigned char c = (unsigned char)text.p[at];

    if (c < 0x80)
        return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);

    struct str rest = str_from_offset(text, at);
    size_t before = rest.n;

    return is_wide_space(utf8_next(&rest)) ? before - rest.n : 0;
}

static size_t skip_spaces(struct str text, size_t at)
{
    for (size_t n; (n = get_blank_size(text, at)) > 0;)
        at += n;
    return at;
}

/* The end of the text [start, end) without trailing blanks. */
static size_t strip_right(struct str text, size_t start, size_t end)
{
    while (end > start) {
        size_t at = end - 1;

        while (at > start && ((unsigned char)text.p[at] & 0xc0) == 0x80)
            at--;
        if (get_blank_size(text, at) != end - at)
            break;
        end = at;
    }
    return end;
}

static bool has_pair(const struct lex *lex, size_t at, char a, char b)
{
    return at + 1 < lex->text.n && lex->text.p[at] == a && lex->text.p[at + 1] == b;
}

static char get_template_char(const struct lex *lex, size_t at)
{
    return at < lex->text.n ? lex->text.p[at] : '\0';
}

static struct lex_token make_token(const struct lex *lex, enum token_kind kind, size_t at,
                                   size_t end)
{
    return (struct lex_token){ kind, (uint32_t)at, str_slice(lex->text, at, end - at) };
}

static struct lex_token make_error_token(struct lex *lex, size_t at, const char *error)
{
    lex->error = error;
    return make_token(lex, TOKEN_ERROR, at, at + 1);
}

/* --- between tags --------------------------------------------------------------------- */

/* After "{%" or "{%-" at `at`: `word`, and the end of the tag. Returns the end, or 0. */
static size_t match_word(const struct lex *lex, size_t at, struct str word)
{
    at += 2;
    if (get_template_char(lex, at) == '-' || get_template_char(lex, at) == '+')
        at++;
    at = skip_spaces(lex->text, at);
    if (!str_starts(str_from_offset(lex->text, at), word))
        return 0;
    return skip_spaces(lex->text, at + word.n);
}

/* The end of "{% raw %}" at `at`, or 0. */
static size_t match_raw(const struct lex *lex, size_t at)
{
    size_t end = match_word(lex, at, STR("raw"));

    if (end == 0)
        return 0;
    if (get_template_char(lex, end) == '-' && has_pair(lex, end + 1, '%', '}'))
        return skip_spaces(lex->text, end + 3);
    return has_pair(lex, end, '%', '}') ? end + 2 : 0;
}

/* The end of a tag whose closing sign begins at `at`, or 0: "+%}", "-%} ", "%}". `mark` is '%' or
 * '#'. */
static size_t match_close(const struct lex *lex, size_t at, char mark)
{
    if (get_template_char(lex, at) == '+' && has_pair(lex, at + 1, mark, '}'))
        return at + 3;
    if (get_template_char(lex, at) == '-' && has_pair(lex, at + 1, mark, '}'))
        return skip_spaces(lex->text, at + 3);
    if (!has_pair(lex, at, mark, '}'))
        return 0;
    return at + 2 + (lex->trim_blocks && get_template_char(lex, at + 2) == '\n');
}

/* The end of the data [start, tag) after the whitespace control of the tag. */
static size_t data_end(const struct lex *lex, size_t start, size_t tag, bool is_block)
{
    char sign = get_template_char(lex, tag + 2);
    size_t line = tag;

    if (sign == '-')
        return strip_right(lex->text, start, tag);
    if (sign == '+' || !lex->lstrip_blocks || !is_block)
        return tag;
    while (line > start && lex->text.p[line - 1] != '\n')
        line--;
    if (line == start && start > 0 && lex->text.p[start - 1] != '\n')
        return tag;
    return skip_spaces(str_slice(lex->text, 0, tag), line) == tag ? line : tag;
}

/* After "{% raw %}" at `pos`: the data up to "{% endraw %}". */
static struct lex_token lex_raw_data(struct lex *lex)
{
    size_t start = lex->pos;

    for (size_t at = start; at < lex->text.n; at++) {
        const char *brace = memchr(lex->text.p + at, '{', lex->text.n - at);

        if (!brace)
            break;
        at = (size_t)(brace - lex->text.p);
        if (!has_pair(lex, at, '{', '%'))
            continue;

        size_t close = match_word(lex, at, STR("endraw"));
        size_t end = close > 0 ? match_close(lex, close, '%') : 0;

        if (end > 0) {
            lex->pos = end;
            return make_token(lex, TOKEN_DATA, start, data_end(lex, start, at, true));
        }
    }
    lex->pos = lex->text.n;
    if (start == lex->text.n)
        return make_token(lex, TOKEN_EOF, start, start);
    return make_error_token(lex, start > 0 ? start - 1 : 0, "missing end of raw directive");
}

/* After "{#" at `at`. Returns the end of the comment, or 0. */
static size_t comment_end(const struct lex *lex, size_t at)
{
    for (; at < lex->text.n; at++) {
        size_t end = match_close(lex, at, '#');

        if (end > 0)
            return end;
    }
    return 0;
}

/* The next "{%", "{{" or "{#" at or after `at`, or the end of the text. */
static size_t find_template_tag(const struct lex *lex, size_t at)
{
    while (at + 1 < lex->text.n) {
        const char *brace = memchr(lex->text.p + at, '{', lex->text.n - at - 1);

        if (!brace)
            break;
        at = (size_t)(brace - lex->text.p);
        if (brace[1] == '%' || brace[1] == '{' || brace[1] == '#')
            return at;
        at++;
    }
    return lex->text.n;
}

static void open_tag(struct lex *lex, size_t tag, enum token_kind kind, enum lex_state state)
{
    char sign = get_template_char(lex, tag + 2);

    lex->pos = tag + 2 + (sign == '-' || sign == '+');
    lex->begin = make_token(lex, kind, tag, tag + 2);
    lex->state = state;
    lex->brackets = 0;
}

static struct lex_token lex_data(struct lex *lex);

/* Return `data` unless it is empty, else continue. */
static struct lex_token data_or(struct lex *lex, struct lex_token data,
                                struct lex_token (*next)(struct lex *))
{
    return data.text.n > 0 ? data : next(lex);
}

static struct lex_token lex_begin(struct lex *lex)
{
    struct lex_token begin = lex->begin;

    lex->state = begin.kind == TOKEN_BLOCK_BEGIN ? LEX_BLOCK : LEX_VARIABLE;
    return begin;
}

static struct lex_token lex_comment(struct lex *lex, size_t tag)
{
    size_t start = tag + 2;

    if (get_template_char(lex, start) == '-' || get_template_char(lex, start) == '+')
        start++;
    size_t end = comment_end(lex, start);

    if (end == 0 && start < lex->text.n) {
        lex->pos = lex->text.n;
        return make_error_token(lex, tag, "missing end of comment tag");
    }
    lex->pos = end > 0 ? end : lex->text.n;
    return make_token(lex, TOKEN_DATA, tag, tag);
}

/* Comments give empty data, so this is a loop and not a recursion. */
static struct lex_token lex_data(struct lex *lex)
{
    for (;;) {
        size_t start = lex->pos;

        if (start >= lex->text.n)
            return make_token(lex, TOKEN_EOF, lex->text.n, lex->text.n);

        size_t tag = find_template_tag(lex, start);

        if (tag == lex->text.n) {
            lex->pos = tag;
            return make_token(lex, TOKEN_DATA, start, tag);
        }

        char mark = lex->text.p[tag + 1];
        struct lex_token data =
            make_token(lex, TOKEN_DATA, start, data_end(lex, start, tag, mark != '{'));

        if (mark == '#' && data.text.n > 0) {
            lex->pos = tag; /* once more for the comment, with nothing before it */
            return data;
        }
        if (mark == '#') {
            struct lex_token comment = lex_comment(lex, tag);

            if (comment.kind == TOKEN_ERROR)
                return comment;
            continue;
        }

        size_t raw = mark == '%' ? match_raw(lex, tag) : 0;

        if (raw > 0 && data.text.n > 0) {
            lex->pos = tag;
            return data;
        }
        if (raw > 0) {
            lex->pos = raw;
            data = lex_raw_data(lex);
            if (data.kind != TOKEN_DATA || data.text.n > 0)
                return data;
            continue;
        }
        if (mark == '%')
            open_tag(lex, tag, TOKEN_BLOCK_BEGIN, LEX_BEGIN);
        else
            open_tag(lex, tag, TOKEN_VARIABLE_BEGIN, LEX_BEGIN);
        return data_or(lex, data, lex_begin);
    }
}

/* --- inside tags --------------------------------------------------------------------------- */

static bool is_decimal_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_digit_of(char c, int base)
{
    if (c >= '0' && c <= '9')
        return c - '0' < base;
    return base == 16 && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
}

/* Digits with single underscores between them, from `at` on; returns their end. */
static size_t digits_end(const struct lex *lex, size_t at, int base)
{
    for (;;) {
        if (is_digit_of(get_template_char(lex, at), base))
            at++;
        else if (get_template_char(lex, at) == '_' &&
                 is_digit_of(get_template_char(lex, at + 1), base))
            at += 2;
        else
            return at;
    }
}

/* The end of a float at `at`, or 0. */
static size_t float_end(const struct lex *lex, size_t at)
{
    size_t end = digits_end(lex, at, 10), exponent;
    bool fraction = false;

    if (at > 0 && lex->text.p[at - 1] == '.')
        return 0;
    if (get_template_char(lex, end) == '.' && is_decimal_digit(get_template_char(lex, end + 1))) {
        end = digits_end(lex, end + 1, 10);
        fraction = true;
    }
    exponent = end;
    if (get_template_char(lex, exponent) == 'e' || get_template_char(lex, exponent) == 'E') {
        exponent++;
        if (get_template_char(lex, exponent) == '+' || get_template_char(lex, exponent) == '-')
            exponent++;
        if (is_decimal_digit(get_template_char(lex, exponent)))
            return digits_end(lex, exponent, 10);
    }
    return fraction ? end : 0;
}

static size_t integer_end(const struct lex *lex, size_t at)
{
    static const struct {
        char letter;
        int base;
    } bases[] = { { 'b', 2 }, { 'o', 8 }, { 'x', 16 } };

    if (lex->text.p[at] != '0')
        return digits_end(lex, at, 10);
    for (size_t i = 0; i < ARRAY_LEN(bases); i++) {
        if ((get_template_char(lex, at + 1) | 0x20) != bases[i].letter)
            continue;
        size_t first = at + 2 + (get_template_char(lex, at + 2) == '_');

        if (is_digit_of(get_template_char(lex, first), bases[i].base))
            return digits_end(lex, first, bases[i].base);
    }
    at++;
    while (get_template_char(lex, at) == '0' ||
           (get_template_char(lex, at) == '_' && get_template_char(lex, at + 1) == '0'))
        at += get_template_char(lex, at) == '_' ? 2 : 1;
    return at;
}

static struct lex_token lex_template_number(struct lex *lex, size_t at)
{
    size_t end = float_end(lex, at);

    if (end > 0) {
        lex->pos = end;
        return make_token(lex, TOKEN_FLOAT, at, end);
    }
    lex->pos = integer_end(lex, at);
    return make_token(lex, TOKEN_INTEGER, at, lex->pos);
}

static bool is_name_byte(char c)
{
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || is_decimal_digit(c) || c == '_';
}

/* Bytes of the name character at `at`, or 0. */
static size_t name_char(const struct lex *lex, size_t at)
{
    unsigned char c = (unsigned char)get_template_char(lex, at);

    if (c < 0x80)
        return is_name_byte((char)c);

    struct str rest = str_from_offset(lex->text, at);
    size_t before = rest.n;
    uint32_t wide = utf8_next(&rest);

    return wide == UTF8_BAD || wide < 0xaa ? 0 : before - rest.n;
}

static struct lex_token lex_template_name(struct lex *lex, size_t at)
{
    const struct str text = lex->text;
    size_t end = at, n;

    do { /* most have only ASCII letters */
        while (end < text.n && is_name_byte(text.p[end]))
            end++;
        n = name_char(lex, end);
        end += n;
    } while (n > 0);
    lex->pos = end;
    return make_token(lex, TOKEN_NAME, at, end);
}

static struct lex_token lex_string(struct lex *lex, size_t at)
{
    char quote = lex->text.p[at];

    for (size_t i = at + 1; i < lex->text.n; i++) {
        if (lex->text.p[i] == '\\') {
            i++;
        } else if (lex->text.p[i] == quote) {
            lex->pos = i + 1;
            return make_token(lex, TOKEN_STRING, at, i + 1);
        }
    }
    return make_error_token(lex, at, "the text that begins here has no closing quote");
}

struct operator
{
    char text[3];
    enum token_kind kind;
};

/* Longer ones first. */
static const struct operator operators[] = {
    { "//", TOKEN_FLOORDIV }, { "**", TOKEN_POW },      { "==", TOKEN_EQ },
    { "!=", TOKEN_NE },       { ">=", TOKEN_GTEQ },     { "<=", TOKEN_LTEQ },
    { "+", TOKEN_ADD },       { "-", TOKEN_SUB },       { "/", TOKEN_DIV },
    { "*", TOKEN_MUL },       { "%", TOKEN_MOD },       { "~", TOKEN_TILDE },
    { "[", TOKEN_LBRACKET },  { "]", TOKEN_RBRACKET },  { "(", TOKEN_LPAREN },
    { ")", TOKEN_RPAREN },    { "{", TOKEN_LBRACE },    { "}", TOKEN_RBRACE },
    { ">", TOKEN_GT },        { "<", TOKEN_LT },        { "=", TOKEN_ASSIGN },
    { ".", TOKEN_DOT },       { ":", TOKEN_COLON },     { "|", TOKEN_PIPE },
    { ",", TOKEN_COMMA },     { ";", TOKEN_SEMICOLON },
};

/* The closing bracket for an opening one; NUL for any other character. */
static char get_closing_bracket(char c)
{
    return c == '(' ? ')' : c == '[' ? ']' : c == '{' ? '}' : '\0';
}

/* Tags end only where brackets are balanced, so open ones must close. NULL: no mistake. */
static const char *check_brackets(struct lex *lex, char c)
{
    const char closing = get_closing_bracket(c);

    if (closing && lex->brackets == LEX_BRACKETS_MAX)
        return "more brackets are open than the limit of 1000";
    if (closing) {
        lex->closing[lex->brackets++] = closing;
        return NULL;
    }
    if (c != ')' && c != ']' && c != '}')
        return NULL;
    if (lex->brackets == 0)
        (void)snprintf(lex->error_text, sizeof(lex->error_text), "unexpected '%c'", c);
    else if (lex->closing[--lex->brackets] != c)
        (void)snprintf(lex->error_text, sizeof(lex->error_text), "unexpected '%c', expected '%c'",
                       c, lex->closing[lex->brackets]);
    else
        return NULL;
    return lex->error_text;
}

static const struct operator* find_operator(char first, char second)
{
    for (size_t i = 0; i < ARRAY_LEN(operators); i++)
        if (operators[i].text[0] == first &&
            (operators[i].text[1] == '\0' || operators[i].text[1] == second))
            return &operators[i];
    return NULL;
}

static struct lex_token lex_operator(struct lex *lex, size_t at)
{
    const struct operator* operator= find_operator(lex->text.p[at], get_template_char(lex, at + 1));
    const struct str rest = str_from_offset(lex->text, at);
    const char *error;

    if (!operator) {
        (void)snprintf(lex->error_text, sizeof(lex->error_text), "unexpected character '%.*s'",
                       (int)utf8_length_at(rest), rest.p);
        return make_error_token(lex, at, lex->error_text);
    }
    error = check_brackets(lex, operator->text[0]);
    if (error)
        return make_error_token(lex, at, error);
    lex->pos = at + (operator->text[1] ? 2 : 1);
    return make_token(lex, operator->kind, at, lex->pos);
}

/* The end of the tag if it ends at `at`, or 0. */
static size_t find_tag_end(const struct lex *lex, size_t at)
{
    if (lex->brackets > 0)
        return 0;
    if (lex->state == LEX_BLOCK)
        return match_close(lex, at, '%');
    if (get_template_char(lex, at) == '-' && has_pair(lex, at + 1, '}', '}'))
        return skip_spaces(lex->text, at + 3);
    return has_pair(lex, at, '}', '}') ? at + 2 : 0;
}

static struct lex_token lex_tag(struct lex *lex)
{
    size_t at = lex->pos;

    /* "-%}" removes the blanks around it, so check before and after blanks are skipped */
    size_t end = find_tag_end(lex, at);
    if (end == 0) {
        at = skip_spaces(lex->text, at);
        end = find_tag_end(lex, at);
    }
    if (end > 0) {
        enum token_kind kind = lex->state == LEX_BLOCK ? TOKEN_BLOCK_END : TOKEN_VARIABLE_END;

        lex->state = LEX_DATA;
        lex->pos = end;
        return make_token(lex, kind, at, end);
    }
    if (at >= lex->text.n)
        return make_token(lex, TOKEN_EOF, lex->text.n, lex->text.n);

    char c = lex->text.p[at];

    if (is_decimal_digit(c))
        return lex_template_number(lex, at);
    if (name_char(lex, at) > 0)
        return lex_template_name(lex, at);
    if (c == '\'' || c == '"')
        return lex_string(lex, at);
    return lex_operator(lex, at);
}

struct lex_token lex_next(struct lex *lex)
{
    if (lex->state == LEX_DATA)
        return lex_data(lex);
    if (lex->state == LEX_BEGIN)
        return lex_begin(lex);
    return lex_tag(lex);
}

void lex_skip_tag(struct lex *lex, uint32_t from)
{
    if (lex->state != LEX_BLOCK && lex->state != LEX_VARIABLE)
        return;
    lex->brackets = 0;
    for (size_t at = from; at < lex->text.n; at++) {
        size_t end = find_tag_end(lex, at);

        if (end > 0) {
            lex->pos = end;
            lex->state = LEX_DATA;
            return;
        }
    }
    lex->pos = lex->text.n;
    lex->state = LEX_DATA;
}

const char *token_kind_name(enum token_kind kind)
{
    static const char *const names[TOKEN_KINDS] = {
        [TOKEN_EOF] = "end of template",
        [TOKEN_ERROR] = "error",
        [TOKEN_DATA] = "template data / text",
        [TOKEN_VARIABLE_BEGIN] = "begin of print statement",
        [TOKEN_VARIABLE_END] = "end of print statement",
        [TOKEN_BLOCK_BEGIN] = "begin of statement block",
        [TOKEN_BLOCK_END] = "end of statement block",
        [TOKEN_NAME] = "name",
        [TOKEN_STRING] = "string",
        [TOKEN_INTEGER] = "integer",
        [TOKEN_FLOAT] = "float",
    };

    if (names[kind])
        return names[kind];
    for (size_t i = 0; i < ARRAY_LEN(operators); i++)
        if (operators[i].kind == kind)
            return operators[i].text;
    return "token";
}
