/*
 * forms - plain files of keys and values, as Python's libraries write them for Salt.
 *
 * Values are scalars: "True", "1.5", a text as it is. Anything else, and a line end but in a
 * value of a section, is ERR_UNSUPPORTED.
 *
 * Threads: any.
 */
#ifndef STATES_MODULES_FILE_FORMS_H
#define STATES_MODULES_FILE_FORMS_H

struct buf;
struct err;
struct value;

/* "[section]" and "key = value", from a map of maps; keys in lower case, DEFAULT first. */
int forms_print_sections(struct buf *out, const struct value *data, struct err *err);
/* "key=value", from a map. */
int forms_print_lines(struct buf *out, const struct value *data, const char *separator,
                      struct err *err);

#endif
