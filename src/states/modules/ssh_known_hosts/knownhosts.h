/*
 * knownhosts - the files in which ssh keeps host keys.
 *
 *     names type blob
 *
 * `names` are comma-separated names, patterns, or one hashed name ("|1|..."), which only ssh-keygen
 * can find. A line with several names stays for the others when one is removed; patterns and
 * certificate lines are never changed.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_SSH_KNOWN_HOSTS_KNOWNHOSTS_H
#define STATES_MODULES_SSH_KNOWN_HOSTS_KNOWNHOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

struct buf;
struct change_attr;
struct diags;
struct editor_file;
struct err;
struct line;
struct state_run;
struct value;

int knownhosts_validate(const char *user, const char *config, const struct value *where,
                        struct diags *diags);

/* The file of a user, or the system file without one, with the attributes of a new file. NULL:
 * unknown user. */
int knownhosts_file(struct state_run *run, const char *user, const char *config,
                    const char **ret_path, struct change_attr *ret_attr, struct err *err);

/* The host as written in the file: "[host]:port", unless the port is the default. */
const char *knownhosts_host(struct state_run *run, const char *name, int64_t port);

/* The lines about a host. */
int knownhosts_find(struct state_run *run, const char *host, const struct editor_file *file,
                    struct str *ret_found, struct err *err);
/* Is this line one of those found? */
bool knownhosts_is_of(struct str found, struct str line);
/* Append what is left of a found line without the host. */
void knownhosts_add_others(const struct line *line, struct str host, struct buf *out);

#endif
