/*
 * package_holds - which packages stay at their version, where a file of its own says so.
 *
 * Each function marks the packages of a db that the text of such a file names. Names
 * that are not installed are passed over. Threads: while the db is being filled.
 */
#ifndef PROVIDER_PACKAGE_HOLDS_H
#define PROVIDER_PACKAGE_HOLDS_H

#include "base/str.h"

struct package_db;

/* versionlock.list of dnf 4 and yum: "name-epoch:version-release.*", "epoch:name-version-..." */
void package_holds_parse_versionlock(struct package_db *db, struct str text);
/* versionlock.toml of dnf 5: name = "nginx" */
void package_holds_parse_toml(struct package_db *db, struct str text);
/* /etc/zypp/locks: "solvable_name: nginx" */
void package_holds_parse_zypper(struct package_db *db, struct str text);

#endif
