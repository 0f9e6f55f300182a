/*
 * wish - what functions of states are asked for: references, and options as key=value.
 *
 * Shared by `zester --local` and the agent. Memory: the arena of the session. Threads: any.
 */
#ifndef STATES_LOCAL_WISH_H
#define STATES_LOCAL_WISH_H

#include <stdbool.h>

#include "states/compile/compile.h"
#include "core/data/params.h"

struct arena;
struct diags;
struct plan;
struct session;
struct value;

/* `test=True` is a way to ask for a dry run: removed from `given`, and `test` is set when it says
 * so. An unclear value is refused: reading it wrongly would change the machine. */
int wish_take_test(struct value *given, bool *test, struct diags *diags);

/* The words of a function are references, and pairs are options; settings among them go before
 * those of the session. Returns -1 when it added to `diags`. */
int wish_read(struct session *session, const char *function, struct param_strs words,
              const struct value *given, struct compile_wish *ret_wish, struct diags *diags);
/* Does a state of the plan have each of these IDs? */
bool wish_has_ids(const struct plan *plan, struct param_strs ids);
/* "a,b" and a list of Salt, as IDs. */
struct param_strs wish_read_ids(struct arena *arena, const char *text);

/* The function takes no pair: an unknown one is a mistake. */
int wish_refuse_pairs(struct session *session, const char *function, const struct value *given,
                      struct diags *diags);

#endif
