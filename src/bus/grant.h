/*
 * grant - who may publish and subscribe to what, as rows of a table.
 *
 * The server holds every client to the lists in its credentials, so this table is what a peel that
 * was taken over can do: write its own facts, heartbeat, basket, returns, acks, progress, events
 * and schedules; ask who a target means; read its own commands and secrets and the shared files.
 * Replies come to an inbox of its own. Rows of subjects name them by wire/subject.h, so that the
 * lists follow the subjects.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef BUS_GRANT_H
#define BUS_GRANT_H

#include <stdbool.h>

#include "data/params.h"

struct arena;
struct err;

/* A leaf node is a server in front of peels: it passes on what any of them may do. */
enum grant_role { GRANT_PEEL, GRANT_MASTER, GRANT_ADMIN, GRANT_SYSTEM, GRANT_LEAF };
#define GRANT_ROLES (GRANT_LEAF + 1)

enum grant_verb { GRANT_PUBLISH, GRANT_SUBSCRIBE };
#define GRANT_VERBS (GRANT_SUBSCRIBE + 1)

/* What inboxes of a client begin with; a peel has one of its own below it. */
#define GRANT_INBOX "_INBOX"

struct grants {
    struct param_strs allow[GRANT_VERBS];
    bool may_reply; /* once to each message that asks for it */
};

/* `peel` is the id of GRANT_PEEL, ignored for others. Fails with ERR_INVALID for a bad id. */
int grant_list(struct arena *arena, enum grant_role role, const char *peel, struct grants *ret,
               struct err *err);
/* "_INBOX.<peel>": the prefix of all inboxes of a peel. */
const char *grant_inbox(struct arena *arena, const char *peel);

/* May a client with these grants do that? For tests and `zester nats-auth lint`; the server
 * decides. */
bool grant_allows(const struct grants *grants, enum grant_verb verb, const char *subject);

#endif
