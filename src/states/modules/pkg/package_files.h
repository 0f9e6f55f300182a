/*
 * package_files - packages that come as files: `sources: [{name: source}]`.
 *
 *     package_files_validate (when the state is read)
 *     package_files_wants -> package_files_aim... -> package_files_fetch...
 *                         -> install -> package_files_done
 *
 * Memory: the arena of the run; fetched files are on disk until package_files_done.
 */
#ifndef STATES_MODULES_PKG_PACKAGE_FILES_H
#define STATES_MODULES_PKG_PACKAGE_FILES_H

struct diags;
struct err;
struct package_request;
struct package_target;
struct packages;
struct packages_want;
struct packages_wants;
struct value;

int package_files_validate(const struct value *sources, struct diags *diags);
int package_files_wants(struct packages *packages, const struct value *sources,
                        struct packages_wants *ret_wants, struct err *err);
/* Aim at the version of the package file, if the file is local and the manager can read it. A
 * file with another package name is an error. */
int package_files_aim(struct packages *packages, struct packages_want *want, struct err *err);
/* Write the source to a file that the manager can read. */
int package_files_fetch(struct packages *packages, const struct packages_want *want,
                        struct package_target *ret_target, struct err *err);
/* Remove what was fetched for the targets of a request. */
void package_files_done(const struct package_request *request);

#endif
