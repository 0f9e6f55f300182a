/*
 * plan cache - plans of before, for the next run of the same request.
 *
 * An agent runs the same highstate again and again. While the request, the facts, the settings and
 * all files that a plan was made from are the same, compiling would make the same plan, so the one
 * of before is used.
 *
 * Not kept are plans that depend on anything else: their templates run commands, call functions
 * that look at the machine or at others, ask for files outside of the tree or for chance; files
 * were found by a pattern; the order is that of Salt files, which depends on links of the machine
 * (states/compile/stamps.h has the rules). Nor are those of more than PLAN_CACHE_PLAN_MAX bytes.
 *
 *     plan_cache_new -> { plan_cache_compile, plan_cache_release, plan_cache_trim }... ->
 * plan_cache_free
 *
 * Memory: heap. Threads: any.
 */
#ifndef STATES_LOCAL_PLAN_CACHE_H
#define STATES_LOCAL_PLAN_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct compile_wish;
struct diags;
struct plan;
struct plan_cache;
struct plan_cache_plan;
struct state_host;

/* Plans on a plan cache, and memory of each. */
#define PLAN_CACHE_PLANS    2
#define PLAN_CACHE_PLAN_MAX ((size_t)1 << 20)
/* One that was not used for so long goes, in nanoseconds. */
#define PLAN_CACHE_AGE (INT64_C(2) * 3600 * 1000000000)

/* A file that has changed within `settled` may change unseen: STAMPS_SETTLED, or less in tests. */
struct plan_cache *plan_cache_new(int64_t settled);
/* NULL is fine; plans that are held stay. */
void plan_cache_free(struct plan_cache *plan_cache);

/* What is asked for. Facts and settings are known by numbers that change with them; 0: not known,
 * and nothing is used again. */
struct plan_cache_request {
    struct state_host *host; /* its tree is exchanged while the plan is compiled */
    const struct compile_wish *wish;
    uint64_t facts, settings;
};
/* Does the request say all that it depends on? If not, compile it without a plan cache. */
bool plan_cache_is_for(const struct plan_cache *plan_cache,
                       const struct plan_cache_request *request);

/* As compile_wish. `ret_held` is set on failure, too: it keeps the plan and the mistakes. */
int plan_cache_compile(struct plan_cache *plan_cache, const struct plan_cache_request *request,
                       struct plan_cache_plan **ret_held, const struct plan **ret_plan,
                       struct diags *diags);
/* NULL is fine. */
void plan_cache_release(struct plan_cache_plan *held);
/* Was it compiled for another run? NULL was not. */
bool plan_cache_is_old(const struct plan_cache_plan *held);

/* Remove plans that were not used lately; true when none is left. */
bool plan_cache_trim(struct plan_cache *plan_cache);

#endif
