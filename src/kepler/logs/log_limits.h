/*
 * log_limits - the limits of a store that its readers must know: the maximum age of a line.
 *
 * Old segments are only removed as a whole and from time to time; readers hide expired lines at
 * once. The file "limits" of the store holds one line:
 *
 *     max_age NANOSECONDS
 *
 * No file: no limit. Threads: any.
 */
#ifndef KEPLER_LOGS_LOG_LIMITS_H
#define KEPLER_LOGS_LOG_LIMITS_H

#include <stdint.h>
#include <sys/types.h>

struct err;

/* 0: no limit. */
int log_limits_save(int folder, int64_t max_age, mode_t mode, struct err *err);
/* Returns 0 for an invalid file, too. */
int64_t log_limits_load(int folder);

#endif
