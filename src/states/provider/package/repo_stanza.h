/*
 * repo_stanza - the same sources as repo_line, as stanzas of a `.sources` file.
 *
 *     Types: deb
 *     URIs: https://example.org/debian
 *     Suites: bookworm
 *     Components: main
 *     Signed-By: /etc/apt/keyrings/x.gpg
 *
 * A stanza belongs to a source if it names exactly this type, URL and suite; one that names more is
 * left alone. Editing keeps other stanzas, comments, and fields that are not options of a source.
 * Nothing with a control character is ever written.
 *
 * Memory: none of its own. Threads: any.
 */
#ifndef STATES_PROVIDER_PACKAGE_REPO_STANZA_H
#define STATES_PROVIDER_PACKAGE_REPO_STANZA_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct buf;
struct err;
struct repo_line;

/* Does a file of this name contain stanzas? */
bool repo_stanza_is_file(const char *path);

/* As repo_line_set and repo_line_remove. */
int repo_stanza_set(struct str text, const struct repo_line *line, const char *comment,
                    struct buf *out, struct err *err);
void repo_stanza_remove(struct str text, const struct repo_line *pattern, struct buf *out,
                        size_t *ret_count);

#endif
