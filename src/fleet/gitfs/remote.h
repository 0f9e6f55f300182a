/*
 * remote - one repository of `gitfs.remotes`: where it is, what of it is used, what it is called.
 *
 *     gitfs:
 *       remotes:
 *         - https://git.example.org/web.git          the folder `web` of the tree of states
 *         - url: git@git.example.org:infra.git       in the short form of ssh, as git has it
 *           branch: production                       a branch, a tag or a whole commit id
 *           root: salt/states                        only this folder of it
 *           name: base
 *
 * Only ways are accepted that nobody between can change: https, ssh, and files of this machine. A
 * URL never runs a command (`ext::`), and never passes for an option.
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

/* What becomes of a branch that was rewritten (a forced push); in the order of the words. */
enum remote_force_push { REMOTE_FOLLOW, REMOTE_REFUSE };

struct remote {
    const char *url, *name;
    const char *branch;  /* NULL: the default branch of the repository */
    const char *root;    /* NULL: all of it */
    const char *ssh_key; /* NULL: whatever ssh finds */
    enum remote_force_push force_push;
};

struct remotes {
    VEC(struct remote) list;
};

/* Read the list of the configuration: texts and maps. `ssh_key` is for those without one of their
 * own; NULL or "": none. Mistakes are added, each at its place. NULL is an empty list. */
int remote_read_list(struct arena *arena, const struct value *list, const char *ssh_key,
                     struct remotes *ret, struct diags *diags);
/* A copy in another arena. */
struct remotes remote_copy_list(struct arena *arena, const struct remotes *remotes);

/* Why the URL cannot be used: ERR_INVALID. */
int remote_check_url(const char *url, struct err *err);
/* "web" of "https://git.example.org/team/web.git"; NULL: there is nothing to make one of. */
const char *remote_name_of(struct arena *arena, const char *url);
bool remote_is_name(const char *name);

/* The URL as it may be shown, without a password or token. */
const char *remote_show_url(struct arena *arena, const char *url);
/* The text without the password or token of the URL. */
const char *remote_mask(struct arena *arena, const char *url, struct str text);

#endif
