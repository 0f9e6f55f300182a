/*
 * command - a command as a state or a function runs it: where, as whom, with which
 * environment, and when it counts as a success.
 *
 *     command_validate (when the state is read) -> command_run -> command_judge
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef MODULES_CMD_COMMAND_H
#define MODULES_CMD_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "data/params.h"

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
    bool python_shell; /* a shell reads the command; else its words are run as they are */
    int64_t timeout;   /* 0: none */
    struct str input;
    bool has_input;
    const char *prepend_path;
    const struct value *success_retcodes;
    struct param_strs success_stdout, success_stderr;
    bool ignore_retcode, hide_output;
    int loglevel; /* of the output: COMMAND_QUIET, or one that means nothing here */
    bool has_loglevel;
};

/* What is run: a text for the shell, or words. */
struct command {
    const char *text;        /* for the shell, and for messages */
    const char *const *argv; /* instead; ends in NULL */
};

int command_validate(const struct command_args *args, struct diags *diags);

/* Run it to its end. Timeouts are errors. */
int command_run(struct state_run *run, const struct command_args *args,
                const struct command *command, struct process_result *ret, struct err *err);
/* Did it succeed, as the arguments see it? */
bool command_succeeded(const struct command_args *args, const struct process_result *result);
/* Details of what came out; an error, with the end of its output, when it did not succeed. */
int command_judge(struct state_run *run, const struct command_args *args,
                  const struct command *command, const struct process_result *result,
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
    PARAM("cwd", PATH, type, in.cwd, "the folder it runs in", .aliases = "dir"),                                      \
    PARAM("env", ANY, type, in.env, "more environment: a map, or a list of maps; null or false removes a name", .aliases = "environment"), \
    PARAM("runas", STR, type, in.runas, "the user it runs as", .aliases = "user"),                                    \
    PARAM("group", STR, type, in.group, "the group it runs as"),                                                      \
    PARAM("umask", MODE, type, in.umask, "its umask", PARAM_GIVEN(type, in.has_umask)),                               \
    PARAM("shell", STR, type, in.shell, "the shell that reads the command; without: /bin/sh"),                        \
    PARAM("python_shell", BOOL, type, in.python_shell, "false: no shell reads the command; its words are a program and arguments", .default_text = "true"), \
    PARAM("timeout", DURATION, type, in.timeout, "how long it may take; then it is killed with all its children"),    \
    PARAM("stdin", TEXT, type, in.input, "what it reads on standard input", PARAM_GIVEN(type, in.has_input)),         \
    PARAM("prepend_path", STR, type, in.prepend_path, "folders to look for programs first"),                          \
    PARAM("success_retcodes", ANY, type, in.success_retcodes, "exit statuses beside 0 that are not a failure"),          \
    PARAM("success_stdout", STRS, type, in.success_stdout, "lines of output that mean success whatever the status"),  \
    PARAM("success_stderr", STRS, type, in.success_stderr, "lines of error output that mean success, alike"),         \
    PARAM("ignore_retcode", BOOL, type, in.ignore_retcode, "every exit status is a success"),                         \
    PARAM("hide_output", BOOL, type, in.hide_output, "keep the output out of results and errors"),                    \
    PARAM("output_loglevel", CHOICE, type, in.loglevel, "'quiet' is hide_output; what Salt logs at another level is in the result", .choices = "quiet|critical|error|warning|info|debug|profile|trace|garbage|all", PARAM_GIVEN(type, in.has_loglevel)), \
    PARAM_REFUSED("bg", "a command cannot be left in the background; make it a service of the orchestrator"),         \
    PARAM_REFUSED("root", "commands do not run in another root folder; write chroot into the command"),               \
    PARAM_IDLE("use_vt", "there is no terminal; the output is in the result"),                                        \
    PARAM_IDLE("ignore_timeout", "without a timeout a command may take as long as it wants"),                         \
    PARAM_IDLE("windows_codepage", "Windows only"),                                                                   \
    PARAM_IDLE("password", "Windows only")
/* clang-format on */

#endif
