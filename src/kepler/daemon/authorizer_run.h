/*
 * authorizer_run - runs the authorizers of configs for one call, in a worker.
 *
 *     authorizer_run_add... -> authorizer_run_begin -> `heard` -> authorizer_run_answer
 *
 * An authorizer is a piece of Lua that gets the request and its caller, and must return true
 * (kepler/config/authorizer.h). Those of one config run in order, until one rejects. A request
 * that runs out of time is refused.
 *
 * Memory: the heap; authorizer_run_free frees, now or when the worker is done. Threads: the loop's.
 */
#ifndef KEPLER_DAEMON_AUTHORIZER_RUN_H
#define KEPLER_DAEMON_AUTHORIZER_RUN_H

#include <stddef.h>
#include <stdint.h>

struct acl_verdict;
struct call;
struct authorizer_run;

/* Concurrent runs for one user's calls. */
#define AUTHORIZER_RUN_MAX 8

/* A config at the time of the request. */
struct authorizer_run_config {
    const char *path;
    uint64_t serial; /* changes with the rules */
};

enum authorizer_run_answer {
    AUTHORIZER_RUN_NONE, /* not evaluated, or under other rules */
    AUTHORIZER_RUN_AGREES,
    AUTHORIZER_RUN_REFUSES,
};

typedef void authorizer_run_fn(struct call *call);

/* Adds these authorizers of the config. */
void authorizer_run_add(struct call *call, const struct authorizer_run_config *config,
                        const struct acl_verdict *verdict);
/* The number of configs added. */
size_t authorizer_run_count(const struct call *call);
/* Calls `heard` when all have run, unless the call is gone by then. Refuses the call, which ends
 * it, when its user has too many in progress. */
void authorizer_run_begin(struct call *call, authorizer_run_fn *heard);
enum authorizer_run_answer authorizer_run_answer(const struct call *call,
                                                 const struct authorizer_run_config *config);
/* NULL is fine. */
void authorizer_run_free(struct authorizer_run *authorizer_run);

#endif
