/*
 * secret_args - job arguments that only its peels may see.
 *
 * Operators read job records, which stay on the servers' disks for days. A secret argument is
 * stored in a box for the key that all masters share; a master opens it when it sends the request
 * to a peel. Each box has a one-time sender key and is bound to one call: function, other arguments
 * and argument name, so it cannot be moved into a call that shows it.
 *
 *     { "env.PGPASSWORD": "ENC[xkey,XC4...,eGt2MQ...]" }
 *
 * A dry run and the run after it are the same call.
 *
 * Memory: the arena; secret_args_wipe wipes opened values. Threads: any.
 */
#ifndef FLEET_BUS_SECRET_ARGS_H
#define FLEET_BUS_SECRET_ARGS_H

#include "core/base/str.h"

struct arena;
struct err;
struct job;
struct nats_nkey;
struct nats_xkey;
struct value;

/* Per job; and bytes per value. */
#define SECRET_ARGS_MAX       32
#define SECRET_ARGS_VALUE_MAX ((size_t)64 << 10)

/* `plain` is a map of paths to texts. The job's function and other arguments must be set. Fails
 * with ERR_LIMIT. */
int secret_args_seal(struct arena *arena, const struct nats_xkey *masters, const struct job *job,
                     const struct value *plain, struct value *ret_sealed, struct err *err);
/* Opens the boxes; null: none. `account` has its seed. Fails with ERR_INVALID for a box that is
 * damaged, or sealed for another key or call. */
int secret_args_open(struct arena *arena, const struct nats_nkey *account, const struct job *job,
                     struct value *ret_plain, struct err *err);
/* Wipes the texts of such a map. */
void secret_args_wipe(struct value *plain);

#endif
