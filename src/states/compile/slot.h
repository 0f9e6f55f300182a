/*
 * slot - arguments of Salt files that a function fills in when the state starts.
 *
 *     - source: __slot__:salt:cmd.run(ls -t /var/backups | head -1)
 *     - name: __slot__:salt:test.arg(shell=/bin/bash).kwargs.shell ~ .bak
 *
 * The name of a function, its arguments (each read as YAML, `key=value` by name), keys into its
 * answer, and a text to append. A slot is a whole text, anywhere in the arguments of a state.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_COMPILE_SLOT_H
#define STATES_COMPILE_SLOT_H

struct arena;
struct diags;
struct err;
struct state_host;
struct value;

/* The first slot in the value; NULL. */
const struct value *slot_find(const struct value *v);
/* Mistakes in slots that can be seen before anything runs. */
int slot_check(struct arena *arena, const struct value *v, struct diags *diags);
/* A copy of `v` with every slot filled. In a dry run functions that may change something are not
 * called: `ret_forecast` then describes the unknown value; else it stays as it is. */
int slot_fill(struct arena *arena, struct state_host *host, const struct value *v,
              struct value *ret, const char **ret_forecast, struct err *err);

#endif
