/*
 * prospect - what it would take to give a file its wanted content, owner and mode, in the words of
 * Salt's functions: a map with 'newfile', or with 'diff', 'user', 'group' and 'mode' where they
 * differ.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_FILE_PROSPECT_H
#define STATES_MODULES_FILE_PROSPECT_H

#include <stdbool.h>

#include "states/modules/file/content.h"

struct err;
struct state_run;
struct value;

struct prospect_args {
    const char *name, *saltenv;
    const char *ready; /* a file that has the content; NULL: `content` says what it is */
    struct content_args content;
    const struct value *mode, *chattr;
    const char *user, *group;
    bool follow, keep_mode;
};

/* The rows of a table that all of these functions have in common. */
/* clang-format off */
#define PROSPECT_SOURCE(args)                                                                       \
    PARAM("name", PATH, args, name, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY),           \
    PARAM("source", ANY, args, content.source, "source of the content"),                            \
    PARAM("source_hash", STR, args, content.trust.hash, "hash of the source"),                      \
    PARAM("source_hash_name", STR, args, content.trust.name, "name in a file of checksums")
#define PROSPECT_TEMPLATE(args)                                                                     \
    PARAM("template", ANY, args, content.template, "render the content: 'jinja'"),                  \
    PARAM("context", MAP, args, content.context, "variables for the template"),                     \
    PARAM("defaults", MAP, args, content.defaults, "variables that 'context' does not set")
#define PROSPECT_CONTENTS(args)                                                                     \
    PARAM("contents", TEXT, args, content.content, "the content itself", PARAM_GIVEN(args, content.has_content)), \
    PARAM("skip_verify", BOOL, args, content.trust.skip_verify, "accept a download without a hash")
#define PROSPECT_OWNER(args)                                                                        \
    PARAM("user", STR, args, user, "owner: a name or number"),                                      \
    PARAM("group", STR, args, group, "group: a name or number"),                                    \
    PARAM("mode", ANY, args, mode, "permissions"),                                                  \
    PARAM("attrs", ANY, args, chattr, "attributes of chattr(1) are not managed: none")
#define PROSPECT_SELINUX                                          \
    PARAM_REFUSED("seuser", "SELinux contexts are not managed"),  \
    PARAM_REFUSED("serole", "SELinux contexts are not managed"),  \
    PARAM_REFUSED("setype", "SELinux contexts are not managed"),  \
    PARAM_REFUSED("serange", "SELinux contexts are not managed")
#define PROSPECT_ENVIRONMENT(args)                                                                  \
    PARAM("saltenv", STR, args, saltenv, "ignored: there is one tree", .default_text = "base")
#define PROSPECT_CERTIFICATES \
    PARAM_REFUSED("verify_ssl", "certificates are always verified", .default_text = "true")
/* clang-format on */

/* The changes; an empty map if there are none. */
int prospect_find(struct state_run *run, const struct prospect_args *want, struct value *ret,
                  struct err *err);
/* The unified diff of two texts with Salt's words for binary ones; empty: they are the same. */
struct str prospect_diff(struct state_run *run, struct str old, struct str now,
                         const char *old_name, const char *new_name);

#endif
