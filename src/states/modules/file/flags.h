/*
 * flags - Python's flags for patterns: IGNORECASE, MULTILINE, ...
 *
 * A text, Python's number, or a list of both.
 */
#ifndef STATES_MODULES_FILE_FLAGS_H
#define STATES_MODULES_FILE_FLAGS_H

struct err;
struct value;

/* The sum of enum matcher_flag; `otherwise` when none is given. */
int flags_read(const struct value *flags, unsigned otherwise, unsigned *ret, struct err *err);

#endif
