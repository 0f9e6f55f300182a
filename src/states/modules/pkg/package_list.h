/*
 * package_list - the result of pkg.list, and of pkg.list_pkgs, its Salt name.
 *
 * Threads: any.
 */
#ifndef STATES_MODULES_PKG_PACKAGE_LIST_H
#define STATES_MODULES_PKG_PACKAGE_LIST_H

#include <stdbool.h>

#include "core/data/params.h"

struct err;
struct state_run;
struct value;

struct package_list_args {
    bool removed;
};
extern const struct param package_list_params[];

int package_list_call(struct state_run *run, const void *args, struct value *ret, struct err *err);

#endif
