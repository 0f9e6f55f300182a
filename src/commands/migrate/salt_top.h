/*
 * salt_top - a top file of Salt in our own form: `match: TYPE` becomes a letter of the target.
 *
 *     'os:Debian': [{match: grain}, web]      'G@os:Debian': [web]
 *
 * A match without a letter, and a target that would then be several words, stay as they are: top
 * files of ours know `match`, too. What has no counterpart is a remark with its place.
 *
 * Pure. Memory: the arena. Threads: one.
 */
#ifndef COMMANDS_MIGRATE_SALT_TOP_H
#define COMMANDS_MIGRATE_SALT_TOP_H

#include "core/data/value.h"

struct arena;
struct diags;

/* `top` is a map of environments. */
struct value salt_top_convert(struct arena *arena, const struct value *top, struct diags *remarks);

#endif
