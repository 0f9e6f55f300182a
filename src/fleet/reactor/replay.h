/*
 * replay - what rules would do about a stored event, compared with its recorded outcome.
 *
 * Nothing is executed. Guards (throttle, breaker, rates) are not asked, since they depend on the
 * moment. So a rule that they stopped counts as matched, and dropped events are skipped.
 *
 *     replay_event(&tester, &arena, &event, facts, recorded, &ret);
 *
 * Pure. Memory: the arena. Threads: any, with their own environment.
 */
#ifndef FLEET_REACTOR_REPLAY_H
#define FLEET_REACTOR_REPLAY_H

#include "fleet/reactor/event_gate.h"
#include "fleet/wire/outcome.h"

struct arena;
struct tester;
struct value;

/* A rule that matches now. */
struct replay_rule {
    const char *rule;
    enum outcome_result result; /* DISPATCHED, EMPTY, RENDER_ERROR or VALIDATE_ERROR */
    struct param_strs actions;  /* each in a line */
    size_t sure;                /* the rest depends on the end of a job; 0: none does */
    struct param_strs errors;
};

struct replay {
    VEC(struct replay_rule) now;
    bool fires;   /* a rule would act */
    bool differs; /* from the record */
};

/* `recorded` NULL: no record, so no rule fired. */
void replay_event(const struct tester *tester, struct arena *arena,
                  const struct event_gate_event *event, const struct value *facts,
                  const struct outcome *recorded, struct replay *ret);

#endif
