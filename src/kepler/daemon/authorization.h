/*
 * authorization - what the authorizers of configs say about one call. A worker asks them.
 *
 *     authorization_add... -> authorization_begin -> `heard` -> authorization_answer
 *
 * An authorizer is a piece of Lua that gets the request and who makes it, and must return true
 * (kepler/config/authorizer.h). Those of one config are asked in order, until one does not agree.
 * What there is no time for is refused.
 *
 * Memory: the heap; authorization_free frees, now or when the worker is done. Threads: the loop's.
 */
#ifndef KEPLER_DAEMON_AUTHORIZATION_H
#define KEPLER_DAEMON_AUTHORIZATION_H

#include <stddef.h>
#include <stdint.h>

struct acl_verdict;
struct call;
struct authorization;

/* Hearings of one user's calls at once. */
#define AUTHORIZATION_MAX 8

/* A config as it was when it was asked about. */
struct authorization_config {
    const char *path;
    uint64_t serial; /* another one: other rules */
};

enum authorization_answer {
    AUTHORIZATION_NONE, /* not asked, or under other rules */
    AUTHORIZATION_AGREES,
    AUTHORIZATION_REFUSES,
};

typedef void authorization_fn(struct call *call);

/* Ask these authorizers of the config, too. */
void authorization_add(struct call *call, const struct authorization_config *config,
                       const struct acl_verdict *verdict);
/* Configs that were added. */
size_t authorization_count(const struct call *call);
/* Calls `heard` when all have been asked, unless the call is gone by then. Refuses the call, which
 * ends it, when too many of its user's are heard. */
void authorization_begin(struct call *call, authorization_fn *heard);
enum authorization_answer authorization_answer(const struct call *call,
                                               const struct authorization_config *config);
/* NULL is fine. */
void authorization_free(struct authorization *authorization);

#endif
