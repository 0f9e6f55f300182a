/*
 * reshape - functions of modules whose answer has another shape in templates of Salt files:
 *
 *                      .zy, and by hand               .sls
 *     cmd.run, shell   output; an error when it       output and error output, whatever the exit
 *                      fails                          status; a program must be there
 *     pkg.version      an error if not installed      an empty text; of several packages a map
 *     service.status   "running" or "stopped"         true or false
 *     disk.usage       the text of df -P              a map of folders
 *
 * Memory: the arena of the rendering. Threads: those of the rendering.
 */
#ifndef STATES_COMPILE_RESHAPE_H
#define STATES_COMPILE_RESHAPE_H

#include "language/jinja/function.h"

/* Ends with a row without a name; the user pointer is a struct builtin_context. */
extern const struct function reshape_functions[];

#endif
