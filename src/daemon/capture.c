#include "daemon/capture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "logs/log_source.h"
#include "logs/log_store.h"
#include "supervise/engine.h"
#include "supervise/hook_phase.h"
#include "supervise/real_world.h"
#include "sys/clock.h"
#include "sys/fd.h"

/* Reads of one pipe before others have their turn. */
#define READS_MAX 16
/* Between two slices of cleaning that takes long. */
#define CLEAN_PAUSE CLOCK_SECOND

/* One stream of one job. */
struct capture_feed {
    struct capture *capture;
    const void *tag;
    enum job_stream stream;
    struct log_source *source;
    int fd; /* -1: bytes are handed over */
    struct watch watch;
    struct capture_feed *next, **back;
};

/* --- feeds ------------------------------------------------------------------------------ */

static bool is_kept(const struct capture *capture, uint32_t service, enum job_stream stream)
{
    const struct config_logs *logs = &engine_get(capture->engine, service)->plan.logs;

    return stream == JOB_STDOUT ? logs->store_stdout : logs->store_stderr;
}

static struct capture_feed *feed_new(struct capture *capture, const struct real_tag *tag,
                                     enum job_stream stream, struct err *err)
{
    const char *hook = tag->phase == HOOK_PHASES ? NULL : hook_phase_name(tag->phase);
    struct log_source *source;
    struct capture_feed *feed;

    if (log_source_new(capture->store, tag->name, hook,
                       stream == JOB_STDOUT ? SEGMENT_STDOUT : SEGMENT_STDERR,
                       is_kept(capture, tag->service, stream), &source, err) < 0)
        return NULL;
    feed = mem_zalloc(sizeof(*feed));
    *feed = (struct capture_feed){ .capture = capture,
                                   .tag = tag,
                                   .stream = stream,
                                   .source = source,
                                   .fd = -1,
                                   .next = capture->feeds,
                                   .back = &capture->feeds };
    if (feed->next)
        feed->next->back = &feed->next;
    capture->feeds = feed;
    return feed;
}

static void feed_free(struct capture_feed *feed)
{
    watch_stop(&feed->watch);
    fd_close(&feed->fd);
    log_source_free(feed->source);
    *feed->back = feed->next;
    if (feed->next)
        feed->next->back = feed->back;
    free(feed);
}

static void on_tick(struct timer *timer);
static void on_clean(struct timer *timer);

/* Cleaning waits for its interval, and longer when nothing can be too much or too old before. */
static void arm_clean(struct capture *capture)
{
    int64_t due = log_store_clean_due(capture->store);

    if (due != CLOCK_NEVER && due < capture->clean_after)
        due = capture->clean_after;
    if (due == CLOCK_NEVER)
        timer_clear(loop_timers(capture->loop), &capture->clean);
    else if (!timer_is_set(&capture->clean) || capture->clean.deadline > due)
        timer_set(loop_timers(capture->loop), &capture->clean, due, on_clean);
}

/* Told when it changes, not each time. */
static void tell_losses(struct capture *capture)
{
    struct log_store_stats stats = log_store_stats(capture->store);
    struct err err;

    if (stats.errnum == capture->errnum)
        return;
    capture->errnum = stats.errnum;
    if (stats.errnum) {
        (void)err_sys(&err, stats.errnum, "write lines");
        log_error("logs cannot be written folder=%s error=%s", capture->folder, err.text);
        return;
    }
    log_warning("logs can be written again folder=%s lost=%llu", capture->folder,
                (unsigned long long)(stats.lost - capture->lost));
    capture->lost = stats.lost;
}

/* Lines that wait are due some time. */
static void arm(struct capture *capture)
{
    int64_t due = log_store_due(capture->store);

    tell_losses(capture);

    if (due == CLOCK_NEVER)
        timer_clear(loop_timers(capture->loop), &capture->tick);
    else if (!timer_is_set(&capture->tick) || capture->tick.deadline > due)
        timer_set(loop_timers(capture->loop), &capture->tick, due, on_tick);
    if (!timer_is_set(&capture->clean))
        arm_clean(capture);
}

static void on_tick(struct timer *timer)
{
    struct capture *capture = container_of(timer, struct capture, tick);

    log_store_tick(capture->store);
    arm(capture);
}

/* False when the pipe has ended and the feed is gone. */
static bool feed_read(struct capture_feed *feed, int most)
{
    enum log_source_result result = LOG_SOURCE_DATA;
    struct err err;

    for (int i = 0; i < most && result == LOG_SOURCE_DATA; i++)
        if (log_source_read(feed->source, feed->fd, &result, &err) < 0)
            result = LOG_SOURCE_END;
    if (result != LOG_SOURCE_END)
        return true;
    feed_free(feed);
    return false;
}

static void on_pipe(struct watch *watch, uint32_t events)
{
    struct capture_feed *feed = container_of(watch, struct capture_feed, watch);
    struct capture *capture = feed->capture;

    (void)events;
    (void)feed_read(feed, READS_MAX);
    arm(capture);
}

/* --- the sink of jobs --------------------------------------------------------------------- */

static bool sink_take(void *self, const void *tag, enum job_stream stream, int fd)
{
    struct capture *capture = self;
    struct err err;
    struct capture_feed *feed = feed_new(capture, tag, stream, &err);

    if (!feed)
        return false;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK); /* our end alone */
    if (watch_start(&feed->watch, capture->loop, fd, WATCH_READ, on_pipe, &err) < 0) {
        feed_free(feed);
        return false;
    }
    feed->fd = fd;
    return true;
}

static struct capture_feed *find_feed(struct capture *capture, const void *tag,
                                      enum job_stream stream)
{
    for (struct capture_feed *feed = capture->feeds; feed; feed = feed->next)
        if (feed->fd < 0 && feed->tag == tag && feed->stream == stream)
            return feed;
    return NULL;
}

static void sink_add(void *self, const void *tag, enum job_stream stream, struct str bytes)
{
    struct capture *capture = self;
    struct capture_feed *feed = find_feed(capture, tag, stream);
    struct err err;

    if (!feed && bytes.n > 0)
        feed = feed_new(capture, tag, stream, &err);
    if (!feed)
        return;
    if (bytes.n > 0)
        log_source_add(feed->source, bytes);
    else
        feed_free(feed);
    arm(capture);
}

struct job_sink capture_sink(struct capture *capture)
{
    return (struct job_sink){ .self = capture, .take = sink_take, .add = sink_add };
}

void capture_note(void *self, const struct real_tag *tag, const char *text)
{
    struct capture *capture = self;
    struct err err;
    struct capture_feed *feed = feed_new(capture, tag, JOB_STDERR, &err);

    if (!feed)
        return;
    log_source_add(feed->source, str_from(text));
    log_source_add(feed->source, STR("\n"));
    feed_free(feed);
    arm(capture);
}

/* --- life ------------------------------------------------------------------------------- */

static void on_clean(struct timer *timer)
{
    struct capture *capture = container_of(timer, struct capture, clean);
    struct err err;
    bool more = false;

    if (log_store_clean(capture->store, &more, &err) < 0)
        log_warning("logs cannot be cleaned error=%s", err.text);
    capture->clean_after = clock_after(clock_now(), more ? CLEAN_PAUSE : capture->clean_interval);
    arm_clean(capture);
}

int capture_open(struct capture *capture, struct loop *loop, const char *folder,
                 const struct config_logs *logs, capture_fn *on_data, void *self, struct err *err)
{
    const struct log_store_options options = {
        .flush_interval = logs->flush_interval,
        .batch_lines =
            logs->batch_size > 0 && logs->batch_size < UINT32_MAX ? (uint32_t)logs->batch_size : 0,
        .max_size = logs->max_size > 0 ? (uint64_t)logs->max_size : 0,
        .max_age = logs->retention_period,
        .sync = logs->sync,
    };

    *capture = (struct capture){ .loop = loop, .folder = folder, .on_data = on_data, .self = self };
    if (log_store_open(folder, &options, &capture->store, err) < 0)
        return -1;
    log_store_on_data(capture->store, on_data, self);
    capture->clean_interval =
        logs->cleanup_interval > 0 ? logs->cleanup_interval : 60 * CLOCK_SECOND;
    /* What became too old or too much while nobody looked goes first. */
    timer_set(loop_timers(loop), &capture->clean, clock_now(), on_clean);
    return 0;
}

void capture_close(struct capture *capture)
{
    if (!capture->store)
        return;
    while (capture->feeds)
        feed_free(capture->feeds);
    timer_clear(loop_timers(capture->loop), &capture->tick);
    timer_clear(loop_timers(capture->loop), &capture->clean);
    log_store_free(capture->store);
    capture->store = NULL;
}

void capture_flush(struct capture *capture)
{
    struct capture_feed *next;
    struct err err;

    for (struct capture_feed *feed = capture->feeds; feed; feed = next) {
        next = feed->next;
        if (feed->fd >= 0)
            (void)feed_read(feed, READS_MAX);
    }
    (void)log_store_flush(capture->store, &err);
    arm(capture); /* which tells */
}

void capture_clear(struct capture *capture, const char *service)
{
    struct err err;

    if (log_store_clear(capture->store, service, &err) < 0)
        log_warning("logs cannot be cleared service=%s error=%s", service, err.text);
    arm_clean(capture);
}

struct log_store_stats capture_stats(const struct capture *capture)
{
    return log_store_stats(capture->store);
}

uint64_t capture_next_line(const struct capture *capture)
{
    return log_store_stats(capture->store).next_seq;
}
