/*
 * join_token - the join tokens of a fleet, for `zester-master token` and `setup`.
 *
 *     join_token_make      creates one, with the record that masters verify it by
 *     join_token_command   prints the command for the machine that joins
 *     join_token_list      lists stored ones
 *     join_token_revoke    makes masters refuse it
 */
#ifndef COMMANDS_CLI_FLEET_ENROLL_JOIN_TOKEN_H
#define COMMANDS_CLI_FLEET_ENROLL_JOIN_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "fleet/enroll/token.h"

struct arena;
struct err;
struct fleet;
struct fleet_target;

struct join_token_want {
    int64_t valid;     /* nanoseconds */
    const char *peels; /* a glob; "": any */
};

/* Create a token for the fleet, store what masters need to verify it, and forget those that have
 * expired. ERR_NOT_FOUND: no master has announced itself yet. */
int join_token_make(struct fleet *fleet, const struct join_token_want *want,
                    struct token *ret_token, struct err *err);

struct join_token_list {
    struct arena *arena;
    VEC(struct token_record) tokens; /* the oldest first */
};
int join_token_list(struct fleet *fleet, struct join_token_list *ret_list, struct err *err);
bool join_token_is_expired(const struct token_record *record);

/* The line that makes a machine a peel of this fleet: "zester-peel join HOST TOKEN", with the ports
 * of the master of this machine when they are not the usual ones. */
const char *join_token_command(struct arena *arena, const struct fleet_target *target,
                               const char *host, const struct token *token);

/* Fails with ERR_NOT_FOUND when there is no such token. */
int join_token_revoke(struct fleet *fleet, const char *id, struct err *err);

#endif
