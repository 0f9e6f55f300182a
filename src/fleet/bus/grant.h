/*
 * grant - who may publish and subscribe to what, as rows of a table.
 *
 * The server holds every client to the lists in its credentials, so this table is what a peel that
 * was taken over can do: write its own facts, heartbeat, basket, returns, acks, progress, events
 * and schedules; ask who a target means; read its own commands and secrets and the shared files.
 * Replies come to an inbox of its own. Rows of subjects name them by fleet/wire/subject.h, so that
 * the lists follow the subjects.
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

/* A leaf node is a server in front of peels: it passes on what any of them may do. Operators with a
 * name ask masters for everything (fleet/jobs/policy.h), also for what is stored: who may make
 * consumers, or ask for a message, chooses where the server publishes it. The deaf ones hear no
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

/* Many times what an agent or a command needs. */
#define GRANT_SUBSCRIPTIONS 1000

/* What inboxes of a client begin with; a peel has one of its own below it. */
#define GRANT_INBOX "_INBOX"

struct grants {
    struct param_strs allow[GRANT_VERBS];
    bool may_reply; /* once to each message that asks for it */
    /* Which ports of a server take these credentials, in the words of JWTs. On its port for leaf
     * nodes, nats-server before 2.14 does not check what a connection publishes, so that any
     * client could speak in the name of all others of its account there. */
    struct param_strs connections;
    /* Subscriptions of one connection at a time; 0: any number. Each costs the server memory. */
    int64_t subscriptions;
};

/* `name` is the id of a peel, or the name of an operator; ignored for others. Fails with
 * ERR_INVALID for a bad one. */
int grant_list(struct arena *arena, enum grant_role role, const char *name, struct grants *ret,
               struct err *err);
/* The same for any name, with '*' in its place, and without inboxes: what crosses from the account
 * of these users to the fleet's (fleet/bus/accounts.h). */
int grant_patterns(struct arena *arena, enum grant_role role, struct grants *ret, struct err *err);
/* Does the pattern `grant` match whatever `subject`, a subject or a pattern, matches? */
bool grant_covers(const char *grant, const char *subject);
/* "_INBOX.<peel>": the prefix of all inboxes of a peel. */
const char *grant_inbox(struct arena *arena, const char *peel);
/* "_INBOX._operator.<name>", the same of an operator: no peel can be called that. */
const char *grant_operator_inbox(struct arena *arena, const char *name);
/* Are these the subjects that an operator of this name may publish to? */
bool grant_is_operator(const struct param_strs *publish, const char *name);

/* May a client with these grants do that? For tests and `zester nats-auth lint`; the server
 * decides. */
bool grant_allows(const struct grants *grants, enum grant_verb verb, const char *subject);

#endif
