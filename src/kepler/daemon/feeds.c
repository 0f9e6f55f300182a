#include "kepler/daemon/feeds.h"

#include <fcntl.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "kepler/logs/log_source.h"
#include "kepler/logs/log_store.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"

/* Reads of one pipe before others have their turn. */
#define READS_MAX 16
/* Between two slices of cleaning that takes long. */
#define CLEAN_PAUSE CLOCK_SECOND

/* One stream of one job. */
struct feed {
    struct feeds *feeds;
    struct feed_origin origin;
    struct log_source *source;
    int fd; /* -1: bytes are handed over */
    struct watch watch;
    struct feed_group *group;
    struct feed *next, **back; /* of the feed group */
};

/* The feeds of one service, in the order in which they came. */
struct feed_group {
    struct feed *first, **end;
};

/* --- one feed --------------------------------------------------------------------------- */

static void join_group(struct feed *feed, struct feed_group *group)
{
    feed->group = group;
    feed->back = group->end;
    *group->end = feed;
    group->end = &feed->next;
}

static void leave_group(struct feed *feed)
{
    *feed->back = feed->next;
    if (feed->next)
        feed->next->back = feed->back;
    else
        feed->group->end = feed->back;
}

static void feed_free(struct feed *feed)
{
    watch_stop(&feed->watch);
    fd_close(&feed->fd);
    log_source_free(feed->source);
    leave_group(feed);
    free(feed);
}

/* Reads at most READS_MAX times; removes the feed at the end of the pipe. `end`: check for that as
 * well. */
static void feed_read(struct feed *feed, bool end)
{
    const enum log_source_result last = end ? LOG_SOURCE_ALL : LOG_SOURCE_DATA;
    enum log_source_result result = LOG_SOURCE_DATA;
    struct err err;

    for (int i = 0; i < READS_MAX && result <= last; i++)
        if (log_source_read(feed->source, feed->fd, &result, &err) < 0)
            result = LOG_SOURCE_END;
    if (result == LOG_SOURCE_END)
        feed_free(feed);
}

/* Drains the pipes of one service. */
static void read_feed_group(struct feed_group *group)
{
    struct feed *next;

    for (struct feed *feed = group->first; feed; feed = next) {
        next = feed->next;
        if (feed->fd >= 0)
            feed_read(feed, true);
    }
}

static void read_all_feeds(struct feeds *feeds)
{
    MAP_EACH (&feeds->groups, entry)
        read_feed_group(entry->value);
}

static struct feed_group *open_feed_group(struct feeds *feeds, const char *service)
{
    void **place = map_place(&feeds->groups, str_from(service));
    struct feed_group *group = *place;

    if (!group) {
        *place = group = mem_zalloc(sizeof(*group));
        group->end = &group->first;
    }
    return group;
}

/* Earlier output of the service comes first: a finished hook may have left bytes in its pipe when
 * the next step begins to write. A pipe that is still open elsewhere gives what it has, without
 * waiting for more. */
static struct feed *feed_new(struct feeds *feeds, const struct feed_origin *origin)
{
    struct feed_group *group = open_feed_group(feeds, origin->service);
    struct log_source *source;
    struct feed *feed;
    struct err err;

    read_feed_group(group);
    if (log_source_new(feeds->store, origin->service, origin->hook, origin->stream, origin->keep,
                       &source, &err) < 0) {
        log_warning("logs cannot be stored service=%s error=%s", origin->service, err.text);
        return NULL;
    }
    feed = mem_zalloc(sizeof(*feed));
    *feed = (struct feed){ .feeds = feeds, .origin = *origin, .source = source, .fd = -1 };
    join_group(feed, group);
    return feed;
}

/* --- what is due ------------------------------------------------------------------------ */

static void on_flush_due(struct timer *timer);
static void on_clean(struct timer *timer);

/* Cleaning waits for its interval, and longer when no limit can be exceeded before. */
static void arm_clean(struct feeds *feeds)
{
    int64_t due = log_store_clean_due(feeds->store);

    if (due != CLOCK_NEVER && due < feeds->clean_after)
        due = feeds->clean_after;
    if (due == CLOCK_NEVER)
        timer_clear(loop_timers(feeds->loop), &feeds->clean);
    else if (!timer_is_set(&feeds->clean) || feeds->clean.deadline > due)
        timer_set(loop_timers(feeds->loop), &feeds->clean, due, on_clean);
}

/* Report changes only: that lines cannot be written is logged once, not each time. */
static void publish_feeds(struct feeds *feeds)
{
    const struct log_store_stats stats = log_store_stats(feeds->store);
    const int before = atomic_exchange(&feeds->errnum, stats.errnum);
    struct err err;

    atomic_store(&feeds->next_line, stats.next_seq);
    atomic_store(&feeds->lost, stats.lost);
    if (stats.errnum == before)
        return;
    if (stats.errnum) {
        (void)err_sys(&err, stats.errnum, "write lines");
        log_error("logs cannot be written folder=%s error=%s", feeds->folder, err.text);
        return;
    }
    log_warning("logs can be written again folder=%s lost=%llu", feeds->folder,
                (unsigned long long)(stats.lost - feeds->told));
    feeds->told = stats.lost;
}

/* Lines that wait are due some time. */
static void set_flush_timer(struct feeds *feeds)
{
    int64_t due = log_store_due(feeds->store);

    publish_feeds(feeds);
    if (due == CLOCK_NEVER)
        timer_clear(loop_timers(feeds->loop), &feeds->tick);
    else if (!timer_is_set(&feeds->tick) || feeds->tick.deadline > due)
        timer_set(loop_timers(feeds->loop), &feeds->tick, due, on_flush_due);
    if (!timer_is_set(&feeds->clean))
        arm_clean(feeds);
}

static void on_flush_due(struct timer *timer)
{
    struct feeds *feeds = container_of(timer, struct feeds, tick);

    log_store_tick(feeds->store);
    set_flush_timer(feeds);
}

static void on_clean(struct timer *timer)
{
    struct feeds *feeds = container_of(timer, struct feeds, clean);
    struct err err;
    bool more = false;

    if (log_store_clean(feeds->store, &more, &err) < 0)
        log_warning("logs cannot be cleaned error=%s", err.text);
    feeds->clean_after = clock_after(clock_now(), more ? CLEAN_PAUSE : feeds->clean_interval);
    arm_clean(feeds);
}

/* --- public ----------------------------------------------------------------------------- */

void feeds_init(struct feeds *feeds, struct loop *loop)
{
    feeds->loop = loop;
    /* Remove what exceeded the limits meanwhile. */
    timer_set(loop_timers(loop), &feeds->clean, clock_now(), on_clean);
}

void feeds_done(struct feeds *feeds)
{
    read_all_feeds(feeds);
    MAP_EACH (&feeds->groups, entry) {
        struct feed_group *group = entry->value;
        struct feed *next;

        for (struct feed *feed = group->first; feed; feed = next) {
            next = feed->next;
            feed_free(feed);
        }
        free(group);
    }
    map_done(&feeds->groups);
    timer_clear(loop_timers(feeds->loop), &feeds->tick);
    timer_clear(loop_timers(feeds->loop), &feeds->clean);
    log_store_free(feeds->store);
    feeds->store = NULL;
}

static void on_pipe(struct watch *watch, uint32_t events)
{
    struct feed *feed = container_of(watch, struct feed, watch);
    struct feeds *feeds = feed->feeds;

    (void)events;
    feed_read(feed, false);
    set_flush_timer(feeds);
}

void feeds_take(struct feeds *feeds, const struct feed_origin *origin, int fd)
{
    struct feed *feed = feed_new(feeds, origin);
    struct err err;

    set_flush_timer(feeds); /* lines counted by older feeds */
    if (!feed) {
        fd_close(&fd);
        return;
    }
    feed->fd = fd;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK); /* our end alone */
    if (watch_start(&feed->watch, feeds->loop, fd, WATCH_READ, on_pipe, &err) < 0) {
        log_warning("logs cannot be read service=%s error=%s", origin->service, err.text);
        feed_free(feed);
    }
}

static struct feed *find_feed(const struct feeds *feeds, const struct feed_origin *origin)
{
    struct feed_group *group = map_find(&feeds->groups, str_from(origin->service));

    for (struct feed *feed = group ? group->first : NULL; feed; feed = feed->next)
        if (feed->fd < 0 && feed->origin.tag == origin->tag &&
            feed->origin.stream == origin->stream)
            return feed;
    return NULL;
}

void feeds_add(struct feeds *feeds, const struct feed_origin *origin, struct str bytes)
{
    struct feed *feed = find_feed(feeds, origin);

    if (!feed && bytes.n > 0)
        feed = feed_new(feeds, origin);
    if (!feed)
        return;
    if (bytes.n > 0)
        log_source_add(feed->source, bytes);
    else
        feed_free(feed);
    set_flush_timer(feeds);
}

void feeds_note(struct feeds *feeds, const struct feed_origin *origin, struct str text)
{
    struct feed *feed = feed_new(feeds, origin);

    if (!feed)
        return;
    log_source_add(feed->source, text);
    log_source_add(feed->source, STR("\n"));
    feed_free(feed);
    set_flush_timer(feeds);
}

void feeds_flush(struct feeds *feeds)
{
    struct err err;

    read_all_feeds(feeds);
    (void)log_store_flush(feeds->store, &err);
    set_flush_timer(feeds); /* which reports it */
}

void feeds_clear(struct feeds *feeds, const char *service)
{
    struct feed_group *group = map_find(&feeds->groups, str_from(service));
    struct err err;

    if (group)
        read_feed_group(group);
    if (log_store_clear(feeds->store, service, &err) < 0)
        log_warning("logs cannot be cleared service=%s error=%s", service, err.text);
    arm_clean(feeds);
    set_flush_timer(feeds);
}
