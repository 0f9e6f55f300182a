/*
 * repo_stanza - the same sources as repo_line, as paragraphs of a `.sources` file.
 *
 *     Types: deb
 *     URIs: https://example.org/debian
 *     Suites: bookworm
 *     Components: main
 *     Signed-By: /etc/apt/keyrings/x.gpg
 *
 * A paragraph is that of a source when it names this type, address and suite and no
 * other; one that names more is left alone. Editing keeps every other paragraph,
 * comments, and fields that are no options of a source. Nothing with a control
 * character is ever written.
 *
 * Memory: none of its own. Threads: any.
 */
#ifndef PROVIDER_PACKAGE_REPO_STANZA_H
#define PROVIDER_PACKAGE_REPO_STANZA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct buf;
struct err;
struct repo_line;

/* Is a file of this name one of paragraphs? */
bool repo_stanza_is_file(const char *path);

/* As repo_line_set and repo_line_remove. */
int repo_stanza_set(struct str text, const struct repo_line *line, const char *comment,
                    struct buf *out, struct err *err);
void repo_stanza_remove(struct str text, const struct repo_line *pattern, struct buf *out,
                        size_t *ret_count);

#endif
