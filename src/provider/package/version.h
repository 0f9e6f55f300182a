/*
 * version - which of two versions of a package is the newer one, as the package
 * manager sees it.
 *
 * Every manager has rules of its own: "1.0~rc1" is older than "1.0" for Debian and
 * RPM, "1.0_rc1" for Alpine, "1.0rc1" for Arch. A manager has a function that compares
 * as it does, for any bytes, and never fails. Here is what these functions share.
 *
 * Memory: none. Threads: any.
 */
#ifndef PROVIDER_PACKAGE_VERSION_H
#define PROVIDER_PACKAGE_VERSION_H

#include "base/str.h"

/* Less than, equal to, or more than zero. */
typedef int (*version_compare_fn)(struct str a, struct str b);

/* Of a release that one side does not name. */
enum version_missing {
    VERSION_MISSING_IS_EMPTY,
    VERSION_MISSING_IS_ANY, /* so that a pin need not name it */
};

/* [epoch:]version[-release], where `part` compares each of the three. No epoch is epoch 0. */
int version_compare_parts(struct str a, struct str b, version_compare_fn part,
                          enum version_missing missing);

/* Digits of any length, as a number. */
int version_compare_digits(struct str a, struct str b);
/* Cut and compare the runs of digits, or of letters, that both begin with. A number is newer than
 * letters. */
int version_compare_segment(struct str *a, struct str *b);

#endif
