#include "fleet/peel/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/data/frame.h"
#include "core/data/record.h"
#include "core/sys/chance.h"
#include "core/sys/fs.h"

#define PURPOSE   "jobs of a peel"
#define VERSION   1
#define FILE_MODE 0600
#define FILE_MAX  ((size_t)16 << 20)
/* Records in the file before it is written anew. */
#define RECORDS_MAX ((size_t)4 * LEDGER_JOBS)

struct ledger_line {
    const char *jid;
    uint64_t epoch;
    bool begun, finished;
};

static const struct record_field line_fields[] = {
    RECORD("jid", TEXT, struct ledger_line, jid, RECORD_REQUIRED),
    RECORD("epoch", INT, struct ledger_line, epoch, RECORD_OMIT),
    RECORD("begun", BOOL, struct ledger_line, begun, RECORD_OMIT),
    RECORD("finished", BOOL, struct ledger_line, finished, RECORD_OMIT),
    { 0 },
};
static const struct record_type line_type = RECORD_TYPE("job", struct ledger_line, line_fields, 0);

struct entry {
    struct entry *next, *previous; /* by age */
    uint64_t epoch;
    bool begun, finished;
    bool written;
    char jid[];
};

struct ledger {
    pthread_mutex_t mutex;
    struct map jobs;
    struct entry *oldest, *newest;
    char *path;
    int fd;
    uint64_t salt;
    size_t records; /* in the file */
};

/* --- in memory -------------------------------------------------------------------- */

static void unlink_ledger_entry(struct ledger *ledger, struct entry *entry)
{
    *(entry->previous ? &entry->previous->next : &ledger->oldest) = entry->next;
    *(entry->next ? &entry->next->previous : &ledger->newest) = entry->previous;
}

static void append_ledger_entry(struct ledger *ledger, struct entry *entry)
{
    entry->next = NULL;
    entry->previous = ledger->newest;
    *(ledger->newest ? &ledger->newest->next : &ledger->oldest) = entry;
    ledger->newest = entry;
}

static void forget_oldest(struct ledger *ledger)
{
    struct entry *entry = ledger->oldest;

    unlink_ledger_entry(ledger, entry);
    (void)map_remove(&ledger->jobs, str_from(entry->jid));
    free(entry);
}

static struct entry *find_ledger_entry(struct ledger *ledger, const char *jid)
{
    return map_find(&ledger->jobs, str_from(jid));
}

static struct entry *add_ledger_entry(struct ledger *ledger, const char *jid)
{
    const struct str name = str_from(jid);
    struct entry *entry = mem_zalloc(sizeof(*entry) + name.n + 1);

    for (size_t i = 0; i < name.n; i++)
        entry->jid[i] = name.p[i];
    while (map_count(&ledger->jobs) >= LEDGER_JOBS)
        forget_oldest(ledger);
    append_ledger_entry(ledger, entry);
    (void)map_set(&ledger->jobs, str_from(entry->jid), entry);
    return entry;
}

/* --- the file --------------------------------------------------------------------- */

static void apply_line(struct ledger *ledger, const struct ledger_line *line)
{
    struct entry *entry = find_ledger_entry(ledger, line->jid);

    if (line->begun || line->finished) {
        if (entry) {
            entry->begun |= line->begun;
            entry->finished |= line->finished;
        }
        return;
    }
    if (!entry)
        entry = add_ledger_entry(ledger, line->jid);
    if (line->epoch >= entry->epoch) {
        entry->epoch = line->epoch;
        entry->begun = entry->finished = false;
    }
    entry->written = true;
}

/* False when something was lost. */
static bool read_ledger_lines(struct ledger *ledger, struct frame_scan *scan)
{
    bool whole = true;
    struct frame frame;

    for (;;) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        enum frame_step step = frame_next(scan, &frame);
        struct ledger_line line = { 0 };
        struct err err;

        if (step == FRAME_END || step == FRAME_TORN)
            return whole;
        if (step == FRAME_DAMAGE ||
            record_decode(&arena, &line_type, frame.version, frame.payload, &line, &err) < 0)
            whole = false;
        else
            apply_line(ledger, &line);
    }
}

static int read_ledger_file(struct ledger *ledger, bool *ret_damaged, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct frame_scan scan = { 0 };
    struct str bytes;
    struct err ignored;

    *ret_damaged = false;
    if (fs_read(&arena, ledger->path, FILE_MAX, &bytes, err) < 0)
        return -1;
    if (!bytes.p || bytes.n == 0)
        return 0;
    if (frame_file_open(&scan, bytes, PURPOSE, &ignored) < 0)
        *ret_damaged = true;
    else
        *ret_damaged = !read_ledger_lines(ledger, &scan);
    return 0;
}

static int add_ledger_line(struct ledger *ledger, struct buf *out, const struct ledger_line *line,
                           struct err *err)
{
    return record_append(out, &line_type, line, VERSION, ledger->salt, err);
}

/* All that is known, in a new file, which is open for appending then. */
static int rewrite_ledger(struct ledger *ledger, struct err *err)
{
    const struct fs_replace_options options = { .attr = { FILE_MODE, FS_KEEP, FS_KEEP } };
    AUTO_BUF struct buf out = BUF_INIT(FILE_MAX);
    size_t records = 0;

    ledger->salt = chance_number();
    frame_file_begin(&out, PURPOSE, ledger->salt);
    for (struct entry *entry = ledger->oldest; entry; entry = entry->next) {
        const struct ledger_line line = { .jid = entry->jid, .epoch = entry->epoch };
        const struct ledger_line rest = { .jid = entry->jid,
                                          .begun = entry->begun,
                                          .finished = entry->finished };
        const bool has_rest = entry->begun || entry->finished;

        if (!entry->written)
            continue;
        if (add_ledger_line(ledger, &out, &line, err) < 0 ||
            (has_rest && add_ledger_line(ledger, &out, &rest, err) < 0))
            return -1;
        records += 1 + has_rest;
    }
    if (fs_replace(ledger->path, buf_view(&out), &options, err) < 0)
        return -1;
    if (ledger->fd >= 0)
        (void)close(ledger->fd);
    ledger->fd = open(ledger->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    ledger->records = records;
    return ledger->fd >= 0 ? 0 : err_sys(err, errno, "open '%s'", ledger->path);
}

static int write_ledger_bytes(struct ledger *ledger, struct str rest, struct err *err)
{
    while (rest.n > 0) {
        ssize_t n = write(ledger->fd, rest.p, rest.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, errno, "write '%s'", ledger->path);
        rest = str_from_offset(rest, (size_t)n);
    }
    return 0;
}

static int append_line(struct ledger *ledger, const struct ledger_line *line, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(FILE_MAX);

    if (ledger->records >= RECORDS_MAX || ledger->fd < 0)
        return rewrite_ledger(ledger, err);
    if (add_ledger_line(ledger, &out, line, err) < 0 ||
        write_ledger_bytes(ledger, buf_view(&out), err) < 0)
        return -1;
    ledger->records++;
    return 0;
}

/* --- life ------------------------------------------------------------------------- */

struct ledger *ledger_open(const char *path, bool *ret_damaged, struct err *err)
{
    struct ledger *ledger = mem_zalloc(sizeof(*ledger));

    (void)pthread_mutex_init(&ledger->mutex, NULL);
    ledger->path = mem_strdup(path);
    ledger->fd = -1;
    if (read_ledger_file(ledger, ret_damaged, err) == 0 && rewrite_ledger(ledger, err) == 0)
        return ledger;
    ledger_free(ledger);
    return NULL;
}

void ledger_free(struct ledger *ledger)
{
    if (!ledger)
        return;
    while (ledger->oldest)
        forget_oldest(ledger);
    map_done(&ledger->jobs);
    if (ledger->fd >= 0)
        (void)close(ledger->fd);
    (void)pthread_mutex_destroy(&ledger->mutex);
    free(ledger->path);
    free(ledger);
}

bool ledger_has(struct ledger *ledger, const char *jid)
{
    bool has;

    (void)pthread_mutex_lock(&ledger->mutex);
    has = find_ledger_entry(ledger, jid) != NULL;
    (void)pthread_mutex_unlock(&ledger->mutex);
    return has;
}

enum ledger_verdict ledger_take(struct ledger *ledger, const char *jid, uint64_t epoch)
{
    enum ledger_verdict verdict = LEDGER_NEW;
    struct entry *entry;

    (void)pthread_mutex_lock(&ledger->mutex);
    entry = find_ledger_entry(ledger, jid);
    if (entry && epoch <= entry->epoch) {
        verdict = epoch == entry->epoch ? LEDGER_AGAIN : LEDGER_OLD;
    } else {
        if (!entry)
            entry = add_ledger_entry(ledger, jid);
        entry->epoch = epoch;
        entry->begun = entry->finished = false;
    }
    (void)pthread_mutex_unlock(&ledger->mutex);
    return verdict;
}

int ledger_accept(struct ledger *ledger, const char *jid, uint64_t epoch, struct err *err)
{
    const struct ledger_line line = { .jid = jid, .epoch = epoch };
    struct entry *entry;
    int result;

    (void)pthread_mutex_lock(&ledger->mutex);
    entry = find_ledger_entry(ledger, jid);
    if (entry)
        entry->written = true;
    result = append_line(ledger, &line, err);
    (void)pthread_mutex_unlock(&ledger->mutex);
    return result;
}

int ledger_begin(struct ledger *ledger, const char *jid, bool sync, struct err *err)
{
    const struct ledger_line line = { .jid = jid, .begun = true };
    struct entry *entry;
    int result, fd;

    (void)pthread_mutex_lock(&ledger->mutex);
    entry = find_ledger_entry(ledger, jid);
    if (entry)
        entry->begun = true;
    result = append_line(ledger, &line, err);
    fd = result == 0 && sync ? fcntl(ledger->fd, F_DUPFD_CLOEXEC, 0) : -1;
    (void)pthread_mutex_unlock(&ledger->mutex);
    if (result < 0 || !sync)
        return result;
    /* outside of the lock: the loop may ask meanwhile, and must not wait for a disk */
    if (fd < 0)
        return err_sys(err, errno, "sync '%s'", ledger->path);
    result = fdatasync(fd) < 0 ? err_sys(err, errno, "sync '%s'", ledger->path) : 0;
    (void)close(fd);
    return result;
}

int ledger_finish(struct ledger *ledger, const char *jid, struct err *err)
{
    const struct ledger_line line = { .jid = jid, .finished = true };
    struct entry *entry;
    int result = 0;

    (void)pthread_mutex_lock(&ledger->mutex);
    entry = find_ledger_entry(ledger, jid);
    if (entry && !entry->finished) {
        entry->finished = true;
        result = append_line(ledger, &line, err);
    }
    (void)pthread_mutex_unlock(&ledger->mutex);
    return result;
}

void ledger_each_open(struct ledger *ledger, ledger_open_fn *fn, void *self)
{
    struct entry *next;

    for (struct entry *entry = ledger->oldest; entry; entry = next) {
        next = entry->next;
        if (!entry->finished && entry->written)
            fn(self, entry->jid, entry->epoch, entry->begun);
    }
}
