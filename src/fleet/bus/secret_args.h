/*
 * secret_args - arguments of a job that nobody but its peels may see.
 *
 * The record of a job is read by operators and stays on the disks of servers for days. An argument
 * that is secret stands there in a box for the key that all masters share; a master opens it when
 * it sends the request to a peel. Each box has a sender of its own, whose seed is thrown away, and
 * belongs to one call: function, other arguments and name of the argument, so that it cannot be
 * moved into a call that shows it.
 *
 *     { "env.PGPASSWORD": "ENC[xkey,XC4...,eGt2MQ...]" }
 *
 * A dry run and the run after it are the same call.
 *
 * Memory: the arena; what is opened is wiped by secret_args_wipe. Threads: any.
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

/* Of one job; and bytes of one value. */
#define SECRET_ARGS_MAX       32
#define SECRET_ARGS_VALUE_MAX ((size_t)64 << 10)

/* `plain` is a map of paths to texts, which belong to this job: its function and other arguments
 * are known. Fails with ERR_LIMIT. */
int secret_args_seal(struct arena *arena, const struct nats_xkey *masters, const struct job *job,
                     const struct value *plain, struct value *ret_sealed, struct err *err);
/* Back again; null when it has none. `account` has its seed. Fails with ERR_INVALID for what was
 * sealed for another key or another call, or has been changed. */
int secret_args_open(struct arena *arena, const struct nats_nkey *account, const struct job *job,
                     struct value *ret_plain, struct err *err);
/* The texts of such a map. */
void secret_args_wipe(struct value *plain);

#endif
