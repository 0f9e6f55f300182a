/*
 * ssh_reason - explains a failed call: the last output of ssh, the remote shell or loader, and what
 * to do about it.
 *
 * The output is untrusted: anything but plain text is replaced.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_SSH_REASON_H
#define FLEET_SSH_REASON_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;
struct ssh_machine;

/* Bytes of ssh's output in a reason. */
#define SSH_REASON_MAX 800

/* `words` is the output on standard error; `otherwise` is used if that is empty. */
const char *ssh_reason_find(struct arena *arena, const struct ssh_machine *machine,
                            struct str words, const char *otherwise);

#endif
