/*
 * kepler_lines - lines of services, as the daemon sends them, on stdout.
 */
#ifndef CLI_KEPLER_LINES_H
#define CLI_KEPLER_LINES_H

#include "logs/log_line.h"

struct value;

/* The body of an event "lines". What is no line is passed over. */
void kepler_lines_print(const struct value *body, enum log_line_form form);

#endif
