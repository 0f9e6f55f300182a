/*
 * ssh_reason - why a machine could not be asked: the last words of ssh, of a shell or of the loader
 * of programs there, and what to do about it.
 *
 * Words come from machines: what is not plain text is replaced.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_SSH_REASON_H
#define FLEET_SSH_REASON_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;
struct ssh_machine;

/* Of the words in a reason. */
#define SSH_REASON_MAX 800

/* `words` is what came on standard error; `otherwise` is said when that is empty. */
const char *ssh_reason_find(struct arena *arena, const struct ssh_machine *machine,
                            struct str words, const char *otherwise);

#endif
