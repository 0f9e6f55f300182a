/*
 * join_token - creates join tokens, for `zester-master token` and other commands.
 */
#ifndef CLI_JOIN_TOKEN_H
#define CLI_JOIN_TOKEN_H

#include <stdint.h>

#include "enroll/token.h"

struct err;
struct fleet;

struct join_token_want {
    int64_t valid;     /* nanoseconds */
    const char *peels; /* a glob; "": any */
    int64_t timeout;   /* for each answer of the bus */
};

/* Create a token for the fleet, and store what masters need to verify it. ERR_NOT_FOUND: no
 * master has announced itself yet. */
int join_token_make(struct fleet *fleet, const struct join_token_want *want,
                    struct token *ret_token, struct err *err);

#endif
