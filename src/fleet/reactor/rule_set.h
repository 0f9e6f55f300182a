/*
 * rule_set - which reactions belong to which events: top.zy and the files that it names.
 *
 *     reactor:
 *       - 'web-?/deploy/finished':              a pattern over <origin>/<tag>
 *           - reactor.deploy.notify              refs: deploy/notify.zy of the tree
 *       - '_master/enroll*':
 *           react: [reactor.enroll.approve]
 *           throttle: 30s
 *
 * Patterns are those of fnmatch: '*' matches '/' too. In the part before the first slash dots mean
 * underscores, as ids of peels have them on the wire. Every entry that matches counts, in the order
 * of the file. What reaction files say is found out when an event comes; that each of them exists,
 * here.
 *
 * A set never changes. Who works on an event holds a reference to the set that it was matched with,
 * so that a newer one cannot take a file from under its rule.
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
#define RULE_SET_NAMESPACE "reactor" /* what refs and keys of the bucket begin with */
#define RULE_SET_SUFFIX    ".zy"

#define RULE_SET_FILES_MAX 10000
#define RULE_SET_BYTES_MAX ((size_t)16 << 20) /* of all files */
#define RULE_SET_RULES_MAX 4096               /* (entry, ref) pairs */

/* No throttle was given: the one of the configuration. */
#define RULE_THROTTLE_DEFAULT (-1)

struct rule_file {
    const char *path; /* in the tree: "deploy/notify.zy" */
    const char *name; /* what messages call it; NULL in what is given: the key of the bucket */
    struct str text;
};

/* A ref of an entry. */
struct rule {
    const char *ref;     /* "reactor.deploy.notify" */
    const char *pattern; /* as it is written */
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

/* NULL when there is a mistake; all are in `diags`. A set without files is one without rules.
 * `lints` gets what is allowed and dangerous, or can never match. */
struct rule_set *rule_set_new(const struct rule_file *files, size_t count, struct diags *diags,
                              struct diags *lints);
struct rule_set *rule_set_hold(struct rule_set *set);
/* NULL is fine. */
void rule_set_drop(struct rule_set *set);

/* The rules that fire for <origin>/<tag>, in order. */
void rule_set_match(const struct rule_set *set, struct arena *arena, struct str key,
                    struct rule_matches *ret_matches);
/* A pattern as keys are matched with it by glob_match: underscores for dots in its origin. */
struct str rule_pattern(struct arena *arena, struct str pattern);
/* The key of the bucket: "reactor/deploy/notify.zy". */
const char *rule_file_name(struct arena *arena, const char *path);
/* The file of a path; NULL when there is none. */
const struct rule_file *rule_set_find(const struct rule_set *set, struct str path);

#endif
