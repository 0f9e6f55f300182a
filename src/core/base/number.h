/*
 * number - numbers, durations, sizes and modes as people write and read them.
 *
 * Parsers take the whole text: no blanks around it, nothing after it. They do not depend on the
 * locale. Anything else fails with ERR_INVALID, a number that does not fit its type with ERR_LIMIT.
 * The error quotes the text and names the expected form; the caller only adds the place in front.
 *
 * Durations are nanoseconds and never negative; sizes are bytes, and every unit
 * of size is a power of 1024, however it is spelled.
 *
 * Printers append to a buffer. Digits that are not shown are cut, not rounded, so that 59.99 s
 * never becomes a minute.
 */
#ifndef CORE_BASE_NUMBER_H
#define CORE_BASE_NUMBER_H

#include <stdint.h>

#include "core/base/str.h"

struct buf;
struct err;

#define NUMBER_NS_PER_MS INT64_C(1000000)
#define NUMBER_NS_PER_S  INT64_C(1000000000)

/* Longer texts are not numbers. */
#define NUMBER_TEXT_MAX 1000

/* Base 10, with an optional sign. */
int number_parse_int(struct str text, int64_t *ret_value, struct err *err);
/* Base 10, digits only. */
int number_parse_uint(struct str text, uint64_t *ret_value, struct err *err);
/* "1", "-1.5", ".5", "1e-3"; always finite: no inf, no nan, no hexadecimal. */
int number_parse_double(struct str text, double *ret_value, struct err *err);

/* "250ms", "1.5s", "1h30m", "90" (seconds). Units: ns us µs ms s m h d w. */
int number_parse_duration(struct str text, int64_t *ret_ns, struct err *err);
/* Digits and at most one unit of ms s m h d, in any case; none: seconds. */
int number_parse_duration_strict(struct str text, int64_t *ret_ns, struct err *err);
/* "10", "64K", "1MB", "2GiB", in any case. Units: B, and K M G T P alone or with B or iB. */
int number_parse_size(struct str text, uint64_t *ret_bytes, struct err *err);
/* An octal file mode up to 7777: "644", "0644", "0o644". */
int number_parse_mode(struct str text, unsigned *ret_mode, struct err *err);

/* Decimal, faster than printf. */
void number_print_int(int64_t value, struct buf *out);
/* The shortest text that reads back as the same value, as Python writes it: "1.0", "0.1", "1e-05",
 * "1e+16", "inf", "nan". */
void number_print_double(double value, struct buf *out);
/* "850 ns", "250 ms", "1.3 s", "2 m 5 s", "3 d 4 h". */
void number_print_duration(int64_t ns, struct buf *out);
/* "512 B", "12.4 MiB". */
void number_print_size(uint64_t bytes, struct buf *out);
/* The age in one unit: "0s", "5m", "3h", "12d". The future counts as now. */
void number_print_age(int64_t ns, struct buf *out);

#endif
