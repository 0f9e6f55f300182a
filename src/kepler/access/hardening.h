/*
 * hardening - how strictly services of a non-root owner are kept from other users.
 *
 *     none       may run as any user, root included
 *     no-root    any user except root, and no root group
 *     strict     the owner only, with the owner's groups
 *
 * The stricter of the daemon's level and the config's level applies. Configs owned by root are
 * exempt.
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

/* Defaults: for a daemon without the option, and for a config loaded without a level. */
#define HARDENING_DAEMON HARDENING_STRICT
#define HARDENING_CONFIG HARDENING_NO_ROOT
/* For choice tables and messages. */
#define HARDENING_CHOICES "none|no-root|strict"
extern const char *const hardening_words[HARDENINGS];

const char *hardening_name(enum hardening level);
/* Fails with ERR_INVALID and lists the valid levels. */
int hardening_parse(struct str text, enum hardening *ret_level, struct err *err);
enum hardening hardening_max(enum hardening a, enum hardening b);

#endif
