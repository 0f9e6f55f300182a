/*
 * fleet_secrets - secret arguments on a command line, which names them and never holds them.
 *
 *     --secret NAME            asked for on the terminal, else the next line of standard input
 *     --secret NAME=@FILE      the content of a file, without its last line end
 *     --secret NAME=env:VAR    a variable of the environment
 *
 * NAME may be a path: "env.PGPASSWORD" is a key of the argument "env".
 *
 * Memory: the arena. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_SECRETS_H
#define COMMANDS_CLI_FLEET_SECRETS_H

#include "core/data/params.h"

struct arena;
struct err;
struct fleet;
struct job;
struct value;

/* clang-format off */
#define FLEET_SECRET_OPTIONS(type, field) \
    PARAM("secret", STRS, type, field, "a secret argument: typed in, or a line of standard input; NAME=@FILE, NAME=env:VARIABLE; may be repeated", .kind_text = "NAME")
/* clang-format on */

/* A map of names to texts; null: there are none. */
int fleet_secrets_read(struct arena *arena, const struct param_strs *wanted, struct value *ret,
                       struct err *err);
/* Add them to the job, sealed for masters. The job has its function and arguments already. */
int fleet_secrets_seal(struct fleet *fleet, const struct value *secrets, struct job *job,
                       struct err *err);

#endif
