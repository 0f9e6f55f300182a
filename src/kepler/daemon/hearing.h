/*
 * hearing - what the authorizers of configs say about one call. A worker asks them.
 *
 *     hearing_add... -> hearing_begin -> `heard` -> hearing_answer
 *
 * An authorizer is a piece of Lua that gets the request and who makes it, and must return true
 * (kepler/config/authorizer.h). Those of one config are asked in order, until one does not agree.
 * What there is no time for is refused.
 *
 * Memory: the heap; hearing_free frees, now or when the worker is done. Threads: the loop's.
 */
#ifndef KEPLER_DAEMON_HEARING_H
#define KEPLER_DAEMON_HEARING_H

#include <stddef.h>
#include <stdint.h>

struct acl_verdict;
struct call;
struct hearing;

/* Hearings of one user's calls at once. */
#define HEARING_MAX 8

/* A config as it was when it was asked about. */
struct hearing_config {
    const char *path;
    uint64_t serial; /* another one: other rules */
};

enum hearing_answer {
    HEARING_NONE, /* not asked, or under other rules */
    HEARING_AGREES,
    HEARING_REFUSES,
};

typedef void hearing_fn(struct call *call);

/* Ask these authorizers of the config, too. */
void hearing_add(struct call *call, const struct hearing_config *config,
                 const struct acl_verdict *verdict);
/* Configs that were added. */
size_t hearing_count(const struct call *call);
/* Calls `heard` when all have been asked, unless the call is gone by then. Refuses the call, which
 * ends it, when too many of its user's are heard. */
void hearing_begin(struct call *call, hearing_fn *heard);
enum hearing_answer hearing_answer(const struct call *call, const struct hearing_config *config);
/* NULL is fine. */
void hearing_free(struct hearing *hearing);

#endif
