/*
 * hardening - how far services of an owner who is not root are kept from other users.
 *
 *     none       they may run as any user, root too
 *     no-root    as any user but root, and not in root's group
 *     strict     as their owner, in groups of their owner
 *
 * The higher of the daemon's level and that of the config holds. Configs of root are not concerned.
 *
 * Pure. Threads: any.
 */
#ifndef KEPLER_ACCESS_HARDENING_H
#define KEPLER_ACCESS_HARDENING_H

#include <stdbool.h>

#include "core/base/str.h"

struct err;

enum hardening { HARDENING_NONE, HARDENING_NO_ROOT, HARDENING_STRICT };
#define HARDENINGS (HARDENING_STRICT + 1)

/* Of a daemon that is not told otherwise, and of a config that is loaded without a level. */
#define HARDENING_DAEMON HARDENING_STRICT
#define HARDENING_CONFIG HARDENING_NO_ROOT
/* For tables of choices and words. */
#define HARDENING_CHOICES "none|no-root|strict"
extern const char *const hardening_words[HARDENINGS];

const char *hardening_name(enum hardening level);
/* Fails with ERR_INVALID, and the levels that there are. */
int hardening_parse(struct str text, enum hardening *ret_level, struct err *err);
enum hardening hardening_max(enum hardening a, enum hardening b);

#endif
