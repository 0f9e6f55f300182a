/*
 * acl_file - the rules of a config that was loaded, as a file: acl.json.
 *
 * Written when a config with `kepler.acl` is loaded, so that they hold while it is not: who may
 * read its stored lines, or start it again. Rights are written out, without aliases.
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

/* In `folder`. NULL: no rules, and the file goes. */
int acl_file_save(const char *folder, const struct acl *acl, struct err *err);
/* NULL: no rules. `ret_sum` tells two files apart. */
int acl_file_load(struct arena *arena, const char *folder, const struct acl **ret_acl,
                  uint64_t *ret_sum, struct err *err);

#endif
