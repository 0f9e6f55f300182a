/*
 * remote - a repository in `gitfs.remotes`: its URL, its used part, its name.
 *
 *     gitfs:
 *       remotes:
 *         - https://git.example.org/web.git          the folder `web` of the tree of states
 *         - url: git@git.example.org:infra.git       in the short ssh form of git
 *           branch: production                       a branch, a tag or a whole commit id
 *           root: salt/states                        only this folder of it
 *           name: base
 *
 * Only protected transports are accepted: https, ssh, and local files. A URL never runs a command
 * (`ext::`), and never passes for an option.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_GITFS_REMOTE_H
#define FLEET_GITFS_REMOTE_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct diags;
struct err;
struct value;

#define REMOTE_NAME_MAX 128
#define REMOTE_URL_MAX  2048
#define REMOTE_MAX      100 /* remotes of a master */

/* Policy for a rewritten branch (a forced push); in the order of the words. */
enum remote_force_push { REMOTE_FOLLOW, REMOTE_REFUSE };

struct remote {
    const char *url, *name;
    const char *branch;  /* NULL: the default branch of the repository */
    const char *root;    /* NULL: all of it */
    const char *ssh_key; /* NULL: ssh's default */
    enum remote_force_push force_push;
};

struct remotes {
    VEC(struct remote) list;
};

/* Reads the list in the configuration: texts and maps. `ssh_key` is the default key; NULL or "":
 * none. Adds mistakes with their places. NULL is an empty list. */
int remote_read_list(struct arena *arena, const struct value *list, const char *ssh_key,
                     struct remotes *ret, struct diags *diags);
/* A copy in another arena. */
struct remotes remote_copy_list(struct arena *arena, const struct remotes *remotes);

/* Fails with ERR_INVALID and the reason for an unusable URL. */
int remote_check_url(const char *url, struct err *err);
/* "web" of "https://git.example.org/team/web.git"; NULL: no name in the URL. */
const char *remote_name_of(struct arena *arena, const char *url);
bool remote_is_name(const char *name);

/* The URL for display, without a password or token. */
const char *remote_show_url(struct arena *arena, const char *url);
/* The text without the password or token of the URL. */
const char *remote_mask(struct arena *arena, const char *url, struct str text);

#endif
