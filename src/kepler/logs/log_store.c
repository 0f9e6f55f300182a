#include "kepler/logs/log_store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "kepler/logs/cleared.h"
#include "kepler/logs/log_limits.h"
#include "kepler/logs/log_retention.h"
#include "kepler/logs/log_source.h"
#include "kepler/logs/log_writer.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/lock.h"
#include "core/sys/path.h"

enum {
    FOLDER_MODE = 0700,
    FILE_MODE = 0600,
    SEGMENTS_AIM = 16,    /* segments that fill the size limit, or the age limit */
    SEAL_SIZE = 64 << 10, /* minimum size at which a newest segment is worth sweeping */
    CLEARS_MAX = 1000,    /* records beyond those that count */
};

#define SEGMENT_AGE_MIN CLOCK_SECOND

struct log_store {
    int folder;
    struct lock lock;
    mode_t mode;
    struct log_writer writer;
    struct cleared cleared;
    struct log_retention retention;
    struct log_source *sources;
    log_store_fn *on_data;
    void *self;
    uint64_t told;    /* flushes that followers know of */
    uint64_t active;  /* the segment that was the newest when limits were last kept */
    uint64_t cleaned; /* flushes that cleaning knows of */
    bool cleared_since_sweep;
    int64_t partial_due; /* no beginning of a line is due before */
};

/* --- opening -------------------------------------------------------------------------- */

static uint64_t clamp_limit(uint64_t x, uint64_t min, uint64_t max)
{
    return x < min ? min : x > max ? max : x;
}

static struct log_writer_options writer_options(const struct log_store_options *options,
                                                uint64_t max_size, mode_t mode)
{
    struct log_writer_options writer = {
        .flush_interval =
            options->flush_interval ? options->flush_interval : LOG_STORE_FLUSH_INTERVAL,
        .batch_lines = options->batch_lines ? options->batch_lines : LOG_STORE_BATCH_LINES,
        .segment_size =
            clamp_limit(max_size / SEGMENTS_AIM, LOG_STORE_SEGMENT_MIN, LOG_STORE_SEGMENT_MAX),
        .segment_age = LOG_STORE_SEGMENT_AGE,
        .sync = options->sync,
        .mode = mode,
    };

    if (options->max_age)
        writer.segment_age = (int64_t)clamp_limit((uint64_t)(options->max_age / SEGMENTS_AIM),
                                                  (uint64_t)SEGMENT_AGE_MIN, LOG_STORE_SEGMENT_AGE);
    return writer;
}

static int open_store_folder(struct log_store *store, const char *folder, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (fs_mkdirs(folder, FOLDER_MODE, err) < 0)
        return -1;
    store->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store->folder < 0)
        return err_sys(err, errno, "open the log folder '%s'", folder);
    return lock_take(&store->lock, path_join(&arena, folder, "lock"), LOCK_EXCLUSIVE, LOCK_TRY,
                     NULL, err);
}

static int fill_log_store(struct log_store *store, const struct log_store_options *options,
                          struct err *err)
{
    const uint64_t max_size = options->max_size ? options->max_size : LOG_STORE_MAX_SIZE;
    const struct log_writer_options writer = writer_options(options, max_size, store->mode);

    log_retention_init(&store->retention, store->folder, &store->cleared, max_size,
                       options->max_age, store->mode);
    if (log_writer_open(&store->writer, store->folder, &writer, err) < 0)
        return -1;
    /* Room for the segment that is being written is part of the limit. */
    store->retention.reserve =
        writer.segment_size > SEGMENT_BLOCK_MAX ? writer.segment_size : SEGMENT_BLOCK_MAX;
    if (log_limits_save(store->folder, options->max_age, store->mode, err) < 0 ||
        cleared_load(&store->cleared, store->folder, err) < 0 ||
        cleared_mend(&store->cleared, store->folder, err) < 0)
        return -1;
    /* Lines that never reached the disk may have been cleared: their numbers are used up. */
    if (store->writer.next_seq <= cleared_highest(&store->cleared))
        store->writer.next_seq = cleared_highest(&store->cleared) + 1;
    return 0;
}

int log_store_open(const char *folder, const struct log_store_options *options,
                   struct log_store **ret_store, struct err *err)
{
    static const struct log_store_options defaults;
    struct log_store *store = mem_zalloc(sizeof(*store));

    if (!options)
        options = &defaults;
    store->folder = -1;
    store->lock = (struct lock)LOCK_NONE;
    store->partial_due = CLOCK_NEVER;
    store->writer.fd = store->writer.index_fd = -1;
    store->mode = options->mode ? options->mode : FILE_MODE;
    log_retention_init(&store->retention, -1, NULL, 0, 0, 0);
    if (open_store_folder(store, folder, err) < 0 || fill_log_store(store, options, err) < 0) {
        log_store_free(store);
        return err_wrap(err, "log store '%s'", folder);
    }
    store->active = store->writer.fd >= 0 ? store->writer.header.first : 0;
    *ret_store = store;
    return 0;
}

/* Numbering continues when all lines are gone: a record without a service stores the last one. */
static void keep_number(struct log_store *store)
{
    uint64_t oldest;
    struct err err;

    if (store->writer.next_seq > 1 && store->writer.head.lines == 0 &&
        log_retention_oldest(&store->retention, &oldest, &err) == 0 && oldest == UINT64_MAX)
        (void)cleared_add(&store->cleared, store->folder, "", store->writer.next_seq - 1,
                          store->mode, &err);
}

void log_store_free(struct log_store *store)
{
    if (!store)
        return;
    assert(!store->sources);
    (void)log_writer_flush(&store->writer);
    keep_number(store);
    log_writer_close(&store->writer);
    log_retention_done(&store->retention);
    cleared_done(&store->cleared);
    lock_drop(&store->lock);
    fd_close(&store->folder);
    free(store);
}

/* --- writing -------------------------------------------------------------------------- */

struct log_writer *log_store_writer(struct log_store *store)
{
    return &store->writer;
}

struct log_source **log_store_sources(struct log_store *store)
{
    return &store->sources;
}

/* Segments from this number on must not be touched. */
static uint64_t active_segment(const struct log_store *store)
{
    return store->writer.fd >= 0 ? store->writer.header.first : UINT64_MAX;
}

void log_store_notify(struct log_store *store)
{
    struct err err;

    if (store->told == store->writer.stats.flushes)
        return;
    store->told = store->writer.stats.flushes;
    if (store->active != active_segment(store)) {
        store->active = active_segment(store);
        /* If it stays too large, log_store_clean retries and reports it. */
        (void)log_retention_limit(&store->retention, store->active, &err);
    }
    if (store->on_data)
        store->on_data(store->self);
}

void log_store_on_data(struct log_store *store, log_store_fn *fn, void *self)
{
    store->on_data = fn;
    store->self = self;
}

void log_store_expect(struct log_store *store, int64_t due)
{
    if (due < store->partial_due)
        store->partial_due = due;
}

int64_t log_store_due(const struct log_store *store)
{
    return store->writer.due < store->partial_due ? store->writer.due : store->partial_due;
}

/* Stores the beginnings of lines that have waited long enough. */
static void flush_partial(struct log_store *store, int64_t now)
{
    store->partial_due = CLOCK_NEVER;
    for (struct log_source *source = store->sources; source; source = log_source_next(source)) {
        if (log_source_due(source) <= now)
            log_source_flush(source);
        log_store_expect(store, log_source_due(source));
    }
}

void log_store_tick(struct log_store *store)
{
    const int64_t now = clock_now();

    if (store->partial_due <= now)
        flush_partial(store, now);
    if (store->writer.due <= now)
        (void)log_writer_flush(&store->writer);
    log_store_notify(store);
}

int log_store_flush(struct log_store *store, struct err *err)
{
    const bool written = log_writer_flush(&store->writer);

    log_store_notify(store);
    return written ? 0 : err_sys(err, store->writer.stats.errnum, "write to the log store");
}

/* --- cleaning ------------------------------------------------------------------------- */

int log_store_clear(struct log_store *store, const char *service, struct err *err)
{
    if (cleared_add(&store->cleared, store->folder, service, store->writer.next_seq - 1,
                    store->mode, err) < 0)
        return -1;
    store->cleared_since_sweep = true;
    return 0;
}

/* Services that were cleared often need one record each. */
static int shorten_cleared(struct log_store *store, struct err *err)
{
    const struct log_writer *writer = &store->writer;
    uint64_t oldest;

    if (store->cleared.records <= map_count(&store->cleared.seqs) + CLEARS_MAX)
        return 0;
    if (log_retention_oldest(&store->retention, &oldest, err) < 0)
        return -1;
    if (writer->head.lines && writer->head.first < oldest)
        oldest = writer->head.first;
    return cleared_rewrite(&store->cleared, store->folder, oldest, store->mode, err);
}

static bool wants_seal(const struct log_store *store)
{
    const struct log_writer *writer = &store->writer;

    if (writer->fd < 0)
        return false;
    return clock_wall() - writer->header.created >= writer->options.segment_age ||
           (store->cleared_since_sweep && writer->size >= SEAL_SIZE);
}

int log_store_clean(struct log_store *store, bool *ret_more, struct err *err)
{
    const int64_t deadline = clock_after(clock_real(), LOG_STORE_CLEAN_SLICE);

    store->cleaned = store->writer.stats.flushes;
    if (wants_seal(store))
        log_writer_seal(&store->writer);
    if (log_retention_limit(&store->retention, active_segment(store), err) < 0)
        return -1;
    if (shorten_cleared(store, err) < 0)
        return -1;
    if (store->cleared_since_sweep && !store->retention.sweeping) {
        store->cleared_since_sweep = false;
        log_retention_sweep(&store->retention);
    }
    return log_retention_step(&store->retention, active_segment(store), deadline, ret_more, err);
}

int64_t log_store_clean_due(const struct log_store *store)
{
    const struct log_writer *writer = &store->writer;
    int64_t due = store->retention.expires;

    if (store->retention.sweeping || store->cleared_since_sweep ||
        store->cleaned != writer->stats.flushes)
        return clock_now();
    if (writer->fd >= 0 && store->retention.max_age) {
        const int64_t sealed = clock_after(writer->header.created, writer->options.segment_age);

        due = sealed < due ? sealed : due;
    }
    return due == CLOCK_NEVER ? due : clock_after(clock_now(), due - clock_wall());
}

struct log_store_stats log_store_stats(const struct log_store *store)
{
    const struct log_writer_stats *stats = &store->writer.stats;

    return (struct log_store_stats){
        .lines = stats->lines,
        .bytes = stats->bytes,
        .flushes = stats->flushes,
        .lost = stats->lost,
        .next_seq = store->writer.next_seq,
        .errnum = stats->errnum,
    };
}
