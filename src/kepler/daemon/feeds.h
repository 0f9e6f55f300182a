/*
 * feeds - the pipes of one config, read into its log store.
 *
 * A pipe is read when the loop says so, straight into the store. Where outputs are taken out on
 * the way the job reads, and bytes are handed over. What must not be stored is read and
 * discarded. The lines of a service are in the order of what it ran: before a program of it is
 * listened to, the pipes of those before it are read. Lines that wait are written when they are
 * due, and the store is cleaned when that has something to do: at rest no timer is set.
 *
 *     feeds_init -> { feeds_take, feeds_add, feeds_flush, ... } -> feeds_done
 *
 * Memory: lives in its owner's struct. Threads: that of the loop, which may wait for the disk.
 */
#ifndef KEPLER_DAEMON_FEEDS_H
#define KEPLER_DAEMON_FEEDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/map.h"
#include "core/base/str.h"
#include "kepler/logs/segment.h"
#include "core/sys/loop.h"

struct log_store;

/* Where bytes come from. */
struct feed_origin {
    const void *tag;            /* distinguishes jobs; never dereferenced */
    const char *service, *hook; /* `hook` is NULL for the service itself; both outlive the feeds */
    enum segment_stream stream;
    bool keep;
};

struct feeds {
    struct loop *loop;
    struct log_store *store;
    const char *folder; /* of the store */
    struct map groups;  /* of feeds, by service */
    struct timer tick, clean;
    int64_t clean_interval, clean_after;
    uint64_t told; /* of the lines that were lost */
    /* For any thread: the number that the next line will have, lines that were lost, and why none
     * can be written now; 0: they can. */
    _Atomic uint64_t next_line, lost;
    _Atomic int errnum;
};

/* `store`, `folder` and `clean_interval` are set; the store is the feeds' from now on. A disk
 * that takes no lines is logged by the daemon once, and so is its recovery. */
void feeds_init(struct feeds *feeds, struct loop *loop);
/* Writes everything and closes the store. */
void feeds_done(struct feeds *feeds);

/* Read `fd` until it ends, and close it. */
void feeds_take(struct feeds *feeds, const struct feed_origin *origin, int fd);
/* Bytes from elsewhere; none at all: that was all. */
void feeds_add(struct feeds *feeds, const struct feed_origin *origin, struct str bytes);
/* A line of its own. */
void feeds_note(struct feeds *feeds, const struct feed_origin *origin, struct str text);

/* Read what pipes hold now and write it all: readers of the store see everything then. */
void feeds_flush(struct feeds *feeds);
/* The lines of a service so far are gone, with those that its pipes hold. */
void feeds_clear(struct feeds *feeds, const char *service);

#endif
