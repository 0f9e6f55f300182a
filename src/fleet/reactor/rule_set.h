/*
 * rule_set - maps events to reactions: top.zy and the files that it names.
 *
 *     reactor:
 *       - 'web-?/deploy/finished':              a pattern over <origin>/<tag>
 *           - reactor.deploy.notify              refs: deploy/notify.zy in the tree
 *       - '_master/enroll*':
 *           react: [reactor.enroll.approve]
 *           throttle: 30s
 *
 * Patterns are fnmatch patterns: '*' matches '/' too. Before the first slash, dots mean
 * underscores, as in peel ids on the wire. Every matching entry fires, in the order of the file.
 * Reaction files must exist, but are read only for an event.
 *
 * A set never changes. The code that processes an event holds a reference to the set it was matched
 * with, so a newer set cannot remove a rule's file.
 *
 * Pure. Memory: counted references; texts are copied. Threads: references are taken and dropped in
 * one; any number may read.
 */
#ifndef FLEET_REACTOR_RULE_SET_H
#define FLEET_REACTOR_RULE_SET_H

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/map.h"
#include "core/base/vec.h"
#include "fleet/reactor/rule_index.h"

#define RULE_SET_TOP       "top.zy"
#define RULE_SET_NAMESPACE "reactor" /* prefix of refs and of keys in the bucket */
#define RULE_SET_SUFFIX    ".zy"

#define RULE_SET_FILES_MAX 10000
#define RULE_SET_BYTES_MAX ((size_t)16 << 20) /* of all files */
#define RULE_SET_RULES_MAX 4096               /* (entry, ref) pairs */

/* No throttle given: use the configured one. */
#define RULE_THROTTLE_DEFAULT (-1)

struct rule_file {
    const char *path; /* in the tree: "deploy/notify.zy" */
    const char *name; /* its name in messages; NULL in input: the key in the bucket */
    struct str text;
};

/* A ref of an entry. */
struct rule {
    const char *ref;     /* "reactor.deploy.notify" */
    const char *pattern; /* as written */
    int64_t throttle;    /* nanoseconds, or RULE_THROTTLE_DEFAULT */
    const struct rule_file *file;
    struct place at;
};

struct rule_set_entry {
    struct str pattern; /* with underscores for dots */
    size_t first, count;
};

struct rule_set {
    struct arena arena;
    size_t users;
    struct map files;       /* path -> struct rule_file */
    VEC(struct rule) rules; /* in the order of the file */
    VEC(struct rule_set_entry) entries;
    struct rule_index index; /* of the entries */
};

struct rule_matches {
    VEC(const struct rule *) list;
};

/* NULL after mistakes; all are in `diags`. Without files it has no rules. `lints` gets dangerous
 * rules, and patterns that can never match. */
struct rule_set *rule_set_new(const struct rule_file *files, size_t count, struct diags *diags,
                              struct diags *lints);
struct rule_set *rule_set_hold(struct rule_set *set);
/* NULL is fine. */
void rule_set_drop(struct rule_set *set);

/* The rules that fire for <origin>/<tag>, in order. */
void rule_set_match(const struct rule_set *set, struct arena *arena, struct str key,
                    struct rule_matches *ret_matches);
/* A pattern for glob_match: dots in its origin become underscores. */
struct str rule_pattern(struct arena *arena, struct str pattern);
/* The key of the bucket: "reactor/deploy/notify.zy". */
const char *rule_file_name(struct arena *arena, const char *path);
/* The file of a path; NULL: none. */
const struct rule_file *rule_set_find(const struct rule_set *set, struct str path);

#endif
