/*
 * userfile - a file below the home of a user that root writes: authorized_keys, known_hosts.
 *
 * Whatever is in a home may be a link that its user has laid. The walk of sys/site.h follows
 * none of them to what belongs to somebody else: a key of a user never lands among those of root.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef MODULES_SSH_AUTH_USERFILE_H
#define MODULES_SSH_AUTH_USERFILE_H

#include <sys/types.h>

struct err;
struct state_run;

struct userfile {
    const char *path; /* NULL: there is no such user */
    uid_t uid;        /* whom new files and folders belong to */
    gid_t gid;
};

/* `config` is a path, or one below the home; %h is the home, %u the user. */
int userfile_find(struct state_run *run, const char *user, const char *config,
                  struct userfile *ret_file, struct err *err);

#endif
