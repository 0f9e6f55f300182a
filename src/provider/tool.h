/*
 * tool - a program of the system that does a piece of work for us: useradd, systemctl,
 * git.
 *
 * Programs run in the C locale, so that what they print can be read, with the folders
 * of system programs at the end of the path, and without a terminal.
 *
 *     const struct tool tool = { .arena = arena, .cancel = cancel };
 *     tool_run(&tool, TOOL("groupadd", "--system", name), NULL, NULL, err);
 *
 * Memory: what they print is in the arena. Threads: any.
 */
#ifndef PROVIDER_TOOL_H
#define PROVIDER_TOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"

struct account;
struct arena;
struct cancel;
struct err;
struct process_result;

struct tool {
    struct arena *arena;
    const struct cancel *cancel; /* NULL: nobody cancels */
    int64_t timeout;             /* nanoseconds for one piece of work; 0: none */
};

/* All zero is fine, and so is NULL. */
struct tool_options {
    const char *cwd;
    const char *runas;             /* a user, with home and groups */
    const struct account *account; /* the same, looked up already; wins */
    const char *const *env;        /* more of it, "NAME=value", ends in NULL */
    struct str input;              /* a NULL view: none */
    int64_t timeout;               /* nanoseconds; 0: that of the tool */
};

#define TOOL(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Words of a command line that is put together piece by piece. */
struct tool_words {
    VEC(const char *) list;
};
void tool_add(const struct tool *tool, struct tool_words *words, const char *word);
/* The words, with NULL behind them. */
const char *const *tool_argv(const struct tool *tool, struct tool_words *words);

/* Run to the end. How it ended is a result; what could not be started, a timeout and a cancel are
 * errors. */
int tool_try(const struct tool *tool, const char *const *argv, const struct tool_options *options,
             struct process_result *ret_result, struct err *err);
/* The same; an exit status other than 0 is an error too, with the end of what was printed. */
int tool_run(const struct tool *tool, const char *const *argv, const struct tool_options *options,
             struct str *ret_output, struct err *err);
/* The error of a program that ended so. Returns -1. */
int tool_fail(const char *const *argv, const struct process_result *result, struct err *err);

/* The error of a program that is not there, with the package that brings it where that is known.
 * Returns -1. */
int tool_missing(const char *program, struct err *err);

/* The folders that programs are looked for in: those of PATH, and those of system programs. */
const char *tool_path(struct arena *arena);
/* Where a program is; NULL when there is none of this name. */
const char *tool_find(struct arena *arena, const char *name);

#endif
