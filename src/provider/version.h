/*
 * version - which of two versions of a package is the newer one, as the package
 * manager sees it.
 *
 * Every manager has rules of its own: "1.0~rc1" is older than "1.0" for Debian and
 * RPM, "1.0_rc1" for Alpine, "1.0rc1" for Arch. A function here compares as the
 * manager does, for any bytes; none of them fails.
 *
 * Memory: none. Threads: any.
 */
#ifndef PROVIDER_VERSION_H
#define PROVIDER_VERSION_H

#include "base/str.h"

/* Less than, equal to, or more than zero. */
typedef int (*version_compare_fn)(struct str a, struct str b);

/* [epoch:]upstream[-revision], by the rules of dpkg. */
int version_compare_deb(struct str a, struct str b);
/* [epoch:]version[-release], by the rules of rpm. A release that one side does not name counts as
 * equal, so that a pin need not name it. */
int version_compare_rpm(struct str a, struct str b);
/* The same form, by the rules of pacman: letters behind a number are older than nothing. */
int version_compare_pacman(struct str a, struct str b);
/* Numbers with dots, a letter, _suffixes, -rN: Alpine. */
int version_compare_apk(struct str a, struct str b);

#endif
