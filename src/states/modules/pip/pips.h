/*
 * pips - the Python packages of one pip, and how it is run.
 *
 * Lists are what `pip list --format=freeze` prints: a line "name==version" for each package.
 *
 * Memory: the arena of the run. Threads: states that use it share PIPS_LOCK.
 */
#ifndef STATES_MODULES_PIP_PIPS_H
#define STATES_MODULES_PIP_PIPS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"
#include "core/data/params.h"
#include "states/modules/cmd/run_tool.h"

struct err;
struct process_result;
struct state_run;

#define PIPS_LOCK "pip"

struct pips {
    const char *bin; /* a program, or the folder of a virtual environment */
    const char *user, *cwd;
    struct param_strmap env;
    struct param_strs extra; /* arguments of install and uninstall */
};

/* clang-format off */
#define PIPS_PARAMS(type, field)                                                                                                   \
    PARAM("bin", STR, type, field.bin, "the pip program, or the folder of the virtual environment", .default_text = "pip3", .aliases = "bin_env,pip_bin"), \
    PARAM("user", STR, type, field.user, "the user that runs pip", .aliases = "runas"),                                            \
    PARAM("cwd", PATH, type, field.cwd, "the folder to run in"),                                                                   \
    PARAM("env_vars", STRMAP, type, field.env, "extra environment for pip"),                                                       \
    PARAM("extra_args", STRS, type, field.extra, "extra arguments for pip"),                                                       \
    PARAM_IDLE("use_vt", "there is no terminal; the output is in the result")
/* clang-format on */

/* Is the program not there? For dry runs, in which an earlier state may install it. */
bool pips_is_missing(struct state_run *run, const struct pips *pips);
/* The beginning of a command: the program, and `verb`. */
void pips_begin(const struct tool *tool, const struct pips *pips, const char *verb,
                struct tool_words *words);
/* `pip uninstall`, for packages that follow. */
void pips_begin_removal(const struct tool *tool, const struct pips *pips, struct tool_words *words);
/* Run it; pips_run fails when it exits with another status than 0. */
int pips_try(struct state_run *run, const struct pips *pips, struct tool_words *words,
             struct process_result *ret, struct err *err);
int pips_run(struct state_run *run, const struct pips *pips, struct tool_words *words,
             struct str *ret_output, struct err *err);

int pips_list(struct state_run *run, const struct pips *pips, struct str *ret, struct err *err);
/* The name in "flask[async]>=2". */
struct str pips_name_of(struct str package);
/* The version of a package in a list; a NULL view: it is not there. */
struct str pips_version_of(struct str installed, struct str package);
/* Names of `of` that `in` does not have. Returns their number. */
size_t pips_add_new(const struct tool *tool, struct tool_words *words, struct str of,
                    struct str in);
/* Lines of `of` whose package `in` has in another version; with `gone`, or not at all. */
size_t pips_add_changed(const struct tool *tool, struct tool_words *words, struct str of,
                        struct str in, bool gone);

/* Note the list "before", and as "after" what is expected until run_tool_note_after knows: the
 * packages in `names` gone, or with `come` in a version that is not known yet. */
int pips_note_before(struct state_run *run, struct str before, const struct param_strs *names,
                     bool come, struct err *err);
/* The list as a note, for run_tool_note_after; `args` is a struct pips. */
int pips_look(struct state_run *run, const void *args, struct value *ret, struct err *err);
/* For removed and uptodate, which note "before" and "after": install what was there. */
int pips_revert(struct state_run *run, const struct pips *pips, struct err *err);

#endif
