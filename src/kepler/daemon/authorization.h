/*
 * authorization - runs the authorizers of configs for one call, in a worker.
 *
 *     authorization_add... -> authorization_begin -> `heard` -> authorization_answer
 *
 * An authorizer is a piece of Lua that gets the request and its caller, and must return true
 * (kepler/config/authorizer.h). Those of one config run in order, until one rejects. A request
 * that runs out of time is refused.
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

/* Concurrent authorizations for one user's calls. */
#define AUTHORIZATION_MAX 8

/* A config at the time of the request. */
struct authorization_config {
    const char *path;
    uint64_t serial; /* changes with the rules */
};

enum authorization_answer {
    AUTHORIZATION_NONE, /* not evaluated, or under other rules */
    AUTHORIZATION_AGREES,
    AUTHORIZATION_REFUSES,
};

typedef void authorization_fn(struct call *call);

/* Adds these authorizers of the config. */
void authorization_add(struct call *call, const struct authorization_config *config,
                       const struct acl_verdict *verdict);
/* The number of configs added. */
size_t authorization_count(const struct call *call);
/* Calls `heard` when all have run, unless the call is gone by then. Refuses the call, which ends
 * it, when its user has too many in progress. */
void authorization_begin(struct call *call, authorization_fn *heard);
enum authorization_answer authorization_answer(const struct call *call,
                                               const struct authorization_config *config);
/* NULL is fine. */
void authorization_free(struct authorization *authorization);

#endif
