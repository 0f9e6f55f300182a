/*
 * token cache - the valid join tokens of the enrollments bucket.
 *
 * They are kept in memory, so that a request with a bad token costs nothing.
 *
 *     token_cache_find(cache, text, STR("web-01"))      the token's record, or NULL
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_ENROLL_TOKEN_CACHE_H
#define FLEET_MASTER_ENROLL_TOKEN_CACHE_H

#include "fleet/enroll/token.h"
#include "fleet/nats/js.h"

struct err;
struct token_cache;

/* Further tokens are ignored. */
#define TOKEN_CACHE_MAX 10000

struct token_cache *token_cache_new(const struct nats_js *js, struct err *err);
/* Stops updates; before the connection ends. */
void token_cache_stop(struct token_cache *cache);
/* After the connection, whose end calls back all requests. NULL is fine. */
void token_cache_free(struct token_cache *cache);

/* Find a token by its text. `peel` empty: for any peel. Borrowed until the loop turns. */
const struct token_record *token_cache_find(const struct token_cache *cache, struct str text,
                                            struct str peel);

/* A new token may not be in the cache yet: fetch it from the bucket. `fn` is called once, also when
 * there is no such token. Fails for a malformed token. */
typedef void token_cache_fn(void *self);
int token_cache_fetch(struct token_cache *cache, struct str text, token_cache_fn *fn, void *self,
                      struct err *err);

#endif
