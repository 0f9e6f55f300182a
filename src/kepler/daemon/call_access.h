/*
 * call access - may this call have what it asks for? Decided here for all requests, before their
 * handler.
 *
 *     client_refusal (who is it) -> call_access_begin -> handler, which may ask call_access_may,
 * call_access_sees
 *
 * In this order: a token that demands more hardening than the config has is refused; then a caller
 * who cannot read the config file (root can; the owner need not, once it is gone); then rights are
 * missing (kepler/access/acl.h, kepler/control/request.h); then authorizers are asked
 * (kepler/daemon/authorization.h). What comes after them is judged again, since the config may have
 * changed meanwhile.
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

/* What somebody may do with a config. */
struct call_access_report {
    struct acl_verdict verdict;
    bool owned; /* else nobody has loaded it */
    uid_t owner;
    const char *obstacle; /* why nothing of it holds: who cannot read the file, ...; or NULL */
};

/* Calls `enter` when the call may go on; else refuses it, which ends it. */
void call_access_begin(struct call *call, void (*enter)(struct call *call));

/* Of this caller, who need not be that of the call. Whether they may use the daemon at all is
 * another question: kepler/daemon/caller.h. */
void call_access_report(struct call *call, const char *path, struct acl_caller *caller,
                        struct call_access_report *ret);

/* Once it may: has the caller this right, too? */
bool call_access_may(const struct call *call, enum right right);
/* In a list: may the caller see this config? */
bool call_access_sees(struct call *call, const char *path);
/* The config turned out to have another path, or was looked for again: does the same hold? */
bool call_access_allows(struct call *call, const char *path);
/* Does the config still belong to whom it did when that was decided? */
bool call_access_knows_owner(const struct call *call, uid_t owner);

#endif
