/*
 * policy - whether an ended service restarts, and after which delay.
 *
 * Words joined with '|': on-failure, on-success, on-unhealthy; `always` is all three, `no` none,
 * and must be alone. Exit code 0 is success; everything else, including a signal, is failure.
 * Pure.
 */
#ifndef KEPLER_CONFIG_POLICY_H
#define KEPLER_CONFIG_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

struct buf;
struct err;

enum policy_flag {
    POLICY_NO = 0,
    POLICY_ON_FAILURE = 1,
    POLICY_ON_SUCCESS = 2,
    POLICY_ON_UNHEALTHY = 4,
    POLICY_ALWAYS = 7,
};

struct policy {
    unsigned flags;
    int64_t delay, max_delay; /* nanoseconds; max_delay 0: no cap */
    double backoff;           /* factor, at least 1.0 */
    int64_t grace_period;     /* between signal and kill; -1: not given */
};

/* The default for services. */
#define POLICY_GRACE_DEFAULT (INT64_C(10) * 1000000000)

int policy_parse(struct str text, unsigned *ret_flags, struct err *err);
/* "always", "on-failure|on-unhealthy", "no". */
void policy_print(unsigned flags, struct buf *out);
/* As the skip reasons spell it: "No", "Always", "OnFailure". */
void policy_print_title(unsigned flags, struct buf *out);
/* The flags of such a text; false when it is none. */
bool policy_find_title(struct str title, unsigned *ret_flags);

/* Does a process that ended like this restart? */
bool policy_restarts(const struct policy *policy, bool success);
/* The delay before restart number `restarts` (from 0) since the service was last healthy. */
int64_t policy_delay(const struct policy *policy, uint32_t restarts);
/* How long a process may take to end; `own` is the service's stop_grace_period, -1: not given. Each
 * setting defaults to the other. */
int64_t policy_grace(const struct policy *policy, int64_t own, bool restarting);

#endif
