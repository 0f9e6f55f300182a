/*
 * jmes_lex - the tokens of a JMESPath expression.
 *
 * Memory: the tokens live in the arena. Threads: any.
 */
#ifndef LANGUAGE_JMESPATH_JMES_LEX_H
#define LANGUAGE_JMESPATH_JMES_LEX_H

#include <stddef.h>

#include "core/data/value.h"

struct arena;
struct err;

enum jmes_token_kind {
    JMES_END,
    JMES_NAME,
    JMES_QUOTED,
    JMES_LITERAL,
    JMES_NUMBER,
    JMES_DOT,
    JMES_STAR,
    JMES_AT,
    JMES_COMMA,
    JMES_COLON,
    JMES_PIPE,
    JMES_OR,
    JMES_AND,
    JMES_NOT,
    JMES_REFERENCE,
    JMES_EQ,
    JMES_NE,
    JMES_LT,
    JMES_LE,
    JMES_GT,
    JMES_GE,
    JMES_FLATTEN,
    JMES_FILTER,
    JMES_LBRACKET,
    JMES_RBRACKET,
    JMES_LPAREN,
    JMES_RPAREN,
    JMES_LBRACE,
    JMES_RBRACE,
};
#define JMES_TOKEN_KINDS (JMES_RBRACE + 1)

struct jmes_token {
    enum jmes_token_kind kind;
    size_t at;          /* byte of the expression */
    struct str text;    /* as it was written */
    struct value value; /* value of a name, literal or number */
};

/* All tokens of `text`, a JMES_END last. Fails with ERR_INVALID and the column. */
int jmes_lex(struct arena *arena, struct str text, struct jmes_token **ret_tokens, struct err *err);

/* "column 5: ..." with ERR_INVALID for the byte `at` of the expression `text`. Returns -1. */
int jmes_fail(struct err *err, struct str text, size_t at, const char *fmt, ...) PRINTF_LIKE(4, 5);

#endif
