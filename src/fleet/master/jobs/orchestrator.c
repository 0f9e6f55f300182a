#include "fleet/master/jobs/orchestrator.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/identity.h"
#include "fleet/bus/mirror.h"
#include "fleet/bus/store.h"
#include "core/data/json.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/services.h"
#include "fleet/nats/publisher.h"
#include "core/sys/cancel.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"
#include "core/sys/crash_point.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/process.h"
#include "core/sys/program.h"
#include "core/sys/tree.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"
#include "fleet/wire/subject.h"

#define PROGRAM   "zester-fleet"
#define FILE_MODE 0600
/* Limit for each output stream. The return in it must fit into a bus message. */
#define OUTPUT_MAX ((size_t)64 << 20)
/* Limit for its error output in a return. */
#define WORDS_MAX ((size_t)4096)
/* The master ends it at the deadline of the job; without a master it ends itself. */
#define GRACE_NS (5 * CLOCK_SECOND)

struct orchestration {
    struct background_task background_task;
    struct orchestrator *orchestrator;
    struct orchestration *previous, *next;
    struct arena arena;
    const char *jid, *data_dir;
    int64_t deadline; /* bus_time */
    struct cancel cancel;
    bool has_begun;
    bool is_unwanted; /* result is ignored */

    /* set by the worker */
    struct process_result result;
    int failed; /* 0: the program ran */
    struct err err;
};

struct orchestrator {
    struct master *master;
    struct arena arena;
    const char *folder;              /* NULL: not needed yet */
    const char *conf, *creds, *tree; /* files for the program */
    int64_t limit;
    struct background_tasks background_tasks;
    struct mirror *mirror; /* NULL: no orchestration yet */
    struct tree_trust trust;
    struct nats_publisher *publisher;
    struct nats_listener listener;
    struct orchestration *first, *last; /* in order of arrival */
    size_t count, running;
};

struct orchestrator *master_orchestrator(const struct master *master)
{
    return master_find(master, &master_orchestrator_service);
}

static struct orchestration *find_orchestration(const struct orchestrator *orchestrator,
                                                struct str jid)
{
    struct orchestration *one = orchestrator->first;

    while (one && !str_is(jid, one->jid))
        one = one->next;
    return one;
}

static void count_running(struct orchestrator *orchestrator, size_t running)
{
    orchestrator->running = running;
    metrics_set(orchestrator->master->metrics, MASTER_REACTOR_ORCHESTRATIONS, (double)running, NULL,
                NULL);
}

static void free_orchestration(struct orchestration *one)
{
    struct orchestrator *orchestrator = one->orchestrator;

    *(one->previous ? &one->previous->next : &orchestrator->first) = one->next;
    *(one->next ? &one->next->previous : &orchestrator->last) = one->previous;
    orchestrator->count--;
    cancel_done(&one->cancel);
    arena_done(&one->arena);
    free(one);
}

/* --- returns ----------------------------------------------------------------------------- */

static void on_run_return_published(void *self, const struct nats_error *error,
                                    const struct nats_stored_ack *ack)
{
    (void)self;
    (void)ack;
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_warning("the return of an orchestration could not be stored: %s", error->text);
}

/* To the stream, where the job's master receives it, this one or the next. */
static void publish_return(struct orchestrator *orchestrator, const char *jid, struct str bytes)
{
    const struct subject_names names = { .jid = str_from(jid), .peel = STR(JOB_TARGET_MASTER) };
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);
    struct nats_store store = { .payload = bytes };
    struct err err;

    if (subject_print(&subject, SUBJECT_JOB_RETURN, &names, &err) < 0)
        return; /* job ids are made here */
    store.subject = buf_view(&subject);
    if (nats_publisher_send(orchestrator->publisher, &store, on_run_return_published, NULL, &err) <
        0)
        log_warning("job %s: %s", jid, err.text);
}

static void publish_failure(struct orchestrator *orchestrator, const char *jid, const char *why)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const int64_t now = bus_time();
    const struct exec_return failure = {
        .jid = jid,
        .peel_id = JOB_TARGET_MASTER,
        .error = why,
        .timestamp = { now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) },
    };
    struct err err;

    log_warning("job %s: the orchestration failed: %s", jid, why);
    if (record_encode(&bytes, &exec_return_type, &failure, &err) == 0)
        publish_return(orchestrator, jid, buf_view(&bytes));
}

/* Is the output a valid return? */
static bool is_return(const struct orchestration *one)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct exec_return found;
    struct err err;

    return !one->failed && process_status_ok(one->result.status) && one->result.out_dropped == 0 &&
           record_decode(&arena, &exec_return_type, 1, one->result.out, &found, &err) == 0 &&
           strcmp(found.jid, one->jid) == 0 && strcmp(found.peel_id, JOB_TARGET_MASTER) == 0;
}

static const char *describe_failure(struct orchestration *one)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct str words = str_trim(one->result.err);

    if (one->failed)
        return one->err.text;
    if (words.n > WORDS_MAX)
        words = str_from_offset(words, words.n - WORDS_MAX);
    buf_add_text(&text, "the process that ran it ended with ");
    process_status_print(one->result.status, &text);
    if (words.n > 0)
        buf_printf(&text, ": %.*s", STR_ARG(words));
    return buf_copy(&text, &one->arena).p;
}

/* --- the process ------------------------------------------------------------------------- */

/* In a worker. */
static void run_orchestration(struct background_task *background_task)
{
    struct orchestration *one =
        container_of(background_task, struct orchestration, background_task);
    const struct orchestrator *orchestrator = one->orchestrator;
    const int64_t left = one->deadline - bus_time();
    const char *program = program_find_beside(&one->arena, PROGRAM);
    const int64_t seconds = ((left > 0 ? left : 0) + GRACE_NS) / CLOCK_SECOND;
    const char *const argv[] = {
        program,        "orchestrate",
        "--job",        one->jid,
        "--states-dir", orchestrator->tree,
        "--data-dir",   one->data_dir,
        "--config",     orchestrator->conf,
        "--creds",      orchestrator->creds,
        "--timeout",    arena_printf(&one->arena, "%llds", (long long)seconds),
        NULL,
    };
    const struct process_spec spec = { .argv = argv };
    const struct process_bounds bounds = { .output_max = OUTPUT_MAX };
    struct err ignored;

    crash_point("orchestration-begins");
    if (!program)
        one->failed = err_set(&one->err, ERR_NOT_FOUND, "'" PROGRAM "' is not installed");
    else
        one->failed =
            process_run(&spec, &bounds, &one->cancel, &one->arena, &one->result, &one->err);
    (void)tree_remove(one->data_dir, &ignored); /* unused; the next start removes it as well */
}

static void begin_waiting_runs(struct orchestrator *orchestrator);

static void on_program_ended(struct background_task *background_task)
{
    struct orchestration *one =
        container_of(background_task, struct orchestration, background_task);
    struct orchestrator *orchestrator = one->orchestrator;
    const char *jid = one->jid;

    crash_point("orchestration-ended");
    count_running(orchestrator, orchestrator->running - 1);
    if (one->is_unwanted)
        log_info("job %s: the orchestration was stopped", jid);
    else if (is_return(one))
        publish_return(orchestrator, jid, one->result.out);
    else
        publish_failure(orchestrator, jid, describe_failure(one));
    free_orchestration(one);
    begin_waiting_runs(orchestrator);
}

/* Start as many as allowed, once the tree is in sync. */
static void begin_waiting_runs(struct orchestrator *orchestrator)
{
    if (!orchestrator->mirror || !mirror_has_synced(orchestrator->mirror) ||
        mirror_is_busy(orchestrator->mirror))
        return;
    for (struct orchestration *one = orchestrator->first; one; one = one->next) {
        if ((int64_t)orchestrator->running >= orchestrator->limit)
            return;
        if (one->has_begun)
            continue;
        one->has_begun = true;
        count_running(orchestrator, orchestrator->running + 1);
        background_task_begin(&orchestrator->background_tasks, &one->background_task,
                              run_orchestration, on_program_ended);
    }
}

/* --- the tree ---------------------------------------------------------------------------- */

static void on_tree_synced(void *self, const struct mirror_sync *sync)
{
    (void)self;
    if (sync->changed)
        log_info("files for orchestrations synced files=%zu", sync->files);
}

static void on_tree_failed(void *self, const char *bucket, const char *problem)
{
    (void)self;
    log_warning("files for orchestrations not synced, trying again bucket=%s error=%s", bucket,
                problem);
}

static void on_tree_ended(void *self)
{
    begin_waiting_runs(self);
}

static int choose_run_folder(struct orchestrator *orchestrator, struct err *err)
{
    struct master *master = orchestrator->master;

    orchestrator->folder = workroom_open(&master->workroom, master->conf.orchestrate_dir, err);
    if (!orchestrator->folder)
        return -1;
    orchestrator->conf = path_join(&orchestrator->arena, orchestrator->folder, "bus.yaml");
    orchestrator->tree = path_join(&orchestrator->arena, orchestrator->folder, "states");
    return 0;
}

/* Bus configuration for the program, and an empty folder for run records. */
static int make_run_folder(struct orchestrator *orchestrator, struct err *err)
{
    const struct master_conf *conf = &orchestrator->master->conf;
    const struct fs_replace_options options = { .attr = { FILE_MODE, FS_KEEP, FS_KEEP } };
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct value keys = value_map(value_map_new(&orchestrator->arena, 3));

    value_map_set(&orchestrator->arena, keys.map, value_text("nats_url"),
                  value_text(conf->nats_url));
    value_map_set(&orchestrator->arena, keys.map, value_text("auth_dir"),
                  value_text(conf->auth_dir));
    if (conf->nats_ca)
        value_map_set(&orchestrator->arena, keys.map, value_text("nats_ca"),
                      value_text(conf->nats_ca));
    if (json_print(&text, &keys, 0, err) < 0 ||
        tree_remove(path_join(&orchestrator->arena, orchestrator->folder, "runs"), err) < 0)
        return -1;
    return fs_replace(orchestrator->conf, buf_view(&text), &options, err);
}

static int open_states_tree(struct orchestrator *orchestrator, struct err *err)
{
    if (orchestrator->mirror)
        return 0;
    if ((!orchestrator->folder && choose_run_folder(orchestrator, err) < 0) ||
        make_run_folder(orchestrator, err) < 0)
        return -1;
    orchestrator->trust = authority_trust(orchestrator->master, "orchestrator");
    orchestrator->mirror =
        mirror_new(&(struct mirror_options){ .loop = orchestrator->master->loop,
                                             .bucket = store_bucket_name(STORE_STATE_FILES),
                                             .folder = orchestrator->tree,
                                             .trust = &orchestrator->trust,
                                             .synced = on_tree_synced,
                                             .failed = on_tree_failed,
                                             .ended = on_tree_ended,
                                             .self = orchestrator },
                   err);
    if (!orchestrator->mirror)
        return -1;
    mirror_connect(orchestrator->mirror, &orchestrator->master->js);
    return 0;
}

/* Changes may have been missed. */
static void on_orchestrator_bus_event(struct nats_listener *listener,
                                      const struct nats_event *event)
{
    struct orchestrator *orchestrator = container_of(listener, struct orchestrator, listener);

    if (event->kind == NATS_EVENT_CONNECTED && orchestrator->mirror)
        mirror_connect(orchestrator->mirror, &orchestrator->master->js);
}

/* --- jobs -------------------------------------------------------------------------------- */

static struct orchestration *add_orchestration(struct orchestrator *orchestrator,
                                               const struct job *job, struct err *err)
{
    struct orchestration *one = mem_zalloc(sizeof(*one));

    if (cancel_init(&one->cancel, err) < 0) {
        free(one);
        return NULL;
    }
    one->orchestrator = orchestrator;
    one->jid = arena_strdup(&one->arena, job->jid);
    one->data_dir = arena_printf(&one->arena, "%s/runs/%s", orchestrator->folder, job->jid);
    one->deadline = job->deadline.seconds * CLOCK_SECOND + job->deadline.nanoseconds;
    one->previous = orchestrator->last;
    *(orchestrator->last ? &orchestrator->last->next : &orchestrator->first) = one;
    orchestrator->last = one;
    orchestrator->count++;
    return one;
}

void orchestrator_begin(struct orchestrator *orchestrator, const struct job *job)
{
    struct err err;

    if (find_orchestration(orchestrator, str_from(job->jid)))
        return;
    if (orchestrator->count >= ORCHESTRATOR_WAITING_MAX)
        (void)err_set(&err, ERR_LIMIT, "%d orchestrations are already queued on this master",
                      ORCHESTRATOR_WAITING_MAX);
    else if (open_states_tree(orchestrator, &err) == 0 &&
             add_orchestration(orchestrator, job, &err)) {
        mirror_hasten(orchestrator->mirror);
        begin_waiting_runs(orchestrator);
        return;
    }
    publish_failure(orchestrator, job->jid, err.text);
}

/* A running one is freed when its worker ends. */
static void end_orchestration(struct orchestration *one)
{
    one->is_unwanted = true;
    cancel_raise(&one->cancel);
    if (!one->has_begun)
        free_orchestration(one);
}

void orchestrator_end(struct orchestrator *orchestrator, struct str jid)
{
    struct orchestration *one = find_orchestration(orchestrator, jid);

    if (one)
        end_orchestration(one);
}

/* --- life -------------------------------------------------------------------------------- */

static void *open_orchestrator(struct master *master, struct err *err)
{
    struct orchestrator *orchestrator = mem_zalloc(sizeof(*orchestrator));
    const struct master_conf *conf = &master->conf;

    (void)err;
    orchestrator->master = master;
    orchestrator->limit = conf->reactor_orchestrations;
    orchestrator->creds =
        path_join(&orchestrator->arena, conf->auth_dir, identity_file_name(IDENTITY_MASTER_CREDS));
    return orchestrator;
}

static int start_orchestrator(void *self, struct err *err)
{
    struct orchestrator *orchestrator = self;

    if (background_tasks_open_workers(&orchestrator->background_tasks, orchestrator->master->loop,
                                      (unsigned)orchestrator->limit, err) < 0)
        return -1;
    orchestrator->publisher =
        nats_publisher_new(&orchestrator->master->js, &(struct nats_publisher_options){ 0 });
    nats_listen(orchestrator->master->js.conn, &orchestrator->listener, on_orchestrator_bus_event);
    return 0;
}

/* The jobs continue on other masters. */
static void stop_orchestrator(void *self)
{
    struct orchestrator *orchestrator = self;

    for (struct orchestration *one = orchestrator->first, *next; one; one = next) {
        next = one->next;
        end_orchestration(one);
    }
    nats_unlisten(orchestrator->master->js.conn, &orchestrator->listener);
    mirror_free(orchestrator->mirror);
    orchestrator->mirror = NULL;
    nats_publisher_free(orchestrator->publisher);
    orchestrator->publisher = NULL;
}

static void free_orchestrator(void *self)
{
    struct orchestrator *orchestrator = self;

    for (struct orchestration *one = orchestrator->first; one; one = one->next)
        background_task_wait(&one->background_task);
    background_tasks_close(&orchestrator->background_tasks);
    arena_done(&orchestrator->arena);
    free(orchestrator);
}

const struct master_service master_orchestrator_service = {
    .name = "orchestrator",
    .open = open_orchestrator,
    .start = start_orchestrator,
    .stop = stop_orchestrator,
    .free = free_orchestrator,
};
