/*
 * kepler_lines - lines of services, as the daemon sends them, on stdout unless `out` is set.
 *
 * In colour, each service has one of its own, in the order in which they write: the same for
 * all that is shown by one command. Only plain lines are coloured.
 *
 *     kepler_lines_init -> kepler_lines_print... -> kepler_lines_done
 *
 * Threads: one.
 */
#ifndef CLI_KEPLER_LINES_H
#define CLI_KEPLER_LINES_H

#include <stdio.h>

#include "base/arena.h"
#include "base/map.h"
#include "logs/log_line.h"

struct value;

struct kepler_lines {
    FILE *out;
    enum log_line_form form;
    bool color;
    struct arena arena;
    struct map services; /* name to the code of its colour */
};

void kepler_lines_init(struct kepler_lines *lines, enum log_line_form form, bool color);
/* The body of an event "lines". What is no line is passed over. */
void kepler_lines_print(struct kepler_lines *lines, const struct value *body);
void kepler_lines_done(struct kepler_lines *lines);

#endif
