#include "kepler/logs/log_writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "kepler/logs/segment_file.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"

enum {
    MERGE_MAX = 4096, /* reads of more bytes are not worth moving into the entry before */
    SOURCE_MAX = SEGMENT_ENTRY_HEAD + 2 * (SEGMENT_NAME_MAX + 1),
    KEY_MAX = 2 * SEGMENT_NAME_MAX + 8,
    LOST_TEXT_MAX = 128,
    MARKS_MAX = LOG_BLOCK_FULL / 2, /* bytes of a block that may report losses */
};

_Static_assert(LOG_BLOCK_FULL + SOURCE_MAX + SEGMENT_ENTRY_HEAD + LOG_LINE_MAX <= SEGMENT_BLOCK_MAX,
               "a block that is not full has room for any line");

/* --- the block in memory -------------------------------------------------------------- */

static unsigned char *find_block_body(const struct log_writer *writer)
{
    return writer->block + SEGMENT_BLOCK_HEAD;
}

static void add_writer_entry(struct log_writer *writer, const struct segment_entry *entry)
{
    unsigned char *p = find_block_body(writer) + writer->used;

    segment_entry_encode(entry, p);
    if (entry->bytes.p)
        memcpy(p + SEGMENT_ENTRY_HEAD, entry->bytes.p, entry->bytes.n);
    writer->used += SEGMENT_ENTRY_HEAD + entry->bytes.n;
}

/* The block must name a source before its first lines. */
static void name_source(struct log_writer *writer, struct log_origin *origin)
{
    char names[2 * (SEGMENT_NAME_MAX + 1)];
    const size_t service = strlen(origin->service) + 1, hook = strlen(origin->hook) + 1;

    if (origin->block == writer->block_number)
        return;
    memcpy(names, origin->service, service);
    memcpy(names + service, origin->hook, hook);
    origin->block = writer->block_number;
    origin->number = (uint16_t)writer->sources.n;
    VEC_PUSH(&writer->sources, origin);
    add_writer_entry(writer, &(struct segment_entry){
                                 .kind = SEGMENT_SOURCE,
                                 .flags = (uint8_t)origin->stream,
                                 .source = origin->number,
                                 .bytes = { names, service + hook },
                             });
    writer->last_at = 0;
}

/* Count lines that are in the block now. */
static void count_entry_lines(struct log_writer *writer, const struct log_origin *origin,
                              const struct segment_entry *entry)
{
    struct segment_block *head = &writer->head;

    if (head->lines == 0) {
        head->first = entry->seq;
        head->time_min = head->time_max = entry->time;
        writer->due = clock_after(clock_now(), writer->options.flush_interval);
        if (writer->due < writer->retry)
            writer->due = writer->retry;
    }
    if (entry->time < head->time_min)
        head->time_min = entry->time;
    if (entry->time > head->time_max)
        head->time_max = entry->time;
    head->lines += entry->lines;
    head->end = writer->next_seq;
    segment_mask_add(&head->services, origin->service);
}

/* Losses that no block on disk records yet. */
static void mark_losses(struct log_writer *writer)
{
    char text[LOST_TEXT_MAX];
    struct err cause;

    MAP_EACH (&writer->origins, item) {
        struct log_origin *origin = item->value;
        struct segment_entry entry;

        if (origin->lost == 0 || writer->used > MARKS_MAX)
            continue;
        (void)err_sys(&cause, writer->loss, "%" PRIu64 " line%s lost", origin->lost,
                      origin->lost == 1 ? "" : "s");
        (void)snprintf(text, sizeof(text), "%.*s\n", LOST_TEXT_MAX - 2, cause.text);
        name_source(writer, origin);
        entry = (struct segment_entry){
            .kind = SEGMENT_LOST,
            .source = origin->number,
            .lines = 1,
            .seq = writer->next_seq++,
            .time = clock_wall(),
            .bytes = str_from(text),
        };
        add_writer_entry(writer, &entry);
        count_entry_lines(writer, origin, &entry);
        origin->marked = origin->lost;
    }
}

static void clear_writer_block(struct log_writer *writer)
{
    writer->used = 0;
    writer->head = (struct segment_block){ .head = SEGMENT_BLOCK_HEAD };
    writer->block_number++;
    vec_clear(&writer->sources);
    writer->last_at = 0;
    writer->due = CLOCK_NEVER;
}

/* Drops the lines of the block, and records their sources. */
static void drop_block(struct log_writer *writer)
{
    struct str rest = str_bytes(find_block_body(writer), writer->used);
    struct segment_entry entry;

    while (segment_entry_next(&rest, &entry)) {
        if (entry.kind != SEGMENT_LINES)
            continue;
        writer->sources.p[entry.source]->lost += entry.lines;
        writer->stats.lost += entry.lines;
    }
    writer->loss = writer->stats.errnum;
    clear_writer_block(writer);
    mark_losses(writer);
}

static bool is_segment_full(const struct log_writer *writer)
{
    return writer->used >= LOG_BLOCK_FULL || writer->sources.n >= SEGMENT_SOURCES_MAX;
}

char *log_writer_reserve(struct log_writer *writer, struct log_origin *origin, size_t n)
{
    assert(n <= LOG_LINE_MAX);
    if (is_segment_full(writer)) { /* for sources without output */
        if (writer->head.lines == 0)
            clear_writer_block(writer);
        else
            (void)log_writer_flush(writer);
    }
    name_source(writer, origin);
    return (char *)find_block_body(writer) + writer->used + SEGMENT_ENTRY_HEAD;
}

/* Small reads within a millisecond share an entry. */
static bool can_grow(const struct log_writer *writer, const struct log_origin *origin, size_t n,
                     unsigned flags, int64_t time)
{
    const struct segment_entry *last = &writer->last;

    return writer->last_at && n <= MERGE_MAX && flags == 0 && last->source == origin->number &&
           last->time / CLOCK_MS == time / CLOCK_MS && !(last->flags & SEGMENT_OPEN) &&
           find_block_body(writer)[writer->used - 1] == '\n';
}

static void grow_last(struct log_writer *writer, size_t n, uint32_t lines)
{
    unsigned char *end = find_block_body(writer) + writer->used;

    memmove(end, end + SEGMENT_ENTRY_HEAD, n);
    writer->last.bytes.n += n;
    writer->last.lines += lines;
    segment_entry_encode(&writer->last, find_block_body(writer) + writer->last_at);
    writer->used += n;
}

void log_writer_commit(struct log_writer *writer, struct log_origin *origin, size_t n,
                       uint32_t lines, unsigned flags)
{
    struct segment_entry entry;

    if (lines == 0)
        return;
    entry = (struct segment_entry){
        .kind = SEGMENT_LINES,
        .flags = (uint8_t)flags,
        .source = origin->number,
        .lines = lines,
        .seq = writer->next_seq,
        .time = clock_wall(),
        .bytes = { NULL, n }, /* they are there already */
    };
    writer->next_seq += lines;
    if (can_grow(writer, origin, n, flags, entry.time)) {
        grow_last(writer, n, lines);
    } else {
        writer->last_at = writer->used;
        writer->last = entry;
        add_writer_entry(writer, &entry);
    }
    count_entry_lines(writer, origin, &entry);
    if (is_segment_full(writer) || writer->head.lines >= writer->options.batch_lines)
        (void)log_writer_flush(writer);
}

int log_writer_origin(struct log_writer *writer, const char *service, const char *hook,
                      enum segment_stream stream, struct log_origin **ret_origin, struct err *err)
{
    char key[KEY_MAX];
    struct log_origin *origin;

    if (strlen(service) > SEGMENT_NAME_MAX || strlen(hook) > SEGMENT_NAME_MAX)
        return err_set(err, ERR_LIMIT, "the name of a log source exceeds the limit of %d bytes",
                       SEGMENT_NAME_MAX);
    (void)snprintf(key, sizeof(key), "%d%s/%s", (int)stream, service, hook);
    origin = map_find(&writer->origins, str_from(key));
    if (!origin) {
        origin = ARENA_NEW(&writer->arena, struct log_origin);
        origin->service = arena_strdup(&writer->arena, service);
        origin->hook = arena_strdup(&writer->arena, hook);
        origin->stream = stream;
        map_set(&writer->origins, str_from(arena_strdup(&writer->arena, key)), origin);
    }
    *ret_origin = origin;
    return 0;
}

/* --- the segment on disk -------------------------------------------------------------- */

/* Writes finished spans to the index. Without one, readers scan the blocks. */
static void save_writer_index(struct log_writer *writer)
{
    const size_t finished = segment_index_finished(&writer->index);
    unsigned char entry[SEGMENT_INDEX_ENTRY];

    for (; writer->index_fd >= 0 && writer->indexed < finished; writer->indexed++) {
        segment_index_encode(&writer->index.spans.p[writer->indexed], writer->header.salt, entry);
        if (pwrite(writer->index_fd, entry, sizeof(entry),
                   (off_t)(writer->indexed * sizeof(entry))) != (ssize_t)sizeof(entry))
            fd_close(&writer->index_fd);
    }
}

void log_writer_seal(struct log_writer *writer)
{
    char name[SEGMENT_FILE_NAME_SIZE];

    if (writer->fd < 0)
        return;
    if (writer->size <= writer->header.size) { /* its name may be reused */
        segment_file_name(writer->header.first, SEGMENT_PART_LOG, name);
        (void)unlinkat(writer->folder, name, 0);
        segment_file_name(writer->header.first, SEGMENT_PART_INDEX, name);
        (void)unlinkat(writer->folder, name, 0);
    }
    fd_close(&writer->fd);
    fd_close(&writer->index_fd);
    segment_index_done(&writer->index);
    writer->size = 0;
    writer->indexed = 0;
}

static int open_segment_part(const struct log_writer *writer, uint64_t first,
                             enum segment_part part, int flags)
{
    char name[SEGMENT_FILE_NAME_SIZE];

    segment_file_name(first, part, name);
    return openat(writer->folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags,
                  writer->options.mode);
}

/* Returns 0 or an errno. */
static int write_at(int fd, const unsigned char *p, size_t n, uint64_t offset)
{
    while (n > 0) {
        ssize_t written = pwrite(fd, p, n, (off_t)offset);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? errno : ENOSPC;
        p += written;
        n -= (size_t)written;
        offset += (uint64_t)written;
    }
    return 0;
}

static int begin_segment(struct log_writer *writer)
{
    unsigned char header[SEGMENT_HEADER_SIZE];
    int errnum;

    writer->header = (struct segment_header){
        .salt = chance_number(),
        .first = writer->head.first,
        .created = clock_wall(),
        .size = SEGMENT_HEADER_SIZE,
    };
    writer->fd =
        open_segment_part(writer, writer->header.first, SEGMENT_PART_LOG, O_CREAT | O_EXCL);
    if (writer->fd < 0)
        return errno;
    segment_header_encode(&writer->header, header);
    errnum = write_at(writer->fd, header, sizeof(header), 0);
    if (errnum) {
        log_writer_seal(writer);
        return errnum;
    }
    writer->size = writer->index.start = writer->header.size;
    writer->index_fd =
        open_segment_part(writer, writer->header.first, SEGMENT_PART_INDEX, O_CREAT | O_TRUNC);
    return 0;
}

/* With `n` more bytes it would be too large, or it is too old. */
static bool is_worn(const struct log_writer *writer, size_t n)
{
    return (writer->size > writer->header.size &&
            writer->size + n > writer->options.segment_size) ||
           clock_wall() - writer->header.created >= writer->options.segment_age;
}

/* After a failed sync the data may be on disk or not: it is not written twice, but nothing follows
 * it in that file. */
static void sync_block(struct log_writer *writer)
{
    if (writer->options.sync && fdatasync(writer->fd) < 0)
        log_writer_seal(writer);
}

static int write_block(struct log_writer *writer)
{
    const size_t n = SEGMENT_BLOCK_HEAD + writer->used;
    int errnum;

    if (writer->fd >= 0 && is_worn(writer, n))
        log_writer_seal(writer);
    if (writer->fd < 0) {
        errnum = begin_segment(writer);
        if (errnum)
            return errnum;
    }
    writer->head.length = (uint32_t)writer->used;
    segment_block_encode(&writer->head, writer->header.salt, find_block_body(writer),
                         writer->block);
    errnum = write_at(writer->fd, writer->block, n, writer->size);
    if (!errnum) {
        segment_index_add(&writer->index, writer->size, &writer->head);
        writer->size += n;
        save_writer_index(writer);
        sync_block(writer);
        return 0;
    }
    /* Nothing may follow half a block. With room on the disk another file may succeed. */
    if (ftruncate(writer->fd, (off_t)writer->size) < 0 || (errnum != ENOSPC && errnum != EDQUOT))
        log_writer_seal(writer);
    return errnum;
}

static void report_written(struct log_writer *writer)
{
    writer->stats.lines += writer->head.lines;
    writer->stats.bytes += writer->used;
    writer->stats.flushes++;
    writer->stats.errnum = 0;
    writer->retry = 0;
    VEC_EACH (&writer->sources, origin) {
        (*origin)->lost -= (*origin)->marked;
        (*origin)->marked = 0;
    }
    clear_writer_block(writer);
    if (writer->stats.lost > 0)
        mark_losses(writer); /* those without room in the block */
}

bool log_writer_flush(struct log_writer *writer)
{
    int errnum = 0;

    if (writer->head.lines == 0)
        return true;
    if (writer->retry && clock_now() < writer->retry && is_segment_full(writer)) {
        drop_block(writer);
        return false;
    }
    errnum = write_block(writer);
    if (!errnum) {
        report_written(writer);
        return true;
    }
    writer->stats.errnum = errnum;
    writer->retry = clock_after(clock_now(), writer->options.flush_interval);
    writer->due = writer->retry;
    if (is_segment_full(writer))
        drop_block(writer);
    return false;
}

/* --- opening -------------------------------------------------------------------------- */

/* A newest segment without a header: its creation was interrupted, or damage hides all of it. */
static void set_segment_aside(struct log_writer *writer, uint64_t first)
{
    char name[SEGMENT_FILE_NAME_SIZE], aside[SEGMENT_FILE_NAME_SIZE];
    struct stat st = { 0 };

    segment_file_name(first, SEGMENT_PART_LOG, name);
    (void)snprintf(aside, sizeof(aside), "%016" PRIx64 ".bad", first);
    if (fstatat(writer->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_size <= SEGMENT_HEADER_SIZE)
        (void)unlinkat(writer->folder, name, 0);
    else
        (void)renameat(writer->folder, name, writer->folder, aside);
    /* It held no more lines than bytes. */
    if (writer->next_seq < first + (uint64_t)st.st_size)
        writer->next_seq = first + (uint64_t)st.st_size;
}

/* Finds the end of the newest segment by reading the last span again, head by head. A block with
 * damaged entries stays, so that readers report the loss. */
static int find_segment_end(struct log_writer *writer, struct segment_file *file, struct err *err)
{
    struct segment_index *index = &file->index;
    struct segment_block block;
    uint64_t offset;
    bool found;

    if (index->spans.n)
        index->spans.n--;
    writer->indexed = index->spans.n;
    for (offset = segment_index_end(index);; offset = segment_index_end(index)) {
        if (segment_file_next_head(file, &offset, &block, &found, err) < 0)
            return -1;
        if (!found)
            return 0;
        segment_index_add(index, offset, &block);
        if (writer->next_seq < block.end)
            writer->next_seq = block.end;
    }
}

/* Truncates half a block, or room that was never written. Other bytes are a damaged block: it
 * stays, so that readers report it. */
static uint64_t end_of_segment(const struct log_writer *writer, const struct segment_file *file)
{
    static const unsigned char zeros[SEGMENT_PEEK];
    const uint64_t end = segment_index_end(&writer->index);
    unsigned char bytes[SEGMENT_PEEK];
    struct stat st;

    if (!file->gap.tail || fstat(writer->fd, &st) < 0 ||
        pread(file->fd, bytes, sizeof(bytes), (off_t)end) != (ssize_t)sizeof(bytes) ||
        memcmp(bytes, zeros, sizeof(zeros)) == 0)
        return end;
    return (uint64_t)st.st_size;
}

static int continue_segment(struct log_writer *writer, struct segment_file *file, struct err *err)
{
    const uint64_t first = file->header.first;

    if (find_segment_end(writer, file, err) < 0)
        return -1;
    if (writer->next_seq <= first)
        writer->next_seq = first + 1;
    writer->fd = open_segment_part(writer, first, SEGMENT_PART_LOG, 0);
    if (writer->fd < 0)
        return err_sys(err, errno, "open segment %016" PRIx64, first);
    writer->header = file->header;
    writer->index = file->index;
    file->index = (struct segment_index){ 0 };
    writer->size = end_of_segment(writer, file);
    if (ftruncate(writer->fd, (off_t)writer->size) < 0)
        return err_sys(err, errno, "cut off the torn end of segment %016" PRIx64, first);
    if (writer->header.format == SEGMENT_OLD) {
        log_writer_seal(writer);
        return 0;
    }
    writer->index_fd = open_segment_part(writer, first, SEGMENT_PART_INDEX, O_CREAT);
    if (writer->index_fd >= 0 &&
        ftruncate(writer->index_fd, (off_t)(writer->indexed * SEGMENT_INDEX_ENTRY)) < 0)
        fd_close(&writer->index_fd);
    save_writer_index(writer);
    return 0;
}

static int recover_segment(struct log_writer *writer, struct err *err)
{
    struct segment_list list = { VEC_INIT };
    struct segment_file file = SEGMENT_FILE_NONE;
    int result = segment_file_list(writer->folder, &list, err);

    while (result == 0 && list.firsts.n) {
        const uint64_t newest = list.firsts.p[--list.firsts.n];

        result = segment_file_open(writer->folder, newest, &file, err);
        if (result == 0) {
            result = continue_segment(writer, &file, err);
            break;
        }
        if (err->code == ERR_INVALID) {
            set_segment_aside(writer, newest);
            result = 0;
        }
    }
    segment_file_close(&file);
    vec_done(&list.firsts);
    return result;
}

int log_writer_open(struct log_writer *writer, int folder, const struct log_writer_options *options,
                    struct err *err)
{
    *writer = (struct log_writer){
        .folder = folder,
        .options = *options,
        .fd = -1,
        .index_fd = -1,
        .next_seq = 1,
        .block_number = 1,
        .head = { .head = SEGMENT_BLOCK_HEAD },
        .due = CLOCK_NEVER,
    };
    if (recover_segment(writer, err) < 0) {
        log_writer_close(writer);
        return -1;
    }
    writer->block = mem_alloc(SEGMENT_BLOCK_HEAD + SEGMENT_BLOCK_MAX);
    return 0;
}

void log_writer_close(struct log_writer *writer)
{
    (void)log_writer_flush(writer);
    log_writer_seal(writer);
    free(writer->block);
    vec_done(&writer->sources);
    map_done(&writer->origins);
    arena_done(&writer->arena);
    *writer = (struct log_writer){ .fd = -1, .index_fd = -1 };
}
