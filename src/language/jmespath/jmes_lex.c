#include "language/jmespath/jmes_lex.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/base/utf8.h"
#include "core/data/json.h"
#include "language/jmespath/jmespath.h"

struct lexer {
    struct arena *arena;
    struct str text;
    size_t at;
    struct err *err;
};

/* Longer signs before their prefixes. */
static const struct {
    const char *text;
    enum jmes_token_kind kind;
} signs[] = {
    { "||", JMES_OR },     { "|", JMES_PIPE },     { "&&", JMES_AND },     { "&", JMES_REFERENCE },
    { "==", JMES_EQ },     { "!=", JMES_NE },      { "!", JMES_NOT },      { "<=", JMES_LE },
    { "<", JMES_LT },      { ">=", JMES_GE },      { ">", JMES_GT },       { "[]", JMES_FLATTEN },
    { "[?", JMES_FILTER }, { "[", JMES_LBRACKET }, { "]", JMES_RBRACKET }, { "(", JMES_LPAREN },
    { ")", JMES_RPAREN },  { "{", JMES_LBRACE },   { "}", JMES_RBRACE },   { ".", JMES_DOT },
    { "*", JMES_STAR },    { "@", JMES_AT },       { ",", JMES_COMMA },    { ":", JMES_COLON },
};

int jmes_fail(struct err *err, struct str text, size_t at, const char *fmt, ...)
{
    size_t column = utf8_count(str_slice(text, 0, at)) + 1;
    va_list args;
    char words[ERR_TEXT_SIZE / 2];

    va_start(args, fmt);
    (void)vsnprintf(words, sizeof(words), fmt, args);
    va_end(args);
    return err_set(err, ERR_INVALID, "column %zu: %s", column, words);
}

static bool is_jmes_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name_part(char c)
{
    return is_name_start(c) || is_jmes_digit(c);
}

/* --- each kind of token ------------------------------------------------------------------- */

static int lex_sign(struct lexer *lexer, struct jmes_token *token)
{
    struct str rest = str_from_offset(lexer->text, lexer->at);

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        struct str sign = str_from(signs[i].text);

        if (!str_starts(rest, sign))
            continue;
        token->kind = signs[i].kind;
        lexer->at += sign.n;
        return 0;
    }
    return jmes_fail(lexer->err, lexer->text, lexer->at, "unexpected '%.*s'",
                     str_int(utf8_length_at(rest)), rest.p);
}

static int lex_jmes_name(struct lexer *lexer, struct jmes_token *token)
{
    size_t begin = lexer->at;

    while (lexer->at < lexer->text.n && is_name_part(lexer->text.p[lexer->at]))
        lexer->at++;
    token->kind = JMES_NAME;
    token->value =
        value_str(arena_str(lexer->arena, str_slice(lexer->text, begin, lexer->at - begin)));
    return 0;
}

static int lex_jmes_number(struct lexer *lexer, struct jmes_token *token)
{
    size_t begin = lexer->at++;
    int64_t number;

    while (lexer->at < lexer->text.n && is_jmes_digit(lexer->text.p[lexer->at]))
        lexer->at++;
    if (number_parse_int(str_slice(lexer->text, begin, lexer->at - begin), &number, lexer->err) < 0)
        return jmes_fail(lexer->err, lexer->text, begin, "invalid number '%.*s'",
                         str_int(lexer->at - begin), lexer->text.p + begin);
    token->kind = JMES_NUMBER;
    token->value = value_int(number);
    return 0;
}

/* The text between two delimiters; a backslash protects the next character. */
static int cut_delimited(struct lexer *lexer, struct str *ret)
{
    size_t begin = lexer->at++;
    char delimiter = lexer->text.p[begin];

    while (lexer->at < lexer->text.n && lexer->text.p[lexer->at] != delimiter)
        lexer->at += lexer->text.p[lexer->at] == '\\' ? 2 : 1;
    if (lexer->at >= lexer->text.n)
        return jmes_fail(lexer->err, lexer->text, begin, "missing closing %c", delimiter);
    *ret = str_slice(lexer->text, begin + 1, lexer->at - begin - 1);
    lexer->at++;
    return 0;
}

/* `text` with each backslash before `delimiter` removed. */
static void add_unescaped_text(struct buf *out, struct str text, char delimiter)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\\' && i + 1 < text.n) {
            if (text.p[i + 1] != delimiter)
                buf_add_char(out, text.p[i]);
            i++;
        }
        buf_add_char(out, text.p[i]);
    }
}

static int lex_raw_string(struct lexer *lexer, struct jmes_token *token)
{
    AUTO_BUF struct buf out = BUF_INIT(JMESPATH_LENGTH_MAX);
    struct str text;

    if (cut_delimited(lexer, &text) < 0)
        return -1;
    add_unescaped_text(&out, text, '\'');
    token->kind = JMES_LITERAL;
    token->value = value_str(buf_copy(&out, lexer->arena));
    return 0;
}

static int lex_quoted(struct lexer *lexer, struct jmes_token *token)
{
    size_t begin = lexer->at;
    struct str text;

    if (cut_delimited(lexer, &text) < 0)
        return -1;
    token->kind = JMES_QUOTED;
    if (json_decode(lexer->arena, str_slice(lexer->text, begin, lexer->at - begin), &token->value,
                    lexer->err) < 0)
        return jmes_fail(lexer->err, lexer->text, begin, "a quoted name must be a JSON text");
    return 0;
}

/* JSON; other content is a text without its quotes, as in `[?name == `web`]`. */
static int lex_literal(struct lexer *lexer, struct jmes_token *token)
{
    AUTO_BUF struct buf json = BUF_INIT(JMESPATH_LENGTH_MAX + 2);
    AUTO_BUF struct buf quoted = BUF_INIT(JMESPATH_LENGTH_MAX + 2);
    size_t begin = lexer->at;
    struct str text;

    if (cut_delimited(lexer, &text) < 0)
        return -1;
    token->kind = JMES_LITERAL;
    add_unescaped_text(&json, text, '`');
    if (json_decode(lexer->arena, str_trim(buf_view(&json)), &token->value, lexer->err) == 0)
        return 0;
    buf_add_char(&quoted, '"');
    buf_add_str(&quoted, str_trim_left(buf_view(&json)));
    buf_add_char(&quoted, '"');
    if (json_decode(lexer->arena, buf_view(&quoted), &token->value, lexer->err) < 0)
        return jmes_fail(lexer->err, lexer->text, begin, "a literal must be JSON");
    return 0;
}

/* --- all of them -------------------------------------------------------------------------- */

static int lex_token(struct lexer *lexer, struct jmes_token *token)
{
    char c = lexer->text.p[lexer->at];

    if (is_name_start(c))
        return lex_jmes_name(lexer, token);
    if (is_jmes_digit(c) || c == '-')
        return lex_jmes_number(lexer, token);
    if (c == '\'')
        return lex_raw_string(lexer, token);
    if (c == '"')
        return lex_quoted(lexer, token);
    if (c == '`')
        return lex_literal(lexer, token);
    return lex_sign(lexer, token);
}

static void skip_jmes_blanks(struct lexer *lexer)
{
    struct str rest = str_from_offset(lexer->text, lexer->at);

    lexer->at += rest.n - str_trim_left(rest).n;
}

int jmes_lex(struct arena *arena, struct str text, struct jmes_token **ret_tokens, struct err *err)
{
    struct lexer lexer = { .arena = arena, .text = text, .err = err };
    struct jmes_token *tokens, *token;

    if (text.n > JMESPATH_LENGTH_MAX)
        return err_set(err, ERR_LIMIT, "an expression is %d bytes at most", JMESPATH_LENGTH_MAX);
    if (!utf8_is_valid(text))
        return jmes_fail(err, text, utf8_valid_length(text), "the expression is not UTF-8");
    token = tokens = ARENA_ARRAY(arena, struct jmes_token, text.n + 1);
    for (skip_jmes_blanks(&lexer); lexer.at < text.n; skip_jmes_blanks(&lexer), token++) {
        token->at = lexer.at;
        if (lex_token(&lexer, token) < 0)
            return -1;
        token->text = str_slice(text, token->at, lexer.at - token->at);
    }
    *token = (struct jmes_token){ .kind = JMES_END, .at = text.n, .text = STR("") };
    *ret_tokens = tokens;
    return 0;
}
