/*
 * feeds - the pipes of one config, read into its log store.
 *
 * Pipes are read straight into the store when the loop reports data. Where outputs are captured,
 * the service process reads and hands over the bytes. Streams that are not stored are read and
 * discarded. Lines of a service keep the order of its programs: before reading from a new program,
 * the pipes of earlier ones are drained. Waiting lines are written when due, and the store is
 * cleaned when needed: at rest no timer is set.
 *
 *     feeds_init -> { feeds_take, feeds_add, feeds_flush, ... } -> feeds_done
 *
 * Memory: lives in its owner's struct. Threads: the loop's, which may wait for the disk.
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
    const void *tag;            /* identifies the process; never dereferenced */
    const char *service, *hook; /* `hook` is NULL for the service itself; both outlive the feeds */
    enum segment_stream stream;
    bool keep;
};

struct feeds {
    struct loop *loop;
    struct log_store *store;
    const char *folder; /* of the store */
    struct map groups;  /* feed groups, by service */
    struct timer tick, clean;
    int64_t clean_interval, clean_after;
    uint64_t told; /* errno of the last lost lines */
    /* For any thread: the number of the next line, the number of lost lines, and why writing fails
     * now; 0: it works. */
    _Atomic uint64_t next_line, lost;
    _Atomic int errnum;
};

/* `store`, `folder` and `clean_interval` are set; takes over the store. A write failure is logged
 * once by the daemon, and so is its recovery. */
void feeds_init(struct feeds *feeds, struct loop *loop);
/* Writes everything and closes the store. */
void feeds_done(struct feeds *feeds);

/* Reads `fd` until it ends, then closes it. */
void feeds_take(struct feeds *feeds, const struct feed_origin *origin, int fd);
/* Adds bytes read elsewhere; none: the end. */
void feeds_add(struct feeds *feeds, const struct feed_origin *origin, struct str bytes);
/* Adds a line of the daemon's own. */
void feeds_note(struct feeds *feeds, const struct feed_origin *origin, struct str text);

/* Reads everything in the pipes and writes it, for readers of the store. */
void feeds_flush(struct feeds *feeds);
/* Clears the lines of a service so far, with those in its pipes. */
void feeds_clear(struct feeds *feeds, const char *service);

#endif
