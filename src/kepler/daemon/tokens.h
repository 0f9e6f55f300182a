/*
 * tokens - the permissions of services towards the daemon, and the secrets that prove them.
 *
 * A service with `permissions` is lent a token when the first process of a run starts (a hook
 * before the start, or the process itself); it is revoked when the run and its last hook are over.
 * Only the processes of the service have it, in their environment: it is never logged, shown or
 * stored.
 *
 * Memory: the heap; zeroed when a token ends. Threads: the loop's.
 */
#ifndef KEPLER_DAEMON_TOKENS_H
#define KEPLER_DAEMON_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "kepler/access/hardening.h"
#include "kepler/control/token.h"

struct project;
struct value;

struct service_token {
    uint8_t secret[TOKEN_BYTES];
    char text[TOKEN_TEXT_SIZE];
    const struct project *project;
    uint32_t service;
    const char *name; /* the service's */
    uint64_t rights;
    enum hardening floor;
    const struct value *authorize, *lua; /* the config's; or NULL */
    struct service_token *next;
};

struct tokens {
    struct service_token *first;
};

/* The token for the environment of a process; NULL: the service has no permissions. Unchanged until
 * it is revoked. */
const char *tokens_lend(struct tokens *tokens, const struct project *project, uint32_t service);
void tokens_revoke(struct tokens *tokens, const struct project *project, uint32_t service);
/* The services of a project have new numbers (engine_change). */
void tokens_renumber(struct tokens *tokens, const struct project *project, const uint32_t *numbers);
/* Revokes all tokens of a project. */
void tokens_forget(struct tokens *tokens, const struct project *project);

/* Finds a valid token; NULL: unknown or revoked. Takes the same time in both cases. */
const struct service_token *tokens_find(const struct tokens *tokens, const char *text);

#endif
