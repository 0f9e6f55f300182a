/*
 * kepler - the commands of kepler, and their common parts.
 *
 * A command is in src/commands/cli/kepler/<name>.c, or beside the one whose options it shares: run
 * and recreate in start.c, restart in stop.c, validate in config.c. Results go to stdout, errors as
 * "Error: text" and notes to stderr.
 */
#ifndef COMMANDS_CLI_KEPLER_KEPLER_H
#define COMMANDS_CLI_KEPLER_KEPLER_H

#include <stdbool.h>
#include <stddef.h>

#include "commands/cli/shared/command.h"

struct err;
struct value;

/* The environment variable that controls colour. */
#define KEPLER_COLOR "KEPLER_COLOR"
/* How commands print JSON. Paths and variables may hold any bytes. */
#define KEPLER_JSON (JSON_STYLE_PRETTY | JSON_STYLE_SORTED | JSON_STYLE_TEXT)

/* Maximum output of a command, in bytes. */
#define KEPLER_OUTPUT_MAX ((size_t)256 << 20)

/* Exit statuses of kepler. */
enum kepler_status {
    KEPLER_OK = 0,
    KEPLER_FAILED = 1,      /* error, refusal, timeout, unhandled failure */
    KEPLER_UNREACHABLE = 2, /* no daemon; also wrong usage */
    KEPLER_INTERRUPTED = 130,
};

/* Options that every command takes. */
struct kepler_globals {
    const char *file;
    bool verbose, quiet;
};

#define KEPLER_GLOBALS(type, field)                                                                \
    PARAM("file", STR, type, field.file, "the config (kepler.yaml, else kepler.yml)",              \
          .kind_text = "FILE", .aliases = "f"),                                                    \
        PARAM("verbose", BOOL, type, field.verbose, "print more details", .aliases = "v"),         \
        PARAM("quiet", BOOL, type, field.quiet, "print errors only", .aliases = "q")

/* The same as a table, for options before the command. */
extern const struct param kepler_globals[];

/* -e and -r, of commands that start something. */
#define KEPLER_ENVIRONMENT(type, pairs, refresh)                                                   \
    PARAM("environment", STRS, type, pairs, "set an environment variable; may be repeated",        \
          .kind_text = "K=V", .aliases = "e"),                                                     \
        PARAM("refresh-env", BOOL, type, refresh, "pass on the environment of this command",       \
              .aliases = "r")

/* -D, of commands that evaluate a config. */
#define KEPLER_FLAGS(type, field)                                                                  \
    PARAM("define", STRS, type, field,                                                             \
          "a value for expressions (kepler.flags.K); may be repeated", .kind_text = "K=V",         \
          .aliases = "D")

/* --hardening, of commands that load a config. */
#define KEPLER_HARDENING(type, field)                                                              \
    PARAM("hardening", STR, type, field,                                                           \
          "which users services of the config may run as: none, no-root or strict",                \
          .kind_text = "LEVEL")

/* "Error: text" on stderr; both return KEPLER_FAILED. */
int kepler_error(const char *fmt, ...) PRINTF_LIKE(1, 2);
int kepler_err(const struct err *err);
/* Prints "Warning: text". */
void kepler_warn(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Prints to stdout. Returns the exit status; an error has been reported. */
int kepler_print_json(const struct value *v);

/* The canonical path of the config: the given one, else the one in the current folder. Works
 * for deleted files too. */
int kepler_config_path(struct arena *arena, const struct kepler_globals *globals,
                       const char **ret_path, struct err *err);
/* The caller's environment as K=V. */
struct param_strs kepler_environment(struct arena *arena);
/* Drops entries that are not K=V, with a warning. */
struct param_strs kepler_pairs(struct arena *arena, const char *option, struct param_strs given);

extern const struct command kepler_command_acl;      /* show a user's rights */
extern const struct command kepler_command_apply;    /* go on with a changed file */
extern const struct command kepler_command_config;   /* check a file, show it with all defaults */
extern const struct command kepler_command_daemon;   /* start, stop, restart, status */
extern const struct command kepler_command_down;     /* stop, as other tools call it */
extern const struct command kepler_command_diff;     /* compare with the file */
extern const struct command kepler_command_doc;      /* the manual of the file */
extern const struct command kepler_command_events;   /* show changes as they happen */
extern const struct command kepler_command_graph;    /* the dependency graph */
extern const struct command kepler_command_inspect;  /* details of a config */
extern const struct command kepler_command_logs;     /* logs of services */
extern const struct command kepler_command_prune;    /* remove stored data */
extern const struct command kepler_command_ps;       /* list services */
extern const struct command kepler_command_recreate; /* stop, remove stored data, start again */
extern const struct command kepler_command_reload;   /* send reload_signal */
extern const struct command kepler_command_restart;
extern const struct command kepler_command_run; /* start with a freshly loaded file */
extern const struct command kepler_command_start;
extern const struct command kepler_command_stop;
extern const struct command kepler_command_top;      /* resource usage of services */
extern const struct command kepler_command_up;       /* start with all that is needed */
extern const struct command kepler_command_validate; /* check a file */
extern const struct command kepler_command_wait;     /* wait for a condition */
extern const struct command kepler_command_why;      /* explain the state of a service */

#endif
