#include "kepler/logs/log_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "kepler/logs/cleared.h"
#include "kepler/logs/log_cursor.h"
#include "kepler/logs/log_limits.h"
#include "kepler/logs/segment_file.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"

#define LIST_TRIES 16

struct log_reader {
    char *path;
    int folder; /* -1: there is none */
    struct log_filter filter;
    int64_t since; /* the filter's own bound, before the age limit */
    struct segment_mask mask;
    struct cleared cleared;
    struct segment_list list;
    size_t place;             /* in the list: the segment to read, or being read */
    struct segment_file file; /* opened for its first block */
    uint64_t offset;          /* offset of the next block */
    struct log_cursor cursor;
    uint64_t after; /* the last line that was handed out */
    struct log_line line;
    struct buf told; /* the text of a line that reports damage */
    bool has_gap;    /* `line` is such a line, and is next */
    bool ended;
    bool keep_cleared, knows_cleared;
};

int log_reader_open(const char *folder, const struct log_filter *filter,
                    struct log_reader **ret_reader, struct err *err)
{
    AUTO_FD int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct log_reader *reader;

    if (fd < 0 && errno != ENOENT)
        return err_sys(err, errno, "open the log folder '%s'", folder);
    reader = mem_zalloc(sizeof(*reader));
    reader->path = mem_strdup(folder);
    reader->folder = fd_take(&fd);
    reader->file = (struct segment_file)SEGMENT_FILE_NONE;
    reader->told = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    if (filter)
        reader->filter = *filter;
    reader->since = reader->filter.since;
    reader->mask = log_filter_mask(&reader->filter);
    reader->after = reader->filter.after;
    reader->ended = true; /* nothing was read yet */
    *ret_reader = reader;
    return 0;
}

void log_reader_free(struct log_reader *reader)
{
    if (!reader)
        return;
    log_cursor_done(&reader->cursor);
    segment_file_close(&reader->file);
    cleared_done(&reader->cleared);
    vec_done(&reader->list.firsts);
    buf_done(&reader->told);
    fd_close(&reader->folder);
    free(reader->path);
    free(reader);
}

/* --- segments ------------------------------------------------------------------------- */

/* Lists the segments again; stays at the current one, or moves to the next that exists. */
static int list_again(struct log_reader *reader, struct err *err)
{
    const bool had = reader->place < reader->list.firsts.n;
    const uint64_t first = had ? reader->list.firsts.p[reader->place] : 0;
    const uint64_t last =
        reader->list.firsts.n ? reader->list.firsts.p[reader->list.firsts.n - 1] : 0;

    if (segment_file_list(reader->folder, &reader->list, err) < 0)
        return -1;
    for (reader->place = 0; reader->place < reader->list.firsts.n; reader->place++) {
        const uint64_t here = reader->list.firsts.p[reader->place];

        if (had ? here >= first : here > last)
            break;
    }
    return 0;
}

/* Is no newer segment known? */
static bool is_last(const struct log_reader *reader)
{
    const size_t n = reader->list.firsts.n;

    if (reader->file.fd >= 0)
        return n == 0 || reader->list.firsts.p[n - 1] <= reader->file.header.first;
    return reader->place + 1 >= n;
}

/* The open segment may have been deleted from the folder meanwhile. */
static void leave_segment(struct log_reader *reader)
{
    const uint64_t first = reader->file.header.first;

    segment_file_close(&reader->file);
    while (reader->place < reader->list.firsts.n && reader->list.firsts.p[reader->place] <= first)
        reader->place++;
}

/* Open the segment at the place, or the next one that can be opened; none: the file is not open. */
static int enter_listed(struct log_reader *reader, bool *ret_gone, struct err *err)
{
    *ret_gone = false;
    for (; reader->place < reader->list.firsts.n; reader->place++) {
        const uint64_t *firsts = reader->list.firsts.p + reader->place;

        if (!is_last(reader) && firsts[1] <= reader->after + 1)
            continue; /* all of its lines come before */
        if (segment_file_open(reader->folder, firsts[0], &reader->file, err) == 0) {
            reader->offset = reader->file.header.size;
            return 0;
        }
        if (err->code != ERR_NOT_FOUND && err->code != ERR_INVALID)
            return -1;
        if (err->code == ERR_INVALID && is_last(reader))
            return 0; /* it is being made */
        *ret_gone |= err->code == ERR_NOT_FOUND;
    }
    return 0;
}

/* With fast writers, all listed segments may be gone, and newer ones exist. */
static int enter_segment(struct log_reader *reader, struct err *err)
{
    bool has_gone;

    for (int tries = 0; tries < LIST_TRIES; tries++) {
        if (enter_listed(reader, &has_gone, err) < 0)
            return -1;
        if (reader->file.fd >= 0 || !has_gone)
            return 0;
        if (list_again(reader, err) < 0)
            return -1;
    }
    return 0;
}

/* --- blocks --------------------------------------------------------------------------- */

/* The span that begins at the next block, or NULL. */
static const struct segment_span *span_here(const struct log_reader *reader, size_t *ret_number)
{
    const struct segment_index *index = &reader->file.index;
    size_t low = 0, high = index->spans.n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (index->spans.p[middle].offset < reader->offset)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_number = low;
    return low < index->spans.n && index->spans.p[low].offset == reader->offset
               ? &index->spans.p[low]
               : NULL;
}

/* Skips spans without matches. */
static void skip_spans(struct log_reader *reader)
{
    const struct segment_index *index = &reader->file.index;
    const struct segment_span *span;
    size_t number;

    while ((span = span_here(reader, &number))) {
        const bool old = number + 1 < index->spans.n && span[1].first <= reader->after + 1;

        if (!old && log_filter_wants_span(&reader->filter, &reader->mask, span))
            return;
        reader->offset = span->end;
    }
}

static bool wants_block(const struct log_reader *reader, const struct segment_block *block)
{
    return block->end > reader->after + 1 && segment_mask_meets(&reader->mask, &block->services) &&
           log_filter_wants_time(&reader->filter, block->time_min, block->time_max);
}

static void print_reader_gap(struct log_reader *reader, const struct segment_gap *gap)
{
    char name[SEGMENT_FILE_NAME_SIZE];

    segment_file_name(reader->file.header.first, SEGMENT_PART_LOG, name);
    buf_clear(&reader->told);
    if (gap->heads.lines > 0)
        buf_printf(&reader->told, "%u line%s%s", gap->heads.lines, gap->heads.lines == 1 ? "" : "s",
                   gap->unknown ? " or more" : "");
    else
        buf_add_text(&reader->told, "an unknown number of lines");
    buf_printf(&reader->told, " lost: %" PRIu64 " bytes of '%s' are damaged at offset %" PRIu64,
               gap->size, name, gap->offset);
}

/* Damage that may have lost matching lines is reported in its place: `line` is next then, and
 * the cursor has nothing. `next` is the block after it; NULL: none. */
static bool take_gap(struct log_reader *reader, const struct segment_block *next)
{
    const struct segment_gap *gap = &reader->file.gap;
    const struct log_line line = {
        .seq = reader->after,
        .time = gap->heads.lines > 0 ? gap->heads.time_min
                : next               ? next->time_min
                                     : reader->line.time,
        .service = "kepler",
        .hook = "",
        .stream = SEGMENT_WARNINGS,
        .lost = true,
    };

    if (gap->size == 0 || (next && next->first <= reader->after) ||
        (!gap->unknown && !wants_block(reader, &gap->heads)))
        return false;
    print_reader_gap(reader, gap);
    reader->line = line;
    reader->line.text = buf_view(&reader->told);
    reader->has_gap = log_filter_wants_line(&reader->filter, &reader->line);
    if (reader->has_gap)
        log_cursor_begin(&reader->cursor, &reader->filter, &reader->cleared, STR(""));
    return reader->has_gap;
}

/* Takes the next block of the open segment with possible matches, or damage. */
static int next_in_segment(struct log_reader *reader, bool *ret_found, struct err *err)
{
    struct segment_block block;
    struct str body;

    for (;;) {
        skip_spans(reader);
        if (segment_file_next(&reader->file, &reader->offset, &block, &body, err) < 0)
            return -1;
        if (take_gap(reader, body.p ? &block : NULL)) {
            *ret_found = true;
            return 0;
        }
        if (!body.p)
            break;
        reader->offset += segment_block_size(&block);
        if (!wants_block(reader, &block))
            continue;
        log_cursor_begin(&reader->cursor, &reader->filter, &reader->cleared, body);
        *ret_found = true;
        return 0;
    }
    *ret_found = false;
    return 0;
}

/* Nothing more comes to the segment: what follows its last block is damage. */
static int take_tail(struct log_reader *reader, bool *ret_found, struct err *err)
{
    if (segment_file_tail(&reader->file, reader->offset, err) < 0)
        return -1;
    reader->offset += reader->file.gap.size;
    *ret_found = take_gap(reader, NULL);
    return 0;
}

/* Go on in the next segment, if there is one. */
static int read_next_block(struct log_reader *reader, bool *ret_found, struct err *err)
{
    bool listed = false;

    for (;;) {
        if (reader->file.fd < 0 && enter_segment(reader, err) < 0)
            return -1;
        if (reader->file.fd >= 0) {
            if (next_in_segment(reader, ret_found, err) < 0)
                return -1;
            if (*ret_found)
                return 0;
            /* A segment with a successor gets no more lines: but it is only complete if it was read
             * after the successor was seen. */
            if (!is_last(reader) && listed) {
                if (take_tail(reader, ret_found, err) < 0)
                    return -1;
                if (*ret_found)
                    return 0;
                leave_segment(reader);
                continue;
            }
        }
        if (listed) {
            *ret_found = false;
            return 0;
        }
        if (list_again(reader, err) < 0)
            return -1;
        listed = true;
    }
}

/* Lines beyond the store's age limit are expired, though their segment may still exist. */
static void limit_age(struct log_reader *reader)
{
    const int64_t age = log_limits_load(reader->folder);
    const int64_t oldest = age > 0 ? clock_wall() - age : 0;

    reader->filter.since = oldest > reader->since ? oldest : reader->since;
}

/* After a pause: hides lines that were cleared or expired meanwhile. */
static int refresh_reader(struct log_reader *reader, struct err *err)
{
    if (reader->folder < 0)
        reader->folder = open(reader->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (reader->folder < 0)
        return 0;
    if (!(reader->keep_cleared && reader->knows_cleared) &&
        cleared_load(&reader->cleared, reader->folder, err) < 0)
        return -1;
    reader->knows_cleared = true;
    limit_age(reader);
    reader->ended = false;
    return 0;
}

int log_reader_next(struct log_reader *reader, const struct log_line **ret_line, struct err *err)
{
    bool found = false;

    if (reader->ended && refresh_reader(reader, err) < 0)
        return -1;
    while (!log_cursor_next(&reader->cursor, reader->after, &reader->line)) {
        if (reader->folder >= 0 && read_next_block(reader, &found, err) < 0)
            return -1;
        if (found && reader->has_gap) {
            reader->has_gap = false;
            break;
        }
        if (!found) {
            reader->ended = true;
            *ret_line = NULL;
            return 0;
        }
    }
    reader->after = reader->line.seq;
    *ret_line = &reader->line;
    return 0;
}

/* --- the last lines ------------------------------------------------------------------- */

struct counted {
    uint64_t offset, lines;
};

struct log_tail {
    struct log_reader *reader;
    uint64_t wanted, found;
    VEC(struct counted) blocks; /* for one span */
};

/* The number of matches in each block of the span. */
static int count_span(struct log_tail *tail, const struct segment_span *span, struct err *err)
{
    struct log_reader *reader = tail->reader;
    uint64_t offset = span->offset;
    struct segment_block block;
    struct str body;

    vec_clear(&tail->blocks);
    while (offset < span->end) {
        struct counted counted;

        if (segment_file_next(&reader->file, &offset, &block, &body, err) < 0)
            return -1;
        if (!body.p || offset >= span->end)
            break;
        log_cursor_begin(&reader->cursor, &reader->filter, &reader->cleared, body);
        counted = (struct counted){ offset, log_cursor_count(&reader->cursor, reader->after) };
        VEC_PUSH(&tail->blocks, counted);
        offset += segment_block_size(&block);
    }
    return 0;
}

/* Seeks before the last `count` lines of the block. */
static int seek_in_block(struct log_tail *tail, const struct counted *block, struct err *err)
{
    struct log_reader *reader = tail->reader;
    uint64_t skip = tail->found - tail->wanted;
    bool found;

    reader->offset = block->offset;
    if (next_in_segment(reader, &found, err) < 0)
        return -1;
    for (; found && skip > 0; skip--)
        if (log_cursor_next(&reader->cursor, reader->after, &reader->line))
            reader->after = reader->line.seq;
    return 0;
}

static int tail_of_segment(struct log_tail *tail, struct err *err)
{
    struct log_reader *reader = tail->reader;
    const struct segment_index *index = &reader->file.index;

    if (segment_file_scan(&reader->file, err) < 0)
        return -1;
    for (size_t i = index->spans.n; i-- > 0;) {
        if (!log_filter_wants_span(&reader->filter, &reader->mask, &index->spans.p[i]))
            continue;
        if (count_span(tail, &index->spans.p[i], err) < 0)
            return -1;
        for (size_t b = tail->blocks.n; b-- > 0;) {
            tail->found += tail->blocks.p[b].lines;
            if (tail->found >= tail->wanted)
                return seek_in_block(tail, &tail->blocks.p[b], err);
        }
    }
    return 0;
}

static int walk_back(struct log_tail *tail, struct err *err)
{
    struct log_reader *reader = tail->reader;

    for (size_t i = reader->list.firsts.n; i-- > 0;) {
        segment_file_close(&reader->file);
        reader->place = i;
        if (segment_file_open(reader->folder, reader->list.firsts.p[i], &reader->file, err) < 0) {
            if (err->code == ERR_NOT_FOUND || err->code == ERR_INVALID)
                continue;
            return -1;
        }
        if (tail_of_segment(tail, err) < 0)
            return -1;
        if (tail->found >= tail->wanted)
            return 0;
    }
    /* There are fewer: begin at the beginning. */
    segment_file_close(&reader->file);
    reader->place = 0;
    log_cursor_begin(&reader->cursor, &reader->filter, &reader->cleared, STR(""));
    return 0;
}

/* After the last line. */
static int go_to_end(struct log_reader *reader, struct err *err)
{
    if (reader->list.firsts.n == 0)
        return 0;
    segment_file_close(&reader->file);
    reader->place = reader->list.firsts.n - 1;
    if (enter_segment(reader, err) < 0)
        return -1;
    if (reader->file.fd >= 0) {
        if (segment_file_scan(&reader->file, err) < 0)
            return -1;
        reader->offset = segment_index_end(&reader->file.index);
    }
    log_cursor_begin(&reader->cursor, &reader->filter, &reader->cleared, STR(""));
    return 0;
}

int log_reader_tail(struct log_reader *reader, uint64_t count, struct err *err)
{
    struct log_tail tail = { .reader = reader, .wanted = count };
    int result;

    reader->after = reader->filter.after;
    if (refresh_reader(reader, err) < 0 || (reader->folder >= 0 && list_again(reader, err) < 0))
        return -1;
    if (reader->folder < 0)
        return 0;
    if (count == 0)
        return go_to_end(reader, err);
    result = walk_back(&tail, err);
    vec_done(&tail.blocks);
    return result;
}

/* --- following ------------------------------------------------------------------------ */

void log_reader_keep_cleared(struct log_reader *reader, bool all)
{
    reader->keep_cleared = true;
    reader->knows_cleared = all;
}
