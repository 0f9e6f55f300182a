#include "states/run/run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/state/host.h"
#include "states/run/lastrun.h"
#include "states/run/look.h"
#include "states/compile/output.h"
#include "states/run/run_id.h"
#include "states/compile/plan.h"
#include "states/run/runlock.h"
#include "states/run/runner.h"
#include "states/run/tidy.h"
#include "states/state/secrets.h"
#include "states/undo/undo.h"
#include "core/sys/account.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/draft_log.h"
#include "core/sys/lock.h"

/* --- events --------------------------------------------------------------------------- */

static void emit_run_event(const struct runner *runner, struct run_event event)
{
    if (!runner->sink)
        return;
    event.run_id = runner->run_id;
    event.level = runner->level;
    event.level_count = runner->plan->level_count;
    event.state_count = runner->plan->count;
    runner->sink->emit(runner->sink->self, &event);
}

static void emit_state(const struct runner *runner, uint32_t state, bool ended)
{
    const struct state_result *result = &runner->results[runner->position[state]];

    if (!runner->sink || runner->sink->brief)
        return;
    emit_run_event(runner, (struct run_event){
                               .kind = ended ? RUN_STATE_FINISHED : RUN_STATE_STARTED,
                               .name = runner->reactions.names[state],
                               .state = ended ? result : NULL,
                           });
}

static void on_task(void *user, struct level_pool_task *level_pool_task, bool ended)
{
    emit_state(user, container_of(level_pool_task, struct runner_task, task)->state, ended);
}

static void run_pool_state(void *user, struct level_pool_task *level_pool_task)
{
    const struct runner *runner = user;
    const bool tells = runner->sink && runner->sink->any_thread;

    if (tells)
        on_task(user, level_pool_task, false);
    runner_execute(user, container_of(level_pool_task, struct runner_task, task));
    if (tells)
        on_task(user, level_pool_task, true);
}

/* Must workers wake the calling thread when a state starts and ends? */
static bool needs_waking(const struct runner *runner)
{
    return runner->sink && !runner->sink->brief && !runner->sink->any_thread;
}

/* --- callbacks for attempts ------------------------------------------------------------- */

/* Details of an earlier state. If they do not exist yet, or would change in a dry run, a text
 * stands for all of them. */
static const struct value *on_details(void *user, uint32_t state)
{
    struct runner *runner = user;
    const struct plan_state *named = &runner->plan->states[state];
    const struct state_result *result = &runner->results[runner->position[state]];
    struct value *forecast;

    if (named->level < runner->level) {
        if (state_result_is_broken(result) || result->outcome == OUTCOME_SKIPPED)
            return NULL;
        if (!runner->test || result->outcome == OUTCOME_UNCHANGED)
            return runner->details[state] ? runner->details[state] : &runner->no_details;
    }
    (void)pthread_mutex_lock(&runner->mutex);
    forecast = ARENA_NEW(runner->arena, struct value);
    *forecast = value_text(arena_printf(runner->arena, "(known after %s)", named->name));
    (void)pthread_mutex_unlock(&runner->mutex);
    return forecast;
}

static struct state_group *on_group(void *user, uint32_t state)
{
    const struct runner *runner = user;
    const char *lock = runner->plan->states[state].module->lock;

    return lock ? map_find(&runner->groups, str_from(lock)) : NULL;
}

/* The result of the last run no longer holds from here on. */
static int doubt_last_run(struct runner *runner, struct err *err)
{
    int rc = 0;

    (void)pthread_mutex_lock(&runner->mutex);
    if (!runner->doubted)
        rc = lastrun_doubt(runner->host->data_dir, err);
    runner->doubted |= rc == 0;
    (void)pthread_mutex_unlock(&runner->mutex);
    return rc;
}

static int on_apply(void *user, uint32_t state, struct err *err)
{
    struct runner *runner = user;

    if (doubt_last_run(runner, err) < 0)
        return -1;
    return reactions_expect(&runner->reactions, state, err);
}

/* A state does the work of another one: record the debts to its watchers. */
static int on_peer(void *user, const char *name, struct err *err)
{
    struct runner *runner = user;
    const int64_t state = plan_find(runner->plan, name);

    return state < 0 ? 0 : reactions_expect(&runner->reactions, (uint32_t)state, err);
}

/* --- preparing -------------------------------------------------------------------------- */

static void hide_run_secrets(const struct runner *runner)
{
    VEC_EACH (&runner->plan->marked.list, doc)
        secrets_add_marked(runner->host->secrets, *doc);
    for (uint32_t s = 0; s < runner->plan->count; s++) {
        const struct plan_state *state = &runner->plan->states[s];

        if (state->secret)
            (void)secrets_add_body(runner->host->secrets, state->module->params, &state->body);
    }
}

static void init_results(struct runner *runner)
{
    const struct plan *plan = runner->plan;

    runner->results = ARENA_ARRAY(runner->arena, struct state_result, (size_t)plan->count + 1);
    runner->position = ARENA_ARRAY(runner->arena, uint32_t, (size_t)plan->count + 1);
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct plan_state *state = &plan->states[plan->order[i]];

        runner->position[plan->order[i]] = i;
        runner->results[i] = (struct state_result){ .name = runner->reactions.names[plan->order[i]],
                                                    .level = state->level,
                                                    .at = state->at };
    }
    if (plan->outputs && plan->outputs->list.n > 0)
        runner->details = ARENA_ARRAY(runner->arena, const struct value *, plan->count);
    runner->no_details = value_map(value_map_new(runner->arena, 0));
    runner->view = (struct state_gate_view){ plan, runner->reactions.names, runner->results,
                                             runner->position, runner->test };
}

static void init_worlds(struct runner *runner)
{
    runner->world = (struct attempt_world){
        .host = runner->host,
        .plan = runner->plan,
        .undo = runner->undo,
        .drafts = runner->drafts,
        .details = on_details,
        .group = on_group,
        .before_apply = on_apply,
        .user = runner,
    };
    runner->ahead = runner->world;
    runner->ahead.undo = NULL;
    runner->ahead.group = NULL;
    runner->world.hashes = runner->key.id[0] != '\0';
}

/* "user root" */
static const char *name_own_user(struct arena *arena)
{
    const struct account *account = NULL;
    struct err ignored;

    if (account_find_uid(arena, geteuid(), &account, &ignored) < 0 || !account)
        return arena_printf(arena, "user %u", geteuid());
    return arena_printf(arena, "user %s", account->name);
}

static void open_undo(struct runner *runner)
{
    const struct state_host *host = runner->host;
    const struct undo_head head = { .run_id = runner->run_id,
                                    .refs = runner->plan->refs,
                                    .function = host->function,
                                    .by = host->by ? host->by : name_own_user(runner->arena) };

    runner->undo = undo_new(host->data_dir, &head);
}

static int open_runner(struct runner *runner, struct err *err)
{
    run_id_make(runner->host->run_id, runner->run_id);
    (void)pthread_mutex_init(&runner->mutex, NULL);
    hide_run_secrets(runner);
    if (reactions_open(&runner->reactions, runner->arena, runner->host, runner->plan,
                       runner->run_id, runner->test ? OWED_LEAVE_DRAFTS : OWED_REMOVE_DRAFTS,
                       err) < 0)
        return -1;
    if (runner->test && runner->host->plans)
        plan_binding_find_key(runner->host->data_dir, &runner->key);
    if (!runner->test) {
        runner->drafts = tidy_begin(runner->host->data_dir);
        open_undo(runner);
    }
    init_results(runner);
    init_worlds(runner);
    return 0;
}

static void close_runner(struct runner *runner)
{
    undo_free(runner->undo);
    draft_log_close(runner->drafts);
    reactions_close(&runner->reactions);
    runner_free_spares(runner);
    (void)pthread_mutex_destroy(&runner->mutex);
}

/* --- levels ----------------------------------------------------------------------------- */

static struct state_gate ask_gate(struct runner *runner, uint32_t state,
                                  const struct state_result *abort)
{
    struct owed_found debts;

    if (abort)
        return (struct state_gate){
            .skip = SKIP_FAILHARD_ABORT,
            .cause = arena_printf(runner->arena, "%s failed with failhard", abort->name),
        };
    if (cancel_is_raised(runner->host->cancel))
        return (struct state_gate){ .skip = SKIP_CANCELED };
    reactions_find(&runner->reactions, runner->arena, state, &debts);
    return state_gate_ask(runner->arena, &runner->view, state, &debts);
}

/* Will it run in any case, with its current arguments? */
static bool is_certain(const struct plan_state *state)
{
    return !state->deferred && !state->dry && !state->alone && state->onlyif.n == 0 &&
           state->unless.n == 0 && state->creates.n == 0 &&
           state->requisites[REQUISITE_PREREQ].n == 0;
}

static void make_groups(struct runner *runner, struct arena *arena, const struct runner_task *tasks,
                        size_t count)
{
    runner->groups = (struct map)MAP_INIT_IN(arena);
    for (size_t i = 0; i < count && !runner->test; i++) {
        const struct plan_state *state = &runner->plan->states[tasks[i].state];
        const struct state_peer peer = { state->name, state->module, state->args };
        struct state_group *group;

        if (!state->module->lock)
            continue;
        group = map_find(&runner->groups, str_from(state->module->lock));
        if (!group) {
            group = ARENA_NEW(arena, struct state_group);
            group->left.arena = &group->arena;
            group->begin = on_peer;
            group->user = runner;
            map_set(&runner->groups, str_from(state->module->lock), group);
        }
        if (is_certain(state))
            VEC_PUSH_IN(&group->arena, &group->peers, peer);
    }
}

static void drop_groups(struct runner *runner)
{
    MAP_EACH (&runner->groups, entry)
        arena_done(&((struct state_group *)entry->value)->arena);
    runner->groups = (struct map)MAP_INIT;
}

/* Run all at once, except states that run alone: they wait for earlier ones, and later ones wait
 * for them. */
static void run_tasks(struct runner *runner, struct level_pool *level_pool,
                      struct level_pool_task *const *ready, const struct runner_task *tasks,
                      size_t count)
{
    const struct plan_state *states = runner->plan->states;

    for (size_t i = 0, n; i < count; i += n) {
        n = 1;
        while (!states[tasks[i].state].alone && i + n < count && !states[tasks[i + n].state].alone)
            n++;
        level_pool_run(level_pool, ready + i, n);
    }
}

static void run_level(struct runner *runner, struct level_pool *level_pool,
                      const struct state_result *abort)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    const struct plan *plan = runner->plan;
    uint32_t first = plan->level_start[runner->level], last = plan->level_start[runner->level + 1];
    struct runner_task *tasks = ARENA_ARRAY(&scratch, struct runner_task, last - first);
    struct level_pool_task **ready = ARENA_ARRAY(&scratch, struct level_pool_task *, last - first);
    size_t count = 0;

    emit_run_event(runner, (struct run_event){ .kind = RUN_LEVEL_STARTED });
    for (uint32_t i = first; i < last; i++) {
        const uint32_t state = plan->order[i];
        const struct state_gate state_gate = ask_gate(runner, state, abort);

        if (state_gate.skip != SKIP_NONE) {
            runner_skip(runner, state, &state_gate);
            emit_state(runner, state, true);
            continue;
        }
        tasks[count] = (struct runner_task){ .task.named_lock = plan->states[state].module->lock,
                                             .state = state,
                                             .state_gate = state_gate };
        ready[count] = &tasks[count].task;
        count++;
    }
    make_groups(runner, &scratch, tasks, count);
    run_tasks(runner, level_pool, ready, tasks, count);
    drop_groups(runner);
}

/* A state of the last level that ends the run, or NULL. */
static const struct state_result *find_failhard(const struct runner *runner)
{
    const struct plan *plan = runner->plan;

    for (uint32_t i = plan->level_start[runner->level]; i < plan->level_start[runner->level + 1];
         i++)
        if (plan->states[plan->order[i]].failhard && runner->results[i].outcome == OUTCOME_FAILED)
            return &runner->results[i];
    return NULL;
}

/* No state reads facts between two levels. If they cannot be collected, the requesting state fails.
 *  */
static void reload_run_facts(struct runner *runner, uint32_t position)
{
    struct state_result *result = &runner->results[position];
    struct err err;

    if (runner->host->reload_facts && result->outcome != OUTCOME_SKIPPED &&
        runner->host->reload_facts(runner->host, &err) < 0) {
        result->outcome = OUTCOME_FAILED;
        result->error = arena_printf(runner->arena, "reload facts: %s", err.text);
    }
}

/* Send the event of a finished state. Dry runs send nothing. */
static void end_level(struct runner *runner)
{
    const struct plan *plan = runner->plan;

    for (uint32_t i = plan->level_start[runner->level]; i < plan->level_start[runner->level + 1];
         i++) {
        const struct plan_state *state = &plan->states[plan->order[i]];

        if (state->reload_facts)
            reload_run_facts(runner, i);
        if (state->fire_event && runner->host->fire && !runner->test)
            runner->host->fire(runner->host, state->fire_event[0] ? state->fire_event : state->id,
                               &runner->results[i]);
    }
}

static int run_levels(struct runner *runner, struct err *err)
{
    const struct level_pool_options options = {
        .limit = runner->host->parallel,
        .run = run_pool_state,
        .tell = needs_waking(runner) ? on_task : NULL,
        .user = runner,
    };
    struct level_pool *level_pool = level_pool_new(&options, err);
    const struct state_result *abort = NULL;
    struct err ignored;

    if (!level_pool)
        return -1;
    for (runner->level = 0; runner->level < runner->plan->level_count; runner->level++) {
        run_level(runner, level_pool, abort);
        if (runner->undo) /* a broken journal fails the states that need it */
            (void)undo_flush(runner->undo, &ignored);
        end_level(runner);
        if (!abort)
            abort = find_failhard(runner);
    }
    level_pool_free(level_pool);
    return 0;
}

/* --- a run ------------------------------------------------------------------------------- */

/* Failures whose handlers all succeeded do not fail the run. */
static void mark_handled(struct runner *runner, const struct plan_state *handler,
                         const struct state_result *how)
{
    static const enum requisite kinds[] = { REQUISITE_ONFAIL, REQUISITE_ONFAIL_ALL };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        VEC_EACH (&handler->requisites[kinds[i]], target) {
            struct state_result *result = &runner->results[runner->position[*target]];
            const bool worked =
                how->outcome == OUTCOME_CHANGED || how->outcome == OUTCOME_UNCHANGED;

            if (result->outcome == OUTCOME_FAILED && (worked || result->handler))
                result->handler = worked ? how->name : NULL;
        }
}

static void find_handlers(struct runner *runner)
{
    const struct plan *plan = runner->plan;

    for (int failed = 0; failed < 2; failed++)
        for (uint32_t i = 0; i < plan->count; i++) {
            const struct plan_state *state = &plan->states[plan->order[i]];

            if (state->handles && state_result_is_broken(&runner->results[i]) == (failed == 1))
                mark_handled(runner, state, &runner->results[i]);
        }
}

#define NOT_SHOWN UINT32_MAX

/* Has a listener nothing to react to: no change, or failures alone? */
static bool is_silent(const struct plan_state *state, const struct state_result *result)
{
    return state->listener && result->outcome == OUTCOME_SKIPPED &&
           (result->skip_reason == SKIP_ONCHANGES_NOT_MET ||
            result->skip_reason == SKIP_REQUIRE_FAILED);
}

/* A listener without a reaction is not a result. They are at the end. */
static uint32_t count_shown(struct runner *runner)
{
    const struct plan *plan = runner->plan;
    uint32_t shown = 0;

    for (uint32_t i = 0; i < plan->count; i++) {
        const bool is_shown = !is_silent(&plan->states[plan->order[i]], &runner->results[i]);

        runner->position[plan->order[i]] = is_shown ? shown : NOT_SHOWN;
        if (is_shown)
            runner->results[shown++] = runner->results[i];
    }
    return shown;
}

/* Explicit and implied requisites, without the written order. */
static size_t count_needs(const struct plan_state *state)
{
    size_t count = 0;

    for (unsigned kind = 0; kind < REQUISITE_ORDER; kind++)
        count += state->requisites[kind].n;
    return count;
}

static void list_needs(struct runner *runner, uint32_t number)
{
    const struct plan_state *state = &runner->plan->states[number];
    struct state_result *result = &runner->results[runner->position[number]];
    const size_t count = count_needs(state);
    uint32_t *needs;

    if (count == 0)
        return;
    needs = ARENA_ARRAY(runner->arena, uint32_t, count);
    for (unsigned kind = 0; kind < REQUISITE_ORDER; kind++)
        for (size_t i = 0; i < state->requisites[kind].n; i++) {
            const uint32_t place = runner->position[state->requisites[kind].p[i]];

            if (place != NOT_SHOWN)
                needs[result->need_count++] = place;
        }
    result->needs = needs;
}

static void fill_result(struct runner *runner, int64_t began, int64_t looked,
                        struct run_result *ret)
{
    const uint32_t shown = count_shown(runner);

    for (uint32_t i = 0; i < runner->plan->count; i++)
        if (runner->position[i] != NOT_SHOWN)
            list_needs(runner, i);
    *ret = (struct run_result){
        .run_id = arena_strdup(runner->arena, runner->run_id),
        .test = runner->test,
        .canceled = runner->canceled,
        .duration = clock_real() - began,
        .looked = looked,
        .states = { runner->results, shown, shown },
    };
    run_result_count(ret);
}

static int run_plan_levels(struct runner *runner, struct run_result *ret, struct err *err)
{
    int64_t began = clock_real(), looked;
    struct err ignored;

    runner->began = clock_wall();
    if (open_runner(runner, err) < 0)
        return -1;
    emit_run_event(runner, (struct run_event){ .kind = RUN_STARTED });
    if (run_levels(runner, err) < 0) {
        emit_run_event(runner, (struct run_event){ .kind = RUN_FINISHED });
        return -1;
    }
    if (runner->undo && undo_is_open(runner->undo)) /* old runs that stay do no harm */
        (void)undo_prune(runner->host->data_dir, runner->run_id, undo_is_heavy(runner->undo),
                         &ignored);
    find_handlers(runner);
    looked = look_again(runner);
    fill_result(runner, began, looked, ret);
    emit_run_event(runner, (struct run_event){ .kind = RUN_FINISHED, .run = ret });
    return 0;
}

int run_plan(struct arena *arena, struct state_host *host, const struct plan *plan,
             enum run_mode mode, const struct run_sink *sink, struct run_result *ret_result,
             struct err *err)
{
    struct runner runner = {
        .arena = arena, .host = host, .plan = plan, .sink = sink, .test = mode == RUN_TEST
    };
    struct lock lock = LOCK_NONE;
    int rc;

    if (!runner.test && !host->data_dir)
        return err_set(err, ERR_INVALID, "a run requires a data folder");
    if (!runner.test && runlock_take(&lock, host, sink, err) < 0)
        return -1;
    rc = run_plan_levels(&runner, ret_result, err);
    close_runner(&runner);
    lock_drop(&lock);
    return rc;
}
