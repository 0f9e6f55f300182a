#include "kepler/logs/log_retention.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "kepler/logs/cleared.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"

void log_retention_init(struct log_retention *retention, int folder, const struct cleared *cleared,
                        uint64_t max_size, int64_t max_age, mode_t mode)
{
    *retention = (struct log_retention){
        .folder = folder,
        .cleared = cleared,
        .max_size = max_size,
        .max_age = max_age,
        .mode = mode,
        .expires = CLOCK_NEVER,
        .file = SEGMENT_FILE_NONE,
        .out = -1,
    };
}

static void remove_part(const struct log_retention *retention, uint64_t first,
                        enum segment_part part)
{
    char name[SEGMENT_FILE_NAME_SIZE];

    segment_file_name(first, part, name);
    (void)unlinkat(retention->folder, name, 0);
}

/* Releases the current segment and its replacement. */
static void release_segment(struct log_retention *retention)
{
    if (retention->out >= 0)
        remove_part(retention, retention->header.first, SEGMENT_PART_TEMP);
    fd_close(&retention->out);
    segment_file_close(&retention->file);
    segment_index_done(&retention->index);
    free(retention->block);
    retention->block = NULL;
    retention->live = retention->dead = 0;
    retention->damaged = false;
}

void log_retention_done(struct log_retention *retention)
{
    release_segment(retention);
}

static void remove_segment(struct log_retention *retention, uint64_t first)
{
    if (retention->file.fd >= 0 && retention->file.header.first == first)
        release_segment(retention);
    remove_part(retention, first, SEGMENT_PART_LOG);
    remove_part(retention, first, SEGMENT_PART_INDEX);
}

/* --- limits --------------------------------------------------------------------------- */

static uint64_t find_segment_size(const struct log_retention *retention, uint64_t first)
{
    char name[SEGMENT_FILE_NAME_SIZE];
    struct stat st;

    segment_file_name(first, SEGMENT_PART_LOG, name);
    if (fstatat(retention->folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    return (uint64_t)st.st_size;
}

/* Wall time when all lines of the segment exceed the limit. An unreadable segment has no age. */
static int64_t find_segment_expiry(const struct log_retention *retention, uint64_t first)
{
    struct segment_file file = SEGMENT_FILE_NONE;
    int64_t last = CLOCK_NEVER;
    struct err err;

    if (retention->max_age == 0)
        return CLOCK_NEVER;
    if (segment_file_open(retention->folder, first, &file, &err) == 0 &&
        segment_file_scan(&file, &err) == 0) {
        last = 0;
        VEC_EACH (&file.index.spans, span)
            last = span->time_max > last ? span->time_max : last;
    }
    segment_file_close(&file);
    return last == CLOCK_NEVER ? last : clock_after(last, retention->max_age + 1);
}

int log_retention_limit(struct log_retention *retention, uint64_t active, struct err *err)
{
    struct segment_list list = { VEC_INIT };
    uint64_t total = retention->reserve;

    retention->expires = CLOCK_NEVER;
    if (segment_file_list(retention->folder, &list, err) < 0)
        return -1;
    VEC_EACH (&list.firsts, first)
        total += *first < active ? find_segment_size(retention, *first) : 0;
    VEC_EACH (&list.firsts, first) {
        if (*first >= active)
            break;
        if (total <= retention->max_size) {
            retention->expires = find_segment_expiry(retention, *first);
            if (retention->expires > clock_wall())
                break;
            retention->expires = CLOCK_NEVER;
        }
        total -= find_segment_size(retention, *first);
        remove_segment(retention, *first);
    }
    vec_done(&list.firsts);
    return 0;
}

int log_retention_oldest(const struct log_retention *retention, uint64_t *ret_oldest,
                         struct err *err)
{
    struct segment_list list = { VEC_INIT };

    if (segment_file_list(retention->folder, &list, err) < 0)
        return -1;
    *ret_oldest = list.firsts.n ? list.firsts.p[0] : UINT64_MAX;
    vec_done(&list.firsts);
    return 0;
}

/* --- the sweep ------------------------------------------------------------------------ */

void log_retention_sweep(struct log_retention *retention)
{
    release_segment(retention);
    retention->sweeping = true;
    retention->next = 0;
}

/* The cleared number of each source in a block. */
struct sources {
    VEC(uint64_t) cleared;
};

/* Reads a source; false when all lines of the entry are cleared. */
static bool is_entry_kept(const struct log_retention *retention, struct sources *sources,
                          const struct segment_entry *entry)
{
    struct segment_source source;

    if (entry->kind == SEGMENT_SOURCE) {
        uint64_t seq = segment_source_decode(entry, &source)
                           ? cleared_find(retention->cleared, source.service)
                           : 0;

        VEC_PUSH(&sources->cleared, seq);
        return true;
    }
    return entry->source >= sources->cleared.n ||
           entry->seq + entry->lines - 1 > sources->cleared.p[entry->source];
}

static void count_block(struct log_retention *retention, struct str body)
{
    struct sources sources = { VEC_INIT };
    struct segment_entry entry;

    while (segment_entry_next(&body, &entry)) {
        const uint64_t size = SEGMENT_ENTRY_HEAD + entry.bytes.n;

        if (!is_entry_kept(retention, &sources, &entry))
            retention->dead += size;
        else if (entry.kind != SEGMENT_SOURCE)
            retention->live += size;
    }
    vec_done(&sources.cleared);
}

static void add_kept_lines(struct segment_block *head, const struct segment_entry *entry)
{
    if (head->lines == 0) {
        head->first = entry->seq;
        head->time_min = head->time_max = entry->time;
    }
    if (entry->time < head->time_min)
        head->time_min = entry->time;
    if (entry->time > head->time_max)
        head->time_max = entry->time;
    head->lines += entry->lines;
    head->end = entry->seq + entry->lines;
}

/* Copies the block without cleared entries into retention->block. */
static struct segment_block filter_block(struct log_retention *retention,
                                         const struct segment_block *block, struct str body)
{
    struct segment_block head = { .services = block->services, .head = SEGMENT_BLOCK_HEAD };
    struct sources sources = { VEC_INIT };
    struct segment_entry entry;

    while (segment_entry_next(&body, &entry)) {
        const size_t size = SEGMENT_ENTRY_HEAD + entry.bytes.n;

        if (!is_entry_kept(retention, &sources, &entry))
            continue;
        memcpy(retention->block + SEGMENT_BLOCK_HEAD + head.length,
               entry.bytes.p - SEGMENT_ENTRY_HEAD, size);
        head.length += (uint32_t)size;
        if (entry.kind != SEGMENT_SOURCE)
            add_kept_lines(&head, &entry);
    }
    vec_done(&sources.cleared);
    return head;
}

static int copy_block(struct log_retention *retention, const struct segment_block *block,
                      struct str body, struct err *err)
{
    const struct segment_block head = filter_block(retention, block, body);
    const size_t n = segment_block_size(&head);

    if (head.lines == 0)
        return 0;
    segment_block_encode(&head, retention->header.salt, retention->block + SEGMENT_BLOCK_HEAD,
                         retention->block);
    if (fd_write(retention->out, retention->block, n, err) < 0)
        return err_wrap(err, "rewrite a segment");
    segment_index_add(&retention->index, segment_index_end(&retention->index), &head);
    return 0;
}

/* The old index has the wrong salt for the new file, so it is ignored there. */
static void save_compacted_index(struct log_retention *retention)
{
    char name[SEGMENT_FILE_NAME_SIZE];
    unsigned char entry[SEGMENT_INDEX_ENTRY];
    struct err err;

    segment_file_name(retention->header.first, SEGMENT_PART_INDEX, name);
    AUTO_FD int fd = openat(retention->folder, name,
                            O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, retention->mode);
    for (size_t i = 0; fd >= 0 && i < segment_index_finished(&retention->index); i++) {
        segment_index_encode(&retention->index.spans.p[i], retention->header.salt, entry);
        if (fd_write(fd, entry, sizeof(entry), &err) < 0)
            return; /* readers find the rest by themselves */
    }
}

static int replace_segment(struct log_retention *retention, struct err *err)
{
    char from[SEGMENT_FILE_NAME_SIZE], to[SEGMENT_FILE_NAME_SIZE];

    segment_file_name(retention->header.first, SEGMENT_PART_TEMP, from);
    segment_file_name(retention->header.first, SEGMENT_PART_LOG, to);
    if (renameat(retention->folder, from, retention->folder, to) < 0)
        return err_sys(err, errno, "replace segment '%s'", to);
    fd_close(&retention->out);
    save_compacted_index(retention);
    return 0;
}

/* Begins the replacement of the segment. */
static int begin_copy(struct log_retention *retention, struct err *err)
{
    unsigned char header[SEGMENT_HEADER_SIZE];
    char name[SEGMENT_FILE_NAME_SIZE];

    retention->header = retention->file.header;
    retention->header.salt = chance_number();
    retention->header.format = SEGMENT_FRAMES;
    retention->header.size = SEGMENT_HEADER_SIZE;
    segment_file_name(retention->header.first, SEGMENT_PART_TEMP, name);
    retention->out = openat(retention->folder, name,
                            O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, retention->mode);
    if (retention->out < 0)
        return err_sys(err, errno, "open '%s' of the log", name);
    segment_header_encode(&retention->header, header);
    if (fd_write(retention->out, header, sizeof(header), err) < 0)
        return err_wrap(err, "rewrite a segment");
    retention->block = mem_alloc(SEGMENT_BLOCK_HEAD + SEGMENT_BLOCK_MAX);
    retention->offset = retention->file.header.size;
    retention->index.start = retention->header.size;
    return 0;
}

/* The end of the segment was reached: by counting, or by copying. */
static int finish_segment(struct log_retention *retention, struct err *err)
{
    const uint64_t first = retention->file.header.first;

    if (retention->out >= 0) {
        if (replace_segment(retention, err) < 0)
            return -1;
        release_segment(retention);
        return 0;
    }
    if (retention->dead > 0 && retention->live == 0) {
        remove_segment(retention, first);
        return 0;
    }
    if (retention->dead > retention->live && !retention->damaged)
        return begin_copy(retention, err);
    release_segment(retention);
    return 0;
}

/* Opens the next segment to sweep; none: the sweep is done. */
static int next_segment(struct log_retention *retention, uint64_t active, struct err *err)
{
    struct segment_list list = { VEC_INIT };
    int result = segment_file_list(retention->folder, &list, err);

    retention->sweeping = false;
    for (size_t i = 0; result == 0 && i < list.firsts.n && list.firsts.p[i] < active; i++) {
        if (list.firsts.p[i] < retention->next)
            continue;
        retention->next = list.firsts.p[i] + 1;
        if (segment_file_open(retention->folder, list.firsts.p[i], &retention->file, err) < 0)
            continue; /* gone, or not worth sweeping */
        retention->offset = retention->file.header.size;
        retention->sweeping = true;
        break;
    }
    vec_done(&list.firsts);
    return result;
}

static int sweep_block(struct log_retention *retention, struct err *err)
{
    struct segment_block block;
    struct str body;

    if (segment_file_next(&retention->file, &retention->offset, &block, &body, err) < 0)
        return -1;
    retention->damaged |= retention->file.gap.size > 0;
    if (!body.p)
        return finish_segment(retention, err);
    retention->offset += segment_block_size(&block);
    if (retention->out >= 0)
        return copy_block(retention, &block, body, err);
    count_block(retention, body);
    return 0;
}

int log_retention_step(struct log_retention *retention, uint64_t active, int64_t deadline,
                       bool *ret_more, struct err *err)
{
    while (retention->sweeping && clock_real() < deadline) {
        int result = retention->file.fd < 0 ? next_segment(retention, active, err)
                                            : sweep_block(retention, err);

        if (result < 0) {
            release_segment(retention);
            retention->sweeping = false;
            return -1;
        }
    }
    *ret_more = retention->sweeping;
    return 0;
}
