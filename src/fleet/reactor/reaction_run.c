#include "fleet/reactor/reaction_run.h"

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

struct reaction_run {
    struct pipeline *pipeline;
    struct arena arena;
    struct rule_set *rules; /* pinned */
    struct rule_matches matches;
    const struct event_gate_event *event;
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
    const struct reaction_run_job *job; /* of the current block; NULL: none */
    enum outcome_result sent;           /* its result, while it is awaited */
    struct value *outcomes;             /* of blocks that waited, by name; NULL: none has ended */
};

static const struct rule *current_rule(const struct reaction_run *reaction_run)
{
    return reaction_run->matches.list.p[reaction_run->rule];
}

static const struct action *current_action(const struct reaction_run *reaction_run)
{
    return &reaction_run->reaction.actions.p[reaction_run->block];
}

static struct outcome_rule *current_outcome(struct reaction_run *reaction_run)
{
    return &reaction_run->outcome.rules.list.p[reaction_run->outcome.rules.list.n - 1];
}

static const char *keep_run_text(struct reaction_run *reaction_run, const char *text)
{
    return text ? arena_strdup(&reaction_run->arena, text) : "";
}

/* --- life ----------------------------------------------------------------------------- */

struct reaction_run *reaction_run_new(struct pipeline *pipeline,
                                      const struct pipeline_delivery *delivery,
                                      const struct event_gate_event *event,
                                      const struct rule_matches *matches)
{
    struct reaction_run *reaction_run = mem_zalloc(sizeof(*reaction_run));

    reaction_run->pipeline = pipeline;
    reaction_run->arena = pipeline->scratch;
    pipeline->scratch = (struct arena)ARENA_INIT;
    pipeline->runs++;
    reaction_run->rules = rule_set_hold(pipeline->rules);
    reaction_run->matches = *matches;
    reaction_run->event = event;
    reaction_run->delivery = delivery->number;
    reaction_run->outcome = (struct outcome){
        .id = event->event.id,
        .reason = "",
        .key = event->source.key,
        .depth = event->event.depth,
        .provenance = event->event.origin,
        .parent = keep_run_text(reaction_run, delivery->parent),
        .master = "",
        .deliveries = (int32_t)delivery->number,
        .seq = delivery->seq,
    };
    return reaction_run;
}

/* The pipeline gets an arena back, unless it has one. */
static void return_run_arena(struct pipeline *pipeline, struct arena *arena)
{
    if (pipeline->scratch.blocks) {
        arena_done(arena);
        return;
    }
    arena_clear(arena);
    pipeline->scratch = *arena;
}

static void free_reaction_run(struct reaction_run *reaction_run)
{
    reaction_run->pipeline->runs--;
    rule_set_drop(reaction_run->rules);
    return_run_arena(reaction_run->pipeline, &reaction_run->arena);
    free(reaction_run);
}

void reaction_run_cancel(struct reaction_run *reaction_run)
{
    free_reaction_run(reaction_run);
}

void reaction_run_attach(struct reaction_run *reaction_run, void *message)
{
    reaction_run->message = message;
}

void *reaction_run_message(const struct reaction_run *reaction_run)
{
    return reaction_run->message;
}

const struct event_gate_event *reaction_run_event(const struct reaction_run *reaction_run)
{
    return reaction_run->event;
}

/* --- guards ----------------------------------------------------------------------------- */

static int64_t throttle_of(const struct reaction_run *reaction_run)
{
    const int64_t own = current_rule(reaction_run)->throttle;

    return own == RULE_THROTTLE_DEFAULT ? reaction_run->pipeline->options.default_throttle : own;
}

/* OUTCOME_DISPATCHED: it may fire, and both guards have it reserved. */
static enum outcome_result reserve_guards(struct reaction_run *reaction_run)
{
    struct pipeline *pipeline = reaction_run->pipeline;
    const int64_t now = pipeline->effects->monotonic(pipeline->user);
    const char *ref = current_rule(reaction_run)->ref;

    if (throttle_of(reaction_run) > 0 &&
        !throttle_reserve(&pipeline->throttle, ref, reaction_run->event->source.origin, now))
        return OUTCOME_THROTTLED;
    if (breaker_reserve(&pipeline->breaker, ref, now))
        return OUTCOME_DISPATCHED;
    if (throttle_of(reaction_run) > 0)
        throttle_cancel(&pipeline->throttle, ref, reaction_run->event->source.origin);
    return OUTCOME_BREAKER_OPEN;
}

/* The rule has ended: did it fire? */
static void settle_rule(struct reaction_run *reaction_run, bool fired)
{
    struct pipeline *pipeline = reaction_run->pipeline;
    const int64_t now = pipeline->effects->monotonic(pipeline->user);
    const char *ref = current_rule(reaction_run)->ref, *origin = reaction_run->event->source.origin;

    if (!fired) {
        if (throttle_of(reaction_run) > 0)
            throttle_cancel(&pipeline->throttle, ref, origin);
        breaker_cancel(&pipeline->breaker, ref);
        return;
    }
    if (throttle_of(reaction_run) > 0)
        throttle_confirm(&pipeline->throttle, ref, origin, throttle_of(reaction_run), now);
    if (breaker_confirm(&pipeline->breaker, ref, now))
        pipeline->effects->opened(pipeline->user, ref);
}

/* --- blocks ------------------------------------------------------------------------------ */

/* The gravest of a rule's blocks is the result of the rule. */
static const enum outcome_result gravity[] = {
    OUTCOME_ERROR,      OUTCOME_REFUSED,    OUTCOME_ABORTED,
    OUTCOME_NO_TARGETS, OUTCOME_DISPATCHED, OUTCOME_DUPLICATE,
};

static enum outcome_result combine_block_results(const struct outcome_blocks *blocks)
{
    for (size_t i = 0; i < ARRAY_LEN(gravity); i++)
        VEC_EACH (&blocks->list, block)
            if (block->result == gravity[i])
                return gravity[i];
    return OUTCOME_EMPTY;
}

static void end_run_block(struct reaction_run *reaction_run, enum outcome_result result,
                          const char *message)
{
    struct outcome_rule *outcome = current_outcome(reaction_run);
    struct outcome_block *block = &outcome->blocks.list.p[outcome->blocks.list.n - 1];

    block->result = result;
    block->message = keep_run_text(reaction_run, message);
    if (result != OUTCOME_DISPATCHED && result != OUTCOME_DUPLICATE)
        block->made = "";
    reaction_run->block++;
}

static void put_run_text(struct reaction_run *reaction_run, struct value_map *map, const char *key,
                         const char *text)
{
    value_map_set(&reaction_run->arena, map, value_text(key), value_text(text));
}

static struct value job_metadata(struct reaction_run *reaction_run)
{
    struct value_map *map = value_map_new(&reaction_run->arena, 5);

    put_run_text(reaction_run, map, JOB_SOURCE, REACTION_RUN_OPERATOR);
    put_run_text(reaction_run, map, "rule", current_rule(reaction_run)->ref);
    put_run_text(reaction_run, map, "event_id", reaction_run->event->event.id);
    put_run_text(reaction_run, map, "event_tag", reaction_run->event->source.tag);
    put_run_text(reaction_run, map, "reactor_depth",
                 arena_printf(&reaction_run->arena, "%d", reaction_run->event->event.depth + 1));
    return value_map(map);
}

static void begin_dispatch(struct reaction_run *reaction_run, struct outcome_block *block)
{
    const char *ref = current_rule(reaction_run)->ref;
    struct reaction_run_job *job = ARENA_NEW(&reaction_run->arena, struct reaction_run_job);
    char jid[EVENT_JID_SIZE];

    event_job_id(reaction_run->event->source.origin, reaction_run->event->event.id, ref,
                 current_action(reaction_run)->block, jid);
    *job = (struct reaction_run_job){
        .jid = keep_run_text(reaction_run, jid),
        .rule = ref,
        .user = arena_printf(&reaction_run->arena, REACTION_RUN_USER_PREFIX "%s", ref),
        .metadata = job_metadata(reaction_run),
        .dispatch = &current_action(reaction_run)->dispatch,
        .is_again = reaction_run->delivery > 1,
    };
    block->made = job->jid;
    reaction_run->job = job;
    reaction_run->pipeline->effects->dispatch(reaction_run->pipeline->user, reaction_run, job);
}

static void begin_enroll(struct reaction_run *reaction_run, struct outcome_block *block)
{
    (void)block;
    if (reaction_run->event->source.type != EVENT_FROM_MASTER) {
        const struct reaction_run_answer answer = {
            .result = OUTCOME_REFUSED,
            .message = "enrollments are decided for events of " EVENT_ORIGIN_MASTER " only",
        };

        reaction_run_answer(reaction_run, &answer);
        return;
    }
    reaction_run->pipeline->effects->enroll(reaction_run->pipeline->user, reaction_run,
                                            current_rule(reaction_run)->ref,
                                            &current_action(reaction_run)->enroll);
}

/* Why an event may not be sent; NULL: it may. */
static const char *refuse_send(const struct reaction_run *reaction_run)
{
    const struct pipeline_options *options = &reaction_run->pipeline->options;

    if (!options->enable_chaining)
        return "chains of reactions are switched off";
    if (reaction_run->event->event.depth + 1 >= options->event_gate.max_chain_depth)
        return "the chain of reactions has reached max_chain_depth";
    return NULL;
}

static int fill_send(struct reaction_run *reaction_run, struct reaction_run_send *send,
                     struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(BUF_NO_LIMIT);
    const struct action *action = current_action(reaction_run);
    const char *ref = current_rule(reaction_run)->ref;
    const int64_t now = reaction_run->pipeline->effects->wall(reaction_run->pipeline->user);
    char id[SHA256_HEX_SIZE];

    event_derived_id(reaction_run->event->event.id, ref, action->block, id);
    *send = (struct reaction_run_send){
        .event = {
            .id = keep_run_text(reaction_run, id),
            .tag = arena_printf(&reaction_run->arena, REACTION_RUN_TAG_PREFIX "%s", action->send.tag),
            .data = action->send.data,
            .ts = { now / NUMBER_NS_PER_S, (uint32_t)(now % NUMBER_NS_PER_S) },
            .v = EXEC_PROTOCOL,
            .origin = arena_printf(&reaction_run->arena, EVENT_PROVENANCE "%s", ref),
            .depth = reaction_run->event->event.depth + 1,
        },
        .parent = reaction_run->event->event.id,
    };
    if (event_print_subject(&subject, SUBJECT_EVENT_MASTER, NULL, send->event.tag, err) < 0)
        return -1;
    send->subject = buf_copy(&subject, &reaction_run->arena).p;
    return 0;
}

static void begin_send(struct reaction_run *reaction_run, struct outcome_block *block)
{
    struct reaction_run_send *send = ARENA_NEW(&reaction_run->arena, struct reaction_run_send);
    struct reaction_run_answer answer = { .result = OUTCOME_REFUSED,
                                          .message = refuse_send(reaction_run) };
    struct err err;

    if (!answer.message && fill_send(reaction_run, send, &err) < 0)
        answer.message = err.text;
    if (answer.message) {
        reaction_run_answer(reaction_run, &answer);
        return;
    }
    block->made = send->event.id;
    reaction_run->pipeline->effects->send(reaction_run->pipeline->user, reaction_run, send);
}

static void begin_log(struct reaction_run *reaction_run, struct outcome_block *block)
{
    const struct reaction_run_answer answer = { .result = OUTCOME_DISPATCHED };

    (void)block;
    reaction_run->pipeline->effects->log(reaction_run->pipeline->user, reaction_run,
                                         current_rule(reaction_run)->ref,
                                         current_action(reaction_run)->message);
    reaction_run_answer(reaction_run, &answer);
}

static void begin_run_block(struct reaction_run *reaction_run)
{
    static void (*const begin[])(struct reaction_run *, struct outcome_block *) = {
        [ACTION_DISPATCH] = begin_dispatch,
        [ACTION_ENROLL] = begin_enroll,
        [ACTION_SEND] = begin_send,
        [ACTION_LOG] = begin_log,
    };
    const struct action *action = current_action(reaction_run);
    struct outcome_blocks *blocks = &current_outcome(reaction_run)->blocks;
    const struct outcome_block block = {
        .block = action->block,
        .action = action->name,
        .message = "",
        .made = "",
        .what = action_summary(&reaction_run->arena, action),
    };

    VEC_PUSH_IN(&reaction_run->arena, &blocks->list, block);
    reaction_run->is_waiting = true;
    reaction_run->job = NULL;
    begin[action->kind](reaction_run, &blocks->list.p[blocks->list.n - 1]);
}

/* --- jobs that are waited for ------------------------------------------------------------- */

static bool is_run_waiting(const struct reaction_run *reaction_run)
{
    return reaction_run->job && reaction_run->job->dispatch->wait;
}

static void keep_outcome(struct reaction_run *reaction_run, const struct awaited_end *end)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    const struct value outcome = awaited_value(&scratch, end);

    if (!reaction_run->outcomes) {
        reaction_run->outcomes = ARENA_NEW(&reaction_run->arena, struct value);
        *reaction_run->outcomes = value_map(value_map_new(&reaction_run->arena, 1));
    }
    value_map_set(&reaction_run->arena, reaction_run->outcomes->map,
                  value_text(current_action(reaction_run)->block),
                  value_copy(&reaction_run->arena, &outcome));
}

/* The job of the current block has ended, or there is none. */
static void end_run_wait(struct reaction_run *reaction_run, enum outcome_result result,
                         const struct awaited_end *end, const char *message)
{
    keep_outcome(reaction_run, end);
    end_run_block(reaction_run, result, message);
    reaction_run->phase =
        reaction_uses_outcomes(current_rule(reaction_run)->file) ? PHASE_REST : PHASE_BLOCK;
}

/* Read the file with what is known now. */
static void step_rest(struct reaction_run *reaction_run)
{
    reaction_run->phase = PHASE_RENDERED;
    reaction_run->is_waiting = true;
    reaction_run->pipeline->effects->render(reaction_run->pipeline->user, reaction_run);
}

/* Go on after the block that has waited. */
static void find_rest(struct reaction_run *reaction_run)
{
    const struct outcome_blocks *blocks = &current_outcome(reaction_run)->blocks;
    const char *last = blocks->list.p[blocks->list.n - 1].block;

    reaction_run->block = 0;
    while (reaction_run->block < reaction_run->reaction.actions.n &&
           strcmp(current_action(reaction_run)->block, last) != 0)
        reaction_run->block++;
    if (reaction_run->block++ < reaction_run->reaction.actions.n &&
        reaction_run->outcomes->map->count <= REACTION_WAITS_MAX)
        return;
    current_outcome(reaction_run)->message = arena_printf(
        &reaction_run->arena, "block '%s' has waited, and the file no longer has it", last);
    reaction_run->status = REACTION_VALIDATE_ERROR;
}

/* --- rules --------------------------------------------------------------------------------- */

static void end_rule(struct reaction_run *reaction_run, enum outcome_result result)
{
    current_outcome(reaction_run)->result = result;
    reaction_run->may_pass = reaction_run->may_pass || reaction_run->rule_may_pass;
    reaction_run->rule++;
    reaction_run->phase = PHASE_RULE;
}

static void step_rule(struct reaction_run *reaction_run)
{
    const struct pipeline_effects *effects = reaction_run->pipeline->effects;
    struct outcome_rule outcome = { .message = "" };
    enum outcome_result result;

    if (reaction_run->rule == reaction_run->matches.list.n) {
        reaction_run->phase = PHASE_ENDED;
        return;
    }
    outcome.rule = current_rule(reaction_run)->ref;
    outcome.pattern = current_rule(reaction_run)->pattern;
    VEC_PUSH_IN(&reaction_run->arena, &reaction_run->outcome.rules.list, outcome);
    reaction_run->reaction = (struct reaction){ .actions = VEC_INIT };
    reaction_run->rule_may_pass = false;
    reaction_run->outcomes = NULL;
    reaction_run->block = 0;
    result = reserve_guards(reaction_run);
    if (result != OUTCOME_DISPATCHED) {
        end_rule(reaction_run, result);
        return;
    }
    reaction_run->phase = PHASE_RENDERED;
    reaction_run->is_waiting = true;
    effects->render(reaction_run->pipeline->user, reaction_run);
}

static void step_rendered(struct reaction_run *reaction_run)
{
    static const enum outcome_result results[] = {
        [REACTION_RENDER_ERROR] = OUTCOME_RENDER_ERROR,
        [REACTION_VALIDATE_ERROR] = OUTCOME_VALIDATE_ERROR,
    };

    if (reaction_run->status == REACTION_OK && reaction_run->outcomes)
        find_rest(reaction_run);
    if (reaction_run->status == REACTION_OK) {
        reaction_run->phase = PHASE_BLOCK;
        return;
    }
    settle_rule(reaction_run, true);
    end_rule(reaction_run, results[reaction_run->status]);
}

static void step_block(struct reaction_run *reaction_run)
{
    const bool is_done = reaction_run->block == reaction_run->reaction.actions.n;
    enum outcome_result result;

    if (!is_done && !reaction_run->rule_may_pass) {
        begin_run_block(reaction_run);
        return;
    }
    result = combine_block_results(&current_outcome(reaction_run)->blocks);
    if (reaction_run->rule_may_pass)
        result = OUTCOME_ERROR;
    /* A file that rendered to nothing has not fired: its pause would hide the next event. */
    settle_rule(reaction_run, !reaction_run->rule_may_pass && result != OUTCOME_EMPTY);
    end_rule(reaction_run, result);
}

static void end_reaction_run(struct reaction_run *reaction_run)
{
    struct reaction_run_end end = { .verdict = REACTION_RUN_ACK,
                                    .outcome = &reaction_run->outcome };

    if (reaction_run->may_pass)
        end.verdict = reaction_run->delivery >= PIPELINE_DELIVERIES_MAX ? REACTION_RUN_EXHAUSTED
                                                                        : REACTION_RUN_NAK;
    reaction_run->outcome.outcome =
        end.verdict == REACTION_RUN_EXHAUSTED ? OUTCOME_EXHAUSTED : OUTCOME_FIRED;
    reaction_run->pipeline->effects->end(reaction_run->pipeline->user, reaction_run, &end);
    free_reaction_run(reaction_run);
}

/* Go on until something has to be waited for. An answer may come while it is being asked for. */
static void step_reaction_run(struct reaction_run *reaction_run)
{
    static void (*const steps[])(struct reaction_run *) = {
        [PHASE_RULE] = step_rule,
        [PHASE_RENDERED] = step_rendered,
        [PHASE_BLOCK] = step_block,
        [PHASE_REST] = step_rest,
    };

    if (reaction_run->is_stepping)
        return;
    reaction_run->is_stepping = true;
    while (!reaction_run->is_waiting && reaction_run->phase != PHASE_ENDED)
        steps[reaction_run->phase](reaction_run);
    reaction_run->is_stepping = false;
    if (reaction_run->phase == PHASE_ENDED)
        end_reaction_run(reaction_run);
}

void reaction_run_begin(struct reaction_run *reaction_run)
{
    const struct pipeline *pipeline = reaction_run->pipeline;

    if (reaction_run->event->source.type == EVENT_FROM_PEEL)
        reaction_run->facts = pipeline->effects->facts(pipeline->user, &reaction_run->arena,
                                                       reaction_run->event->source.origin);
    step_reaction_run(reaction_run);
}

const struct rule_file *reaction_run_file(const struct reaction_run *reaction_run)
{
    return current_rule(reaction_run)->file;
}

bool reaction_run_render(struct reaction_run *reaction_run, struct reaction_env *env)
{
    const struct reaction_event event = { &reaction_run->event->source, &reaction_run->event->event,
                                          reaction_run->facts, reaction_run->outcomes };
    struct diags diags = DIAGS_INIT(&reaction_run->arena);
    struct err err;

    reaction_run->status =
        reaction_read(env, &reaction_run->arena, current_rule(reaction_run)->file, &event,
                      &reaction_run->reaction, &diags);
    current_outcome(reaction_run)->message = "";
    if (reaction_run->status == REACTION_OK)
        return true;
    (void)diags_to_err(&diags, &err);
    current_outcome(reaction_run)->message = keep_run_text(reaction_run, err.text);
    return false;
}

void reaction_run_rendered(struct reaction_run *reaction_run)
{
    reaction_run->is_waiting = false;
    step_reaction_run(reaction_run);
}

void reaction_run_postpone(struct reaction_run *reaction_run)
{
    reaction_run->reaction = (struct reaction){ .actions = VEC_INIT };
    reaction_run->rule_may_pass = true;
    reaction_run->phase = PHASE_BLOCK;
    reaction_run->is_waiting = false;
    step_reaction_run(reaction_run);
}

/* There is a job; the block ends with it. */
static void begin_wait(struct reaction_run *reaction_run, enum outcome_result sent)
{
    reaction_run->sent = sent;
    reaction_run->phase = PHASE_AWAIT;
    reaction_run->pipeline->effects->await(reaction_run->pipeline->user, reaction_run,
                                           reaction_run->job);
}

void reaction_run_answer(struct reaction_run *reaction_run,
                         const struct reaction_run_answer *answer)
{
    const struct awaited_end none = { .status = outcome_result_name(answer->result), .jid = "" };

    if (answer->result == OUTCOME_ERROR && answer->may_pass)
        reaction_run->rule_may_pass = true;
    if (!is_run_waiting(reaction_run) || reaction_run->rule_may_pass) {
        reaction_run->phase = PHASE_BLOCK;
        end_run_block(reaction_run, answer->result, answer->message);
    } else if (answer->result == OUTCOME_DISPATCHED || answer->result == OUTCOME_DUPLICATE) {
        begin_wait(reaction_run, answer->result);
        return;
    } else {
        end_run_wait(reaction_run, answer->result, &none, answer->message);
    }
    reaction_run->is_waiting = false;
    step_reaction_run(reaction_run);
}

void reaction_run_job_ended(struct reaction_run *reaction_run, const struct awaited_end *end)
{
    const char *message =
        arena_printf(&reaction_run->arena, "job %s: %lld of %lld targets succeeded", end->status,
                     (long long)end->succeeded, (long long)end->targets);

    end_run_wait(reaction_run, reaction_run->sent, end, end->is_ok ? NULL : message);
    reaction_run->is_waiting = false;
    step_reaction_run(reaction_run);
}
