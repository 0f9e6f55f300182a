#include "states/local/shelf.h"

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

struct shelf_plan {
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

struct shelf {
    pthread_mutex_t mutex;
    struct shelf_plan *plans[SHELF_PLANS]; /* or NULL */
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

static struct shelf_plan *new_plan(const struct shelf *shelf, const struct shelf_request *request)
{
    struct shelf_plan *plan = mem_zalloc(sizeof(*plan));
    const struct state_host *host = request->host;

    atomic_init(&plan->holders, 1);
    stamps_init(&plan->stamps, &plan->arena, shelf->settled);
    plan->wish = copy_wish(&plan->arena, request->wish);
    plan->facts = request->facts;
    plan->settings = request->settings;
    plan->test = host->test;
    plan->strict_params = host->strict_params;
    plan->strict_templates = host->strict_templates;
    plan->environment = arena_strdup(&plan->arena, host->environment ? host->environment : "");
    return plan;
}

void shelf_release(struct shelf_plan *held)
{
    if (!held || atomic_fetch_sub(&held->holders, 1) > 1)
        return;
    tree_free(held->tree);
    arena_done(&held->arena);
    free(held);
}

bool shelf_is_old(const struct shelf_plan *held)
{
    return held && atomic_load(&held->is_old);
}

static bool is_same_wish(const struct compile_wish *a, const struct compile_wish *b)
{
    if (a->refs.n != b->refs.n || !a->id != !b->id || (a->id && strcmp(a->id, b->id) != 0))
        return false;
    for (size_t i = 0; i < a->refs.n; i++)
        if (strcmp(a->refs.p[i], b->refs.p[i]) != 0)
            return false;
    return true;
}

/* The same request; files are another matter. */
static bool is_plan_of(const struct shelf_plan *plan, const struct shelf_request *request)
{
    const struct state_host *host = request->host;

    return plan->facts == request->facts && plan->settings == request->settings &&
           plan->test == host->test && plan->strict_params == host->strict_params &&
           plan->strict_templates == host->strict_templates &&
           strcmp(plan->environment, host->environment ? host->environment : "") == 0 &&
           strcmp(tree_root(plan->tree), tree_root(host->tree)) == 0 &&
           is_same_wish(&plan->wish, request->wish);
}

/* --- places ----------------------------------------------------------------------- */

/* The plan of before, held; NULL: there is none. */
static struct shelf_plan *find_plan(struct shelf *shelf, const struct shelf_request *request)
{
    struct shelf_plan *found = NULL;

    (void)pthread_mutex_lock(&shelf->mutex);
    for (size_t i = 0; i < SHELF_PLANS && !found; i++)
        if (shelf->plans[i] && is_plan_of(shelf->plans[i], request)) {
            found = shelf->plans[i];
            found->used = clock_now();
            atomic_fetch_add(&found->holders, 1);
        }
    (void)pthread_mutex_unlock(&shelf->mutex);
    return found;
}

/* The place of the plan of the same request; else an empty one; else that of the plan which was not
 * used for the longest time. */
static struct shelf_plan **choose_place(struct shelf *shelf, const struct shelf_request *request)
{
    struct shelf_plan **best = &shelf->plans[0];

    for (size_t i = 0; i < SHELF_PLANS; i++) {
        struct shelf_plan **place = &shelf->plans[i];

        if (*place && is_plan_of(*place, request))
            return place;
        if (*best && (!*place || (*place)->used < (*best)->used))
            best = place;
    }
    return best;
}

static void put_plan(struct shelf *shelf, const struct shelf_request *request,
                     struct shelf_plan *plan)
{
    struct shelf_plan **place, *old;

    atomic_fetch_add(&plan->holders, 1);
    plan->used = clock_now();
    (void)pthread_mutex_lock(&shelf->mutex);
    place = choose_place(shelf, request);
    old = *place;
    *place = plan;
    (void)pthread_mutex_unlock(&shelf->mutex);
    shelf_release(old);
}

/* --- compiling -------------------------------------------------------------------- */

/* With a tree of its own: what a run reads later from the tree of the host is not kept. */
static int compile_plan(struct shelf_plan *plan, struct state_host *host, struct diags *diags)
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

static bool may_keep(const struct shelf_plan *plan)
{
    return stamps_can_last(&plan->stamps) &&
           plan->arena.used + tree_cached(plan->tree) <= SHELF_PLAN_MAX;
}

bool shelf_is_for(const struct shelf *shelf, const struct shelf_request *request)
{
    const struct state_host *host = request->host;

    return shelf && request->facts > 0 && request->settings > 0 && !request->wish->exclude &&
           !request->wish->text.p && host->tree && tree_root(host->tree) && !host->fleet;
}

int shelf_compile(struct shelf *shelf, const struct shelf_request *request,
                  struct shelf_plan **ret_held, const struct plan **ret_plan, struct diags *diags)
{
    struct shelf_plan *plan = find_plan(shelf, request);

    if (plan && stamps_hold(&plan->stamps)) {
        atomic_store(&plan->is_old, true);
        *ret_held = plan;
        *ret_plan = plan->plan;
        return 0;
    }
    shelf_release(plan);
    *ret_held = plan = new_plan(shelf, request);
    if (compile_plan(plan, request->host, diags) < 0)
        return -1;
    if (may_keep(plan))
        put_plan(shelf, request, plan);
    *ret_plan = plan->plan;
    return 0;
}

/* --- life ------------------------------------------------------------------------- */

struct shelf *shelf_new(int64_t settled)
{
    struct shelf *shelf = mem_zalloc(sizeof(*shelf));

    shelf->settled = settled;
    (void)pthread_mutex_init(&shelf->mutex, NULL);
    return shelf;
}

void shelf_free(struct shelf *shelf)
{
    if (!shelf)
        return;
    for (size_t i = 0; i < SHELF_PLANS; i++)
        shelf_release(shelf->plans[i]);
    (void)pthread_mutex_destroy(&shelf->mutex);
    free(shelf);
}

bool shelf_trim(struct shelf *shelf)
{
    const int64_t now = clock_now();
    bool empty = true;

    (void)pthread_mutex_lock(&shelf->mutex);
    for (size_t i = 0; i < SHELF_PLANS; i++) {
        struct shelf_plan **place = &shelf->plans[i];

        if (*place && now - (*place)->used >= SHELF_AGE) {
            shelf_release(*place);
            *place = NULL;
        }
        empty &= !*place;
    }
    (void)pthread_mutex_unlock(&shelf->mutex);
    return empty;
}
