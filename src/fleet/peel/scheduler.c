#include "fleet/peel/scheduler.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/data/params.h"
#include "core/data/record.h"
#include "core/data/value.h"
#include "states/local/agent.h"
#include "states/local/perform.h"
#include "fleet/peel/cron.h"
#include "fleet/peel/job_queue.h"
#include "fleet/peel/schedule_entry.h"
#include "fleet/peel/outbox.h"
#include "fleet/peel/snapshot.h"
#include "states/state/secrets.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"
#include "fleet/wire/subject.h"

/* The clock on the wall may jump: it is looked at this often. */
#define LOOK_NS (INT64_C(30) * 1000000000)
/* A ScheduledResult. */
#define RESULT_MAX OUTBOX_MESSAGE_MAX

struct entry_args {
    const char *module, *id, *cron;
    const struct value *args;
    int64_t interval, splay, maxrunning;
    bool run_on_start, return_job, enabled;
};

#define ARGS struct entry_args
/* clang-format off */
static const struct param entry_params[] = {
    PARAM("module",       STR,      ARGS, module, "the function", .flags = PARAM_REQUIRED, .aliases = "function"),
    PARAM("id",           STR,      ARGS, id, "its positional argument", .default_text = ""),
    PARAM("args",         MAP,      ARGS, args, "its arguments"),
    PARAM("interval",     DURATION, ARGS, interval, "from the end of a run to the next; from its begin, if several may run at once", PARAM_RANGE(1, INT64_MAX)),
    PARAM("cron",         STR,      ARGS, cron, "minute hour day month weekday"),
    PARAM("splay",        DURATION, ARGS, splay, "each time up to this much later, at random"),
    PARAM("maxrunning",   INT,      ARGS, maxrunning, "runs at once; one more is skipped", .default_text = "1", PARAM_RANGE(1, 100)),
    PARAM("run_on_start", BOOL,     ARGS, run_on_start, "also when the agent starts"),
    PARAM("return_job",   BOOL,     ARGS, return_job, "send the result to the masters"),
    PARAM("enabled",      BOOL,     ARGS, enabled, "whether it counts", .default_text = "true"),
    { 0 },
};
/* clang-format on */

/* Keys that Salt has for the same. */
static const struct param_foreign salt_keys[] = {
    { "seconds", "write interval: 30s" },
    { "minutes", "write interval: 5m" },
    { "hours", "write interval: 1h" },
    { "days", "write interval: 24h" },
    { "job_args", "write id: WORD for the positional argument, args: {KEY: VALUE} for the others" },
    { "job_kwargs", "write args: {KEY: VALUE}" },
    { 0 },
};

struct entry {
    struct scheduler *scheduler;
    struct entry *next;
    struct arena arena;
    const char *name;
    struct value source; /* as it was written */
    struct entry_args args;
    struct cron cron;
    struct timer timer;
    int64_t due; /* wall time; 0: by the timer alone */
    uint64_t turn;
    int64_t running;
    char jid[KSUID_SIZE];  /* of the last run */
    bool is_seen, is_gone; /* gone: freed with its last run */
};

struct scheduler {
    struct scheduler_options options;
    struct entry *entries;
    bool is_on, is_stopped;
};

/* --- when ------------------------------------------------------------------------- */

static void on_schedule_timer(struct timer *timer);

/* Different for each machine and entry, and for each turn. */
static int64_t find_splay(struct entry *entry)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (entry->args.splay <= 0)
        return 0;
    buf_printf(&text, "%s/%s/%llu", entry->scheduler->options.peel_id, entry->name,
               (unsigned long long)entry->turn++);
    return (int64_t)((uint64_t)map_hash(text.p, text.n) * (uint64_t)(entry->args.splay / CLOCK_MS) /
                     UINT32_MAX) *
           CLOCK_MS;
}

static void set_entry_timer(struct entry *entry, int64_t ns)
{
    timer_set(loop_timers(entry->scheduler->options.loop), &entry->timer,
              clock_after(clock_now(), ns), on_schedule_timer);
}

/* A cron is looked at in steps, since the clock may be set meanwhile. */
static void approach_due_time(struct entry *entry)
{
    const int64_t left = entry->due - clock_wall();

    set_entry_timer(entry, left > LOOK_NS ? LOOK_NS : left > 0 ? left : 0);
}

/* Else the next run is planned when this one has ended. */
static bool is_planned_ahead(const struct entry *entry)
{
    return entry->args.cron || entry->args.maxrunning > 1;
}

static bool is_waiting_for_time(const struct entry *entry)
{
    return entry->args.enabled && !entry->is_gone && entry->scheduler->is_on &&
           !entry->scheduler->is_stopped;
}

static void plan_next(struct entry *entry)
{
    if (!is_waiting_for_time(entry))
        return;
    if (entry->args.cron) {
        const time_t next = cron_next(&entry->cron, (time_t)(clock_wall() / CLOCK_SECOND));

        if (next == (time_t)-1)
            return;
        entry->due = (int64_t)next * CLOCK_SECOND + find_splay(entry);
        approach_due_time(entry);
    } else {
        entry->due = 0;
        set_entry_timer(entry, entry->args.interval + find_splay(entry));
    }
}

/* --- runs ------------------------------------------------------------------------- */

/* One run; it may outlive the entry's place in the list. */
struct run {
    struct entry *entry;
    char jid[KSUID_SIZE];
};

static void free_entry(struct entry *entry)
{
    timer_clear(loop_timers(entry->scheduler->options.loop), &entry->timer);
    arena_done(&entry->arena);
    free(entry);
}

/* The record of the job is read by masters and operators. */
static struct value mask_args(struct arena *arena, const struct entry *entry)
{
    const struct scheduler_options *options = &entry->scheduler->options;
    struct value args = entry->args.args ? value_copy(arena, entry->args.args) : value_null();
    const char *why;
    struct snapshot *settings = options->settings(options->self, &why);
    struct secrets *secrets = secrets_new();

    if (settings)
        secrets_add_marked(secrets, &settings->value);
    secrets_mask_value(secrets, arena, &args);
    secrets_free(secrets);
    snapshot_drop(settings);
    return args;
}

static void send_result(const struct run *run, const struct perform_answer *answer,
                        struct str response, int64_t duration)
{
    const struct entry *entry = run->entry;
    const struct scheduler_options *options = &entry->scheduler->options;
    const struct subject_names names = { .jid = str_from(run->jid),
                                         .peel = str_from(options->peel_id) };
    const int64_t now = clock_wall();
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX), bytes = BUF_INIT(RESULT_MAX);
    struct job_scheduled result = {
        .jid = run->jid,
        .entry = entry->name,
        .module = entry->args.module,
        .args = mask_args(&arena, entry),
        .success = answer->success && !answer->error,
        .error = answer->error ? answer->error : "",
        .duration = duration,
        .timestamp = { now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) },
    };
    struct exec_response whole = { 0 };
    struct outbox_message message;
    uint64_t number;
    struct err err;

    if (record_decode(&arena, &exec_response_type, 0, response, &whole, &err) == 0)
        result.return_data = record_value(&arena, &exec_response_type, &whole);
    if (subject_print(&subject, SUBJECT_JOB_SCHEDULE, &names, &err) < 0 ||
        record_encode(&bytes, &job_scheduled_type, &result, &err) < 0) {
        log_error("result of the schedule is lost entry=%s error=%s", entry->name, err.text);
        return;
    }
    message = (struct outbox_message){ .subject = buf_text(&subject),
                                       .id = arena_printf(&arena, "%s.schedule", run->jid),
                                       .about = run->jid,
                                       .payload = buf_view(&bytes) };
    if (outbox_keep(options->outbox, &message, false, &number, &err) < 0)
        log_error("result of the schedule is lost entry=%s error=%s", entry->name, err.text);
    else
        outbox_send(options->outbox, number);
}

static void on_scheduled_job_ended(void *self, const struct perform_answer *answer,
                                   struct str response, int64_t duration)
{
    struct run *run = self;
    struct entry *entry = run->entry;

    log_info("schedule ended entry=%s jid=%s success=%s error=%s", entry->name, run->jid,
             answer->success && !answer->error ? "true" : "false",
             answer->error ? answer->error : "");
    if (entry->args.return_job)
        send_result(run, answer, response, duration);
    free(run);
    entry->running--;
    if (entry->is_gone && entry->running == 0)
        free_entry(entry);
    else if (!is_planned_ahead(entry))
        plan_next(entry);
}

/* An interval goes on when the window opens; a cron has its own times. */
static void postpone_entry(struct entry *entry, time_t opens)
{
    log_info("schedule skipped: outside of the maintenance windows entry=%s", entry->name);
    if (entry->args.cron)
        return;
    if (opens == (time_t)-1) {
        plan_next(entry);
        return;
    }
    entry->due = (int64_t)opens * CLOCK_SECOND + find_splay(entry);
    approach_due_time(entry);
}

/* Fails when the job queue refuses it. */
static int begin_run(struct entry *entry, const char **ret_jid, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct run *run = mem_zalloc(sizeof(*run));
    const struct job_queue_task task = { .jid = run->jid,
                                         .function = entry->args.module,
                                         .id = entry->args.id,
                                         .args =
                                             entry->args.args ? *entry->args.args : value_null(),
                                         .user = arena_printf(&scratch, "schedule:%s", entry->name),
                                         .fn = on_scheduled_job_ended,
                                         .self = run };

    run->entry = entry;
    ksuid_new(clock_wall() / CLOCK_SECOND, run->jid);
    (void)snprintf(entry->jid, sizeof(entry->jid), "%s", run->jid);
    *ret_jid = entry->jid;
    entry->running++;
    log_info("schedule begins entry=%s jid=%s function=%s", entry->name, run->jid,
             entry->args.module);
    if (job_queue_run(entry->scheduler->options.job_queue, &task, err) == 0)
        return 0;
    entry->running--;
    free(run);
    return -1;
}

static void fire_entry(struct entry *entry)
{
    const char *jid;
    time_t opens;
    struct err err;

    if (job_queue_is_forbidden(entry->scheduler->options.job_queue, entry->args.module,
                               entry->args.args, &opens)) {
        postpone_entry(entry, opens);
        return;
    }
    if (entry->running >= entry->args.maxrunning) {
        log_warning("schedule skipped: it still runs entry=%s", entry->name);
        return;
    }
    if (begin_run(entry, &jid, &err) == 0)
        return;
    log_warning("schedule skipped entry=%s error=%s", entry->name, err.text);
    if (!is_planned_ahead(entry))
        plan_next(entry);
}

static void on_schedule_timer(struct timer *timer)
{
    struct entry *entry = container_of(timer, struct entry, timer);

    if (entry->due > 0 && clock_wall() < entry->due) {
        approach_due_time(entry);
        return;
    }
    if (is_planned_ahead(entry))
        plan_next(entry);
    fire_entry(entry);
}

/* --- entries ---------------------------------------------------------------------- */

static struct entry *find_scheduled_entry(const struct scheduler *scheduler, struct str name)
{
    for (struct entry *entry = scheduler->entries; entry; entry = entry->next)
        if (str_eq_text(name, entry->name))
            return entry;
    return NULL;
}

/* Every mistake, not the first alone. */
static int read_scheduled_entry(struct arena *arena, const struct value *source,
                                struct entry_args *args, struct cron *cron, struct diags *diags)
{
    const struct params_policy policy = { .noun = "key", .foreign = salt_keys };
    const size_t before = diags_count(diags);
    const struct place nowhere = { 0 };
    struct err err;

    (void)params_decode(arena, entry_params, &policy, source, args, diags);
    if (!value_get(source, "cron") == !value_get(source, "interval"))
        (void)diag_add(diags, nowhere, "either 'interval' or 'cron' is needed");
    if (args->cron && cron_parse(args->cron, cron, &err) < 0)
        (void)diag_err(diags, nowhere, &err);
    if (args->module && perform_class(args->module) == PERFORM_UNKNOWN &&
        !agent_function_find(args->module))
        (void)diag_add(diags, nowhere, "%s", perform_unknown(arena, args->module));
    return diags_count(diags) == before ? 0 : -1;
}

int scheduler_check(struct arena *arena, const struct value *source, struct diags *diags)
{
    struct entry_args args = { 0 };
    struct cron cron;

    return read_scheduled_entry(arena, source, &args, &cron, diags);
}

static void add_scheduled_entry(struct scheduler *scheduler, struct str name,
                                const struct value *source)
{
    struct entry *entry = mem_zalloc(sizeof(*entry));
    struct diags diags = DIAGS_INIT(&entry->arena);
    struct err err;

    entry->scheduler = scheduler;
    entry->name = arena_str(&entry->arena, name).p;
    entry->source = value_copy(&entry->arena, source);
    entry->is_seen = true;
    if (read_scheduled_entry(&entry->arena, &entry->source, &entry->args, &entry->cron, &diags) <
        0) {
        (void)diags_to_err(&diags, &err);
        log_error("schedule entry left out entry=%s error=%s", entry->name, err.text);
        free_entry(entry);
        return;
    }
    entry->next = scheduler->entries;
    scheduler->entries = entry;
    if (!entry->args.run_on_start || !is_waiting_for_time(entry)) {
        plan_next(entry);
        return;
    }
    entry->due = clock_wall() + find_splay(entry);
    approach_due_time(entry);
}

static void forget_entry(struct entry *entry)
{
    entry->is_gone = true;
    timer_clear(loop_timers(entry->scheduler->options.loop), &entry->timer);
    if (entry->running == 0)
        free_entry(entry);
}

static void remove_scheduled_entry(struct scheduler *scheduler, struct entry *entry)
{
    struct entry **at = &scheduler->entries;

    while (*at != entry) {
        assert(*at);
        at = &(*at)->next;
    }
    *at = entry->next;
    forget_entry(entry);
}

static void take_entry(struct scheduler *scheduler, struct str name, const struct value *source)
{
    struct entry *known = find_scheduled_entry(scheduler, name);

    if (known && value_equal(&known->source, source)) {
        known->is_seen = true;
        return;
    }
    if (known)
        remove_scheduled_entry(scheduler, known);
    add_scheduled_entry(scheduler, name, source);
}

static void switch_schedule(struct scheduler *scheduler, bool is_on)
{
    if (scheduler->is_on == is_on)
        return;
    scheduler->is_on = is_on;
    for (struct entry *entry = scheduler->entries; entry; entry = entry->next) {
        timer_clear(loop_timers(scheduler->options.loop), &entry->timer);
        if (entry->running == 0 || is_planned_ahead(entry))
            plan_next(entry);
    }
}

void scheduler_read(struct scheduler *scheduler, const struct schedule_entries *schedule_entries)
{
    const bool stay = schedule_entries->refused && scheduler->entries;
    struct entry *next;

    if (schedule_entries->refused)
        log_error("schedule of the settings refused, expected a map of entries, got %s",
                  schedule_entries->refused);
    for (struct entry *entry = scheduler->entries; entry; entry = entry->next)
        entry->is_seen = stay;
    scheduler->is_on = scheduler->is_on && schedule_entries->is_on;
    VEC_EACH (&schedule_entries->list, schedule_entry)
        if (!stay || schedule_entry->source == SCHEDULE_ENTRY_ADDED)
            take_entry(scheduler, schedule_entry->name, &schedule_entry->value);
    for (struct entry *entry = scheduler->entries; entry; entry = next) {
        next = entry->next;
        if (!entry->is_seen)
            remove_scheduled_entry(scheduler, entry);
    }
    switch_schedule(scheduler, schedule_entries->is_on);
}

/* --- by hand ---------------------------------------------------------------------- */

int scheduler_run(struct scheduler *scheduler, struct str name, const char **ret_jid,
                  struct err *err)
{
    struct entry *entry = find_scheduled_entry(scheduler, name);
    time_t opens;

    if (!entry)
        return err_set(err, ERR_NOT_FOUND, "'%.*s' has errors and cannot run", STR_ARG(name));
    if (job_queue_is_forbidden(scheduler->options.job_queue, entry->args.module, entry->args.args,
                               &opens))
        return err_set(err, ERR_BUSY, "'%s' not started: outside of the maintenance windows",
                       entry->name);
    if (entry->running >= entry->args.maxrunning)
        return err_set(err, ERR_BUSY, "'%s' not started: job %s of it still runs", entry->name,
                       entry->jid);
    return begin_run(entry, ret_jid, err);
}

int64_t scheduler_find_next(const struct scheduler *scheduler, struct str name)
{
    const struct entry *entry = find_scheduled_entry(scheduler, name);

    if (!entry || !timer_is_set(&entry->timer))
        return 0;
    return entry->due > 0 ? entry->due : clock_wall() + entry->timer.deadline - clock_now();
}

/* --- life ------------------------------------------------------------------------- */

struct scheduler *scheduler_new(const struct scheduler_options *options)
{
    struct scheduler *scheduler = mem_zalloc(sizeof(*scheduler));

    scheduler->options = *options;
    scheduler->is_on = true;
    return scheduler;
}

void scheduler_stop(struct scheduler *scheduler)
{
    scheduler->is_stopped = true;
    for (struct entry *entry = scheduler->entries; entry; entry = entry->next)
        timer_clear(loop_timers(scheduler->options.loop), &entry->timer);
}

void scheduler_free(struct scheduler *scheduler)
{
    struct entry *next;

    if (!scheduler)
        return;
    for (struct entry *entry = scheduler->entries; entry; entry = next) {
        next = entry->next;
        free_entry(entry);
    }
    free(scheduler);
}
