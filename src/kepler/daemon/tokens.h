/*
 * tokens - what the processes of services may ask of the daemon, and the secrets that prove it.
 *
 * A service with `permissions` is lent a token when the first process of a run is started (a hook
 * before the start, or the process itself), and it is revoked when the run and its last hook are
 * over. All of its processes have it in their environment, and nobody else: it is never logged,
 * shown or stored.
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
    const char *name; /* of the service */
    uint64_t rights;
    enum hardening floor;
    const struct value *authorize, *lua; /* of its config; or NULL */
    struct service_token *next;
};

struct tokens {
    struct service_token *first;
};

/* The text for the environment of a process; NULL: the service has no permissions. The same until
 * it is revoked. */
const char *tokens_lend(struct tokens *tokens, const struct project *project, uint32_t service);
void tokens_revoke(struct tokens *tokens, const struct project *project, uint32_t service);
/* All of a project. */
void tokens_forget(struct tokens *tokens, const struct project *project);

/* NULL: nobody has been lent this, or no longer. Takes the same time whichever it is. */
const struct service_token *tokens_find(const struct tokens *tokens, const char *text);

#endif
