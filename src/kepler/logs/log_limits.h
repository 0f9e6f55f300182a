/*
 * log_limits - what readers of a store must know of its limits: how old a line may be.
 *
 * Segments go whole and now and then; a line that is too old is not shown for a
 * moment longer, whoever reads. The file "limits" of the store holds one line:
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
/* 0 also when the file makes no sense. */
int64_t log_limits_load(int folder);

#endif
