/*
 * capture - from the pipes of services and hooks to the log store of their config.
 *
 * A job hands over its pipes (supervise/job.h); each is read when the loop says so, straight
 * into the store. Where outputs are taken out on the way the job reads, and hands over
 * bytes. What `logs.store` refuses is read and thrown away.
 *
 *     capture_open -> capture_sink for real_world_new -> ... -> capture_close
 *
 * Memory: lives in its owner's struct. Threads: the loop's.
 */
#ifndef DAEMON_CAPTURE_H
#define DAEMON_CAPTURE_H

#include <stdint.h>

#include "supervise/job.h"
#include "sys/loop.h"

struct capture_feed;
struct config_logs;
struct engine;
struct err;
struct log_store;
struct log_store_stats;
struct real_tag;

typedef void capture_fn(void *self);

struct capture {
    struct loop *loop;
    struct log_store *store;
    const struct engine *engine; /* whose plans say what is stored; set by the owner */
    struct capture_feed *feeds;
    struct timer tick, clean;
    int64_t clean_interval, clean_after;
    const char *folder;  /* of the store */
    int errnum;          /* why lines cannot be written, as far as it has been told */
    uint64_t lost;       /* likewise */
    capture_fn *on_data; /* something was written to the store */
    void *self;
};

/* `folder` is that of the store, and kept. A disk that takes no lines is told in the log of the
 * daemon once, and so is its recovery, with the number of lines that were lost. */
int capture_open(struct capture *capture, struct loop *loop, const char *folder,
                 const struct config_logs *logs, capture_fn *on_data, void *self, struct err *err);
void capture_close(struct capture *capture);

struct job_sink capture_sink(struct capture *capture);
/* A line of our own in the log of a service or hook; for real_world_options.note. */
void capture_note(void *self, const struct real_tag *tag, const char *text);

/* Read what pipes hold now and write it all: readers of the store see everything then. */
void capture_flush(struct capture *capture);
/* The lines of a service so far are gone. */
void capture_clear(struct capture *capture, const char *service);
/* The number that the next line will have. */
uint64_t capture_next_line(const struct capture *capture);
struct log_store_stats capture_stats(const struct capture *capture);

#endif
