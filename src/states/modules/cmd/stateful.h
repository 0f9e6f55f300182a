/*
 * stateful - what a script reports on the last line of its output:
 *
 *     changed=yes comment='installed 3 plugins' version=7
 *     {"changed": true, "comment": "installed 3 plugins"}
 *
 * Everything but `changed` goes into the details of the state. As in Salt, a list with `test_name`
 * instead of true names a command that reports the same in a dry run.
 */
#ifndef STATES_MODULES_CMD_STATEFUL_H
#define STATES_MODULES_CMD_STATEFUL_H

#include <stdbool.h>

#include "core/base/str.h"

struct diags;
struct err;
struct state_run;
struct value;

#define STATEFUL_DOC                                                                               \
    "the last line of output reports whether anything changed: changed=yes comment='...'"

/* The parameter: true, false, or [{test_name: COMMAND}]; NULL: not given. */
int stateful_validate(const struct value *v, struct diags *diags);
bool stateful_is_on(const struct value *v);
/* The command of a dry run; NULL: none. */
const char *stateful_test_name(const struct value *v);

/* The same as stateful_read, for the command of a dry run. */
int stateful_foretell(struct state_run *run, struct str output, bool *ret_changes, struct err *err);

/* Fails when the line has neither form, or no 'changed'. */
int stateful_read(struct state_run *run, struct str output, struct err *err);

#endif
