/*
 * packages_verify - do the files of installed packages have the content that was installed?
 *
 * The package manager compares them. Configuration files never count: they are there to be
 * changed, and a package that is installed again leaves them alone.
 *
 * Memory: the arena of the run. Threads: any; states that use it share PACKAGES_LOCK.
 */
#ifndef STATES_MODULES_PKG_PACKAGES_VERIFY_H
#define STATES_MODULES_PKG_PACKAGES_VERIFY_H

#include <stdbool.h>

struct diags;
struct err;
struct packages;
struct value;

/* A truth, or as in Salt a list of maps with `ignore_types`: config, doc. */
int packages_verify_validate(const struct value *verify, struct diags *diags);
/* Is it asked for? */
bool packages_verify_wanted(const struct value *verify);

/* The first file that is missing or has another content; NULL: none. Fails with ERR_UNSUPPORTED
 * when the manager cannot compare them. */
int packages_verify(struct packages *packages, const struct value *verify, const char *name,
                    const char **ret_path, struct err *err);

#endif
