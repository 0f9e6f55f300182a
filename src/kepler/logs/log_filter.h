/*
 * log_filter - selects lines.
 *
 * The zero filter matches all lines. All conditions that are set must hold. Services, hooks and
 * times are checked for whole spans, blocks and entries where possible, levels and `match` for
 * each line.
 *
 * Memory: borrows all it points to. Threads: any.
 */
#ifndef KEPLER_LOGS_LOG_FILTER_H
#define KEPLER_LOGS_LOG_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kepler/logs/segment.h"

struct log_line;
struct segment_span;

typedef bool log_filter_fn(void *self, const struct log_line *line);

struct log_filter {
    const char *const *services; /* one of these; none: all */
    size_t service_count;
    const char *hook;     /* lines of this hook only */
    bool no_hooks;        /* lines of services themselves only */
    unsigned levels;      /* bits 1 << enum jsonline_level; 0: all */
    int64_t since, until; /* wall time: inclusive, exclusive; 0: no bound */
    uint64_t after;       /* only lines with a higher number */
    log_filter_fn *match; /* final predicate, or NULL */
    void *self;
};

bool log_filter_wants_source(const struct log_filter *filter, const struct segment_source *source);
bool log_filter_wants_time(const struct log_filter *filter, int64_t min, int64_t max);
/* `mask` is log_filter_mask. */
bool log_filter_wants_span(const struct log_filter *filter, const struct segment_mask *mask,
                           const struct segment_span *span);
/* Checks the conditions that need the line itself; its source and time already match. */
bool log_filter_wants_line(const struct log_filter *filter, const struct log_line *line);
/* Must each line be checked? */
bool log_filter_reads_lines(const struct log_filter *filter);

/* The bits of the wanted services; all bits when all are wanted. */
struct segment_mask log_filter_mask(const struct log_filter *filter);

#endif
