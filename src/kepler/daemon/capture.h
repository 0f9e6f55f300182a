/*
 * capture - the daemon's side of the logs of one config.
 *
 * Pipes and bytes of service processes (kepler/supervise/service_process.h) go to the log thread,
 * which reads and writes them (kepler/daemon/feeds.h). Nothing here waits for the disk except
 * capture_close. Queued bytes are bounded: a service process whose outputs are captured waits
 * while CAPTURE_HELD_MAX of them are not stored yet.
 *
 *     capture_open -> capture_sink for real_world_new -> ... -> capture_close
 *
 * Memory: lives in its owner's struct. Threads: the daemon's.
 */
#ifndef KEPLER_DAEMON_CAPTURE_H
#define KEPLER_DAEMON_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kepler/daemon/feeds.h"
#include "kepler/supervise/service_process.h"
#include "kepler/engine/world.h"

struct config_logs;
struct err;
struct real_tag;
struct log_thread;

#define CAPTURE_HELD_MAX ((size_t)1 << 20)

/* Called in the daemon's loop after the store was written to, or when a flush is done. */
typedef void capture_fn(void *self);
/* Is this stream of the service stored? */
typedef bool capture_keeps_fn(void *self, uint32_t service, enum service_process_stream stream);

struct capture_options {
    const char *folder; /* of the store; kept */
    const struct config_logs *logs;
    capture_keeps_fn *keeps;
    capture_fn *on_data, *on_flushed;
    void *self;
};

struct capture {
    struct log_thread *log_thread; /* NULL: not open */
    capture_keeps_fn *keeps;
    capture_fn *on_data, *on_flushed;
    void *self;
    uint64_t asked, flushed; /* tickets of flushes */
    struct service_process_waiter *waiters;

    struct feeds feeds; /* the log thread's; the rest is shared */
    _Atomic bool told;  /* a notification is in progress */
    _Atomic size_t held;
    _Atomic bool wants_room;
};

int capture_open(struct capture *capture, struct log_thread *log_thread,
                 const struct capture_options *options, struct err *err);
/* Waits until everything is written and the store is closed. Not open is fine. */
void capture_close(struct capture *capture);

struct service_process_sink capture_sink(struct capture *capture);
/* Adds a line of the daemon's own to the log of a service or hook; for real_world_options.note. */
void capture_note(void *self, const struct real_tag *tag, enum world_note note, const char *text);

/* Reads everything in the pipes and writes it. Returns a ticket: once capture_is_flushed, readers
 * of the store see everything. */
uint64_t capture_flush(struct capture *capture);
bool capture_is_flushed(const struct capture *capture, uint64_t ticket);
/* The same, synchronously. */
void capture_flush_wait(struct capture *capture);
/* Clears the lines of a service so far. */
void capture_clear(struct capture *capture, const char *service);
/* The number of the next line, as far as pipes have been read. */
uint64_t capture_next_line(const struct capture *capture);

struct capture_losses {
    uint64_t lines; /* since the config was loaded */
    int errnum;     /* why writing fails now; 0: it works */
};
struct capture_losses capture_losses(const struct capture *capture);

#endif
