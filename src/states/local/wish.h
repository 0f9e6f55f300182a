/*
 * wish - the arguments of state functions: references, and key=value options.
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

/* Move `test=True` (a dry run) from `given` to `test`. An unclear value is refused: misreading it
 * would change the machine. */
int wish_take_test(struct value *given, bool *test, struct diags *diags);

/* Read words as references and pairs as options; given settings override those of the session.
 * Returns -1 when it added to `diags`. */
int wish_read(struct session *session, const char *function, struct param_strs words,
              const struct value *given, struct compile_wish *ret_wish, struct diags *diags);
/* Does a state of the plan have each of these IDs? */
bool wish_has_ids(const struct plan *plan, struct param_strs ids);
/* IDs, from "a,b" or a Salt list. */
struct param_strs wish_read_ids(struct arena *arena, const char *text);

/* Report all pairs as unknown: the function takes none. */
int wish_refuse_pairs(struct session *session, const char *function, const struct value *given,
                      struct diags *diags);

#endif
