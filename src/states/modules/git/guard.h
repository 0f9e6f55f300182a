/*
 * guard - git in another user's working copy, without running what its configuration names.
 *
 * The configuration of a working copy names programs: hooks, filters, a file system monitor,
 * credential helpers, ssh. The owner of the copy controls them. So git runs with the rights of the
 * owner, and programs that only the copy names are not run. The configuration of the machine and of
 * the user that runs git (system and global files) stays in force.
 *
 *     guard_choose_user -> guard_start -> guard_set... -> guard_env -> tool_try
 *
 * Memory: the arena of the tool. Threads: any.
 */
#ifndef STATES_MODULES_GIT_GUARD_H
#define STATES_MODULES_GIT_GUARD_H

#include <stdbool.h>

#include "states/provider/tool.h"

struct account;
struct err;

/* The user that git runs as, and whether the copy counts as safe. */
struct guard_user {
    const struct account *account; /* NULL: the current user */
    bool trusted;                  /* the copy is owned by root, and git runs as another user */
};

/* In the folder `path`: `name`, or with NULL its owner. Fails when they differ, since the owner
 * controls what git does there. A NULL path means no folder. */
int guard_choose_user(const struct tool *tool, const char *name, const char *path,
                      struct guard_user *ret_user, struct err *err);
/* The same for a new copy: the folder need not exist, and a user who can rename one of its
 * parents counts as its owner. */
int guard_choose_maker(const struct tool *tool, const char *name, const char *path,
                       struct guard_user *ret_user, struct err *err);

/* Environment for git: settings that override those in files. */
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
/* The complete environment; ends in NULL. */
const char *const *guard_env(struct guard_env *env);

#endif
