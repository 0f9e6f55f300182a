/*
 * tool - runs programs of the system: useradd, systemctl, git.
 *
 * Programs run in the C locale, so that their output can be parsed, with the system folders at the
 * end of PATH, and without a terminal.
 *
 *     const struct tool tool = { .arena = arena, .cancel = cancel };
 *     tool_run(&tool, TOOL("groupadd", "--system", name), NULL, NULL, err);
 *
 * Memory: output is in the arena. Threads: any.
 */
#ifndef STATES_PROVIDER_TOOL_H
#define STATES_PROVIDER_TOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"

struct account;
struct arena;
struct cancel;
struct err;
struct process_result;

struct tool {
    struct arena *arena;
    const struct cancel *cancel; /* or NULL */
    const char *runas;           /* the user, unless the options name one; NULL: our own */
    int64_t timeout;             /* time limit of one run in nanoseconds; 0: none */
};

/* All zero is valid, and so is NULL. */
struct tool_options {
    const char *cwd;
    const char *runas;             /* a user, with home and groups */
    const struct account *account; /* the same, already looked up; takes precedence */
    const char *const *env;        /* extra environment, "NAME=value", ends in NULL */
    struct str input;              /* a NULL view: none */
    int64_t timeout;               /* nanoseconds; 0: that of the tool */
    int64_t stop_time; /* nanoseconds to end after SIGINT, on cancel and timeout; 0: TOOL_STOP_NS */
};

#define TOOL_STOP_NS (5 * INT64_C(1000000000))

#define TOOL(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Builds a command line argument by argument. */
struct tool_words {
    VEC(const char *) list;
};
void tool_add(const struct tool *tool, struct tool_words *words, const char *word);
/* "--name=value"; nothing for NULL. */
void tool_add_option(const struct tool *tool, struct tool_words *words, const char *name,
                     const char *value);
/* The arguments, terminated by NULL. */
const char *const *tool_argv(const struct tool *tool, struct tool_words *words);

/* Run to completion. The exit status is a result; a failed start, a timeout and a cancel are
 * errors. */
int tool_try(const struct tool *tool, const char *const *argv, const struct tool_options *options,
             struct process_result *ret_result, struct err *err);
/* The same; an exit status other than 0 is an error too, with the end of the output. */
int tool_run(const struct tool *tool, const char *const *argv, const struct tool_options *options,
             struct str *ret_output, struct err *err);
/* The error for a program that ended this way: what was tried, the cause and what to do if it is
 * known (states/provider/tool_cause.h), and the end of the output. Returns -1. */
int tool_fail(const char *const *argv, const struct process_result *result, struct err *err);

/* The error for a missing program, with the package that provides it, if known. Returns -1. */
int tool_missing(const char *program, struct err *err);

/* The search path for programs: PATH, and the system folders. */
const char *tool_path(struct arena *arena);
/* The path of a program; NULL: not found. */
const char *tool_find(struct arena *arena, const char *name);

#endif
