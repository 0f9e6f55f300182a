/*
 * guard - git in somebody's working copy, without doing what its configuration says.
 *
 * The configuration of a working copy names programs: hooks, filters, a file system monitor,
 * helpers for passwords, ssh. Who owns the copy writes it. So git runs with the rights of the
 * owner, and programs that only the copy names are not run. What the machine and the user who runs
 * git have configured (system and global files) stays in force.
 *
 *     guard_choose_user -> guard_start -> guard_set... -> guard_env -> tool_try
 *
 * Memory: the arena of the tool. Threads: any.
 */
#ifndef MODULES_GIT_GUARD_H
#define MODULES_GIT_GUARD_H

#include <stdbool.h>

#include "provider/tool.h"

struct account;
struct err;

/* Who git runs as, and whether git may take the copy as its own. */
struct guard_user {
    const struct account *account; /* NULL: who we are */
    bool trusted;                  /* the copy is root's, and git runs as somebody else */
};

/* In the folder `path`: `name`, or with NULL its owner. Fails when they are not the same, since the
 * owner decides what git does there. A NULL path is no folder. */
int guard_choose_user(const struct tool *tool, const char *name, const char *path,
                      struct guard_user *ret_user, struct err *err);
/* The same for a copy that is about to be made: the folder need not be there, and who can move one
 * of the folders above it counts as its owner. */
int guard_choose_maker(const struct tool *tool, const char *name, const char *path,
                       struct guard_user *ret_user, struct err *err);

/* Environment for git: settings that win over those of files. */
struct guard_env {
    const struct tool *tool;
    struct tool_words words;
    size_t settings;
};
/* Begin with what turns programs off; with a path, also those that the copy there and its
 * submodules name. Fails with ERR_INVALID when one of them cannot be turned off. */
int guard_start(const struct tool *tool, const struct guard_user *user, const char *path,
                struct guard_env *ret_env, struct err *err);
void guard_set(struct guard_env *env, struct str key, struct str value);
/* The whole of it, ends in NULL. */
const char *const *guard_env(struct guard_env *env);

#endif
