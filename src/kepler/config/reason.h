/*
 * reason - why a service was skipped or failed, in words for people.
 *
 * Programs get the documented texts of kepler/config/condition.h, in which exit codes and policies
 * look as in the source of a program. People get the same fact as a sentence.
 *
 * Pure. Threads: any.
 */
#ifndef KEPLER_CONFIG_REASON_H
#define KEPLER_CONFIG_REASON_H

#include "core/base/str.h"

struct buf;

/* "dependency `job` exited with status 3; not restarted because its restart policy is on-success".
 * What follows a documented text is kept, and so is any other text. */
void reason_print(struct str documented, struct buf *out);

/* "service 'web' was skipped: REASON", and the command that starts it with a dependency that is
 * down. */
void reason_print_skip(const char *service, struct str documented, struct buf *out);

#endif
