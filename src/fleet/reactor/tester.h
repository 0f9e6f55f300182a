/*
 * tester - which rules would fire for a key, and their actions, for `zester reactor test`. Nothing
 * is executed, and no guard is asked.
 *
 * Pure: the clock is handed in. Memory: the arena. Threads: any, with their own environment.
 */
#ifndef FLEET_REACTOR_TESTER_H
#define FLEET_REACTOR_TESTER_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/reactor/reaction.h"
#include "fleet/wire/question.h"

struct arena;
struct rule;
struct rule_set;
struct value;

struct tester {
    const struct rule_set *rules; /* NULL: none are loaded */
    struct reaction_env *env;
    bool enable_chaining;
    int64_t max_chain_depth;
    int64_t wall; /* nanoseconds since 1970 */
    /* Facts of a peel, as in struct pipeline_effects; or NULL. */
    const struct value *(*facts)(void *user, struct arena *arena, const char *peel);
    void *user;
};

/* Result of a rule for an event. */
struct tester_trial {
    struct reaction reaction;
    enum reaction_status status;
    struct param_strs errors; /* mistakes, with their places, and refusals */
};
void tester_try(const struct tester *tester, struct arena *arena, const struct rule *rule,
                const struct reaction_event *event, struct tester_trial *ret_trial);

void tester_answer(const struct tester *tester, struct arena *arena,
                   const struct question_test *question, struct question_tested *ret_tested);

#endif
