/*
 * slsutil - the functions of Salt's slsutil that work on values of a template: merge, merge_all,
 * update and renderer. Those on texts and files are modules (modules/slsutil).
 *
 * Threads: as the rendering that calls them.
 */
#ifndef STATES_COMPILE_SLSUTIL_H
#define STATES_COMPILE_SLSUTIL_H

#include "language/jinja/function.h"

/* Maximum nested renderings by slsutil.renderer. */
#define SLSUTIL_DEPTH_MAX 8

/* By full name; `user` is a struct builtin_context. Terminated by a row without a name. */
extern const struct function slsutil_functions[];

#endif
