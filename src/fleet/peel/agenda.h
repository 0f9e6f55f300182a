/*
 * agenda - what an agent does by itself, when: the entries of `schedule`.
 *
 *     schedule:
 *       highstate:
 *         module: state.highstate
 *         interval: 30m        or  cron: "0 4 * * *"
 *         splay: 5m
 *
 * Where they come from, and which counts: fleet/peel/duty.h. An entry that did not change keeps its
 * time when others do. The interval counts from the end of a run, or from its begin if `maxrunning`
 * lets several run at once: then it fires all the same, and one run too many is skipped. It works
 * without a bus; results that must be returned wait for it on disk.
 *
 *     agenda_new -> agenda_read... -> agenda_free
 *
 * Threads: the loop's.
 */
#ifndef FLEET_PEEL_AGENDA_H
#define FLEET_PEEL_AGENDA_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct agenda;
struct arena;
struct desk;
struct diags;
struct duties;
struct err;
struct loop;
struct outbox;
struct snapshot;
struct value;

struct agenda_options {
    struct loop *loop;
    const char *peel_id;
    struct desk *desk;
    struct outbox *outbox;
    /* Held for the caller, as of a desk: what is secret in them is masked in results. */
    struct snapshot *(*settings)(void *self, const char **ret_why);
    void *self;
};

struct agenda *agenda_new(const struct agenda_options *options);
/* NULL is fine. After the desk has ended. */
void agenda_free(struct agenda *agenda);
/* Begin nothing more. */
void agenda_stop(struct agenda *agenda);

/* The entries that count from now on. Mistakes are logged, and the entry is left out. Settings
 * that are not a map are logged, and the entries that count stay. While all are switched
 * off nothing is due; what runs goes on. */
void agenda_read(struct agenda *agenda, const struct duties *duties);

/* Mistakes of an entry, all of them. */
int agenda_check(struct arena *arena, const struct value *source, struct diags *diags);
/* Begin a run now, also of an entry that is disabled. `ret_jid` is valid until the next run. */
int agenda_run(struct agenda *agenda, struct str name, const char **ret_jid, struct err *err);
/* The wall time of its next run; 0: none is planned. */
int64_t agenda_find_next(const struct agenda *agenda, struct str name);

#endif
