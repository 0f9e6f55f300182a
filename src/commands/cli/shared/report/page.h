/*
 * report_page - the last runs of machines as one HTML page.
 *
 * The page stands alone: no script, nothing is loaded from anywhere, and a policy in its head lets
 * a browser refuse both. What machines say is text and never markup (core/data/html.h). Light and
 * dark follow the reader's system; printed, it is black on white.
 *
 *     summary, machines, failures by cause, slowest states, graphs, states of each machine
 *
 * The page has at most REPORT_PAGE_MAX bytes: states of machines that do not fit are left out, and
 * the page says so.
 *
 * Pure. Memory: the arena for scratch. Threads: any.
 */
#ifndef COMMANDS_CLI_SHARED_REPORT_PAGE_H
#define COMMANDS_CLI_SHARED_REPORT_PAGE_H

#include "commands/cli/shared/report/fold.h"
#include "core/data/value.h"

struct arena;
struct buf;

#define REPORT_PAGE_MAX ((size_t)64 << 20)
/* Bytes shown of one difference or error. */
#define REPORT_TEXT_MAX ((size_t)16 << 10)
/* Rows of causes and of slow states; names of machines in a row. */
#define REPORT_CAUSES_MAX 100
#define REPORT_SLOW_MAX   20
#define REPORT_NAMES_MAX  12
/* Graphs of a page, states and arrows of a graph. */
#define REPORT_GRAPHS_MAX 20
#define REPORT_BOXES_MAX  400
#define REPORT_ARROWS_MAX 4000
/* With more machines, their states are collapsed; with more states, unchanged ones are only
 * counted. */
#define REPORT_OPEN_MAX   10
#define REPORT_STATES_MAX 20000

struct report_page {
    const char *title;   /* "zester report" */
    const char *about;   /* which machines: a target, or "all machines" */
    const char *warning; /* what is missing; "": nothing */
    struct value_time now;
    const struct report_machine *machines; /* those that need attention first */
    size_t count;
};

/* `out` takes twice REPORT_PAGE_MAX: what is too much is seen when it is there. */
void report_page_print(struct arena *arena, const struct report_page *page, struct buf *out);

/* The numbers of the page: machines with this drift; the mean duration of a state. */
size_t report_page_count(const struct report_page *page, const char *drift);
int64_t report_slow_mean(const struct report_slow *slow);
/* "unchanged", "changed", "failed" or "skipped". */
const char *report_outcome_name(enum state_outcome outcome);

#endif
