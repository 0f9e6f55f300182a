#include "fleet/reactor/pipeline.h"

#include "fleet/reactor/reaction_run.h"
#include "fleet/reactor/rule_set.h"

void pipeline_init(struct pipeline *pipeline, const struct pipeline_options *options,
                   const struct pipeline_effects *effects, void *user)
{
    *pipeline = (struct pipeline){ .options = *options, .effects = effects, .user = user };
    event_gate_init(&pipeline->event_gate, &options->event_gate);
    throttle_init(&pipeline->throttle);
    breaker_init(&pipeline->breaker, options->storm_rate, options->breaker_cooldown);
}

void pipeline_done(struct pipeline *pipeline)
{
    event_gate_done(&pipeline->event_gate);
    throttle_done(&pipeline->throttle);
    breaker_done(&pipeline->breaker);
    rule_set_drop(pipeline->rules);
    arena_done(&pipeline->scratch);
}

void pipeline_use(struct pipeline *pipeline, struct rule_set *rules)
{
    rule_set_drop(pipeline->rules);
    pipeline->rules = rules;
}

/* Masters make events of each job: those that no rule asks for are unmatched, and not an alarm,
 * when they are many or the last of a chain. */
static bool may_be_ignored(const struct pipeline_verdict *verdict)
{
    return (verdict->drop == EVENT_GATE_DEPTH || verdict->drop == EVENT_GATE_RATELIMIT) &&
           event_gate_is_routine(&verdict->event->source);
}

void pipeline_accept(struct pipeline *pipeline, const struct pipeline_delivery *delivery,
                     struct pipeline_verdict *ret_verdict)
{
    const struct event_gate_delivery at = {
        .subject = delivery->subject,
        .payload = delivery->payload,
        .monotonic = pipeline->effects->monotonic(pipeline->user),
        .wall = pipeline->effects->wall(pipeline->user),
    };
    struct rule_matches matches = { VEC_INIT };
    struct event_gate_event *event;

    arena_clear(&pipeline->scratch);
    event = ARENA_NEW(&pipeline->scratch, struct event_gate_event);
    *ret_verdict = (struct pipeline_verdict){ .event = event };
    ret_verdict->drop = event_gate_check(&pipeline->event_gate, &pipeline->scratch, &at, event);
    if (ret_verdict->drop != EVENT_GATE_PASS && !may_be_ignored(ret_verdict))
        return;
    if (pipeline->rules)
        rule_set_match(pipeline->rules, &pipeline->scratch, str_from(event->source.key), &matches);
    if (matches.list.n == 0)
        ret_verdict->drop = EVENT_GATE_PASS;
    if (ret_verdict->drop != EVENT_GATE_PASS)
        return;
    ret_verdict->matches = matches.list.n;
    if (matches.list.n > 0)
        ret_verdict->reaction_run = reaction_run_new(pipeline, delivery, event, &matches);
}
