/*
 * command - a command run by a state or function: where, as whom, in which environment, and what
 * counts as success.
 *
 *     command_validate (when the state is read) -> command_run -> command_judge
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_CMD_COMMAND_H
#define STATES_MODULES_CMD_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/str.h"
#include "core/data/params.h"

struct diags;
struct err;
struct process_result;
struct state_run;
struct value;

struct command_args {
    const char *cwd;
    const struct value *env; /* a map, a list of maps, or a list of NAME=value */
    const char *runas, *group;
    mode_t umask;
    bool has_umask;
    const char *shell;
    bool python_shell; /* run the command through a shell, else execute its words directly */
    int64_t timeout;   /* 0: none */
    struct str input;
    bool has_input;
    const char *prepend_path;
    const struct value *success_retcodes;
    struct param_strs success_stdout, success_stderr;
    bool ignore_retcode, hide_output;
    int loglevel; /* log level of the output: COMMAND_QUIET, or one that has no effect */
    bool has_loglevel;
};

/* The command: a text for the shell, or words. */
struct shell_command {
    const char *text;        /* for the shell, and for messages */
    const char *const *argv; /* alternative; ends in NULL */
};

int command_validate(const struct command_args *args, struct diags *diags);

/* Run it to completion. Timeouts are errors. */
int command_run(struct state_run *run, const struct command_args *args,
                const struct shell_command *command, struct process_result *ret, struct err *err);
/* Did it succeed, according to the arguments? */
bool command_succeeded(const struct command_args *args, const struct process_result *result);
/* Add the result to the details; an error, with the end of the output, when it failed. */
int command_judge(struct state_run *run, const struct command_args *args,
                  const struct shell_command *command, const struct process_result *result,
                  struct err *err);
/* Words of a list as an argv; `first` comes first. */
const char *const *command_words(struct state_run *run, const char *first,
                                 const struct value *list);
/* Is it a list of scalars? */
bool command_is_words(const struct value *list);

/* The first of the levels of output_loglevel. */
#define COMMAND_QUIET 0

/* clang-format off */
#define COMMAND_PARAMS(type, in)                                                                                      \
    PARAM("cwd", PATH, type, in.cwd, "the folder to run in", .aliases = "dir"),                                      \
    PARAM("env", ANY, type, in.env, "extra environment: a map, or a list of maps; null or false removes a variable", .aliases = "environment"), \
    PARAM("runas", STR, type, in.runas, "the user to run as", .aliases = "user"),                                    \
    PARAM("group", STR, type, in.group, "the group to run as"),                                                      \
    PARAM("umask", MODE, type, in.umask, "its umask", PARAM_GIVEN(type, in.has_umask)),                               \
    PARAM("shell", STR, type, in.shell, "the shell that runs the command (default: /bin/sh)"),                        \
    PARAM("python_shell", BOOL, type, in.python_shell, "false: run it without a shell, as a program and its arguments", .default_text = "true"), \
    PARAM("timeout", DURATION, type, in.timeout, "time limit, after which it is killed with all its children"),    \
    PARAM("stdin", TEXT, type, in.input, "standard input of the command", PARAM_GIVEN(type, in.has_input)),         \
    PARAM("prepend_path", STR, type, in.prepend_path, "folders to search for programs first"),                          \
    PARAM("success_retcodes", ANY, type, in.success_retcodes, "exit statuses other than 0 that count as success"),          \
    PARAM("success_stdout", STRS, type, in.success_stdout, "lines of output that mean success, whatever the exit status"),  \
    PARAM("success_stderr", STRS, type, in.success_stderr, "lines of error output that mean success, whatever the exit status"),         \
    PARAM("ignore_retcode", BOOL, type, in.ignore_retcode, "treat every exit status as success"),                         \
    PARAM("hide_output", BOOL, type, in.hide_output, "keep the output out of results and errors"),                    \
    PARAM("output_loglevel", CHOICE, type, in.loglevel, "'quiet' means hide_output; other levels have no effect", .choices = "quiet|critical|error|warning|info|debug|profile|trace|garbage|all", PARAM_GIVEN(type, in.has_loglevel)), \
    PARAM_REFUSED("bg", "a command cannot be left in the background; run it as a service of kepler"),         \
    PARAM_REFUSED("root", "commands do not run in another root folder; write chroot into the command"),               \
    PARAM_IDLE("use_vt", "there is no terminal; the output is in the result"),                                        \
    PARAM_IDLE("ignore_timeout", "without a timeout, a command may run indefinitely"),                         \
    PARAM_IDLE("windows_codepage", "Windows only"),                                                                   \
    PARAM_IDLE("password", "Windows only")
/* clang-format on */

#endif
