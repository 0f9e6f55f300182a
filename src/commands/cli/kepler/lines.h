/*
 * kepler_lines - prints log lines sent by the daemon, to stdout unless `out` is set.
 *
 * Each service has its own colour, assigned in order of first output and kept for the whole
 * command. Only plain lines are coloured.
 *
 *     kepler_lines_init -> kepler_lines_print... -> kepler_lines_done
 *
 * Threads: one.
 */
#ifndef COMMANDS_CLI_KEPLER_LINES_H
#define COMMANDS_CLI_KEPLER_LINES_H

#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/map.h"
#include "kepler/logs/log_line.h"

struct value;

struct kepler_lines {
    FILE *out;
    enum log_line_form form;
    bool color;
    struct arena arena;
    struct map services; /* service name to colour code */
};

void kepler_lines_init(struct kepler_lines *lines, enum log_line_form form, bool color);
/* The body of an event "lines". Malformed lines are skipped. */
void kepler_lines_print(struct kepler_lines *lines, const struct value *body);
void kepler_lines_done(struct kepler_lines *lines);

/* One line of such a body; false: malformed. Borrows from the value. */
bool kepler_lines_read(const struct value *v, struct log_line *ret);

#endif
