/*
 * plan cache - keeps compiled plans for the next run of the same request.
 *
 * An agent runs the same highstate again and again. While the request, the facts, the settings and
 * all files of the plan are unchanged, compiling would give the same plan, so the cached one is
 * used.
 *
 * Plans that depend on anything else are not cached: templates that run commands, inspect this or
 * other machines, read files outside the tree or use random numbers; files found by a pattern; the
 * order of Salt files, which depends on links of the machine (states/compile/stamps.h has the
 * rules). Plans above PLAN_CACHE_PLAN_MAX bytes are not cached, either.
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

/* Plans in a cache, and bytes of each. */
#define PLAN_CACHE_PLANS    2
#define PLAN_CACHE_PLAN_MAX ((size_t)1 << 20)
/* Unused plans are removed after this time, in nanoseconds. */
#define PLAN_CACHE_AGE (INT64_C(2) * 3600 * 1000000000)

/* A file changed within `settled` may change again unnoticed: STAMPS_SETTLED, or less in tests. */
struct plan_cache *plan_cache_new(int64_t settled);
/* NULL is fine; held plans stay valid. */
void plan_cache_free(struct plan_cache *plan_cache);

/* A request. Version numbers identify facts and settings; 0: unknown, do not reuse a plan. */
struct plan_cache_request {
    struct state_host *host; /* its tree is replaced while the plan is compiled */
    const struct compile_wish *wish;
    uint64_t facts, settings;
};
/* Can a plan of this request be cached? If not, compile it without the cache. */
bool plan_cache_is_for(const struct plan_cache *plan_cache,
                       const struct plan_cache_request *request);

/* Like compile_wish. `ret_held` keeps the plan and its diagnostics; it is set on failure, too. */
int plan_cache_compile(struct plan_cache *plan_cache, const struct plan_cache_request *request,
                       struct plan_cache_plan **ret_held, const struct plan **ret_plan,
                       struct diags *diags);
/* NULL is fine. */
void plan_cache_release(struct plan_cache_plan *held);
/* Was it compiled for an earlier run? False for NULL. */
bool plan_cache_is_old(const struct plan_cache_plan *held);

/* Remove plans not used lately; true when none is left. */
bool plan_cache_trim(struct plan_cache *plan_cache);

#endif
