/*
 * nodes - the Node.js packages that npm has installed, globally or in a folder, and how it is run.
 *
 * Memory: the arena of the run. Threads: states that use it share NODES_LOCK.
 */
#ifndef STATES_MODULES_NPM_NODES_H
#define STATES_MODULES_NPM_NODES_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/data/params.h"
#include "states/modules/cmd/run_tool.h"

struct diags;
struct err;
struct process_result;
struct state_run;
struct value;

#define NODES_LOCK "npm"

struct nodes_args {
    const char *name, *dir, *user, *registry;
    struct param_strs pkgs;
    struct param_strmap env;
    bool force_reinstall, silent;
};

int nodes_validate(const void *args, const struct value *where, struct diags *diags);

/* The name in "@scope/name@1.0", and the version after it; an empty version: any. */
void nodes_split(const char *package, struct str *ret_name, struct str *ret_version);

/* Is there no npm on this machine? For dry runs, in which an earlier state may install it. */
bool nodes_is_missing(struct state_run *run);
/* Run npm with these words, in the folder of the state or globally. */
int nodes_try(struct state_run *run, const struct nodes_args *args, const char *const *words,
              struct process_result *ret, struct err *err);
int nodes_run(struct state_run *run, const struct nodes_args *args, const char *const *words,
              struct err *err);

/* A map of names to versions of what is installed; `package` asks for one, in a range of versions;
 * NULL: all. */
int nodes_list(struct state_run *run, const struct nodes_args *args, const char *package,
               struct value *ret, struct err *err);

/* All of that, for run_tool_note_after. */
int nodes_look(struct state_run *run, const void *args, struct value *ret, struct err *err);

/* From what apply noted as "before" and "after": what is new goes, what is gone comes back. */
int nodes_revert(struct state_run *run, const void *args, struct err *err);

#endif
