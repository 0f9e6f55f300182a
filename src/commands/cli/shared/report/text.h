/*
 * report_text - the result of a run, for people.
 *
 * Failures in full, changes with their diffs, skipped states with reasons, and a summary with the
 * slowest states. In colour only if the caller says so.
 */
#ifndef COMMANDS_CLI_SHARED_REPORT_TEXT_H
#define COMMANDS_CLI_SHARED_REPORT_TEXT_H

#include <stdbool.h>

#include "commands/cli/shared/report/detail.h"

struct buf;
struct run_result;

void report_text(const struct run_result *result, enum report_detail detail, bool color,
                 struct buf *out);

#endif
