/*
 * chunk - a piece of code from a document: compiled once, run often.
 *
 * The text of a chunk is a part of a text value, whose place in its document makes the messages.
 * Lua's messages are reworded: without internal chunk names, with the line of the document, with
 * the name of the nil value and a suggestion.
 *
 * Inside src/language/lua/ only. The caller has begun a run (limits_begin).
 */
#ifndef LANGUAGE_LUA_CHUNK_H
#define LANGUAGE_LUA_CHUNK_H

#include <stddef.h>

struct diags;
struct sandbox;
struct value;

/* Longer texts are refused: the steps of compiling cannot be counted. */
#define CHUNK_TEXT_MAX ((size_t)256 << 10)

enum chunk_kind {
    CHUNK_EXPRESSION, /* its value is the result */
    CHUNK_BLOCK,      /* returns its result; its globals are dropped after it */
    CHUNK_SCRIPT,     /* its globals stay, for all chunks after it */
};

struct chunk_code {
    enum chunk_kind kind;
    const struct value *origin; /* a text */
    size_t offset, n;           /* the code in it */
};

/* Is the syntax valid? Nothing is run. */
int chunk_check(struct sandbox *sandbox, const struct chunk_code *code, struct diags *diags);

/* Run it. The one result is left on the Lua stack, which the caller clears. */
int chunk_run(struct sandbox *sandbox, const struct chunk_code *code, struct diags *diags);

#endif
