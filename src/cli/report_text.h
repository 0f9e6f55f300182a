/*
 * report_text - the result of a run, for people.
 *
 * Failures in full, changes with their diffs, skipped states with reasons, and a summary with the
 * slowest states. In colour only if the caller says so.
 */
#ifndef CLI_REPORT_TEXT_H
#define CLI_REPORT_TEXT_H

#include <stdbool.h>

struct buf;
struct run_result;

void report_text(const struct run_result *result, bool color, struct buf *out);

#endif
