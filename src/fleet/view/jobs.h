/*
 * fleet_jobs - the jobs of a fleet, filtered, the newest first, a page at a time.
 *
 *     fleet_jobs_init -> fleet_jobs_take, for each entry of the bucket -> fleet_jobs_end
 *     -> `list`, fleet_job_value -> fleet_jobs_done
 *
 * Memory is at most twice the size of the page and those before it, however many jobs there are.
 *
 * Pure. Memory: its own. Threads: one.
 */
#ifndef FLEET_VIEW_JOBS_H
#define FLEET_VIEW_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "fleet/wire/job.h"

/* Key prefix of an unfinished job in the bucket of jobs. */
#define FLEET_JOBS_ACTIVE "active."

/* NULL: any. The peel is an id as on the wire. */
struct job_filter {
    const char *function, *status, *user, *peel;
    int64_t limit, offset;
};

struct fleet_jobs_item {
    struct job job;
    struct str bytes; /* its record */
};

struct fleet_jobs {
    struct job_filter filter;
    size_t bytes_max; /* of the kept records; 0: no limit */
    struct arena arena;
    VEC(struct fleet_jobs_item) list;
    size_t matched; /* matches of the filter, on all pages */
    size_t bytes;
    bool is_full; /* `bytes_max` was reached: the list is incomplete */
};

/* Texts of the filter are borrowed. */
void fleet_jobs_init(struct fleet_jobs *jobs, const struct job_filter *filter, size_t bytes_max);
void fleet_jobs_done(struct fleet_jobs *jobs);
/* Malformed entries, and those that are not jobs, are ignored. */
void fleet_jobs_take(struct fleet_jobs *jobs, struct str key, struct str value);
/* Reduces `list` to the page. */
void fleet_jobs_end(struct fleet_jobs *jobs);

/* Order: newest first. */
int fleet_jobs_compare(const void *job, const void *other);

/* "pending, claimed, ...". */
const char *fleet_jobs_statuses(struct arena *arena);
bool fleet_jobs_has_status(const char *name);

/* A list of names from peel ids. */
struct value fleet_names_value(struct arena *arena, struct param_strs peels);

/* The record with readable names. `queued` lists the names of peels it is queued for. */
struct value fleet_job_value(struct arena *arena, const struct job *job,
                             const struct value *queued);

#endif
