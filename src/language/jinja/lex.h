/*
 * lex - template text as tokens, one at a time, without copies.
 *
 * Between tags there is data; inside a tag there are names, numbers, texts and
 * operators. Whitespace control is settled here: `-` and `+` at either end of a
 * tag, trim_blocks, lstrip_blocks, raw and comments; the parser sees neither of
 * the last two.
 *
 *     lex_init -> lex_next... until TOKEN_EOF
 *
 * After TOKEN_ERROR, `error` describes the mistake at the token; lex_skip_tag continues after the
 * tag.
 */
#ifndef LANGUAGE_JINJA_LEX_H
#define LANGUAGE_JINJA_LEX_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

struct arena;

enum token_kind {
    TOKEN_EOF,
    TOKEN_ERROR,
    TOKEN_DATA,
    TOKEN_VARIABLE_BEGIN,
    TOKEN_VARIABLE_END,
    TOKEN_BLOCK_BEGIN,
    TOKEN_BLOCK_END,
    TOKEN_NAME,
    TOKEN_STRING,
    TOKEN_INTEGER,
    TOKEN_FLOAT,
    TOKEN_ADD,
    TOKEN_SUB,
    TOKEN_MUL,
    TOKEN_DIV,
    TOKEN_FLOORDIV,
    TOKEN_MOD,
    TOKEN_POW,
    TOKEN_TILDE,
    TOKEN_EQ,
    TOKEN_NE,
    TOKEN_LT,
    TOKEN_LTEQ,
    TOKEN_GT,
    TOKEN_GTEQ,
    TOKEN_ASSIGN,
    TOKEN_DOT,
    TOKEN_COLON,
    TOKEN_COMMA,
    TOKEN_SEMICOLON,
    TOKEN_PIPE,
    TOKEN_LPAREN,
    TOKEN_RPAREN,
    TOKEN_LBRACKET,
    TOKEN_RBRACKET,
    TOKEN_LBRACE,
    TOKEN_RBRACE,
};
#define TOKEN_KINDS (TOKEN_RBRACE + 1)

struct lex_token {
    enum token_kind kind;
    uint32_t at;     /* byte offset of its first byte */
    struct str text; /* as written; of data: the part that remains */
};

/* Maximum open brackets in one tag. */
#define LEX_BRACKETS_MAX 1000

struct lex {
    struct str text;
    size_t pos;
    bool trim_blocks, lstrip_blocks;
    enum lex_state { LEX_DATA, LEX_BLOCK, LEX_VARIABLE, LEX_BEGIN } state;
    struct lex_token begin; /* LEX_BEGIN: the tag that follows the data just given */
    const char *error;
    size_t brackets;
    char closing[LEX_BRACKETS_MAX];
    char error_text[32];
};

/* Line ends of `text` are \n. */
void lex_init(struct lex *lex, struct str text, bool trim_blocks, bool lstrip_blocks);
struct lex_token lex_next(struct lex *lex);
/* Skip the tag around byte `from`, whatever its content. */
void lex_skip_tag(struct lex *lex, uint32_t from);

/* Jinja2's name of a token, for messages: "end of print statement", "name", "+". */
const char *token_kind_name(enum token_kind kind);

#endif
