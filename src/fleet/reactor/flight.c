#include "fleet/reactor/flight.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/number.h"
#include "fleet/reactor/awaited.h"
#include "fleet/reactor/reaction.h"
#include "fleet/reactor/rule_set.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"

enum phase { PHASE_RULE, PHASE_RENDERED, PHASE_BLOCK, PHASE_AWAIT, PHASE_REST, PHASE_ENDED };

struct flight {
    struct pipeline *pipeline;
    struct arena arena;
    struct rule_set *rules; /* pinned */
    struct rule_matches matches;
    const struct gate_event *event;
    const struct value *facts;
    void *message;
    unsigned delivery;

    struct outcome outcome;
    enum phase phase;
    size_t rule, block; /* the current ones */
    bool is_waiting;    /* for an answer */
    bool is_stepping;
    bool may_pass; /* something failed that may succeed later */

    /* the current rule */
    struct reaction reaction;
    enum reaction_status status;
    bool rule_may_pass;
    const struct flight_job *job; /* of the current block; NULL: none */
    enum outcome_result sent;     /* what became of it, while it is waited for */
    struct value *outcomes;       /* of blocks that waited, by name; NULL: none has ended */
};

static const struct rule *current_rule(const struct flight *flight)
{
    return flight->matches.list.p[flight->rule];
}

static const struct action *current_action(const struct flight *flight)
{
    return &flight->reaction.actions.p[flight->block];
}

static struct outcome_rule *current_outcome(struct flight *flight)
{
    return &flight->outcome.rules.list.p[flight->outcome.rules.list.n - 1];
}

static const char *keep_text(struct flight *flight, const char *text)
{
    return text ? arena_strdup(&flight->arena, text) : "";
}

/* --- life ----------------------------------------------------------------------------- */

struct flight *flight_new(struct pipeline *pipeline, const struct pipeline_delivery *delivery,
                          const struct gate_event *event, const struct rule_matches *matches)
{
    struct flight *flight = mem_zalloc(sizeof(*flight));

    flight->pipeline = pipeline;
    flight->arena = pipeline->scratch;
    pipeline->scratch = (struct arena)ARENA_INIT;
    pipeline->flights++;
    flight->rules = rule_set_hold(pipeline->rules);
    flight->matches = *matches;
    flight->event = event;
    flight->delivery = delivery->number;
    flight->outcome = (struct outcome){
        .id = event->event.id,
        .reason = "",
        .key = event->source.key,
        .depth = event->event.depth,
        .provenance = event->event.origin,
        .parent = keep_text(flight, delivery->parent),
        .master = "",
        .deliveries = (int32_t)delivery->number,
        .seq = delivery->seq,
    };
    return flight;
}

/* The pipeline gets an arena back, unless it has one. */
static void give_back(struct pipeline *pipeline, struct arena *arena)
{
    if (pipeline->scratch.blocks) {
        arena_done(arena);
        return;
    }
    arena_clear(arena);
    pipeline->scratch = *arena;
}

static void free_flight(struct flight *flight)
{
    flight->pipeline->flights--;
    rule_set_drop(flight->rules);
    give_back(flight->pipeline, &flight->arena);
    free(flight);
}

void flight_cancel(struct flight *flight)
{
    free_flight(flight);
}

void flight_attach(struct flight *flight, void *message)
{
    flight->message = message;
}

void *flight_message(const struct flight *flight)
{
    return flight->message;
}

const struct gate_event *flight_event(const struct flight *flight)
{
    return flight->event;
}

/* --- guards ----------------------------------------------------------------------------- */

static int64_t throttle_of(const struct flight *flight)
{
    const int64_t own = current_rule(flight)->throttle;

    return own == RULE_THROTTLE_DEFAULT ? flight->pipeline->options.default_throttle : own;
}

/* OUTCOME_DISPATCHED: it may fire, and both guards have it reserved. */
static enum outcome_result reserve(struct flight *flight)
{
    struct pipeline *pipeline = flight->pipeline;
    const int64_t now = pipeline->effects->monotonic(pipeline->user);
    const char *ref = current_rule(flight)->ref;

    if (throttle_of(flight) > 0 &&
        !throttle_reserve(&pipeline->throttle, ref, flight->event->source.origin, now))
        return OUTCOME_THROTTLED;
    if (breaker_reserve(&pipeline->breaker, ref, now))
        return OUTCOME_DISPATCHED;
    if (throttle_of(flight) > 0)
        throttle_cancel(&pipeline->throttle, ref, flight->event->source.origin);
    return OUTCOME_BREAKER_OPEN;
}

/* The rule has ended: did it fire? */
static void settle_rule(struct flight *flight, bool fired)
{
    struct pipeline *pipeline = flight->pipeline;
    const int64_t now = pipeline->effects->monotonic(pipeline->user);
    const char *ref = current_rule(flight)->ref, *origin = flight->event->source.origin;

    if (!fired) {
        if (throttle_of(flight) > 0)
            throttle_cancel(&pipeline->throttle, ref, origin);
        breaker_cancel(&pipeline->breaker, ref);
        return;
    }
    if (throttle_of(flight) > 0)
        throttle_confirm(&pipeline->throttle, ref, origin, throttle_of(flight), now);
    if (breaker_confirm(&pipeline->breaker, ref, now))
        pipeline->effects->opened(pipeline->user, ref);
}

/* --- blocks ------------------------------------------------------------------------------ */

/* The gravest of a rule's blocks is the result of the rule. */
static const enum outcome_result gravity[] = {
    OUTCOME_ERROR,      OUTCOME_REFUSED,    OUTCOME_ABORTED,
    OUTCOME_NO_TARGETS, OUTCOME_DISPATCHED, OUTCOME_DUPLICATE,
};

static enum outcome_result combine(const struct outcome_blocks *blocks)
{
    for (size_t i = 0; i < ARRAY_LEN(gravity); i++)
        VEC_EACH (&blocks->list, block)
            if (block->result == gravity[i])
                return gravity[i];
    return OUTCOME_EMPTY;
}

static void end_block(struct flight *flight, enum outcome_result result, const char *message)
{
    struct outcome_rule *outcome = current_outcome(flight);
    struct outcome_block *block = &outcome->blocks.list.p[outcome->blocks.list.n - 1];

    block->result = result;
    block->message = keep_text(flight, message);
    if (result != OUTCOME_DISPATCHED && result != OUTCOME_DUPLICATE)
        block->made = "";
    flight->block++;
}

static void set_text(struct flight *flight, struct value_map *map, const char *key,
                     const char *text)
{
    value_map_set(&flight->arena, map, value_text(key), value_text(text));
}

static struct value job_metadata(struct flight *flight)
{
    struct value_map *map = value_map_new(&flight->arena, 5);

    set_text(flight, map, JOB_SOURCE, FLIGHT_OPERATOR);
    set_text(flight, map, "rule", current_rule(flight)->ref);
    set_text(flight, map, "event_id", flight->event->event.id);
    set_text(flight, map, "event_tag", flight->event->source.tag);
    set_text(flight, map, "reactor_depth",
             arena_printf(&flight->arena, "%d", flight->event->event.depth + 1));
    return value_map(map);
}

static void begin_dispatch(struct flight *flight, struct outcome_block *block)
{
    const char *ref = current_rule(flight)->ref;
    struct flight_job *job = ARENA_NEW(&flight->arena, struct flight_job);
    char jid[EVENT_JID_SIZE];

    event_job_id(flight->event->source.origin, flight->event->event.id, ref,
                 current_action(flight)->block, jid);
    *job = (struct flight_job){
        .jid = keep_text(flight, jid),
        .rule = ref,
        .user = arena_printf(&flight->arena, FLIGHT_USER_PREFIX "%s", ref),
        .metadata = job_metadata(flight),
        .dispatch = &current_action(flight)->dispatch,
        .is_again = flight->delivery > 1,
    };
    block->made = job->jid;
    flight->job = job;
    flight->pipeline->effects->dispatch(flight->pipeline->user, flight, job);
}

static void begin_enroll(struct flight *flight, struct outcome_block *block)
{
    (void)block;
    if (flight->event->source.type != EVENT_FROM_MASTER) {
        const struct flight_answer answer = {
            .result = OUTCOME_REFUSED,
            .message = "enrollments are decided for events of " EVENT_ORIGIN_MASTER " only",
        };

        flight_answer(flight, &answer);
        return;
    }
    flight->pipeline->effects->enroll(flight->pipeline->user, flight, current_rule(flight)->ref,
                                      &current_action(flight)->enroll);
}

/* Why an event may not be sent; NULL: it may. */
static const char *refuse_send(const struct flight *flight)
{
    const struct pipeline_options *options = &flight->pipeline->options;

    if (!options->enable_chaining)
        return "chains of reactions are switched off";
    if (flight->event->event.depth + 1 >= options->gate.max_chain_depth)
        return "the chain of reactions has reached max_chain_depth";
    return NULL;
}

static int fill_send(struct flight *flight, struct flight_send *send, struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(BUF_NO_LIMIT);
    const struct action *action = current_action(flight);
    const char *ref = current_rule(flight)->ref;
    const int64_t now = flight->pipeline->effects->wall(flight->pipeline->user);
    char id[SHA256_HEX_SIZE];

    event_derived_id(flight->event->event.id, ref, action->block, id);
    *send = (struct flight_send){
        .event = {
            .id = keep_text(flight, id),
            .tag = arena_printf(&flight->arena, FLIGHT_TAG_PREFIX "%s", action->send.tag),
            .data = action->send.data,
            .ts = { now / NUMBER_NS_PER_S, (uint32_t)(now % NUMBER_NS_PER_S) },
            .v = EXEC_PROTOCOL,
            .origin = arena_printf(&flight->arena, EVENT_PROVENANCE "%s", ref),
            .depth = flight->event->event.depth + 1,
        },
        .parent = flight->event->event.id,
    };
    if (event_print_subject(&subject, SUBJECT_EVENT_MASTER, NULL, send->event.tag, err) < 0)
        return -1;
    send->subject = buf_copy(&subject, &flight->arena).p;
    return 0;
}

static void begin_send(struct flight *flight, struct outcome_block *block)
{
    struct flight_send *send = ARENA_NEW(&flight->arena, struct flight_send);
    struct flight_answer answer = { .result = OUTCOME_REFUSED, .message = refuse_send(flight) };
    struct err err;

    if (!answer.message && fill_send(flight, send, &err) < 0)
        answer.message = err.text;
    if (answer.message) {
        flight_answer(flight, &answer);
        return;
    }
    block->made = send->event.id;
    flight->pipeline->effects->send(flight->pipeline->user, flight, send);
}

static void begin_log(struct flight *flight, struct outcome_block *block)
{
    const struct flight_answer answer = { .result = OUTCOME_DISPATCHED };

    (void)block;
    flight->pipeline->effects->log(flight->pipeline->user, flight, current_rule(flight)->ref,
                                   current_action(flight)->message);
    flight_answer(flight, &answer);
}

static void begin_block(struct flight *flight)
{
    static void (*const begin[])(struct flight *, struct outcome_block *) = {
        [ACTION_DISPATCH] = begin_dispatch,
        [ACTION_ENROLL] = begin_enroll,
        [ACTION_SEND] = begin_send,
        [ACTION_LOG] = begin_log,
    };
    const struct action *action = current_action(flight);
    struct outcome_blocks *blocks = &current_outcome(flight)->blocks;
    const struct outcome_block block = {
        .block = action->block,
        .action = action->name,
        .message = "",
        .made = "",
        .what = action_summary(&flight->arena, action),
    };

    VEC_PUSH_IN(&flight->arena, &blocks->list, block);
    flight->is_waiting = true;
    flight->job = NULL;
    begin[action->kind](flight, &blocks->list.p[blocks->list.n - 1]);
}

/* --- jobs that are waited for ------------------------------------------------------------- */

static bool is_awaited(const struct flight *flight)
{
    return flight->job && flight->job->dispatch->wait;
}

static void keep_outcome(struct flight *flight, const struct awaited_end *end)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    const struct value outcome = awaited_value(&scratch, end);

    if (!flight->outcomes) {
        flight->outcomes = ARENA_NEW(&flight->arena, struct value);
        *flight->outcomes = value_map(value_map_new(&flight->arena, 1));
    }
    value_map_set(&flight->arena, flight->outcomes->map, value_text(current_action(flight)->block),
                  value_copy(&flight->arena, &outcome));
}

/* The job of the current block has ended, or there is none. */
static void end_wait(struct flight *flight, enum outcome_result result,
                     const struct awaited_end *end, const char *message)
{
    keep_outcome(flight, end);
    end_block(flight, result, message);
    flight->phase = reaction_uses_outcomes(current_rule(flight)->file) ? PHASE_REST : PHASE_BLOCK;
}

/* Read the file with what is known now. */
static void step_rest(struct flight *flight)
{
    flight->phase = PHASE_RENDERED;
    flight->is_waiting = true;
    flight->pipeline->effects->render(flight->pipeline->user, flight);
}

/* Go on after the block that has waited. */
static void find_rest(struct flight *flight)
{
    const struct outcome_blocks *blocks = &current_outcome(flight)->blocks;
    const char *last = blocks->list.p[blocks->list.n - 1].block;

    flight->block = 0;
    while (flight->block < flight->reaction.actions.n &&
           strcmp(current_action(flight)->block, last) != 0)
        flight->block++;
    if (flight->block++ < flight->reaction.actions.n &&
        flight->outcomes->map->count <= REACTION_WAITS_MAX)
        return;
    current_outcome(flight)->message =
        arena_printf(&flight->arena, "block '%s' has waited, and the file no longer has it", last);
    flight->status = REACTION_VALIDATE_ERROR;
}

/* --- rules --------------------------------------------------------------------------------- */

static void end_rule(struct flight *flight, enum outcome_result result)
{
    current_outcome(flight)->result = result;
    flight->may_pass = flight->may_pass || flight->rule_may_pass;
    flight->rule++;
    flight->phase = PHASE_RULE;
}

static void step_rule(struct flight *flight)
{
    const struct pipeline_effects *effects = flight->pipeline->effects;
    struct outcome_rule outcome = { .message = "" };
    enum outcome_result result;

    if (flight->rule == flight->matches.list.n) {
        flight->phase = PHASE_ENDED;
        return;
    }
    outcome.rule = current_rule(flight)->ref;
    outcome.pattern = current_rule(flight)->pattern;
    VEC_PUSH_IN(&flight->arena, &flight->outcome.rules.list, outcome);
    flight->reaction = (struct reaction){ .actions = VEC_INIT };
    flight->rule_may_pass = false;
    flight->outcomes = NULL;
    flight->block = 0;
    result = reserve(flight);
    if (result != OUTCOME_DISPATCHED) {
        end_rule(flight, result);
        return;
    }
    flight->phase = PHASE_RENDERED;
    flight->is_waiting = true;
    effects->render(flight->pipeline->user, flight);
}

static void step_rendered(struct flight *flight)
{
    static const enum outcome_result results[] = {
        [REACTION_RENDER_ERROR] = OUTCOME_RENDER_ERROR,
        [REACTION_VALIDATE_ERROR] = OUTCOME_VALIDATE_ERROR,
    };

    if (flight->status == REACTION_OK && flight->outcomes)
        find_rest(flight);
    if (flight->status == REACTION_OK) {
        flight->phase = PHASE_BLOCK;
        return;
    }
    settle_rule(flight, true);
    end_rule(flight, results[flight->status]);
}

static void step_block(struct flight *flight)
{
    const bool is_done = flight->block == flight->reaction.actions.n;
    enum outcome_result result;

    if (!is_done && !flight->rule_may_pass) {
        begin_block(flight);
        return;
    }
    result = combine(&current_outcome(flight)->blocks);
    if (flight->rule_may_pass)
        result = OUTCOME_ERROR;
    /* A file that rendered to nothing has not fired: its pause would hide the next event. */
    settle_rule(flight, !flight->rule_may_pass && result != OUTCOME_EMPTY);
    end_rule(flight, result);
}

static void end_flight(struct flight *flight)
{
    struct flight_end end = { .verdict = FLIGHT_ACK, .outcome = &flight->outcome };

    if (flight->may_pass)
        end.verdict = flight->delivery >= PIPELINE_DELIVERIES_MAX ? FLIGHT_EXHAUSTED : FLIGHT_NAK;
    flight->outcome.outcome = end.verdict == FLIGHT_EXHAUSTED ? OUTCOME_EXHAUSTED : OUTCOME_FIRED;
    flight->pipeline->effects->end(flight->pipeline->user, flight, &end);
    free_flight(flight);
}

/* Go on until something has to be waited for. An answer may come while it is being asked for. */
static void step(struct flight *flight)
{
    static void (*const steps[])(struct flight *) = {
        [PHASE_RULE] = step_rule,
        [PHASE_RENDERED] = step_rendered,
        [PHASE_BLOCK] = step_block,
        [PHASE_REST] = step_rest,
    };

    if (flight->is_stepping)
        return;
    flight->is_stepping = true;
    while (!flight->is_waiting && flight->phase != PHASE_ENDED)
        steps[flight->phase](flight);
    flight->is_stepping = false;
    if (flight->phase == PHASE_ENDED)
        end_flight(flight);
}

void flight_begin(struct flight *flight)
{
    const struct pipeline *pipeline = flight->pipeline;

    if (flight->event->source.type == EVENT_FROM_PEEL)
        flight->facts =
            pipeline->effects->facts(pipeline->user, &flight->arena, flight->event->source.origin);
    step(flight);
}

const struct rule_file *flight_file(const struct flight *flight)
{
    return current_rule(flight)->file;
}

bool flight_render(struct flight *flight, struct reaction_env *env)
{
    const struct reaction_event event = { &flight->event->source, &flight->event->event,
                                          flight->facts, flight->outcomes };
    struct diags diags = DIAGS_INIT(&flight->arena);
    struct err err;

    flight->status = reaction_read(env, &flight->arena, current_rule(flight)->file, &event,
                                   &flight->reaction, &diags);
    current_outcome(flight)->message = "";
    if (flight->status == REACTION_OK)
        return true;
    (void)diags_to_err(&diags, &err);
    current_outcome(flight)->message = keep_text(flight, err.text);
    return false;
}

void flight_rendered(struct flight *flight)
{
    flight->is_waiting = false;
    step(flight);
}

void flight_postpone(struct flight *flight)
{
    flight->reaction = (struct reaction){ .actions = VEC_INIT };
    flight->rule_may_pass = true;
    flight->phase = PHASE_BLOCK;
    flight->is_waiting = false;
    step(flight);
}

/* There is a job; the block ends with it. */
static void begin_wait(struct flight *flight, enum outcome_result sent)
{
    flight->sent = sent;
    flight->phase = PHASE_AWAIT;
    flight->pipeline->effects->await(flight->pipeline->user, flight, flight->job);
}

void flight_answer(struct flight *flight, const struct flight_answer *answer)
{
    const struct awaited_end none = { .status = outcome_result_name(answer->result), .jid = "" };

    if (answer->result == OUTCOME_ERROR && answer->may_pass)
        flight->rule_may_pass = true;
    if (!is_awaited(flight) || flight->rule_may_pass) {
        flight->phase = PHASE_BLOCK;
        end_block(flight, answer->result, answer->message);
    } else if (answer->result == OUTCOME_DISPATCHED || answer->result == OUTCOME_DUPLICATE) {
        begin_wait(flight, answer->result);
        return;
    } else {
        end_wait(flight, answer->result, &none, answer->message);
    }
    flight->is_waiting = false;
    step(flight);
}

void flight_job_ended(struct flight *flight, const struct awaited_end *end)
{
    const char *message =
        arena_printf(&flight->arena, "job %s: %lld of %lld targets succeeded", end->status,
                     (long long)end->succeeded, (long long)end->targets);

    end_wait(flight, flight->sent, end, end->is_ok ? NULL : message);
    flight->is_waiting = false;
    step(flight);
}
