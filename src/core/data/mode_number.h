/*
 * mode_number - numbers where a file mode is expected.
 *
 * 644 may be the digits of a mode or a number, and YAML 1.1, YAML 1.2, templates and the wire make
 * different numbers of the same text: 0644, 420, 644. The meaning is decided here; ambiguous
 * numbers are refused.
 *
 * Pure. Threads: any.
 */
#ifndef CORE_DATA_MODE_NUMBER_H
#define CORE_DATA_MODE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/str.h"

struct value;

/* `v` is an integer, `written` its text in the document (empty: unknown). False: not a mode, or
 * ambiguous. */
bool mode_number_read(const struct value *v, struct str written, mode_t *ret);
/* Could its digits have been meant as a mode, so that quotes would help? */
bool mode_number_has_digits(int64_t number);

#endif
