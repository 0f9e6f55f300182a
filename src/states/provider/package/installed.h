/*
 * installed - the packages of this machine, read once per process.
 *
 * The list is cached until the databases of the manager change on disk, or until installed_forget
 * is called. So any number of package states costs one read, plus one stat each.
 *
 *     installed_lock -> ask the db -> installed_unlock
 *
 * Memory: the db belongs to the cache and may be used between lock and unlock only.
 * Threads: any; one at a time holds the lock.
 */
#ifndef STATES_PROVIDER_PACKAGE_INSTALLED_H
#define STATES_PROVIDER_PACKAGE_INSTALLED_H

#include <stdbool.h>

struct err;
struct package_db;
struct package_host;
struct package_manager;

/* When this fails nothing is locked. */
int installed_lock(const struct package_manager *manager, const struct package_host *host,
                   const struct package_db **ret_db, struct err *err);
void installed_unlock(void);

/* Was the last run of the manager interrupted, so that it must be repaired? */
bool installed_is_torn(const struct package_manager *manager, const struct package_host *host);

/* The manager was run: read again. */
void installed_forget(void);

#endif
