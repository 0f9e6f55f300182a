/*
 * fake - a world for the engine that exists on paper only.
 *
 * Services are described in a few words a line:
 *
 *     db always check delay=1 backoff=2 max=8
 *     web no <db:healthy:restart:timeout=30 hook:pre_start ^highstate:restart:timeout=30
 *
 * Evaluations are done at once, but of a service that is `slow`, when told. Processes run until a
 * test ends them or a signal does; hooks end at once, well or as told; checks end when told. Time
 * passes when a test says so, which may be an hour in a microsecond.
 */
#ifndef TESTS_UNIT_KEPLER_ENGINE_FAKE_H
#define TESTS_UNIT_KEPLER_ENGINE_FAKE_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/number.h"
#include "kepler/engine/engine.h"
#include "kepler/engine/readiness.h"
#include "core/sys/clock.h"
#include "core/sys/signals.h"
#include "test.h"

#define FAKE        __attribute__((unused)) static
#define FAKE_START  (1000 * CLOCK_SECOND)
#define FAKE_TRACES ((size_t)1 << 20)

/* The pending evaluation of a slow service. */
enum fake_question { FAKE_NOTHING, FAKE_PLAN, FAKE_STEP, FAKE_OUTPUTS };

struct fake_service {
    bool talkative; /* its checks report why they fail */
    bool slow;
    enum fake_question question;
    bool answering; /* an answer is on its way */
    bool canceled;
    unsigned resolve_flags;
    struct world_plan plan;
    struct world_step step;
    bool if_false, resolve_fails, spawn_fails, stubborn, hold_hooks, leftovers;
    bool alive, main_ended, task[WORLD_TASKS], watching, watches_states;
    unsigned ends; /* of runs */
    int ends_by;   /* a signal that is on its way */
    bool emptying;
    bool task_ending[WORLD_TASKS];
    struct process_status task_status[WORLD_TASKS];
    int hook_code[HOOK_PHASES];
    enum hook_phase phase;
    bool step_runs, step_clears;
    size_t spawned;
};

/* A state of the machine. */
struct fake_state {
    bool success;
    int64_t changed;
};

struct fake {
    struct world world;
    struct map states; /* to struct fake_state; those that have run */
    struct arena arena;
    struct timers timers;
    struct config config;
    struct fake_service *services;
    struct engine *engine;
    struct buf acts, changes;
    size_t settled, unhandled;
};

/* --- the description -------------------------------------------------------------------- */

FAKE struct value *fake_value(struct fake *fake, struct value v)
{
    struct value *copy = ARENA_NEW(&fake->arena, struct value);

    *copy = v;
    return copy;
}

FAKE int64_t fake_seconds(struct str text)
{
    struct err err;
    double seconds = 0;

    CHECK(number_parse_double(text, &seconds, &err) == 0);
    return (int64_t)(seconds * (double)CLOCK_SECOND);
}

FAKE uint32_t fake_index(const struct fake *fake, struct str name)
{
    for (uint32_t i = 0; i < fake->config.service_count; i++)
        if (str_is(name, fake->config.services[i].name))
            return i;
    (void)fprintf(stderr, "no service '%.*s'\n", STR_ARG(name));
    CHECK(false);
    return 0;
}

FAKE void fake_codes(struct fake *fake, struct config_edge *edge, struct str text)
{
    struct condition_range *ranges = ARENA_ARRAY(&fake->arena, struct condition_range, 8);

    edge->codes.ranges = ranges;
    while (text.p) {
        struct str last = str_cut(&text, ','), first = str_cut(&last, '-');
        struct condition_range *range = &ranges[edge->codes.count++];
        struct err err;

        CHECK(number_parse_int(first, &range->first, &err) == 0);
        range->last = range->first;
        if (last.p)
            CHECK(number_parse_int(last, &range->last, &err) == 0);
    }
}

/* "<db:healthy:restart:timeout=30:codes=1,5-10:skippable" */
FAKE void fake_edge(struct fake *fake, struct config_service *service, struct str word)
{
    struct config_edge *edge = &service->edges[service->edge_count++];

    edge->service = fake_index(fake, str_cut(&word, ':'));
    while (word.p) {
        struct str part = str_cut(&word, ':');
        const char *name = arena_printf(&fake->arena, "service_%.*s", STR_ARG(part));

        if (str_is(part, "restart"))
            edge->restart = true;
        else if (str_is(part, "skippable"))
            edge->allow_skipped = true;
        else if (str_starts(part, STR("timeout=")))
            edge->timeout = fake_seconds(str_from_offset(part, 8));
        else if (str_starts(part, STR("codes=")))
            fake_codes(fake, edge, str_from_offset(part, 6));
        else
            CHECK(condition_parse(str_from(name), &edge->condition) == 0);
    }
}

/* "^highstate:restart:timeout=30" */
FAKE void fake_wants_state(struct fake *fake, struct config_service *service, struct str word)
{
    struct config_state *state = &service->states[service->state_count++];

    state->name = arena_str(&fake->arena, str_cut(&word, ':')).p;
    while (word.p) {
        struct str part = str_cut(&word, ':');

        state->restart = state->restart || str_is(part, "restart");
        if (str_starts(part, STR("timeout=")))
            state->timeout = fake_seconds(str_from_offset(part, 8));
    }
}

/* "hook:pre_start" is one step; "hook:pre_start=1,?0,!0": a code for each, '?' with an `if` that
 * asks failure(), '!' with one that is always true. */
FAKE void fake_hook(struct fake *fake, struct config_service *service, struct str word)
{
    struct str name = str_cut(&word, '=');
    enum hook_phase phase = HOOK_PRE_START;

    CHECK(hook_phase_parse(name, &phase) == 0);
    service->hooks[phase].p = ARENA_ARRAY(&fake->arena, struct config_step, 8);
    if (!word.p)
        word = STR("0");
    while (word.p) {
        struct str code = str_cut(&word, ',');
        struct config_step *step = &service->hooks[phase].p[service->hooks[phase].n++];

        step->timeout = 60 * CLOCK_SECOND;
        if (code.p[0] == '?' || code.p[0] == '!' || code.p[0] == '-') {
            step->condition = fake_value(fake, value_str(str_slice(code, 0, 1)));
            code = str_from_offset(code, 1);
        }
        step->output = arena_strndup(&fake->arena, code.p, code.n); /* how it ends */
    }
}

FAKE void fake_word(struct fake *fake, uint32_t index, struct str word)
{
    struct config_service *service = &fake->config.services[index];
    struct fake_service *state = &fake->services[index];
    struct policy *policy = &service->restart.policy;
    struct str value = word, key = str_cut(&value, '=');
    struct err err;

    if (word.p[0] == '<')
        fake_edge(fake, service, str_from_offset(word, 1));
    else if (word.p[0] == '^')
        fake_wants_state(fake, service, str_from_offset(word, 1));
    else if (str_starts(word, STR("hook:")))
        fake_hook(fake, service, str_from_offset(word, 5));
    else if (str_is(word, "check"))
        service->health = (struct config_health){
            .given = true, .interval = 5 * CLOCK_SECOND, .timeout = 2 * CLOCK_SECOND, .retries = 3
        };
    else if (str_is(key, "start_period"))
        service->health.start_period = fake_seconds(value);
    else if (str_is(key, "delay"))
        policy->delay = fake_seconds(value);
    else if (str_is(key, "max"))
        policy->max_delay = fake_seconds(value);
    else if (str_is(key, "backoff"))
        policy->backoff = (double)fake_seconds(value) / (double)CLOCK_SECOND;
    else if (str_is(key, "grace"))
        service->stop_grace_period = fake_seconds(value);
    else if (str_is(key, "restart-grace"))
        policy->grace_period = fake_seconds(value);
    else if (str_is(key, "limit") || str_is(key, "slowed")) {
        service->start_limit_ends = str_is(key, "limit");
        service->start_limit_count = fake_seconds(str_cut(&value, '/')) / CLOCK_SECOND;
        service->start_limit_interval = fake_seconds(value);
    } else if (str_is(word, "watch"))
        service->restart.watch.n = 1;
    else if (str_is(word, "talkative"))
        state->talkative = true;
    else if (str_is(word, "slow"))
        state->slow = true;
    else if (str_is(word, "if-false"))
        state->if_false = true;
    else if (str_is(word, "resolve-fails"))
        state->resolve_fails = true;
    else if (str_is(word, "spawn-fails"))
        state->spawn_fails = true;
    else if (str_is(word, "stubborn"))
        state->stubborn = true;
    else if (str_is(word, "leftovers"))
        state->leftovers = true;
    else if (str_is(word, "hold"))
        state->hold_hooks = true;
    else if (str_is(word, "clear"))
        service->logs.on_stop = service->logs.on_restart = service->logs.on_failure = CONFIG_CLEAR;
    else
        CHECK(policy_parse(word, &policy->flags, &err) == 0);
}

/* Services must come after those they depend on. */
FAKE void fake_describe(struct fake *fake, struct str text)
{
    size_t lines = 1;
    uint32_t *order;

    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n';
    order = ARENA_ARRAY(&fake->arena, uint32_t, lines);
    fake->config.services = ARENA_ARRAY(&fake->arena, struct config_service, lines);
    fake->services = ARENA_ARRAY(&fake->arena, struct fake_service, lines);
    fake->config.order = order;
    while (text.p) {
        struct str rest = str_trim(str_cut(&text, '\n')), name = str_cut(&rest, ' ');
        uint32_t index = fake->config.service_count;
        struct config_service *service = &fake->config.services[index];

        if (name.n == 0)
            continue;
        service->name = arena_strndup(&fake->arena, name.p, name.n);
        service->edges = ARENA_ARRAY(&fake->arena, struct config_edge, 8);
        service->states = ARENA_ARRAY(&fake->arena, struct config_state, 8);
        service->stop_signal = SIGTERM;
        service->stop_grace_period = -1;
        service->restart.policy.backoff = 1;
        service->restart.policy.grace_period = -1;
        order[index] = fake->config.service_count++;
        while (rest.p)
            fake_word(fake, index, str_cut(&rest, ' '));
    }
}

/* --- the world ---------------------------------------------------------------------------- */

FAKE struct fake *fake_of(struct world *world)
{
    return container_of(world, struct fake, world);
}

FAKE const char *fake_name(const struct fake *fake, uint32_t index)
{
    return fake->config.services[index].name;
}

FAKE int64_t fake_now(struct world *world)
{
    (void)world;
    return clock_now();
}

FAKE int64_t fake_wall(struct world *world)
{
    (void)world;
    return clock_wall();
}

FAKE void fake_begin(struct world *world)
{
    (void)world;
}

FAKE enum world_answer fake_ask(struct fake *fake, uint32_t service, enum fake_question question)
{
    struct fake_service *state = &fake->services[service];

    CHECK_INT(state->question, FAKE_NOTHING);
    state->question = question;
    state->answering = state->canceled = false;
    buf_printf(&fake->acts, "evaluate %s; ", fake->config.services[service].name);
    return WORLD_LATER;
}

FAKE enum world_answer fake_evaluate(const struct fake_service *state, unsigned flags,
                                     struct world_plan *plan, struct err *err)
{
    if (state->resolve_fails) {
        (void)err_set(err, ERR_INVALID, "attempt to index a nil value");
        return WORLD_NO;
    }
    plan->skip = state->if_false && !(flags & WORLD_IGNORE_IF);
    plan->reason = "`if` condition evaluated to false: `service.debug`";
    return WORLD_DONE;
}

FAKE enum world_answer fake_resolve(struct world *world, uint32_t service, unsigned flags,
                                    struct world_plan *plan, struct err *err)
{
    struct fake_service *state = &fake_of(world)->services[service];

    if (!state->slow)
        return fake_evaluate(state, flags, plan, err);
    state->plan = *plan;
    state->resolve_flags = flags;
    return fake_ask(fake_of(world), service, FAKE_PLAN);
}

FAKE void fake_cancel_answer(struct world *world, uint32_t service)
{
    struct fake *fake = fake_of(world);
    struct fake_service *state = &fake->services[service];

    CHECK(state->question != FAKE_NOTHING);
    if (!state->canceled)
        buf_printf(&fake->acts, "cancel %s; ", fake_name(fake, service));
    state->canceled = state->answering = true;
}

FAKE int fake_spawn(struct world *world, uint32_t service, pid_t *ret_pid, struct err *err)
{
    struct fake *fake = fake_of(world);
    struct fake_service *state = &fake->services[service];

    CHECK(!state->alive);
    if (state->spawn_fails)
        return err_set(err, ERR_SYSTEM, "start './%s': no such file", fake_name(fake, service));
    state->alive = true;
    state->main_ended = false;
    state->spawned++;
    buf_printf(&fake->acts, "spawn %s; ", fake_name(fake, service));
    *ret_pid = (pid_t)(100 + service);
    return 0;
}

FAKE void fake_signal(struct world *world, uint32_t service, int signo)
{
    struct fake *fake = fake_of(world);
    struct fake_service *state = &fake->services[service];

    buf_printf(&fake->acts, "%s %s; ", signal_name(signo), fake_name(fake, service));
    if (!state->stubborn || signo == SIGKILL)
        state->ends_by = signo;
}

FAKE void fake_kill(struct world *world, uint32_t service)
{
    struct fake *fake = fake_of(world);
    struct fake_service *state = &fake->services[service];

    if (state->main_ended && !state->leftovers && !state->stubborn) {
        state->emptying = true; /* no process left to kill */
        return;
    }
    buf_printf(&fake->acts, "kill %s; ", fake_name(fake, service));
    if (state->main_ended)
        state->emptying = true;
    else
        state->ends_by = SIGKILL;
}

FAKE enum world_answer fake_prepare_step(struct world *world, uint32_t service,
                                         enum hook_phase phase, size_t step, bool failed,
                                         struct world_step *ret, struct err *err)
{
    struct fake *fake = fake_of(world);
    struct fake_service *state = &fake->services[service];
    const struct config_step *config = &fake->config.services[service].hooks[phase].p[step];

    (void)err;
    state->phase = phase;
    state->hook_code[phase] = (int)strtol(config->output, NULL, 10);
    if (!config->condition && state->slow) {
        state->step = *ret;
        return fake_ask(fake, service, FAKE_STEP);
    }
    if (!config->condition)
        return WORLD_DONE;
    switch (config->condition->s.p[0]) {
    case '?':
        ret->run = failed;
        ret->clears = true;
        break;
    case '-':
        ret->run = false;
        ret->warning = "the condition cannot be evaluated";
        break;
    }
    return WORLD_DONE;
}

FAKE enum world_started fake_task_start(struct world *world, uint32_t service, enum world_task kind,
                                        struct err *err)
{
    struct fake *fake = fake_of(world);
    struct fake_service *state = &fake->services[service];

    (void)err;
    CHECK(!state->task[kind]);
    state->task[kind] = true;
    if (kind == WORLD_CHECK)
        return WORLD_STARTED;
    buf_printf(&fake->acts, "%s.%s; ", fake_name(fake, service), hook_phase_name(state->phase));
    if (state->hold_hooks)
        return WORLD_STARTED;
    state->task_ending[kind] = true;
    state->task_status[kind] = (struct process_status){ state->hook_code[state->phase], 0 };
    return WORLD_STARTED;
}

FAKE void fake_task_kill(struct world *world, uint32_t service, enum world_task kind)
{
    struct fake *fake = fake_of(world);
    struct fake_service *state = &fake->services[service];

    CHECK(state->task[kind]);
    buf_printf(&fake->acts, "kill %s of %s; ", kind == WORLD_HOOK ? "hook" : "check",
               fake_name(fake, service));
    state->task_ending[kind] = true;
    state->task_status[kind] = (struct process_status){ -1, SIGKILL };
}

FAKE const char *fake_check_words(struct world *world, uint32_t service)
{
    return fake_of(world)->services[service].talkative ? "connection refused" : "";
}

FAKE void fake_watch_start(struct world *world, uint32_t service)
{
    CHECK(!fake_of(world)->services[service].watching);
    fake_of(world)->services[service].watching = true;
}

FAKE void fake_watch_stop(struct world *world, uint32_t service)
{
    CHECK(fake_of(world)->services[service].watching);
    fake_of(world)->services[service].watching = false;
}

FAKE void fake_outputs_clear(struct world *world, uint32_t service)
{
    (void)world;
    (void)service;
}

FAKE enum world_answer fake_outputs_keep(struct world *world, uint32_t service, struct err *err)
{
    struct fake *fake = fake_of(world);

    (void)err;
    if (fake->services[service].slow)
        return fake_ask(fake, service, FAKE_OUTPUTS);
    buf_printf(&fake->acts, "keep outputs of %s; ", fake_name(fake, service));
    return WORLD_DONE;
}

FAKE void fake_note(struct world *world, uint32_t service, enum hook_phase phase,
                    enum world_note note, const char *text)
{
    struct fake *fake = fake_of(world);

    buf_printf(&fake->acts, "%s %s%s%s: %s; ", note == WORLD_WARNING ? "warning" : "note",
               fake_name(fake, service), phase < HOOK_PHASES ? "." : "",
               phase < HOOK_PHASES ? hook_phase_name(phase) : "", text);
}

FAKE void fake_watch_states(struct world *world, uint32_t service, bool on)
{
    struct fake *fake = fake_of(world);

    CHECK(fake->services[service].watches_states != on);
    fake->services[service].watches_states = on;
}

FAKE struct world_state fake_find_state(struct world *world, uint32_t service, const char *name)
{
    const struct fake_state *state = map_find(&fake_of(world)->states, str_from(name));

    (void)service;
    if (!state)
        return (struct world_state){ .words = "has not run on this machine" };
    return (struct world_state){ state->success, state->changed,
                                 state->success ? "" : "failed in its last run" };
}

/* The state ran: notifies watchers. */
FAKE void fake_run_state(struct fake *fake, struct str name, bool success, bool changed)
{
    void **place = map_place(&fake->states, name);
    struct fake_state *state = *place ? *place : ARENA_NEW(&fake->arena, struct fake_state);

    *place = state;
    state->success = success;
    if (changed)
        state->changed = clock_wall();
    for (uint32_t i = 0; i < fake->config.service_count; i++)
        if (fake->services[i].watches_states)
            fake->world.events.states_changed(fake->world.events.self, i);
}

FAKE void fake_end_run(struct world *world, uint32_t service)
{
    fake_of(world)->services[service].ends++;
}

static const struct world_ops fake_ops = {
    .now = fake_now,
    .wall = fake_wall,
    .begin = fake_begin,
    .resolve = fake_resolve,
    .cancel_answer = fake_cancel_answer,
    .spawn = fake_spawn,
    .signal = fake_signal,
    .kill = fake_kill,
    .prepare_step = fake_prepare_step,
    .task_start = fake_task_start,
    .task_kill = fake_task_kill,
    .check_words = fake_check_words,
    .watch_start = fake_watch_start,
    .watch_stop = fake_watch_stop,
    .watch_states = fake_watch_states,
    .find_state = fake_find_state,
    .outputs_clear = fake_outputs_clear,
    .outputs_keep = fake_outputs_keep,
    .end_run = fake_end_run,
    .note = fake_note,
};

/* --- events of the engine -------------------------------------------------------------------- */

FAKE void fake_sink(void *self, const struct engine_event *event)
{
    struct fake *fake = self;

    if (event->kind == EVENT_STATUS)
        buf_printf(&fake->changes, "%s: %s -> %s: %s\n", event->name, status_name(event->from),
                   status_name(event->to), event->cause);
    else if (event->kind == EVENT_UNHANDLED_FAILURE)
        buf_printf(&fake->acts, "unhandled %s; ", event->name);
    else if (event->kind == EVENT_CLEAR_LOGS)
        buf_printf(&fake->acts, "clear logs of %s; ", event->name);
    else if (event->kind == EVENT_CLEANED)
        buf_printf(&fake->acts, "cleaned %s; ", event->name);
    else if (event->kind == EVENT_SETTLED)
        fake->settled++;
}

/* --- playing ----------------------------------------------------------------------------- */

FAKE void fake_main_ends(struct fake *fake, uint32_t service, struct process_status status)
{
    fake->services[service].main_ended = true;
    fake->world.events.exited(fake->world.events.self, service, status);
}

FAKE void fake_answer_question(struct fake *fake, uint32_t i)
{
    struct fake_service *state = &fake->services[i];
    const struct world_events *events = &fake->world.events;
    enum fake_question question = state->question;
    struct err err, *bad = NULL;

    if (state->canceled) {
        (void)err_set(&err, ERR_CANCELED, "canceled");
        bad = &err;
    } else if (question == FAKE_PLAN &&
               fake_evaluate(state, state->resolve_flags, &state->plan, &err) == WORLD_NO) {
        bad = &err;
    }
    state->question = FAKE_NOTHING;
    state->answering = false;
    if (question == FAKE_PLAN)
        events->resolved(events->self, i, &state->plan, bad);
    else if (question == FAKE_STEP)
        events->step_prepared(events->self, i, &state->step, bad);
    else
        events->outputs_kept(events->self, i, bad);
}

FAKE bool fake_deliver(struct fake *fake, uint32_t i)
{
    struct fake_service *state = &fake->services[i];
    int signo = state->ends_by;

    if (state->answering) {
        fake_answer_question(fake, i);
        return true;
    }
    for (int kind = 0; kind < WORLD_TASKS; kind++)
        if (state->task_ending[kind]) {
            state->task_ending[kind] = state->task[kind] = false;
            fake->world.events.task_ended(fake->world.events.self, i, (enum world_task)kind,
                                          state->task_status[kind]);
            return true;
        }
    if (signo && state->alive && !state->main_ended) {
        state->ends_by = 0;
        fake_main_ends(fake, i, (struct process_status){ -1, signo });
        state->emptying = !state->leftovers || signo == SIGKILL;
        return true;
    }
    if (!state->emptying)
        return false;
    state->emptying = state->alive = false;
    state->ends_by = 0;
    fake->world.events.emptied(fake->world.events.self, i);
    return true;
}

/* Let everything happen that follows without time passing. */
FAKE void fake_settle(struct fake *fake)
{
    bool again = true;

    engine_step(fake->engine);
    while (again) {
        again = timers_run(&fake->timers, clock_now()) > 0;
        engine_step(fake->engine);
        for (uint32_t i = 0; i < fake->config.service_count; i++)
            while (fake_deliver(fake, i)) {
                again = true;
                engine_step(fake->engine);
            }
    }
}

FAKE void fake_pass(struct fake *fake, int64_t ns)
{
    int64_t end = clock_now() + ns;

    while (timers_next(&fake->timers) <= end) {
        int64_t next = timers_next(&fake->timers);

        clock_turn(next > clock_now() ? next - clock_now() : 0);
        (void)timers_run(&fake->timers, clock_now());
        fake_settle(fake);
    }
    clock_turn(end - clock_now());
    fake_settle(fake);
}

/* The process ends; nothing that follows from it happens yet. */
FAKE void fake_end(struct fake *fake, uint32_t service, struct process_status status)
{
    CHECK(fake->services[service].alive);
    fake_main_ends(fake, service, status);
    if (!fake->services[service].leftovers)
        fake->services[service].emptying = true;
}

FAKE void fake_exit(struct fake *fake, uint32_t service, struct process_status status)
{
    fake_end(fake, service, status);
    fake_settle(fake);
}

/* End the check that runs. */
FAKE bool fake_answer(struct fake *fake, uint32_t service, bool pass)
{
    struct fake_service *state = &fake->services[service];

    if (!state->task[WORLD_CHECK])
        return false;
    state->task_ending[WORLD_CHECK] = true;
    state->task_status[WORLD_CHECK] = (struct process_status){ pass ? 0 : 1, 0 };
    fake_settle(fake);
    return true;
}

FAKE struct fake *fake_new(struct str description)
{
    struct fake *fake = mem_zalloc(sizeof(*fake));

    clock_fake(FAKE_START, INT64_C(1700000000) * CLOCK_SECOND);
    fake->acts.max = fake->changes.max = FAKE_TRACES;
    fake->states = (struct map)MAP_INIT_IN(&fake->arena);
    timers_init(&fake->timers);
    fake_describe(fake, description);
    fake->world.ops = &fake_ops;
    fake->world.timers = &fake->timers;
    fake->engine = engine_new(&fake->config, &fake->world, (struct event_sink){ fake_sink, fake });
    return fake;
}

FAKE void fake_free(struct fake *fake)
{
    engine_free(fake->engine);
    timers_done(&fake->timers);
    arena_done(&fake->arena);
    buf_done(&fake->acts);
    buf_done(&fake->changes);
    free(fake);
    clock_restore();
}

FAKE enum status fake_status(const struct fake *fake, const char *name)
{
    return service_status(engine_find(fake->engine, name));
}

/* "db=running web=skipped(dependency `db` was skipped)" */
FAKE void fake_show(const struct fake *fake, struct buf *out)
{
    for (uint32_t i = 0; i < fake->config.service_count; i++) {
        const struct service *service = engine_get(fake->engine, i);

        buf_printf(out, "%s%s=%s", i ? " " : "", service->config->name,
                   status_name(service_status(service)));
        if (service->reason.n > 0)
            buf_printf(out, "(%s)", buf_text(&service->reason));
    }
}

#endif
