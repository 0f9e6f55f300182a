/*
 * call access - decides whether a call is permitted, for all requests, before their handler.
 *
 *     client_refusal (who is it) -> call_access_begin -> handler, which may call call_access_may,
 * call_access_sees
 *
 * In this order, a call is refused: if its token requires more hardening than the config has; if
 * the caller cannot read the config file (root can; the owner need not, once it is deleted); if
 * rights are missing (kepler/access/acl.h, kepler/control/request.h); if an authorizer rejects
 * (kepler/daemon/authorizer_run.h). Afterwards all but the authorizers are checked again, since the
 * config may have changed meanwhile.
 *
 * Memory: the arena of the call. Threads: the loop's.
 */
#ifndef KEPLER_DAEMON_CALL_ACCESS_H
#define KEPLER_DAEMON_CALL_ACCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "kepler/access/acl.h"
#include "kepler/access/right.h"

struct call;

/* A user's rights on a config. */
struct call_access_report {
    struct acl_verdict verdict;
    bool owned; /* false: never loaded */
    uid_t owner;
    const char *obstacle; /* why none apply: the file is not readable, ...; or NULL */
};

/* Calls `enter` when the call is permitted; else refuses it, which ends it. */
void call_access_begin(struct call *call, void (*enter)(struct call *call));

/* For this caller, who may differ from the call's. Does not check membership in the daemon's group:
 * kepler/daemon/caller.h. */
void call_access_report(struct call *call, const char *path, struct acl_caller *caller,
                        struct call_access_report *ret);

/* For a permitted call: does the caller have this right, too? */
bool call_access_may(const struct call *call, enum right right);
/* For lists: may the caller see this config? */
bool call_access_sees(struct call *call, const char *path);
/* The config resolved to another path, or was looked up again: does the decision still apply? */
bool call_access_allows(struct call *call, const char *path);
/* Is the owner still the same as at the decision? */
bool call_access_knows_owner(const struct call *call, uid_t owner);

#endif
