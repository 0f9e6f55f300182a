/*
 * repo_section - a section of a file like those of yum, zypper and pacman.
 *
 *     [name]
 *     key=value
 *
 * Editing sets some keys of one section and keeps everything else: other sections,
 * other keys, comments, order. Nothing with a control character is ever written.
 *
 * Memory: none of its own. Threads: any.
 */
#ifndef PROVIDER_PACKAGE_REPO_SECTION_H
#define PROVIDER_PACKAGE_REPO_SECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "provider/package/repo.h"

struct buf;
struct err;

struct repo_key {
    const char *key;
    const char *value; /* NULL: the key is not there */
};

bool repo_section_has(struct str text, struct str name);

/* `text` with these keys in the section, which is made at the end when it is not there. `equals`
 * stands between key and value. */
int repo_section_set(struct str text, struct str name, const struct repo_key *keys, size_t count,
                     const char *equals, struct buf *out, struct err *err);
/* `text` without the section. */
void repo_section_remove(struct str text, struct str name, struct buf *out, bool *ret_was_there);
/* The same, for the section that has the name of a repository. */
package_repo_drop_fn repo_section_drop;

#endif
