#include "kepler/supervise/statewatch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "kepler/config/config.h"
#include "core/runs/data_dir.h"
#include "core/runs/question.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"

#define WORDS_MAX   ((size_t)512)
#define NO_FOLDER   "cannot be checked: no home folder was found"
#define NOT_ASKED   "has not been checked yet"
#define NEVER_RUN   "has not run on this machine"
#define FAILED_LAST "failed in its last run"

/* A state that services wait for. */
struct watched {
    const char *name;
    size_t watchers;
    bool success;
    int64_t changed;
    struct buf words;
};

/* One check, from the loop to a worker and back. */
struct round {
    struct background_task background_task;
    struct statewatch *owner; /* NULL: the answer is no longer needed */
    struct arena arena;
    const char *folder;
    struct param_strs names;
    VEC(struct standing_answer) answers;
    bool failed;
    struct err err;
};

struct statewatch {
    struct statewatch_options options;
    struct arena arena;
    const char *folder; /* NULL: unknown */
    struct map names;   /* to struct watched */
    bool *on;           /* by service */
    bool told;          /* errors of states may be shown */
    struct timer timer;
    struct round *round; /* at work; or NULL */
};

/* --- asking ------------------------------------------------------------------------- */

static void free_round(struct round *round)
{
    arena_done(&round->arena);
    free(round);
}

static int check_some_states(struct round *round, size_t from, struct err *err)
{
    const size_t left = round->names.n - from;
    const struct param_strs names = { left < STANDING_NAMES_MAX ? left : STANDING_NAMES_MAX,
                                      round->names.p + from };
    struct standing_reply reply;

    if (standing_ask(&round->arena, round->folder, names, &reply, err) < 0)
        return -1;
    VEC_EACH (&reply.list, answer)
        VEC_PUSH_IN(&round->arena, &round->answers, *answer);
    return 0;
}

static void check_watched_states(struct background_task *background_task)
{
    struct round *round = container_of(background_task, struct round, background_task);

    for (size_t from = 0; from < round->names.n && !round->failed; from += STANDING_NAMES_MAX)
        round->failed = check_some_states(round, from, &round->err) < 0;
}

/* --- answers ------------------------------------------------------------------------ */

static int64_t to_wall(struct value_time time)
{
    if (time.seconds < 0 || time.seconds >= INT64_MAX / CLOCK_SECOND)
        return 0;
    return time.seconds * CLOCK_SECOND + time.nanoseconds % CLOCK_SECOND;
}

/* Has the answer changed? */
static bool set_watched_status(struct watched *state, bool success, int64_t changed,
                               const char *words)
{
    if (state->success == success && state->changed == changed &&
        strcmp(buf_text(&state->words), words) == 0)
        return false;
    state->success = success;
    state->changed = changed;
    buf_clear(&state->words);
    buf_add_text(&state->words, words);
    return true;
}

static bool take_state_answer(const struct statewatch *watch, struct watched *state,
                              const struct standing_answer *answer)
{
    AUTO_BUF struct buf words = BUF_INIT(WORDS_MAX);

    if (!answer->known)
        buf_add_text(&words, NEVER_RUN);
    else if (!answer->success)
        buf_printf(&words, FAILED_LAST "%s%s", watch->told && answer->error[0] ? ": " : "",
                   watch->told ? answer->error : "");
    return set_watched_status(state, answer->known && answer->success, to_wall(answer->changed),
                              buf_text(&words));
}

static bool take_state_failure(struct watched *state, const char *trouble)
{
    AUTO_BUF struct buf words = BUF_INIT(WORDS_MAX);

    buf_printf(&words, "cannot be checked: %s", trouble);
    return set_watched_status(state, false, state->changed, buf_text(&words));
}

/* States whose answer has changed, by name. */
static void take_round_results(struct statewatch *watch, const struct round *round,
                               struct map *changed)
{
    for (size_t i = 0; i < round->names.n; i++) {
        struct watched *state = map_find(&watch->names, str_from(round->names.p[i]));
        const bool differs = round->failed ? take_state_failure(state, round->err.text)
                                           : take_state_answer(watch, state, &round->answers.p[i]);

        if (differs)
            (void)map_set(changed, str_from(state->name), state);
    }
}

static bool waits_for_any(const struct config_service *service, const struct map *names)
{
    for (size_t i = 0; i < service->state_count; i++)
        if (map_has(names, str_from(service->states[i].name)))
            return true;
    return false;
}

static void notify_watchers(struct statewatch *watch, const struct map *changed)
{
    const struct config *config = watch->options.config;

    for (uint32_t i = 0; i < config->service_count; i++)
        if (watch->on[i] && waits_for_any(&config->services[i], changed))
            watch->options.fn(watch->options.self, i);
}

/* --- rounds ------------------------------------------------------------------------- */

static void plan_round(struct statewatch *watch, int64_t delay);

static void on_states_checked(struct background_task *background_task)
{
    struct round *round = container_of(background_task, struct round, background_task);
    struct statewatch *watch = round->owner;
    struct map changed = MAP_INIT_IN(&round->arena);

    if (watch) {
        watch->round = NULL;
        take_round_results(watch, round, &changed);
        notify_watchers(watch, &changed);
        plan_round(watch, STATEWATCH_INTERVAL);
    }
    free_round(round);
}

static struct round *new_round(struct statewatch *watch)
{
    struct round *round = mem_zalloc(sizeof(*round));
    VEC(const char *) names = { 0 };

    MAP_EACH (&watch->names, entry) {
        const struct watched *state = entry->value;

        if (state->watchers > 0)
            VEC_PUSH_IN(&round->arena, &names, arena_strdup(&round->arena, state->name));
    }
    round->owner = watch;
    round->folder = arena_strdup(&round->arena, watch->folder);
    round->names = (struct param_strs){ names.n, names.p };
    return round;
}

static void on_states_due(struct timer *timer)
{
    struct statewatch *watch = container_of(timer, struct statewatch, timer);

    watch->round = new_round(watch);
    if (watch->options.background_tasks) {
        background_task_begin(watch->options.background_tasks, &watch->round->background_task,
                              check_watched_states, on_states_checked);
        return;
    }
    check_watched_states(&watch->round->background_task);
    on_states_checked(&watch->round->background_task);
}

static bool has_watchers(const struct statewatch *watch)
{
    MAP_EACH (&watch->names, entry)
        if (((const struct watched *)entry->value)->watchers > 0)
            return true;
    return false;
}

static void plan_round(struct statewatch *watch, int64_t delay)
{
    if (watch->folder && has_watchers(watch))
        timer_set(watch->options.timers, &watch->timer, clock_after(clock_now(), delay),
                  on_states_due);
}

void statewatch_set(struct statewatch *watch, uint32_t service, bool on)
{
    const struct config_service *config = &watch->options.config->services[service];

    if (watch->on[service] == on)
        return;
    watch->on[service] = on;
    for (size_t i = 0; i < config->state_count; i++) {
        struct watched *state = map_find(&watch->names, str_from(config->states[i].name));

        state->watchers += on ? 1 : (size_t)-1;
    }
    if (on && !watch->round)
        plan_round(watch, 0);
    if (!has_watchers(watch))
        timer_clear(watch->options.timers, &watch->timer);
}

struct world_state statewatch_find(const struct statewatch *watch, const char *name)
{
    const struct watched *state = map_find(&watch->names, str_from(name));

    return (struct world_state){ state->success, state->changed, buf_text(&state->words) };
}

/* --- life --------------------------------------------------------------------------- */

/* Only the daemon's user chooses the folder; everyone's states are those of the machine. */
static const char *choose_states_folder(struct statewatch *watch)
{
    const struct config *config = watch->options.config;

    return config->zester_data && config->owner.uid == geteuid() ? config->zester_data
                                                                 : data_dir_find(&watch->arena);
}

static void add_watched_states(struct statewatch *watch, const struct config_service *service)
{
    for (size_t i = 0; i < service->state_count; i++) {
        void **place = map_place(&watch->names, str_from(service->states[i].name));
        struct watched *state = *place;

        if (state)
            continue;
        state = *place = ARENA_NEW(&watch->arena, struct watched);
        state->name = service->states[i].name;
        state->words.max = WORDS_MAX;
        buf_add_text(&state->words, watch->folder ? NOT_ASKED : NO_FOLDER);
    }
}

static bool has_config_states(const struct config *config)
{
    for (uint32_t i = 0; i < config->service_count; i++)
        if (config->services[i].state_count > 0)
            return true;
    return false;
}

struct statewatch *statewatch_new(const struct statewatch_options *options)
{
    const struct config *config = options->config;
    struct statewatch *watch;

    if (!has_config_states(config))
        return NULL;
    watch = mem_zalloc(sizeof(*watch));
    watch->options = *options;
    watch->names = (struct map)MAP_INIT_IN(&watch->arena);
    watch->folder = choose_states_folder(watch);
    watch->told = config->owner.uid == 0 || config->owner.uid == geteuid();
    watch->on = ARENA_ARRAY(&watch->arena, bool, config->service_count);
    for (uint32_t i = 0; i < config->service_count; i++)
        add_watched_states(watch, &config->services[i]);
    return watch;
}

void statewatch_free(struct statewatch *watch)
{
    if (!watch)
        return;
    timer_clear(watch->options.timers, &watch->timer);
    if (watch->round) {
        background_task_wait(&watch->round->background_task);
        watch->round->owner = NULL; /* freed when the loop gets the result */
    }
    MAP_EACH (&watch->names, entry)
        buf_done(&((struct watched *)entry->value)->words);
    arena_done(&watch->arena);
    free(watch);
}
