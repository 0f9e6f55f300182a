/*
 * token_book - the join tokens that are good now, as the bucket of enrollments has them.
 *
 * Kept in memory, so that a request with a token costs nothing before it is known to be good.
 *
 *     token_book_find(book, text, STR("web-01"))      the token's record, or NULL
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_ENROLL_TOKEN_BOOK_H
#define FLEET_MASTER_ENROLL_TOKEN_BOOK_H

#include "fleet/enroll/token.h"
#include "fleet/nats/js.h"

struct err;
struct token_book;

/* Tokens beyond are not known. */
#define TOKEN_BOOK_MAX 10000

struct token_book *token_book_new(const struct nats_js *js, struct err *err);
/* It learns nothing more; before the connection ends. */
void token_book_stop(struct token_book *book);
/* After the connection, with which what is under way calls back. NULL is fine. */
void token_book_free(struct token_book *book);

/* By the text of a token. `peel` empty: whoever has it. Borrowed until the loop turns. */
const struct token_record *token_book_find(const struct token_book *book, struct str text,
                                           struct str peel);

/* A token that was made a moment ago may not have been seen yet: look for it in the bucket. `fn` is
 * called once, also when there is no such token. Fails when the text is not a token. */
typedef void token_book_fn(void *self);
int token_book_fetch(struct token_book *book, struct str text, token_book_fn *fn, void *self,
                     struct err *err);

#endif
