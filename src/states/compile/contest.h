/*
 * contest - states that change one file at the same time.
 *
 * States of a level run concurrently. Two that edit lines of a file are compatible; if one of them
 * manages the whole file (MODULE_WHOLE), the result is random, and each run changes it again. Salt
 * runs them in file order; here there is no order, so this is a warning.
 *
 * Threads: one at a time.
 */
#ifndef STATES_COMPILE_CONTEST_H
#define STATES_COMPILE_CONTEST_H

#include <stdbool.h>

struct diags;
struct plan;
struct plan_state;

/* Does the state decide the whole content of its path? */
bool contest_claims_whole(const struct plan_state *state);

/* Check an arranged plan. */
void contest_tell(const struct plan *plan, struct diags *warnings);

#endif
