/*
 * join - a machine joins a fleet with a token: its configuration, then its enrollment.
 *
 *     peel_join_configure -> peel_join_enroll
 *
 * Existing files stay: a configuration is never overwritten, and credentials are requested once.
 * Memory: the arena. Threads: one; both block.
 */
#ifndef FLEET_PEEL_JOIN_H
#define FLEET_PEEL_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/enroll/token.h"

struct arena;
struct err;

/* Where a machine that joins serves health. Other programs often have port 9090, the default
 * without a configuration. */
#define PEEL_JOIN_HEALTH_ADDR "127.0.0.1:9092"

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
/* Removes the configuration that peel_join_configure wrote. */
int peel_join_unconfigure(const struct peel_join *join, struct err *err);
/* Fails with ERR_TIMEOUT without an approval in time; another call continues. `ret_id` is the
 * peel's. */
int peel_join_enroll(struct arena *arena, const struct peel_join *join, bool *ret_changed,
                     const char **ret_id, struct err *err);

#endif
