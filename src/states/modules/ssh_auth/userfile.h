/*
 * userfile - a file below the home of a user that root writes: authorized_keys, known_hosts.
 *
 * Anything in a home may be a link planted by its user. The walk of core/sys/site.h never follows
 * one to a file of another owner: a user's key never ends up in root's file.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_SSH_AUTH_USERFILE_H
#define STATES_MODULES_SSH_AUTH_USERFILE_H

#include <sys/types.h>

struct err;
struct state_run;

struct userfile {
    const char *path; /* NULL: there is no such user */
    uid_t uid;        /* the owner of new files and folders */
    gid_t gid;
};

/* `config` is a path, absolute or below the home; %h is the home, %u the user. */
int userfile_find(struct state_run *run, const char *user, const char *config,
                  struct userfile *ret_file, struct err *err);

#endif
