/*
 * salt_reactor - the reactor of Salt as a reactor of ours: the list `reactor` of a master's
 * configuration, and the files of reactions that it names.
 *
 * Tags of Salt become keys with an origin: salt/beacon/ID/NAME/... is ID/beacon/ID/NAME, salt/auth
 * is _master/enroll/pending/ID, salt/job/JID/new and /ret are _master/job/JID/dispatched and
 * /finalized, and everything else is raised may be set by the owner. Blocks local.*, cmd.*,
 * runner.event.send and wheel.key.* have a counterpart; the rest is left out. What is left out, and
 * what means something else here, is a remark with its place.
 *
 * Pure: files come through `fetch`. Memory: the arena. Threads: one.
 */
#ifndef COMMANDS_MIGRATE_SALT_REACTOR_H
#define COMMANDS_MIGRATE_SALT_REACTOR_H

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/value.h"

struct arena;
struct diags;

/* A file of the new tree. */
struct salt_reactor_file {
    const char *path; /* "top.zy", "start.zy" */
    struct str text;
};

struct salt_reactor_source {
    const char *name; /* for messages */
    struct str text;
};
struct salt_reactor_sources {
    VEC(struct salt_reactor_source) list;
};

/* A file that was converted, for one meaning of its data. */
struct salt_reactor_done {
    const char *name, *id, *ref;
};

struct salt_reactor {
    struct arena *arena;
    /* The files that a reference means: a path, salt://..., or a pattern of paths. None: it adds a
     * remark at `at`. */
    void (*fetch)(void *self, const struct value *at, const char *ref,
                  struct salt_reactor_sources *ret);
    void *self;
    struct diags *remarks;
    VEC(struct salt_reactor_file) files;
    VEC(struct salt_reactor_done) done; /* of ours */
};

/* The list as it was read; adds to `files`, top.zy last. */
void salt_reactor_convert(struct salt_reactor *reactor, const struct value *list);

#endif
