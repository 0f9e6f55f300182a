/*
 * join - a machine joins a fleet with a token: its configuration, then its enrollment.
 *
 *     peel_join_configure -> peel_join_enroll
 *
 * What is there already stays: a configuration is never overwritten, and credentials are asked for
 * once. Memory: the arena. Threads: one; both block.
 */
#ifndef FLEET_PEEL_JOIN_H
#define FLEET_PEEL_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/enroll/token.h"

struct arena;
struct err;

struct peel_join {
    const char *host; /* of the master */
    int64_t enroll_port, nats_port;
    const struct token *token;
    const char *text;   /* of the token */
    const char *config; /* the file to write */
    /* Keys of that file; NULL: their defaults. */
    const char *id, *auth_dir, *data_dir, *health_addr;
    int64_t wait; /* nanoseconds until it is approved */
};

int peel_join_configure(struct arena *arena, const struct peel_join *join, bool *ret_changed,
                        struct err *err);
/* Take a configuration back that peel_join_configure has written. */
int peel_join_unconfigure(const struct peel_join *join, struct err *err);
/* Fails with ERR_TIMEOUT when nobody has approved it in time: it goes on from there when it is
 * called again. `ret_id` is the peel's. */
int peel_join_enroll(struct arena *arena, const struct peel_join *join, bool *ret_changed,
                     const char **ret_id, struct err *err);

#endif
