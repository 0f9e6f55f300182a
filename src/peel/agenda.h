/*
 * agenda - what an agent does by itself, when: the entries of `schedule`.
 *
 *     schedule:
 *       highstate:
 *         module: state.highstate
 *         interval: 30m        or  cron: "0 4 * * *"
 *         splay: 5m
 *
 * Entries come from the configuration and from settings; of two with one name that of the settings
 * counts, unless it is disabled. An entry that did not change keeps its time when others do. The
 * interval counts from the end of a run, or from its begin if `maxrunning` lets several run at
 * once: then it fires all the same, and one run too many is skipped. It works without a bus;
 * results that must be returned wait for it on disk.
 *
 *     agenda_new -> agenda_read... -> agenda_free
 *
 * Threads: the loop's.
 */
#ifndef PEEL_AGENDA_H
#define PEEL_AGENDA_H

#include <stddef.h>
#include <stdint.h>

struct agenda;
struct desk;
struct loop;
struct outbox;
struct value;

#define AGENDA_ENTRIES_MAX 1000

struct agenda_options {
    struct loop *loop;
    const char *peel_id;
    struct desk *desk;
    struct outbox *outbox;
};

struct agenda *agenda_new(const struct agenda_options *options);
/* NULL is fine. After the desk has ended. */
void agenda_free(struct agenda *agenda);
/* Begin nothing more. */
void agenda_stop(struct agenda *agenda);

/* The entries of the configuration and of the settings; each a map, or NULL. Mistakes are logged,
 * and the entry is left out. */
void agenda_read(struct agenda *agenda, const struct value *local, const struct value *settings);

#endif
