/*
 * grant - who may publish and subscribe to what, as rows of a table.
 *
 * The server holds every client to the lists in its credentials, so this table is the limit of a
 * compromised peel: write its own facts, heartbeat, basket, returns, acks, progress, events and
 * schedules; resolve targets; read its own commands and secrets and the shared files. Replies come
 * to its own inbox. Rows name subjects by fleet/wire/subject.h, so the lists follow the subjects.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_BUS_GRANT_H
#define FLEET_BUS_GRANT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/params.h"

struct arena;
struct err;

/* A leaf node is a server in front of peels, with the permissions of all of them. Named operators
 * ask masters for everything (fleet/jobs/policy.h), even for stored data: a client that may create
 * consumers or fetch messages chooses where the server publishes them. Deaf operators receive no
 * returns and no events. */
enum grant_role {
    GRANT_PEEL,
    GRANT_MASTER,
    GRANT_ADMIN,
    GRANT_SYSTEM,
    GRANT_LEAF,
    GRANT_OPERATOR,
    GRANT_OPERATOR_DEAF,
};
#define GRANT_ROLES (GRANT_OPERATOR_DEAF + 1)

enum grant_verb { GRANT_PUBLISH, GRANT_SUBSCRIBE };
#define GRANT_VERBS (GRANT_SUBSCRIBE + 1)

/* Far more than an agent or a command needs. */
#define GRANT_SUBSCRIPTIONS 1000

/* Prefix of a client's inboxes; each peel has its own below it. */
#define GRANT_INBOX "_INBOX"

struct grants {
    struct param_strs allow[GRANT_VERBS];
    bool may_reply; /* one reply to each message that requests it */
    /* Kinds of connection for these credentials, in the terms of JWTs. On the leaf node port,
     * nats-server before 2.14 does not check what a connection publishes, so any client could
     * impersonate all others of its account. */
    struct param_strs connections;
    /* Subscriptions per connection, since each costs the server memory; 0: any number. */
    int64_t subscriptions;
};

/* `name` is a peel id or an operator name; ignored for other roles. Fails with ERR_INVALID for a
 * bad name. */
int grant_list(struct arena *arena, enum grant_role role, const char *name, struct grants *ret,
               struct err *err);
/* The same with '*' for the name and without inboxes: the subjects that cross from these users'
 * account to the fleet's (fleet/bus/accounts.h). */
int grant_patterns(struct arena *arena, enum grant_role role, struct grants *ret, struct err *err);
/* Does the pattern `grant` cover everything that `subject`, a subject or a pattern, matches? */
bool grant_covers(const char *grant, const char *subject);
/* "_INBOX.<peel>": the prefix of all inboxes of a peel. */
const char *grant_inbox(struct arena *arena, const char *peel);
/* "_INBOX._operator.<name>", the same for an operator; not a valid peel id. */
const char *grant_operator_inbox(struct arena *arena, const char *name);
/* Are these the publish subjects of the operator with this name? */
bool grant_is_operator(const struct param_strs *publish, const char *name);

/* May a client with these grants do that? For tests and `zester nats-auth lint`; the server
 * enforces it. */
bool grant_allows(const struct grants *grants, enum grant_verb verb, const char *subject);

#endif
