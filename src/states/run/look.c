#include "states/run/look.h"

#include "core/base/err.h"
#include "states/compile/plan.h"
#include "states/compile/touch.h"
#include "states/run/runner.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "core/data/value.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/path.h"

#define NO_LEVEL (-1)

/* The changes at a path. */
struct look_place {
    uint32_t level; /* of the last one */
    uint32_t state; /* the first one */
    bool others;    /* and there are others */
};

/* The changes of a run, by what they can affect. */
struct look {
    struct runner *runner;
    struct arena *arena;
    int64_t anything;  /* the last level with a change of anything; NO_LEVEL: none */
    int64_t else_than; /* the same without the changes of `last` */
    uint32_t last;     /* the state with the change of `anything` */
    int64_t somewhere; /* the last level with a change of a path */
    struct map paths;  /* of changes: struct look_place */
    struct map above;  /* folders above such paths: the last level, plus one */
};

static const struct state_result *get_look_result(const struct look *look, uint32_t state)
{
    return &look->runner->results[look->runner->position[state]];
}

/* --- changes -------------------------------------------------------------------------- */

static void add_place(struct look *look, const char *path, uint32_t state)
{
    const uint32_t level = look->runner->plan->states[state].level;
    void **place = map_place(&look->paths, str_from(path));
    struct look_place *known = *place;

    if (!known) {
        *place = known = ARENA_NEW(look->arena, struct look_place);
        *known = (struct look_place){ .level = level, .state = state };
    }
    known->others |= known->state != state;
    if (known->level < level)
        known->level = level;
}

/* Folders above that have this level already have it up to the root. */
static void add_above(struct look *look, const char *path, uint32_t level)
{
    for (const char *up = path_dirname(look->arena, path); up[1];
         up = path_dirname(look->arena, up)) {
        void **place = map_place(&look->above, str_from(up));

        if ((uintptr_t)*place > level)
            return;
        *place = (void *)((uintptr_t)level + 1); /* NOLINT(performance-no-int-to-ptr) */
    }
}

static void add_changed_path(struct look *look, const char *path, uint32_t state)
{
    const uint32_t level = look->runner->plan->states[state].level;

    path = path_normalise(look->arena, path);
    add_place(look, path, state);
    add_above(look, path, level);
    if (level > look->somewhere)
        look->somewhere = level;
}

static void add_change_of_anything(struct look *look, uint32_t state)
{
    const int64_t level = look->runner->plan->states[state].level;

    if (level > look->anything) {
        look->else_than = look->anything;
        look->anything = level;
        look->last = state;
    } else if (level > look->else_than) {
        look->else_than = level;
    }
}

static void add_change(struct look *look, uint32_t state)
{
    const struct plan_state *changed = &look->runner->plan->states[state];
    const char *path = touch_path(changed);

    if (changed->module->flags & (MODULE_IDLE | MODULE_STEP))
        return;
    if (path)
        add_changed_path(look, path, state);
    else
        add_change_of_anything(look, state);
}

/* --- states --------------------------------------------------------------------------- */

static bool waits_for_occasion(const struct plan_state *state)
{
    for (enum requisite kind = 0; kind < REQUISITES; kind++)
        if (state->requisites[kind].n > 0 &&
            (requisite_rule(kind)->only_change || requisite_rule(kind)->failure ||
             requisite_rule(kind)->later))
            return true;
    return false;
}

/* Would checking it download something again? */
static bool has_far_source(const struct plan_state *state)
{
    const struct value *source = value_get(&state->body, "source");

    return source && !value_get(&state->body, "source_hash") &&
           (source->kind != VALUE_STR || str_starts(source->s, STR("http")) ||
            str_starts(source->s, STR("ftp")));
}

/* A command that is done once a path exists is checked by that path. */
static bool is_checkable_module(const struct plan_state *state)
{
    const unsigned flags = state->module->flags;

    if (flags & (MODULE_IDLE | MODULE_STEP | MODULE_ACTS))
        return false;
    if (flags & (MODULE_ALWAYS | MODULE_NO_UNDO))
        return state->creates.n > 0;
    return state->module->check != NULL;
}

static bool can_be_checked(const struct plan_state *state)
{
    return is_checkable_module(state) && !state->mistake && !state->listener && !state->deferred &&
           !state->dry && state->onlyif.n == 0 && state->unless.n == 0 &&
           !waits_for_occasion(state) && !has_far_source(state);
}

static bool is_above_change(const struct look *look, const char *path, uint32_t level)
{
    return (uintptr_t)map_find(&look->above, str_from(path)) > level;
}

/* A path that was applied as a whole keeps its result until another state changes it. */
static bool is_place_changed(const struct look *look, const struct look_place *place,
                             const struct plan_state *state)
{
    const bool own = place->state == (uint32_t)(state - look->runner->plan->states);

    return place->level >= state->level &&
           (!own || place->others || (state->module->flags & MODULE_EDITS));
}

/* Is there a change at the path, or above or below it, in its level or a later one? */
static bool has_near_change(struct look *look, const char *path, const struct plan_state *state)
{
    const struct look_place *place;

    path = path_normalise(look->arena, path);
    place = map_find(&look->paths, str_from(path));
    if ((place && is_place_changed(look, place, state)) ||
        is_above_change(look, path, state->level))
        return true;
    for (const char *up = path_dirname(look->arena, path); up[1];
         up = path_dirname(look->arena, up)) {
        place = map_find(&look->paths, str_from(up));
        if (place && place->level >= state->level)
            return true;
    }
    return false;
}

/* A state that was applied as a whole keeps its result until another one changes it: asking a
 * package manager again may take seconds. */
static int64_t get_last_change_of_anything(const struct look *look, const struct plan_state *state)
{
    const bool own = look->last == (uint32_t)(state - look->runner->plan->states);

    return own && !(state->module->flags & MODULE_EDITS) ? look->else_than : look->anything;
}

static bool is_affected(struct look *look, const struct plan_state *state)
{
    const int64_t level = state->level;
    const char *path = touch_path(state);
    const struct value *source = value_get(&state->body, "source");

    if (level <= get_last_change_of_anything(look, state))
        return true;
    if (level > look->somewhere)
        return false;
    if (!path || (value_is(source, VALUE_STR) && source->s.n > 0 && source->s.p[0] == '/' &&
                  has_near_change(look, source->s.p, state)))
        return true;
    return has_near_change(look, path, state);
}

static bool needs_look(struct look *look, uint32_t state)
{
    const struct state_result *result = get_look_result(look, state);
    const struct plan_state *checked = &look->runner->plan->states[state];

    return (result->outcome == OUTCOME_CHANGED || result->outcome == OUTCOME_UNCHANGED) &&
           can_be_checked(checked) && is_affected(look, checked);
}

/* --- the look ------------------------------------------------------------------------- */

static void check_look_task(void *user, struct level_pool_task *task)
{
    runner_check_again(user, container_of(task, struct runner_task, task)->state);
}

static int check_states(struct look *look, const uint32_t *states, size_t count)
{
    const struct level_pool_options options = { .limit = look->runner->host->parallel,
                                                .run = check_look_task,
                                                .user = look->runner };
    struct runner_task *tasks = ARENA_ARRAY(look->arena, struct runner_task, count);
    struct level_pool_task **ready = ARENA_ARRAY(look->arena, struct level_pool_task *, count);
    struct err ignored; /* then the machine is not known to match */
    struct level_pool *pool = level_pool_new(&options, &ignored);

    if (!pool)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct plan_state *state = &look->runner->plan->states[states[i]];

        tasks[i] =
            (struct runner_task){ .task.named_lock = state->module->lock, .state = states[i] };
        ready[i] = &tasks[i].task;
    }
    level_pool_run(pool, ready, count);
    level_pool_free(pool);
    return cancel_is_raised(look->runner->host->cancel) ? -1 : 0;
}

static bool is_whole_run(const struct runner *runner)
{
    for (uint32_t i = 0; i < runner->plan->count; i++) {
        const struct state_result *result = &runner->results[i];

        if ((result->outcome == OUTCOME_FAILED && !result->handler) ||
            result->skip_reason == SKIP_CANCELED)
            return false;
    }
    return !runner->canceled;
}

int64_t look_again(struct runner *runner)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct look look = { .runner = runner,
                         .arena = &scratch,
                         .anything = NO_LEVEL,
                         .else_than = NO_LEVEL,
                         .somewhere = NO_LEVEL,
                         .paths = MAP_INIT_IN(&scratch),
                         .above = MAP_INIT_IN(&scratch) };
    uint32_t *states;
    size_t count = 0;

    if (!is_whole_run(runner))
        return 0;
    if (runner->test)
        return runner->began;
    if (runner->plan->refs.n == 0) /* a single state says nothing of the others */
        return 0;
    for (uint32_t i = 0; i < runner->plan->count; i++)
        if (get_look_result(&look, i)->outcome == OUTCOME_CHANGED)
            add_change(&look, i);
    if (look.anything == NO_LEVEL && look.somewhere == NO_LEVEL)
        return clock_wall();
    states = ARENA_ARRAY(&scratch, uint32_t, runner->plan->count);
    for (uint32_t i = 0; i < runner->plan->count; i++)
        if (needs_look(&look, runner->plan->order[i]))
            states[count++] = runner->plan->order[i];
    return count == 0 || check_states(&look, states, count) == 0 ? clock_wall() : 0;
}
