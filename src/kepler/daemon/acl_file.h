/*
 * acl_file - the rules of a loaded config, as a file: acl.json.
 *
 * Written when a config with `kepler.acl` is loaded, so that the rules apply while it is not: to
 * reading its stored lines, or starting it again. Rights are stored without aliases.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef KEPLER_DAEMON_ACL_FILE_H
#define KEPLER_DAEMON_ACL_FILE_H

#include <stdint.h>

struct acl;
struct arena;
struct err;

#define ACL_FILE     "acl.json"
#define ACL_FILE_MAX ((size_t)4 << 20)

/* Saves in `folder`. NULL: no rules; removes the file. */
int acl_file_save(const char *folder, const struct acl *acl, struct err *err);
/* NULL: no rules. `ret_sum` is a checksum to detect changes. */
int acl_file_load(struct arena *arena, const char *folder, const struct acl **ret_acl,
                  uint64_t *ret_sum, struct err *err);

#endif
