/*
 * dpkg - the installed packages of Debian and its derivatives, and the order of versions.
 *
 * Memory: that of the db. Threads: any.
 */
#ifndef STATES_PROVIDER_PACKAGE_DPKG_H
#define STATES_PROVIDER_PACKAGE_DPKG_H

#include "core/base/str.h"

struct err;
struct package_db;

/* /var/lib/dpkg/status */
int dpkg_parse_status(struct package_db *db, struct str text, struct err *err);
/* [epoch:]upstream[-revision], by the rules of dpkg. */
int dpkg_compare(struct str a, struct str b);

#endif
