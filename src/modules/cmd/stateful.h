/*
 * stateful - what a script reports on the last line of its output:
 *
 *     changed=yes comment='installed 3 plugins' version=7
 *     {"changed": true, "comment": "installed 3 plugins"}
 *
 * Everything but `changed` goes into the details of the state.
 */
#ifndef MODULES_CMD_STATEFUL_H
#define MODULES_CMD_STATEFUL_H

#include "base/str.h"

struct err;
struct state_run;

/* Fails when the line has neither form, or no 'changed'. */
int stateful_read(struct state_run *run, struct str output, struct err *err);

#endif
