/*
 * scalar - the meaning of a word without quotes: a number, a boolean, a time or text.
 *
 * YAML 1.1 is read as PyYAML reads it: `yes no on off true false`
 * in three spellings; `~ null` and nothing at all; `0b101 0x1f 0644 1_000 1:30`
 * (binary, hexadecimal, octal, decimal, base 60); floats only with a dot and a
 * signed exponent (`1e3` and `1.5e3` are text, `1.5e+3` is not); `.inf .nan`; dates
 * and times, which count as UTC unless they name a zone. A date that does not
 * exist is text.
 *
 * Salt reads YAML 1.1 with two differences: leading zeros of a number are ignored, so
 * that `0644` is 644 (a mode is compared by its digits), and dates and times are text.
 *
 * YAML 1.2 is read by the core schema: `true false null ~`, `17 0o17 0x1f`, floats,
 * `.inf .nan`, and nothing else: `0644` is 644, `no` and dates are text.
 *
 * An integer that does not fit 64 bits is an error in both, not text and not a
 * float; the error says to quote it.
 */
#ifndef CORE_DATA_SCALAR_H
#define CORE_DATA_SCALAR_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/data/yaml.h"

struct buf;
struct err;
struct value;

/* The meaning of `text`. A VALUE_STR borrows it. Fails with ERR_LIMIT for a number that does not
 * fit, which the message quotes. */
int scalar_parse(struct str text, enum yaml_dialect dialect, struct value *ret, struct err *err);

/* A time in the form of YAML 1.1, whatever the dialect. False when `text` is not a time. */
bool scalar_parse_time(struct str text, struct value *ret);

/* True when every dialect reads `text` as text. */
bool scalar_is_text(struct str text);

/* Null, bool, int and double in a form that every dialect reads back as the same value. */
void scalar_print(struct buf *out, const struct value *v);

#endif
