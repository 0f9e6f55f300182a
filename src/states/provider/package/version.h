/*
 * version - compares package versions like the package manager.
 *
 * Every manager has different rules: "1.0~rc1" is older than "1.0" for Debian and RPM, "1.0_rc1"
 * for Alpine, "1.0rc1" for Arch. Each manager has a comparison function that accepts any bytes and
 * never fails. This file has their common parts.
 *
 * Memory: none. Threads: any.
 */
#ifndef STATES_PROVIDER_PACKAGE_VERSION_H
#define STATES_PROVIDER_PACKAGE_VERSION_H

#include "core/base/str.h"

/* Less than, equal to, or more than zero. */
typedef int (*version_compare_fn)(struct str a, struct str b);

/* How to compare when only one side has a release. */
enum version_missing {
    VERSION_MISSING_IS_EMPTY,
    VERSION_MISSING_IS_ANY, /* so that a pin can omit it */
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
