/*
 * report_data - the numbers and texts of a report (commands/cli/shared/report/page.h), for
 * programs.
 *
 *     about, time, warning
 *     summary    machines, converged, drifted, failed, unknown
 *     machines   each with its last run, what differs, and its states
 *     failures   by cause; slowest states
 *
 * Durations are nanoseconds. Pure. Memory: the arena; borrows the page. Threads: any.
 */
#ifndef COMMANDS_CLI_SHARED_REPORT_DATA_H
#define COMMANDS_CLI_SHARED_REPORT_DATA_H

#include "core/data/value.h"

struct arena;
struct report_page;

struct value report_data(struct arena *arena, const struct report_page *page);

#endif
