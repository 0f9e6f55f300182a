/*
 * shelf - plans of before, for the next run of the same request.
 *
 * An agent runs the same highstate again and again. While the request, the facts, the settings and
 * all files that a plan was made from are the same, compiling would make the same plan, so the one
 * of before is used.
 *
 * Not kept are plans that depend on anything else: their templates run commands, call functions
 * that look at the machine or at others, ask for files outside of the tree or for chance; files
 * were found by a pattern; the order is that of Salt files, which depends on links of the machine
 * (states/compile/stamps.h has the rules). Nor are those of more than SHELF_PLAN_MAX bytes.
 *
 *     shelf_new -> { shelf_compile, shelf_release, shelf_trim }... -> shelf_free
 *
 * Memory: heap. Threads: any.
 */
#ifndef STATES_LOCAL_SHELF_H
#define STATES_LOCAL_SHELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct compile_wish;
struct diags;
struct plan;
struct shelf;
struct shelf_plan;
struct state_host;

/* Plans on a shelf, and memory of each. */
#define SHELF_PLANS    2
#define SHELF_PLAN_MAX ((size_t)1 << 20)
/* One that was not used for so long goes, in nanoseconds. */
#define SHELF_AGE (INT64_C(2) * 3600 * 1000000000)

/* A file that has changed within `settled` may change unseen: STAMPS_SETTLED, or less in tests. */
struct shelf *shelf_new(int64_t settled);
/* NULL is fine; plans that are held stay. */
void shelf_free(struct shelf *shelf);

/* What is asked for. Facts and settings are known by numbers that change with them; 0: not known,
 * and nothing is used again. */
struct shelf_request {
    struct state_host *host; /* its tree is exchanged while the plan is compiled */
    const struct compile_wish *wish;
    uint64_t facts, settings;
};
/* Does the request say all that it depends on? If not, compile it without a shelf. */
bool shelf_is_for(const struct shelf *shelf, const struct shelf_request *request);

/* As compile_wish. `ret_held` is set on failure, too: it keeps the plan and the mistakes. */
int shelf_compile(struct shelf *shelf, const struct shelf_request *request,
                  struct shelf_plan **ret_held, const struct plan **ret_plan, struct diags *diags);
/* NULL is fine. */
void shelf_release(struct shelf_plan *held);
/* Was it compiled for another run? NULL was not. */
bool shelf_is_old(const struct shelf_plan *held);

/* Remove plans that were not used lately; true when none is left. */
bool shelf_trim(struct shelf *shelf);

#endif
