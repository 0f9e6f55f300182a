#include "kepler/logs/log_cursor.h"

#include <string.h>

#include "kepler/logs/cleared.h"
#include "kepler/logs/log_filter.h"

void log_cursor_begin(struct log_cursor *cursor, const struct log_filter *filter,
                      const struct cleared *cleared, struct str entries)
{
    cursor->filter = filter;
    cursor->cleared = cleared;
    vec_clear(&cursor->sources);
    cursor->entries = entries;
    cursor->text = (struct str){ NULL, 0 };
}

void log_cursor_done(struct log_cursor *cursor)
{
    vec_done(&cursor->sources);
    *cursor = (struct log_cursor){ 0 };
}

/* Sources are numbered from 0 as they come. */
static void add_cursor_source(struct log_cursor *cursor, const struct segment_entry *entry)
{
    struct log_cursor_source item = { .wanted = false };

    if (entry->source != cursor->sources.n)
        return;
    if (segment_source_decode(entry, &item.source)) {
        item.wanted = log_filter_wants_source(cursor->filter, &item.source);
        item.cleared = cleared_find(cursor->cleared, item.source.service);
    }
    VEC_PUSH(&cursor->sources, item);
}

/* Moves to the next entry with possible matches. */
static bool next_entry(struct log_cursor *cursor, uint64_t after)
{
    struct segment_entry *entry = &cursor->entry;

    while (segment_entry_next(&cursor->entries, entry)) {
        if (entry->kind == SEGMENT_SOURCE) {
            add_cursor_source(cursor, entry);
            continue;
        }
        if (entry->source >= cursor->sources.n || entry->lines == 0)
            continue;
        cursor->source = &cursor->sources.p[entry->source];
        if (!cursor->source->wanted || entry->seq + entry->lines - 1 <= cursor->source->cleared ||
            entry->seq + entry->lines - 1 <= after ||
            !log_filter_wants_time(cursor->filter, entry->time, entry->time))
            continue;
        cursor->text = entry->bytes;
        cursor->seq = entry->seq;
        return true;
    }
    return false;
}

/* Take one line from the text of the entry. */
static void take_cursor_line(struct log_cursor *cursor, struct log_line *line)
{
    const struct segment_entry *entry = &cursor->entry;
    const bool first = cursor->seq == entry->seq;

    *line = (struct log_line){
        .seq = cursor->seq,
        .time = entry->time,
        .service = cursor->source->source.service,
        .hook = cursor->source->source.hook,
        .stream = cursor->source->source.stream,
        .lost = entry->kind == SEGMENT_LOST,
        .continues = first && (entry->flags & SEGMENT_CONTINUES),
        .text = str_cut(&cursor->text, '\n'),
    };
    if (cursor->text.n == 0 || cursor->seq - entry->seq + 1 >= entry->lines)
        cursor->text.p = NULL; /* an end of line at the end begins no other */
    line->open = !cursor->text.p && (entry->flags & SEGMENT_OPEN);
    cursor->seq++;
}

bool log_cursor_next(struct log_cursor *cursor, uint64_t after, struct log_line *ret_line)
{
    struct log_line line;

    for (;;) {
        if (!cursor->text.p && !next_entry(cursor, after))
            return false;
        take_cursor_line(cursor, &line);
        if (line.seq <= after || line.seq <= cursor->source->cleared)
            continue;
        if (!log_filter_wants_line(cursor->filter, &line))
            continue;
        *ret_line = line;
        return true;
    }
}

uint64_t log_cursor_count(struct log_cursor *cursor, uint64_t after)
{
    const bool reads_lines = log_filter_reads_lines(cursor->filter);
    struct log_line line;
    uint64_t count = 0;

    if (reads_lines) {
        while (log_cursor_next(cursor, after, &line))
            count++;
        return count;
    }
    while (next_entry(cursor, after)) {
        uint64_t gone = cursor->source->cleared > after ? cursor->source->cleared : after;
        const struct segment_entry *entry = &cursor->entry;

        count += entry->lines;
        if (gone >= entry->seq)
            count -= gone - entry->seq + 1;
    }
    cursor->text = (struct str){ NULL, 0 };
    return count;
}
