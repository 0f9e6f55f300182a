/*
 * secret_tag - the tag !secret of a YAML document: a value that must never be shown.
 *
 * Memory: the arena. Threads: one while the document changes.
 */
#ifndef CORE_DATA_SECRET_TAG_H
#define CORE_DATA_SECRET_TAG_H

#include <stdbool.h>

struct arena;
struct value;

#define SECRET_TAG "!secret"

/* For yaml_options: the only tag with a meaning. */
extern const char *const secret_tag_only[];

/* Mark each value that has the tag, and all below it, VALUE_SECRET; the tag itself is removed.
 * False: there is none. */
bool secret_tag_mark(struct arena *arena, struct value *doc);
/* Is the value marked, or one below it? */
bool secret_tag_has(const struct value *v);

#endif
