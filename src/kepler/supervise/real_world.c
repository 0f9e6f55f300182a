#include "kepler/supervise/real_world.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/vec.h"
#include "kepler/config/environment.h"
#include "kepler/engine/engine.h"
#include "core/data/value.h"
#include "kepler/supervise/evaluate.h"
#include "kepler/supervise/output_store.h"
#include "kepler/supervise/real_service.h"
#include "kepler/supervise/statewatch.h"
#include "core/sys/clock.h"
#include "core/sys/rights.h"

/* From a check's output. */
#define CHECK_WORDS_MAX ((size_t)512)

static const char *const job_names[JOB_KINDS] = { "main", "hook", "check" };

static struct real_world *real_of(struct world *world)
{
    return container_of(world, struct real_world, world);
}

static struct real_service *get_service(struct world *world, uint32_t service)
{
    return real_of(world)->services[service];
}

static int64_t read_world_clock(struct world *world)
{
    (void)world;
    return clock_now();
}

static int64_t read_wall_clock(struct world *world)
{
    (void)world;
    return clock_wall();
}

static void write_service_note(struct world *world, uint32_t service, enum hook_phase phase,
                               enum world_note kind, const char *text)
{
    struct real_world *real = real_of(world);
    struct real_tag tag = { service, real->services[service]->config->name, phase };

    if (real->options.note)
        real->options.note(real->options.sink.self, &tag, kind, text);
}

/* --- starting -------------------------------------------------------------------------------- */

static void begin_world_turn(struct world *world)
{
    evaluate_begin(real_of(world));
}

static enum world_answer resolve_world_plan(struct world *world, uint32_t service, unsigned flags,
                                            struct world_plan *plan, struct err *err)
{
    return evaluate_service(get_service(world, service), flags, plan, err);
}

static void cancel_answer(struct world *world, uint32_t service)
{
    evaluate_cancel(get_service(world, service));
}

/* Not in the environment that others see of the service: it is a secret. */
static struct launch_program with_token(struct real_service *own,
                                        const struct launch_program *program, struct arena *arena)
{
    const struct real_world_options *options = &own->real->options;
    const char *token = options->lend ? options->lend(options->lender, own->index) : NULL;
    struct launch_program lent = *program;

    if (!token)
        return lent;
    lent.env = environment_array_with(arena, lent.env, options->token_name, token);
    lent.env = environment_array_with(arena, lent.env, options->socket_name, options->socket);
    return lent;
}

static void end_run(struct world *world, uint32_t service)
{
    const struct real_world_options *options = &real_of(world)->options;

    if (options->revoke)
        options->revoke(options->lender, service);
}

static int start_job(struct real_service *own, enum job_kind kind, enum hook_phase phase,
                     const struct launch_program *program, bool captures, struct err *err)
{
    const struct real_world_options *options = &own->real->options;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *group =
        arena_printf(&arena, "%s.%s.%s", options->group, own->config->name, job_names[kind]);
    size_t capture = captures ? (size_t)options->config->output_max_size : 0;
    struct launch_program lent = with_token(own, program, &arena);

    own->tags[kind] = (struct real_tag){ own->index, own->config->name, phase };
    return service_process_start(&own->jobs[kind], group, &own->tags[kind], &lent, capture, err);
}

static int spawn_service_process(struct world *world, uint32_t service, pid_t *ret_pid,
                                 struct err *err)
{
    struct real_service *own = get_service(world, service);

    if (start_job(own, JOB_MAIN, HOOK_PHASES, &own->launch.program, own->launch.output, err) < 0)
        return -1;
    *ret_pid = own->jobs[JOB_MAIN].tree.process.pid;
    return 0;
}

/* A stopped process gets the signal once it continues. */
static void send_signal(struct world *world, uint32_t service, int signo)
{
    struct service_process *service_process = &get_service(world, service)->jobs[JOB_MAIN];

    service_process_signal(service_process, signo);
    service_process_signal(service_process, SIGCONT);
}

static void kill_service_tree(struct world *world, uint32_t service)
{
    service_process_kill(&get_service(world, service)->jobs[JOB_MAIN]);
}

/* --- tasks ------------------------------------------------------------------------------- */

static enum world_answer prepare_step(struct world *world, uint32_t service, enum hook_phase phase,
                                      size_t step, bool failed, struct world_step *ret_step,
                                      struct err *err)
{
    return evaluate_step(get_service(world, service), phase, step, failed, ret_step, err);
}

static enum world_started task_start(struct world *world, uint32_t service, enum world_task kind,
                                     struct err *err)
{
    struct real_service *own = get_service(world, service);
    bool hook = kind == WORLD_HOOK;
    const struct launch_program *program = hook ? &own->step.program : &own->launch.health.program;

    if (!program->argv || !program->argv[0])
        return WORLD_NOTHING;
    if (!hook)
        buf_clear(&own->check_words);
    if (start_job(own, hook ? JOB_HOOK : JOB_CHECK, own->tags[JOB_HOOK].phase, program,
                  hook && own->step.output, err) < 0)
        return WORLD_FAILED;
    return WORLD_STARTED;
}

static void task_kill(struct world *world, uint32_t service, enum world_task kind)
{
    service_process_kill(
        &get_service(world, service)->jobs[kind == WORLD_HOOK ? JOB_HOOK : JOB_CHECK]);
}

/* The last non-empty line. */
static const char *check_words(struct world *world, uint32_t service)
{
    struct buf *words = &get_service(world, service)->check_words;
    const char *line;

    buf_cut(words, str_trim_right(buf_view(words)).n);
    line = strrchr(buf_text(words), '\n');
    return line ? line + 1 : buf_text(words);
}

static void on_check_bytes(void *self, const void *tag, enum service_process_stream stream,
                           struct str bytes)
{
    struct real_world *real = self;
    const struct real_tag *who = tag;
    struct buf *words = &real->services[who->service]->check_words;

    (void)stream;
    if (bytes.n > CHECK_WORDS_MAX)
        bytes = str_from_offset(bytes, bytes.n - CHECK_WORDS_MAX);
    if (words->n + bytes.n > CHECK_WORDS_MAX)
        buf_consume(words, words->n + bytes.n - CHECK_WORDS_MAX);
    buf_add(words, bytes.p, bytes.n);
}

/* --- outputs ----------------------------------------------------------------------------- */

/* The default for most services: needs no memory, and is never modified. */
static struct value_map no_values;

static struct value copy_unless_empty(struct arena *arena, const struct value *v)
{
    return value_is(v, VALUE_MAP) && v->map->count == 0 ? value_map(&no_values)
                                                        : value_copy(arena, v);
}

/* Values that live on are copied; the arena is made anew, so that it never grows. */
static void set_outputs(struct real_service *own, const struct value *outputs,
                        const struct value *hooks)
{
    struct arena arena = ARENA_INIT;

    own->outputs = copy_unless_empty(&arena, outputs);
    own->hooks = copy_unless_empty(&arena, hooks);
    arena_done(&own->output_arena);
    own->output_arena = arena;
}

static void clear_memory(struct real_service *own)
{
    arena_done(&own->output_arena);
    own->outputs = own->hooks = value_map(&no_values);
}

static void outputs_clear(struct world *world, uint32_t service)
{
    struct real_service *own = get_service(world, service);
    const char *folder = own->real->options.outputs;
    struct err err;

    clear_memory(own);
    if (folder && output_store_clear(folder, own->config->name, &err) < 0)
        write_service_note(world, service, HOOK_PHASES, WORLD_ERROR, err.text);
}

static void warn_of(struct real_service *own, enum hook_phase phase,
                    const struct output_capture *output)
{
    struct world *world = &own->real->world;

    if (output->dropped)
        write_service_note(world, own->index, phase, WORLD_WARNING,
                           "outputs were dropped: too large, or not valid text");
    if (output->broken > 0)
        write_service_note(world, own->index, phase, WORLD_WARNING,
                           "a line that begins with ::output:: has no '='");
}

/* hooks.PHASE.outputs.STEP = values */
static struct value with_step(struct real_service *own, struct arena *arena, const char *phase,
                              const struct value *values)
{
    struct value hooks = value_copy(arena, &own->hooks), outer, steps;
    const struct value *found = value_get(&hooks, phase);

    outer = found ? *found : value_map(value_map_new(arena, 1));
    found = value_get(&outer, "outputs");
    steps = found ? *found : value_map(value_map_new(arena, 1));
    value_map_set(arena, steps.map, value_text(own->step.output), *values);
    value_map_set(arena, outer.map, value_text("outputs"), steps);
    value_map_set(arena, hooks.map, value_text(phase), outer);
    return hooks;
}

static void keep_step_output(struct real_service *own, const struct output_capture *output)
{
    enum hook_phase phase = own->tags[JOB_HOOK].phase;
    const char *folder = own->real->options.outputs;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value values = output_values(output);
    struct value hooks = with_step(own, &arena, hook_phase_name(phase), &values);
    struct err err;

    warn_of(own, phase, output);
    set_outputs(own, &own->outputs, &hooks);
    if (folder && output_store_put_step(folder, own->config->name, phase, own->step.output, &values,
                                        &err) < 0)
        write_service_note(&own->real->world, own->index, phase, WORLD_ERROR, err.text);
}

static int store_outputs(struct real_service *own, const struct value *process, struct err *err)
{
    const char *folder = own->real->options.outputs, *name = own->config->name;

    if (!folder)
        return 0;
    if (process && output_store_put_process(folder, name, process, err) < 0)
        return -1;
    return output_store_put(folder, name, &own->outputs, err);
}

const struct value *real_service_captured(struct real_service *own, struct arena *arena)
{
    const struct output_capture *output = service_process_outputs(&own->jobs[JOB_MAIN]);
    struct value *values;

    if (!output)
        return NULL;
    warn_of(own, HOOK_PHASES, output);
    values = ARENA_NEW(arena, struct value);
    *values = output_values(output);
    return values;
}

int real_service_store(struct real_service *own, const struct value *outputs,
                       const struct value *process, struct err *err)
{
    set_outputs(own, outputs, &own->hooks);
    return store_outputs(own, process, err);
}

static enum world_answer outputs_keep(struct world *world, uint32_t service, struct err *err)
{
    return evaluate_outputs(get_service(world, service), err);
}

/* --- files ------------------------------------------------------------------------------- */

static void on_files(struct filewatch *watch, const char *path)
{
    struct real_service *own = container_of(watch, struct real_service, files);
    const struct world_events *events = &own->real->world.events;

    events->files_changed(events->self, own->index, path);
}

static void report_unwatched(struct real_service *own, struct err err)
{
    (void)err_wrap(&err, "'restart.watch' does not see all changes");
    write_service_note(&own->real->world, own->index, HOOK_PHASES, WORLD_ERROR, err.text);
}

static void on_files_failed(struct filewatch *watch, const struct err *err)
{
    report_unwatched(container_of(watch, struct real_service, files), *err);
}

static void watch_service_files(struct world *world, uint32_t service)
{
    struct real_service *own = get_service(world, service);
    const struct launch *launch = &own->launch;
    const struct config_owner *owner = &own->real->options.config->owner;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct rights rights;
    const struct filewatch_wish wish = { .folder = launch->program.cwd,
                                         .patterns = launch->watch.p,
                                         .count = launch->watch.n,
                                         .rights = &rights,
                                         .fn = on_files,
                                         .fail = on_files_failed };
    struct err err;

    if (rights_load(&arena, owner->uid, owner->gid, &rights, &err) < 0 ||
        filewatch_start(&own->files, own->real->options.files, &wish, &err) < 0)
        report_unwatched(own, err);
}

static void unwatch_files(struct world *world, uint32_t service)
{
    filewatch_stop(&get_service(world, service)->files);
}

/* --- states ------------------------------------------------------------------------------- */

static void on_states(void *self, uint32_t service)
{
    struct real_world *real = self;
    const struct world_events *events = &real->world.events;

    events->states_changed(events->self, service);
}

static void watch_states(struct world *world, uint32_t service, bool on)
{
    statewatch_set(real_of(world)->states, service, on);
}

static struct world_state find_world_state(struct world *world, uint32_t service, const char *name)
{
    (void)service;
    return statewatch_find(real_of(world)->states, name);
}

static void open_states(struct real_world *real)
{
    real->states = statewatch_new(
        &(struct statewatch_options){ .config = real->options.config,
                                      .timers = real->world.timers,
                                      .background_tasks = real->options.background_tasks,
                                      .self = real,
                                      .fn = on_states });
}

/* --- ends of jobs ------------------------------------------------------------------------ */

static void on_main_exited(struct service_process *service_process, struct process_status status)
{
    struct real_service *own = container_of(service_process, struct real_service, jobs[JOB_MAIN]);
    const struct world_events *events = &own->real->world.events;

    events->exited(events->self, own->index, status);
}

static void on_main_done(struct service_process *service_process)
{
    struct real_service *own = container_of(service_process, struct real_service, jobs[JOB_MAIN]);
    const struct world_events *events = &own->real->world.events;

    events->emptied(events->self, own->index);
}

static void on_hook_exited(struct service_process *service_process, struct process_status status)
{
    struct real_service *own = container_of(service_process, struct real_service, jobs[JOB_HOOK]);

    own->task_status[JOB_HOOK] = status;
    service_process_kill(service_process);
}

static void on_hook_done(struct service_process *service_process)
{
    struct real_service *own = container_of(service_process, struct real_service, jobs[JOB_HOOK]);
    const struct world_events *events = &own->real->world.events;
    const struct output_capture *output = service_process_outputs(service_process);

    if (output)
        keep_step_output(own, output);
    events->task_ended(events->self, own->index, WORLD_HOOK, own->task_status[JOB_HOOK]);
}

static void on_check_exited(struct service_process *service_process, struct process_status status)
{
    struct real_service *own = container_of(service_process, struct real_service, jobs[JOB_CHECK]);

    own->task_status[JOB_CHECK] = status;
    service_process_kill(service_process);
}

static void on_check_done(struct service_process *service_process)
{
    struct real_service *own = container_of(service_process, struct real_service, jobs[JOB_CHECK]);
    const struct world_events *events = &own->real->world.events;

    events->task_ended(events->self, own->index, WORLD_CHECK, own->task_status[JOB_CHECK]);
}

/* --- life -------------------------------------------------------------------------------- */

static void change_world(struct world *world, const struct config *config, const uint32_t *numbers);

static const struct world_ops ops = {
    .now = read_world_clock,
    .wall = read_wall_clock,
    .begin = begin_world_turn,
    .resolve = resolve_world_plan,
    .cancel_answer = cancel_answer,
    .spawn = spawn_service_process,
    .signal = send_signal,
    .kill = kill_service_tree,
    .prepare_step = prepare_step,
    .task_start = task_start,
    .task_kill = task_kill,
    .check_words = check_words,
    .watch_start = watch_service_files,
    .watch_stop = unwatch_files,
    .watch_states = watch_states,
    .find_state = find_world_state,
    .outputs_clear = outputs_clear,
    .outputs_keep = outputs_keep,
    .end_run = end_run,
    .change = change_world,
    .note = write_service_note,
};

/* Reads outputs of an earlier daemon; unreadable ones are ignored. */
static void init_outputs(struct real_service *own)
{
    const char *folder = own->real->options.outputs;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value outputs, hooks;
    struct err ignored;

    clear_memory(own);
    if (folder &&
        output_store_load(&arena, folder, own->config->name, &outputs, &hooks, &ignored) == 0)
        set_outputs(own, &outputs, &hooks);
}

static void init_real_service(struct real_world *real, uint32_t index)
{
    struct real_service *own = mem_zalloc(sizeof(*own));
    struct proctree_home *home = real->options.home;
    const struct service_process_sink *sink = &real->options.sink;

    real->services[index] = own;
    own->real = real;
    own->index = index;
    own->config = &real->options.config->services[index];
    service_process_init(&own->jobs[JOB_MAIN], home, sink, on_main_exited, on_main_done);
    service_process_init(&own->jobs[JOB_HOOK], home, sink, on_hook_exited, on_hook_done);
    service_process_init(&own->jobs[JOB_CHECK], home, &real->check_sink, on_check_exited,
                         on_check_done);
    own->check_words.max = CHECK_WORDS_MAX;
    init_outputs(own);
    evaluate_init_service(own);
}

static struct real_service **new_service_list(uint32_t count)
{
    return mem_zalloc(mem_product(count + 1, sizeof(struct real_service *)));
}

struct real_world *real_world_new(const struct real_world_options *options)
{
    struct real_world *real = mem_zalloc(sizeof(*real));
    uint32_t count = options->config->service_count;

    real->options = *options;
    real->world = (struct world){ .ops = &ops, .timers = loop_timers(options->loop) };
    real->check_sink = (struct service_process_sink){ .self = real, .add = on_check_bytes };
    real->services = new_service_list(count);
    evaluate_init(real);
    for (uint32_t i = 0; i < count; i++)
        init_real_service(real, i);
    open_states(real);
    return real;
}

/* Lines of a running process bear its tag. */
static void renumber_service(struct real_world *real, struct real_service *own, uint32_t number)
{
    real->services[number] = own;
    own->index = number;
    own->config = &real->options.config->services[number];
    for (int kind = 0; kind < JOB_KINDS; kind++)
        if (own->tags[kind].name) {
            own->tags[kind].service = number;
            own->tags[kind].name = own->config->name;
        }
    evaluate_init_service(own);
}

static void retire_service(struct real_world *real, struct real_service *own)
{
    timer_clear(real->world.timers, &own->canceled);
    filewatch_stop(&own->files);
    VEC_PUSH(&real->past, own);
}

/* Those that are gone stay in memory: an evaluation that was canceled may still use one. */
static void change_world(struct world *world, const struct config *config, const uint32_t *numbers)
{
    struct real_world *real = real_of(world);
    struct real_service **before = real->services;
    const uint32_t count = real->options.config->service_count;

    statewatch_free(real->states);
    real->options.config = config;
    real->services = new_service_list(config->service_count);
    for (uint32_t i = 0; i < count; i++)
        if (numbers[i] == ENGINE_GONE)
            retire_service(real, before[i]);
        else
            renumber_service(real, before[i], numbers[i]);
    for (uint32_t i = 0; i < config->service_count; i++)
        if (!real->services[i])
            init_real_service(real, i);
    free(before);
    open_states(real);
}

static void free_real_service(struct real_service *own)
{
    filewatch_stop(&own->files);
    for (int kind = 0; kind < JOB_KINDS; kind++)
        service_process_done(&own->jobs[kind]);
    arena_done(&own->arena);
    arena_done(&own->step_arena);
    buf_done(&own->check_words);
    arena_done(&own->output_arena);
    free(own);
}

void real_world_free(struct real_world *real)
{
    if (!real)
        return;
    evaluate_done(real);
    statewatch_free(real->states);
    for (uint32_t i = 0; i < real->options.config->service_count; i++)
        free_real_service(real->services[i]);
    VEC_EACH (&real->past, own)
        free_real_service(*own);
    vec_done(&real->past);
    free(real->services);
    free(real);
}

struct world *real_world_base(struct real_world *real)
{
    return &real->world;
}

void real_world_set_env(struct real_world *real, const struct environment *env)
{
    real->env = env;
}

void real_world_set_flags(struct real_world *real, const struct value *flags)
{
    real->flags = flags;
}

const struct launch *real_world_launch(const struct real_world *real, uint32_t service)
{
    return real->services[service]->launched ? &real->services[service]->launch : NULL;
}

const char *real_world_group(const struct real_world *real, uint32_t service)
{
    return real->services[service]->jobs[JOB_MAIN].tree.cgroup.path;
}

struct value real_world_outputs(const struct real_world *real, uint32_t service)
{
    return real->services[service]->outputs;
}

struct value real_world_hooks(const struct real_world *real, uint32_t service)
{
    return real->services[service]->hooks;
}
