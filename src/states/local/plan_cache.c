#include "states/local/plan_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "states/compile/compile.h"
#include "states/compile/stamps.h"
#include "states/compile/tree.h"
#include "states/state/host.h"
#include "core/sys/clock.h"

struct plan_cache_plan {
    atomic_uint holders;
    atomic_bool is_old;
    struct arena arena;
    struct tree *tree; /* the plan has views of its texts */
    struct stamps stamps;
    struct compile_wish wish;
    uint64_t facts, settings;
    bool test, strict_params, strict_templates;
    const char *environment; /* "": all of them */
    const struct plan *plan;
    int64_t used; /* when, last */
};

struct plan_cache {
    pthread_mutex_t mutex;
    struct plan_cache_plan *plans[PLAN_CACHE_PLANS]; /* or NULL */
    int64_t settled;
};

/* --- plans ------------------------------------------------------------------------ */

static struct compile_wish copy_wish(struct arena *arena, const struct compile_wish *wish)
{
    const char **refs = ARENA_ARRAY(arena, const char *, wish->refs.n + 1);

    for (size_t i = 0; i < wish->refs.n; i++)
        refs[i] = arena_strdup(arena, wish->refs.p[i]);
    return (struct compile_wish){ .refs = { wish->refs.n, refs },
                                  .id = wish->id ? arena_strdup(arena, wish->id) : NULL };
}

static struct plan_cache_plan *new_cached_plan(const struct plan_cache *plan_cache,
                                               const struct plan_cache_request *request)
{
    struct plan_cache_plan *plan = mem_zalloc(sizeof(*plan));
    const struct state_host *host = request->host;

    atomic_init(&plan->holders, 1);
    stamps_init(&plan->stamps, &plan->arena, plan_cache->settled);
    plan->wish = copy_wish(&plan->arena, request->wish);
    plan->facts = request->facts;
    plan->settings = request->settings;
    plan->test = host->test;
    plan->strict_params = host->strict_params;
    plan->strict_templates = host->strict_templates;
    plan->environment = arena_strdup(&plan->arena, host->environment ? host->environment : "");
    return plan;
}

void plan_cache_release(struct plan_cache_plan *held)
{
    if (!held || atomic_fetch_sub(&held->holders, 1) > 1)
        return;
    tree_free(held->tree);
    arena_done(&held->arena);
    free(held);
}

bool plan_cache_is_old(const struct plan_cache_plan *held)
{
    return held && atomic_load(&held->is_old);
}

static bool is_same_compile_wish(const struct compile_wish *a, const struct compile_wish *b)
{
    if (a->refs.n != b->refs.n || !a->id != !b->id || (a->id && strcmp(a->id, b->id) != 0))
        return false;
    for (size_t i = 0; i < a->refs.n; i++)
        if (strcmp(a->refs.p[i], b->refs.p[i]) != 0)
            return false;
    return true;
}

/* Compare requests; files are checked by stamps. */
static bool is_plan_of(const struct plan_cache_plan *plan, const struct plan_cache_request *request)
{
    const struct state_host *host = request->host;

    return plan->facts == request->facts && plan->settings == request->settings &&
           plan->test == host->test && plan->strict_params == host->strict_params &&
           plan->strict_templates == host->strict_templates &&
           strcmp(plan->environment, host->environment ? host->environment : "") == 0 &&
           strcmp(tree_root(plan->tree), tree_root(host->tree)) == 0 &&
           is_same_compile_wish(&plan->wish, request->wish);
}

/* --- places ----------------------------------------------------------------------- */

/* Find and hold the cached plan, or NULL. */
static struct plan_cache_plan *find_plan(struct plan_cache *plan_cache,
                                         const struct plan_cache_request *request)
{
    struct plan_cache_plan *found = NULL;

    (void)pthread_mutex_lock(&plan_cache->mutex);
    for (size_t i = 0; i < PLAN_CACHE_PLANS && !found; i++)
        if (plan_cache->plans[i] && is_plan_of(plan_cache->plans[i], request)) {
            found = plan_cache->plans[i];
            found->used = clock_now();
            atomic_fetch_add(&found->holders, 1);
        }
    (void)pthread_mutex_unlock(&plan_cache->mutex);
    return found;
}

/* Choose the slot of the same request, else an empty one, else the least recently used one. */
static struct plan_cache_plan **choose_plan_place(struct plan_cache *plan_cache,
                                                  const struct plan_cache_request *request)
{
    struct plan_cache_plan **best = &plan_cache->plans[0];

    for (size_t i = 0; i < PLAN_CACHE_PLANS; i++) {
        struct plan_cache_plan **place = &plan_cache->plans[i];

        if (*place && is_plan_of(*place, request))
            return place;
        if (*best && (!*place || (*place)->used < (*best)->used))
            best = place;
    }
    return best;
}

static void put_plan(struct plan_cache *plan_cache, const struct plan_cache_request *request,
                     struct plan_cache_plan *plan)
{
    struct plan_cache_plan **place, *old;

    atomic_fetch_add(&plan->holders, 1);
    plan->used = clock_now();
    (void)pthread_mutex_lock(&plan_cache->mutex);
    place = choose_plan_place(plan_cache, request);
    old = *place;
    *place = plan;
    (void)pthread_mutex_unlock(&plan_cache->mutex);
    plan_cache_release(old);
}

/* --- compiling -------------------------------------------------------------------- */

/* Uses its own tree, so that files read later by the run are not cached. */
static int compile_plan(struct plan_cache_plan *plan, struct state_host *host, struct diags *diags)
{
    const struct tree *tree = host->tree;
    struct err err;
    int result;

    plan->tree = tree_new(tree_root(tree), &err);
    if (!plan->tree)
        return diag_err(diags, (struct place){ 0 }, &err);
    tree_note(plan->tree, &plan->stamps);
    host->tree = plan->tree;
    host->stamps = &plan->stamps;
    result = compile_wish(&plan->arena, host, &plan->wish, &plan->plan, diags);
    host->tree = tree;
    host->stamps = NULL;
    tree_note(plan->tree, NULL);
    return result;
}

static bool may_keep(const struct plan_cache_plan *plan)
{
    return stamps_can_last(&plan->stamps) &&
           plan->arena.used + tree_cached(plan->tree) <= PLAN_CACHE_PLAN_MAX;
}

bool plan_cache_is_for(const struct plan_cache *plan_cache,
                       const struct plan_cache_request *request)
{
    const struct state_host *host = request->host;

    return plan_cache && request->facts > 0 && request->settings > 0 && !request->wish->exclude &&
           !request->wish->text.p && host->tree && tree_root(host->tree) && !host->fleet;
}

int plan_cache_compile(struct plan_cache *plan_cache, const struct plan_cache_request *request,
                       struct plan_cache_plan **ret_held, const struct plan **ret_plan,
                       struct diags *diags)
{
    struct plan_cache_plan *plan = find_plan(plan_cache, request);

    if (plan && stamps_hold(&plan->stamps)) {
        atomic_store(&plan->is_old, true);
        *ret_held = plan;
        *ret_plan = plan->plan;
        return 0;
    }
    plan_cache_release(plan);
    *ret_held = plan = new_cached_plan(plan_cache, request);
    if (compile_plan(plan, request->host, diags) < 0)
        return -1;
    if (may_keep(plan))
        put_plan(plan_cache, request, plan);
    *ret_plan = plan->plan;
    return 0;
}

/* --- life ------------------------------------------------------------------------- */

struct plan_cache *plan_cache_new(int64_t settled)
{
    struct plan_cache *plan_cache = mem_zalloc(sizeof(*plan_cache));

    plan_cache->settled = settled;
    (void)pthread_mutex_init(&plan_cache->mutex, NULL);
    return plan_cache;
}

void plan_cache_free(struct plan_cache *plan_cache)
{
    if (!plan_cache)
        return;
    for (size_t i = 0; i < PLAN_CACHE_PLANS; i++)
        plan_cache_release(plan_cache->plans[i]);
    (void)pthread_mutex_destroy(&plan_cache->mutex);
    free(plan_cache);
}

bool plan_cache_trim(struct plan_cache *plan_cache)
{
    const int64_t now = clock_now();
    bool empty = true;

    (void)pthread_mutex_lock(&plan_cache->mutex);
    for (size_t i = 0; i < PLAN_CACHE_PLANS; i++) {
        struct plan_cache_plan **place = &plan_cache->plans[i];

        if (*place && now - (*place)->used >= PLAN_CACHE_AGE) {
            plan_cache_release(*place);
            *place = NULL;
        }
        empty &= !*place;
    }
    (void)pthread_mutex_unlock(&plan_cache->mutex);
    return empty;
}
