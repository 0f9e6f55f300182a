#include "fleet/reactor/replay.h"

#include <string.h>

#include "core/base/arena.h"
#include "fleet/reactor/rule_set.h"
#include "fleet/reactor/tester.h"

static const enum outcome_result results[] = {
    [REACTION_OK] = OUTCOME_DISPATCHED,
    [REACTION_RENDER_ERROR] = OUTCOME_RENDER_ERROR,
    [REACTION_VALIDATE_ERROR] = OUTCOME_VALIDATE_ERROR,
};

static struct replay_rule try_rule(const struct tester *tester, struct arena *arena,
                                   const struct rule *rule, const struct reaction_event *event)
{
    struct replay_rule now = { .rule = rule->ref };
    VEC(const char *) actions = VEC_INIT;
    struct tester_trial trial;

    tester_try(tester, arena, rule, event, &trial);
    VEC_EACH (&trial.reaction.actions, action)
        VEC_PUSH_IN(arena, &actions, action_summary(arena, action));
    now.sure = trial.reaction.sure;
    now.result =
        trial.status == REACTION_OK && actions.n == 0 ? OUTCOME_EMPTY : results[trial.status];
    now.actions = (struct param_strs){ actions.n, actions.p };
    now.errors = trial.errors;
    return now;
}

/* A rule that failed half-way has fewer blocks on record; what follows a job that was waited for
 * depends on how that ended. */
static bool are_same_blocks(const struct outcome_rule *then, const struct replay_rule *now)
{
    const size_t sure = now->sure > 0 ? now->sure : now->actions.n;
    size_t count = then->blocks.list.n;

    if (now->sure > 0 && count > sure)
        count = sure;
    if (count > sure || (count < sure && then->result != OUTCOME_ERROR))
        return false;
    for (size_t i = 0; i < count; i++)
        if (then->blocks.list.p[i].what[0] && /* older records have none */
            strcmp(then->blocks.list.p[i].what, now->actions.p[i]) != 0)
            return false;
    return true;
}

static bool is_same_rule(const struct outcome_rule *then, const struct replay_rule *now)
{
    if (strcmp(then->rule, now->rule) != 0)
        return false;
    switch (then->result) {
    case OUTCOME_THROTTLED:
    case OUTCOME_BREAKER_OPEN: return true; /* its file was not read */
    case OUTCOME_RENDER_ERROR:
    case OUTCOME_VALIDATE_ERROR:
    case OUTCOME_EMPTY: return now->result == then->result;
    default:
        return (now->result == OUTCOME_DISPATCHED || now->result == OUTCOME_EMPTY) &&
               are_same_blocks(then, now);
    }
}

static bool is_outcome_replayed(const struct outcome *recorded, const struct replay *replay)
{
    const size_t count = recorded ? recorded->rules.list.n : 0;

    if (count != replay->now.n)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!is_same_rule(&recorded->rules.list.p[i], &replay->now.p[i]))
            return false;
    return true;
}

void replay_event(const struct tester *tester, struct arena *arena,
                  const struct event_gate_event *event, const struct value *facts,
                  const struct outcome *recorded, struct replay *ret)
{
    const struct reaction_event about = { .source = &event->source,
                                          .event = &event->event,
                                          .facts = facts };
    struct rule_matches matches = { VEC_INIT };

    *ret = (struct replay){ .now = VEC_INIT };
    rule_set_match(tester->rules, arena, str_from(event->source.key), &matches);
    VEC_EACH (&matches.list, rule) {
        const struct replay_rule now = try_rule(tester, arena, *rule, &about);

        ret->fires = ret->fires || now.result == OUTCOME_DISPATCHED;
        VEC_PUSH_IN(arena, &ret->now, now);
    }
    ret->differs = !is_outcome_replayed(recorded, ret);
}
