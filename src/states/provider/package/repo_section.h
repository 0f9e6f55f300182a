/*
 * repo_section - edits sections of yum, zypper and pacman files.
 *
 *     [name]
 *     key=value
 *
 * Editing sets keys of one section and keeps everything else: other sections, other keys, comments,
 * order. Nothing with a control character is ever written.
 *
 * Memory: none of its own. Threads: any.
 */
#ifndef STATES_PROVIDER_PACKAGE_REPO_SECTION_H
#define STATES_PROVIDER_PACKAGE_REPO_SECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"
#include "states/provider/package/repo.h"

struct buf;
struct err;

struct repo_key {
    const char *key;
    const char *value; /* NULL: remove the key */
};

/* `text` with these keys in the section, which is appended if missing. `equals` separates key
 * and value. */
int repo_section_set(struct str text, struct str name, const struct repo_key *keys, size_t count,
                     const char *equals, struct buf *out, struct err *err);
/* `text` without the section. */
void repo_section_remove(struct str text, struct str name, struct buf *out, bool *ret_was_there);
/* The same, for the section that has the name of a repository. */
package_repo_drop_fn repo_section_drop;

#endif
