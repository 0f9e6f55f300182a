#include "fleet/peel/beacon_runner.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/beacons/backlog.h"
#include "fleet/beacons/section.h"
#include "fleet/beacons/tracker.h"
#include "fleet/nats/error.h"
#include "fleet/nats/publisher.h"
#include "fleet/peel/schedule_entry.h"
#include "fleet/peel/own_event.h"
#include "fleet/peel/snapshot.h"
#include "core/sys/filewatch.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"
#include "fleet/wire/exec.h"

#define WORKERS 1
/* Bytes of an event. */
#define EVENT_MAX ((size_t)64 << 10)
/* After a change of a file while a job runs. */
#define AGAIN_NS (500 * CLOCK_MS)

struct beacon_runner {
    struct beacon_runner_options options;
    struct background_tasks background_tasks;
    struct filewatch_hub files;
    struct beacon *beacons;
    struct nats_publisher *publisher; /* NULL: no connection */
    struct backlog backlog;
    bool is_stopped;
    struct timer patience; /* set while a job waits for looks */
};

/* A section that counts. */
struct beacon {
    struct beacon_runner *beacon_runner;
    struct beacon *next;
    struct arena arena;
    const struct beacon_kind *kind;
    struct value source; /* as it was written */
    const struct beacon_common *args;
    void *memory;
    struct tracker tracker;
    struct timer timer;
    struct filewatch watch;
    bool is_seen, is_gone;
    /* The job that may have changed something since the last look; NULL: none. */
    char *job, *function;
    int32_t depth;
    /* The look that is under way. */
    struct background_task background_task;
    struct arena look_arena;
    struct beacon_readings readings;
    bool is_looking, has_failed, was_disturbed, was_woken;
    bool is_awaited; /* a job waits for a look that has yet to begin or end, or did so in vain */
    struct err err;
    char problem[ERR_TEXT_SIZE]; /* of the last look; "": none */
};

/* An event on its way to the stream. */
struct signal {
    struct beacon_runner *beacon_runner;
    const struct beacon_kind *kind;
    struct arena arena;
    struct own_event own;
    struct str payload;
};

/* --- events ----------------------------------------------------------------------- */

static void free_signal(struct signal *signal)
{
    arena_done(&signal->arena);
    free(signal);
}

static void lose_signal(struct signal *signal, const char *why)
{
    const struct beacon_runner_options *options = &signal->beacon_runner->options;

    log_warning("beacon event lost beacon=%s id=%s error=%s", signal->kind->name, signal->own.id,
                why);
    options->told(options->self, signal->kind->name, true);
    free_signal(signal);
}

static void on_beacon_stored(void *self, const struct nats_error *error,
                             const struct nats_stored_ack *ack)
{
    struct signal *signal = self;
    const struct beacon_runner_options *options = &signal->beacon_runner->options;

    (void)ack;
    if (error) {
        lose_signal(signal, error->text);
        return;
    }
    log_info("beacon event stored beacon=%s id=%s", signal->kind->name, signal->own.id);
    options->told(options->self, signal->kind->name, false);
    free_signal(signal);
}

/* The publisher keeps its messages across connections, so the order is kept. */
static void send_beacon_events(struct beacon_runner *beacon_runner)
{
    struct signal *signal;

    while (beacon_runner->publisher &&
           beacon_runner->options.is_connected(beacon_runner->options.self) &&
           (signal = backlog_first(&beacon_runner->backlog))) {
        const struct nats_store store = { .subject = str_from(signal->own.subject),
                                          .payload = signal->payload,
                                          .id = str_from(signal->own.id) };
        struct err err;

        if (nats_publisher_send(beacon_runner->publisher, &store, on_beacon_stored, signal, &err) <
            0) {
            if (err.code == ERR_BUSY)
                return; /* `ready` follows */
            (void)backlog_take(&beacon_runner->backlog);
            lose_signal(signal, err.text);
            continue;
        }
        (void)backlog_take(&beacon_runner->backlog);
    }
}

static void on_publisher_ready(void *self)
{
    send_beacon_events(self);
}

static int make_signal(struct beacon *beacon, const struct beacon_change *change,
                       struct signal *signal, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(EVENT_MAX);
    struct value_map *data = value_map_new(&signal->arena, 8);
    const struct beacon_runner_options *options = &beacon->beacon_runner->options;
    struct own_event_wish wish = { .peel = options->peel_id,
                                   .kind = SUBJECT_EVENT_BEACON,
                                   .tag = beacon->kind->name };
    struct snapshot *settings;
    const char *why;
    int result;

    beacon->kind->say(&signal->arena, change, data);
    if (beacon->job) {
        value_map_set(&signal->arena, data, value_text("job"), value_text(beacon->job));
        value_map_set(&signal->arena, data, value_text("function"), value_text(beacon->function));
        wish.depth = beacon->depth;
    }
    wish.data = value_map(data);
    settings = options->settings(options->self, &why);
    wish.settings = settings ? &settings->value : NULL;
    result = own_event_make(&signal->arena, &wish, &signal->own, err);
    snapshot_drop(settings);
    if (result < 0 || own_event_encode(&signal->own, &bytes, err) < 0)
        return -1;
    signal->payload = buf_copy(&bytes, &signal->arena);
    return 0;
}

static void report_beacon_change(struct beacon *beacon, const struct beacon_change *change)
{
    struct signal *signal = mem_zalloc(sizeof(*signal)), *gone;
    struct err err;

    signal->beacon_runner = beacon->beacon_runner;
    signal->kind = beacon->kind;
    if (make_signal(beacon, change, signal, &err) < 0) {
        lose_signal(signal, err.text);
        return;
    }
    log_info("beacon event beacon=%s key=%s id=%s job=%s", beacon->kind->name, change->key,
             signal->own.id, beacon->job ? beacon->job : "");
    gone = backlog_push(&beacon->beacon_runner->backlog, signal);
    if (gone)
        lose_signal(gone, "too many events wait for a connection");
}

/* --- looks ------------------------------------------------------------------------ */

static void on_beacon_timer(struct timer *timer);

static void look_after(struct beacon *beacon, int64_t ns)
{
    if (!beacon->is_gone && !beacon->beacon_runner->is_stopped)
        timer_set(loop_timers(beacon->beacon_runner->options.loop), &beacon->timer,
                  clock_after(clock_now(), ns), on_beacon_timer);
}

static void forget_job(struct beacon *beacon)
{
    free(beacon->job);
    free(beacon->function);
    beacon->job = beacon->function = NULL;
    beacon->depth = 0;
}

static void free_beacon(struct beacon *beacon)
{
    filewatch_stop(&beacon->watch);
    timer_clear(loop_timers(beacon->beacon_runner->options.loop), &beacon->timer);
    if (beacon->is_looking) {
        beacon->is_gone = true;
        return;
    }
    if (beacon->kind->forget)
        beacon->kind->forget(beacon->memory);
    forget_job(beacon);
    tracker_done(&beacon->tracker);
    free(beacon->memory);
    arena_done(&beacon->look_arena);
    arena_done(&beacon->arena);
    free(beacon);
}

static void observe_beacon(struct background_task *background_task)
{
    struct beacon *beacon = container_of(background_task, struct beacon, background_task);
    struct beacon_look look = { .arena = &beacon->look_arena, .memory = beacon->memory };

    beacon->has_failed =
        beacon->kind->observe(&look, beacon->args, &beacon->readings, &beacon->err) < 0;
}

/* Once for each kind of trouble. */
static void note_beacon_problem(struct beacon *beacon, const char *text)
{
    const struct str part = str_slice(str_from(text), 0, sizeof(beacon->problem) - 1);

    if (strcmp(beacon->problem, text) == 0)
        return;
    if (text[0])
        log_warning("beacon cannot look beacon=%s error=%s", beacon->kind->name, text);
    memcpy(beacon->problem, part.p, part.n);
    beacon->problem[part.n] = '\0';
}

/* A look for a job reports changes only: with a report for each of them, a rule that answers
 * reports with jobs would never end. */
static void take_readings(struct beacon *beacon)
{
    const struct tracker_rule rule = { .hold = beacon->args->hold,
                                       .every = !beacon->args->onchangeonly && !beacon->is_awaited,
                                       .tells_absence = beacon->kind->tells_absence };
    struct tracker_changes changes = { 0 };
    bool is_settled;

    if (!beacon->tracker.has_baseline)
        log_info("beacon has its baseline beacon=%s", beacon->kind->name);
    is_settled = tracker_feed(&beacon->tracker, &rule, &beacon->readings, clock_now(),
                              &beacon->look_arena, &changes);
    VEC_EACH (&changes.list, change)
        if (beacon->job && beacon->args->own_changes == BEACON_OWN_IGNORE)
            log_info("change of our own ignored beacon=%s key=%s job=%s", beacon->kind->name,
                     change->key, beacon->job);
        else
            report_beacon_change(beacon, change);
    if (is_settled)
        forget_job(beacon);
    send_beacon_events(beacon->beacon_runner);
}

static bool is_any_awaited(const struct beacon_runner *beacon_runner)
{
    for (const struct beacon *beacon = beacon_runner->beacons; beacon; beacon = beacon->next)
        if (beacon->is_awaited)
            return true;
    return false;
}

static void end_patience(struct timer *timer)
{
    struct beacon_runner *beacon_runner = container_of(timer, struct beacon_runner, patience);

    beacon_runner->options.looked(beacon_runner->options.self);
}

/* A look that was under way when the job came may have been too early. */
static void note_awaited(struct beacon *beacon)
{
    struct beacon_runner *beacon_runner = beacon->beacon_runner;

    if (!beacon->is_awaited || beacon->was_woken)
        return;
    beacon->is_awaited = false;
    if (!timer_is_set(&beacon_runner->patience) || is_any_awaited(beacon_runner))
        return;
    timer_clear(loop_timers(beacon_runner->options.loop), &beacon_runner->patience);
    end_patience(&beacon_runner->patience);
}

/* A look during which a job began may have seen half of what it does. Lines of a log are gone from
 * the file's end then, so they count. */
static void on_observed(struct background_task *background_task)
{
    struct beacon *beacon = container_of(background_task, struct beacon, background_task);

    beacon->is_looking = false;
    if (beacon->is_gone) {
        free_beacon(beacon);
        return;
    }
    note_beacon_problem(beacon, beacon->has_failed ? beacon->err.text : "");
    if (!beacon->has_failed && (!beacon->was_disturbed || beacon->kind->memory_size > 0))
        take_readings(beacon);
    arena_clear(&beacon->look_arena);
    beacon->readings = (struct beacon_readings){ 0 };
    look_after(beacon, beacon->was_woken ? 0 : beacon->args->interval);
    note_awaited(beacon);
}

static void on_beacon_timer(struct timer *timer)
{
    struct beacon *beacon = container_of(timer, struct beacon, timer);
    const struct beacon_runner_options *options = &beacon->beacon_runner->options;

    if (options->is_acting(options->self)) {
        look_after(beacon, beacon->was_woken ? AGAIN_NS : beacon->args->interval);
        return;
    }
    beacon->is_looking = true;
    beacon->was_disturbed = beacon->was_woken = false;
    background_task_begin(&beacon->beacon_runner->background_tasks, &beacon->background_task,
                          observe_beacon, on_observed);
}

static void wake_beacon(struct beacon *beacon)
{
    beacon->was_woken = true;
    if (!beacon->is_looking)
        look_after(beacon, 0);
}

static void on_beacon_files_changed(struct filewatch *watch, const char *path)
{
    (void)path;
    wake_beacon(container_of(watch, struct beacon, watch));
}

static void on_beacon_watch_failed(struct filewatch *watch, const struct err *err)
{
    const struct beacon *beacon = container_of(watch, struct beacon, watch);

    log_warning("files cannot be watched, looking at intervals beacon=%s error=%s",
                beacon->kind->name, err->text);
}

bool beacon_runner_look_first(struct beacon_runner *beacon_runner)
{
    if (beacon_runner->is_stopped || is_any_awaited(beacon_runner))
        return true;
    for (struct beacon *beacon = beacon_runner->beacons; beacon; beacon = beacon->next) {
        if (!beacon->args->enabled || !beacon->tracker.has_baseline || beacon->kind->is_slow)
            continue;
        beacon->is_awaited = true;
        wake_beacon(beacon);
    }
    if (!is_any_awaited(beacon_runner))
        return true;
    timer_set(loop_timers(beacon_runner->options.loop), &beacon_runner->patience,
              clock_after(clock_now(), BEACON_RUNNER_FIRST_MAX), end_patience);
    return false;
}

void beacon_runner_acts(struct beacon_runner *beacon_runner, const struct exec_request *request)
{
    for (struct beacon *beacon = beacon_runner->beacons; beacon; beacon = beacon->next) {
        const int32_t depth = beacon->depth > request->rdepth ? beacon->depth : request->rdepth;

        forget_job(beacon);
        beacon->job = mem_strdup(request->jid);
        beacon->function = mem_strdup(request->module);
        beacon->depth = depth;
        beacon->was_disturbed = true;
    }
}

void beacon_runner_acted(struct beacon_runner *beacon_runner)
{
    for (struct beacon *beacon = beacon_runner->beacons; beacon; beacon = beacon->next)
        if (beacon->job && beacon->args->enabled)
            wake_beacon(beacon);
}

/* --- sections --------------------------------------------------------------------- */

static void watch_beacon_files(struct beacon *beacon)
{
    struct beacon_paths paths = { 0 };
    struct err err;

    if (!beacon->kind->watch)
        return;
    beacon->kind->watch(&beacon->arena, beacon->args, &paths);
    if (filewatch_start(&beacon->watch, &beacon->beacon_runner->files,
                        &(struct filewatch_wish){ .folder = "/",
                                                  .patterns = paths.list.p,
                                                  .count = paths.list.n,
                                                  .fn = on_beacon_files_changed,
                                                  .fail = on_beacon_watch_failed },
                        &err) < 0)
        on_beacon_watch_failed(&beacon->watch, &err);
}

/* NULL when it has a mistake, which is logged. */
static struct beacon *make_beacon(struct beacon_runner *beacon_runner,
                                  const struct beacon_kind *kind, const struct value *section)
{
    struct beacon *beacon = mem_zalloc(sizeof(*beacon));
    struct diags diags = DIAGS_INIT(&beacon->arena);
    struct err err;

    beacon->beacon_runner = beacon_runner;
    beacon->kind = kind;
    beacon->source = value_copy(&beacon->arena, section);
    beacon->args = section_read(&beacon->arena, kind, &beacon->source, &diags);
    beacon->memory = mem_zalloc(kind->memory_size + 1);
    beacon->is_seen = true;
    if (beacon->args)
        return beacon;
    (void)diags_to_err(&diags, &err);
    log_error("beacon refused, its section has errors beacon=%s error=%s", kind->name, err.text);
    free_beacon(beacon);
    return NULL;
}

static struct beacon **find_beacon_place(struct beacon_runner *beacon_runner,
                                         const struct beacon_kind *kind)
{
    struct beacon **at = &beacon_runner->beacons;

    while (*at && (*at)->kind != kind)
        at = &(*at)->next;
    return at;
}

static void take_section(struct beacon_runner *beacon_runner, const struct beacon_kind *kind,
                         const struct value *section)
{
    struct beacon **at = find_beacon_place(beacon_runner, kind), *known = *at, *beacon;

    if (known)
        known->is_seen = true;
    if (known && value_equal(&known->source, section))
        return;
    beacon = make_beacon(beacon_runner, kind, section);
    if (!beacon)
        return;
    beacon->next = known ? known->next : NULL;
    *at = beacon;
    if (known)
        free_beacon(known);
    log_info("beacon read beacon=%s enabled=%s", kind->name,
             beacon->args->enabled ? "true" : "false");
    if (!beacon->args->enabled)
        return;
    watch_beacon_files(beacon);
    look_after(beacon, 0);
}

/* Beside those that stay, only what was added by hand counts. */
static void take_sections(struct beacon_runner *beacon_runner,
                          const struct schedule_entries *schedule_entries)
{
    const bool stay = schedule_entries->refused && beacon_runner->beacons;

    VEC_EACH (&schedule_entries->list, schedule_entry) {
        const struct beacon_kind *kind = beacon_kind_find(schedule_entry->name.p);

        if (stay && schedule_entry->source != SCHEDULE_ENTRY_ADDED)
            continue;
        if (kind)
            take_section(beacon_runner, kind, &schedule_entry->value);
        else
            log_warning("unknown beacon ignored beacon=%s", schedule_entry->name.p);
    }
}

void beacon_runner_read(struct beacon_runner *beacon_runner,
                        const struct schedule_entries *schedule_entries)
{
    if (schedule_entries->refused)
        log_error("beacons of the settings refused, expected a map of sections, got %s",
                  schedule_entries->refused);
    for (struct beacon *beacon = beacon_runner->beacons; beacon; beacon = beacon->next)
        beacon->is_seen = schedule_entries->refused && schedule_entries->is_on;
    if (schedule_entries->is_on)
        take_sections(beacon_runner, schedule_entries);
    for (struct beacon **at = &beacon_runner->beacons; *at;) {
        struct beacon *beacon = *at;

        if (beacon->is_seen) {
            at = &beacon->next;
            continue;
        }
        *at = beacon->next;
        free_beacon(beacon);
    }
}

/* --- life ------------------------------------------------------------------------- */

struct beacon_runner *beacon_runner_new(const struct beacon_runner_options *options,
                                        struct err *err)
{
    struct beacon_runner *beacon_runner = mem_zalloc(sizeof(*beacon_runner));

    beacon_runner->options = *options;
    filewatch_hub_init(&beacon_runner->files, options->loop);
    if (background_tasks_open_workers(&beacon_runner->background_tasks, options->loop, WORKERS,
                                      err) == 0)
        return beacon_runner;
    beacon_runner_free(beacon_runner);
    return NULL;
}

void beacon_runner_stop(struct beacon_runner *beacon_runner)
{
    beacon_runner->is_stopped = true;
    timer_clear(loop_timers(beacon_runner->options.loop), &beacon_runner->patience);
    for (struct beacon *beacon = beacon_runner->beacons; beacon; beacon = beacon->next) {
        filewatch_stop(&beacon->watch);
        timer_clear(loop_timers(beacon_runner->options.loop), &beacon->timer);
    }
}

void beacon_runner_connect(struct beacon_runner *beacon_runner, const struct nats_js *js)
{
    struct nats_publisher *old = beacon_runner->publisher;

    beacon_runner->publisher = NULL;
    nats_publisher_free(old);
    if (!js)
        return;
    beacon_runner->publisher =
        nats_publisher_new(js, &(struct nats_publisher_options){ .queue_max = BACKLOG_MAX,
                                                                 .in_order = true,
                                                                 .ready = on_publisher_ready,
                                                                 .self = beacon_runner });
    send_beacon_events(beacon_runner);
}

void beacon_runner_resume(struct beacon_runner *beacon_runner)
{
    send_beacon_events(beacon_runner);
}

void beacon_runner_free(struct beacon_runner *beacon_runner)
{
    struct signal *signal;

    if (!beacon_runner)
        return;
    beacon_runner_stop(beacon_runner);
    background_tasks_close(&beacon_runner->background_tasks);
    while (beacon_runner->beacons) {
        struct beacon *beacon = beacon_runner->beacons;

        beacon_runner->beacons = beacon->next;
        free_beacon(beacon);
    }
    filewatch_hub_done(&beacon_runner->files);
    beacon_runner_connect(beacon_runner, NULL);
    while ((signal = backlog_take(&beacon_runner->backlog)))
        lose_signal(signal, "the agent stopped before it was connected");
    free(beacon_runner);
}

size_t beacon_runner_waiting(const struct beacon_runner *beacon_runner)
{
    return beacon_runner->backlog.count;
}
