/*
 * salt_tag - tags of events of Salt as keys of ours: which events are meant.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef COMMANDS_MIGRATE_SALT_TAG_H
#define COMMANDS_MIGRATE_SALT_TAG_H

#include "core/base/str.h"

struct arena;

struct salt_tag {
    const char *key;    /* NULL: there is no such event here */
    const char *id;     /* what data['id'] of Salt is called in templates */
    const char *remark; /* what means something else, or why there is none; or NULL */
};

/* `tag` is a pattern, as reactor lists have it. */
struct salt_tag salt_tag_read(struct arena *arena, struct str tag);

/* The name here of a beacon of Salt; the same when there is none. */
const char *salt_tag_beacon(const char *name);

#endif
