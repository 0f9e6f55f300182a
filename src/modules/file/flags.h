/*
 * flags - Python's names for how a pattern is read: IGNORECASE, MULTILINE, ...
 *
 * A text, a number as Python has it, or a list of both.
 */
#ifndef MODULES_FILE_FLAGS_H
#define MODULES_FILE_FLAGS_H

struct err;
struct value;

/* The sum of enum matcher_flag; `otherwise` when nothing was said. */
int flags_read(const struct value *flags, unsigned otherwise, unsigned *ret, struct err *err);

#endif
