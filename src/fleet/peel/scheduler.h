/*
 * scheduler - what an agent does by itself, when: the entries of `schedule`.
 *
 *     schedule:
 *       highstate:
 *         module: state.highstate
 *         interval: 30m        or  cron: "0 4 * * *"
 *         splay: 5m
 *
 * Where they come from, and which counts: fleet/peel/schedule_entry.h. An entry that did not change
 * keeps its time when others do. The interval counts from the end of a run, or from its begin if
 * `maxrunning` lets several run at once: then it fires all the same, and one run too many is
 * skipped. It works without a bus; results that must be returned wait for it on disk.
 *
 *     scheduler_new -> scheduler_read... -> scheduler_free
 *
 * Threads: the loop's.
 */
#ifndef FLEET_PEEL_SCHEDULER_H
#define FLEET_PEEL_SCHEDULER_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct scheduler;
struct arena;
struct job_queue;
struct diags;
struct schedule_entries;
struct err;
struct loop;
struct outbox;
struct snapshot;
struct value;

struct scheduler_options {
    struct loop *loop;
    const char *peel_id;
    struct job_queue *job_queue;
    struct outbox *outbox;
    /* The caller holds a reference. Their secrets are masked in results. */
    struct snapshot *(*settings)(void *self, const char **ret_why);
    void *self;
};

struct scheduler *scheduler_new(const struct scheduler_options *options);
/* NULL is fine. After the job queue has ended. */
void scheduler_free(struct scheduler *scheduler);
/* Begin nothing more. */
void scheduler_stop(struct scheduler *scheduler);

/* Applies new entries. An entry with mistakes is logged and left out. Settings that are not a map
 * are logged and ignored. While switched off nothing is due; running jobs continue. */
void scheduler_read(struct scheduler *scheduler, const struct schedule_entries *schedule_entries);

/* Mistakes of an entry, all of them. */
int scheduler_check(struct arena *arena, const struct value *source, struct diags *diags);
/* Begin a run now, also of an entry that is disabled. `ret_jid` is valid until the next run. */
int scheduler_run(struct scheduler *scheduler, struct str name, const char **ret_jid,
                  struct err *err);
/* The wall time of its next run; 0: none is planned. */
int64_t scheduler_find_next(const struct scheduler *scheduler, struct str name);

#endif
