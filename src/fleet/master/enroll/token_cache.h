/*
 * token cache - the join tokens that are good now, as the bucket of enrollments has them.
 *
 * Kept in memory, so that a request with a token costs nothing before it is known to be good.
 *
 *     token_cache_find(book, text, STR("web-01"))      the token's record, or NULL
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_ENROLL_TOKEN_CACHE_H
#define FLEET_MASTER_ENROLL_TOKEN_CACHE_H

#include "fleet/enroll/token.h"
#include "fleet/nats/js.h"

struct err;
struct token_cache;

/* Tokens beyond are not known. */
#define TOKEN_CACHE_MAX 10000

struct token_cache *token_cache_new(const struct nats_js *js, struct err *err);
/* It learns nothing more; before the connection ends. */
void token_cache_stop(struct token_cache *cache);
/* After the connection, with which what is under way calls back. NULL is fine. */
void token_cache_free(struct token_cache *cache);

/* By the text of a token. `peel` empty: whoever has it. Borrowed until the loop turns. */
const struct token_record *token_cache_find(const struct token_cache *cache, struct str text,
                                            struct str peel);

/* A token that was made a moment ago may not have been seen yet: look for it in the bucket. `fn` is
 * called once, also when there is no such token. Fails when the text is not a token. */
typedef void token_cache_fn(void *self);
int token_cache_fetch(struct token_cache *cache, struct str text, token_cache_fn *fn, void *self,
                      struct err *err);

#endif
