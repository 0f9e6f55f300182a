/*
 * salt_reaction - one file of reactions of Salt as one of ours.
 *
 * Pure. Memory: the arena of the template. Threads: one.
 */
#ifndef COMMANDS_MIGRATE_SALT_REACTION_H
#define COMMANDS_MIGRATE_SALT_REACTION_H

#include "core/base/str.h"

struct buf;
struct salt_template;

/* `tmpl` has all but its expressions and pieces. */
void salt_reaction_convert(struct salt_template *tmpl, struct str text, struct buf *out);

#endif
