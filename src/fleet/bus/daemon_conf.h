/*
 * daemon_conf - the configuration of a daemon, from a YAML file and flags, by one table of rows.
 *
 *     static const struct param rows[] = {
 *         PARAM("nats_url", STR, ARGS, nats_url, "servers of the bus", .default_text = "..."),
 *         PARAM("enroll.addr", STR, ARGS, enroll.addr, "where peels enroll"),
 *         { 0 },
 *     };
 *     daemon_conf_start -> { daemon_conf_read, at each SIGHUP }...
 *
 * A name with dots is a key in nested maps. Every row that is not a map or a list of maps has a
 * flag: its name with '-' for '.' and '_' (--enroll-addr); its aliases are further flags. A flag
 * overrides the file, the file overrides the default. A list flag may be repeated; an empty one
 * (--enroll-ca-pin=) clears the file's list. Nothing else changes a field, so the same file and
 * flags always give the same values.
 *
 * All mistakes in file and flags are reported at once, those in the file with their line. On a
 * reload, keep the old values until the new ones are complete.
 *
 * Memory: values live in the arena given. Threads: any.
 */
#ifndef FLEET_BUS_DAEMON_CONF_H
#define FLEET_BUS_DAEMON_CONF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/data/params.h"
#include "core/data/value.h"

struct arena;
struct buf;
struct diags;

/* Exit statuses of a daemon that does not start. */
#define DAEMON_CONF_ERROR 1
#define DAEMON_CONF_USAGE 2

struct daemon_conf {
    const char *program; /* "zester-peel" */
    const char *summary; /* one line for --help */
    const char *file;    /* read without --config; may be missing */
    const struct param *rows;
    size_t size;  /* of the struct that the rows fill */
    bool lenient; /* an unknown key is a warning, not an error */
    /* Checks beyond the parameter kinds; adds to `diags`. `given` has the given values by row name:
     * value_point() of one is the place of a mistake. NULL: none. */
    void (*check)(struct arena *arena, void *values, const struct value *given,
                  struct diags *diags);
};

/* A command line. */
struct daemon_line {
    const char *file; /* of --config; NULL: not given */
    bool help, version, keys;
    struct value given; /* rows that were given as flags, by name */
    struct param_strs operands;
};

int daemon_conf_parse(const struct daemon_conf *conf, struct arena *arena, int argc,
                      char *const *argv, struct daemon_line *ret_line, struct diags *diags);

/* Reads the file, then the flags; `ret_values` must be zeroed. Unknown keys of a lenient
 * configuration go to `warnings`. Returns -1 if it added to `diags`. */
int daemon_conf_read(const struct daemon_conf *conf, const struct daemon_line *line,
                     struct arena *arena, void *ret_values, struct diags *diags,
                     struct diags *warnings);

/* Both, for main(argc, argv): handles --help and --version, refuses operands. False: exit with
 * `ret_status`; messages are printed. Warnings go to standard error. */
bool daemon_conf_start(const struct daemon_conf *conf, struct arena *arena, int argc,
                       char *const *argv, struct daemon_line *ret_line, void *ret_values,
                       int *ret_status);

/* The file to read. */
const char *daemon_conf_file(const struct daemon_conf *conf, const struct daemon_line *line);

/* The text of --help. */
void daemon_conf_print_usage(const struct daemon_conf *conf, struct buf *out);
/* The rows as a table of Markdown. */
void daemon_conf_print_markdown(const struct daemon_conf *conf, struct buf *out);

#endif
