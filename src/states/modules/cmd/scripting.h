/*
 * scripting - a script from a source that cmd.script and cmd.wait_script run.
 *
 *     scripting_validate (when the state is read) -> scripting_run
 *
 * The script is fetched, rendered when it is a template, put into a file that only its user can
 * read, run, and removed.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_CMD_SCRIPTING_H
#define STATES_MODULES_CMD_SCRIPTING_H

#include <stdbool.h>

#include "core/data/params.h"
#include "states/modules/cmd/command.h"
#include "states/modules/file/content.h"

struct diags;
struct err;
struct state_run;
struct value;

struct scripting_args {
    const char *name;
    struct content_args content;
    const struct value *args;
    struct command_args how;
    const char *tmp_dir;
    const struct value *stateful;
};

extern const struct param scripting_params[];

int scripting_validate(const void *args, const struct value *where, struct diags *diags);
/* In a dry run that is stored: which script it would be. */
int scripting_bind(struct state_run *run, const void *args, struct err *err);
int scripting_run(struct state_run *run, const void *args, struct err *err);

#endif
