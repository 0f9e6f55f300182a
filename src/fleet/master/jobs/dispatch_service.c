/*
 * The service "dispatch": accepts jobs from operators, sends the heartbeat of this master, and
 * takes over jobs of dead masters.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/number.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/master/announce.h"
#include "fleet/master/audit.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/jobs/dispatcher.h"
#include "fleet/master/jobs/orchestrator.h"
#include "fleet/master/peels/roster.h"
#include "fleet/master/services.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/job.h"
#include "fleet/wire/job_cancel.h"
#include "fleet/wire/liveness.h"
#include "fleet/wire/subject.h"

#define BEAT_NS (5 * CLOCK_SECOND)
/* Retry after a failed heartbeat: other masters rely on it as soon as the bucket has a leader
 * again. */
#define BEAT_SOON_NS  (200 * CLOCK_MS)
#define BEAT_AGAIN_NS (1 * CLOCK_SECOND)
#define SCAN_NS       (5 * CLOCK_SECOND)
/* Consecutive scans in which an owner must be missing. */
#define SCANS_MISSING 2
#define ACTIVE_KEYS   "active.*"

/* A job without a live owner. */
struct orphan {
    unsigned scans;
    unsigned last_scan;
    char jid[JOB_ID_MAX + 1];
};

struct dispatch_service {
    struct master *master;
    struct roster_listener facts;
    struct dispatcher *dispatcher;
    struct nats_sub *requests, *cancels, *dispatched;
    struct timer beat, scan;
    struct map orphans; /* struct orphan by jid */
    unsigned scan_number;
    bool is_scanning;
};

static void *open_dispatch_service(struct master *master, struct err *err)
{
    struct dispatch_service *service = mem_zalloc(sizeof(*service));

    (void)err;
    service->master = master;
    return service;
}

struct dispatcher *master_dispatcher(const struct master *master)
{
    return ((struct dispatch_service *)master_find(master, &master_dispatch_service))->dispatcher;
}

/* --- dispatch requests -------------------------------------------------------------- */

struct dispatch_request {
    struct dispatch_service *service;
    struct arena arena;
    struct audit audit; /* describes the job */
    size_t reply_size;
    char reply[];
};

static void send_reply(struct dispatch_service *service, struct str subject,
                       const struct job_reply *reply)
{
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 16);
    struct err err;

    if (record_encode(&bytes, &job_reply_type, reply, &err) < 0 ||
        nats_publish(service->master->js.conn,
                     &(struct nats_pub){ .subject = subject, .payload = buf_view(&bytes) },
                     &err) < 0)
        log_warning("answer to a dispatch: %s", err.text);
}

static void on_request_dispatched(void *self, enum dispatch_outcome outcome, const char *text)
{
    struct dispatch_request *request = self;
    bool accepted = outcome == DISPATCH_SENT || outcome == DISPATCH_DUPLICATE;

    request->audit.error = accepted ? NULL : text;
    audit_log(&request->audit);
    if (request->reply_size)
        send_reply(request->service, (struct str){ request->reply, request->reply_size },
                   &(struct job_reply){ .jid = accepted ? text : "",
                                        .error = accepted ? "" : text,
                                        .pending = outcome == DISPATCH_PENDING });
    arena_done(&request->arena);
    free(request);
}

static void on_dispatch_request(void *self, const struct nats_msg *msg)
{
    struct dispatch_service *service = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct dispatch_request *request = mem_zalloc(sizeof(*request) + msg->reply.n);
    struct job job;
    struct err err;

    request->service = service;
    request->audit.action = AUDIT_JOB;
    request->reply_size = msg->reply.n;
    if (msg->reply.n)
        memcpy(request->reply, msg->reply.p, msg->reply.n);
    if (record_decode(&arena, &job_type, 1, msg->payload, &job, &err) < 0) {
        on_request_dispatched(request, DISPATCH_INVALID, err.text);
        return;
    }
    request->audit = audit_of_job(&request->arena, &job);
    if (authority_check_order(service->master, msg, &err) < 0) {
        on_request_dispatched(request, DISPATCH_INVALID, err.text);
        return;
    }
    if (job_is_orchestration(&job)) { /* orchestrations come only from reactions */
        on_request_dispatched(request, DISPATCH_INVALID, "use 'zester orchestrate' instead");
        return;
    }
    dispatcher_send(service->dispatcher, &job, false, on_request_dispatched, request);
}

static void on_cancel_request(void *self, const struct nats_msg *msg)
{
    struct dispatch_service *service = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job_cancel cancel;
    enum subject_kind kind;
    struct subject_names names;

    if (!subject_parse(msg->subject, &kind, &names) || kind != SUBJECT_JOB_CANCEL ||
        !job_cancel_read(&arena, msg->payload, msg->header.n > 0, &cancel))
        return;
    if (dispatcher_cancel(service->dispatcher, names.jid))
        audit_log(&(struct audit){
            .action = "job.kill", .by = cancel.operator, .id = arena_str(&arena, names.jid).p });
}

/* A job was dispatched, by any master. */
static void on_dispatched_job(void *self, const struct nats_msg *msg)
{
    struct dispatch_service *service = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job_event event;
    struct job job;
    struct err err;

    if (record_decode(&arena, &job_event_type, 1, msg->payload, &event, &err) == 0 &&
        record_read(&arena, &job_type, 1, &event.data, &job, &err) == 0)
        dispatcher_note_job(service->dispatcher, &job);
}

/* --- heartbeat ---------------------------------------------------------------------- */

static void on_heartbeat_deleted(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)error; /* others notice the silence */
    (void)revision;
    master_release(self);
}

static struct nats_kv get_heartbeat_bucket(const struct dispatch_service *service)
{
    return (struct nats_kv){ .js = service->master->js,
                             .bucket = store_bucket_name(STORE_MASTER_HEARTBEAT) };
}

static void write_heartbeat(struct timer *timer);

static void on_beaten(void *self, const struct nats_error *error, uint64_t revision)
{
    struct dispatch_service *service = self;

    (void)revision;
    if (!error || error->fault == NATS_FAULT_CANCELED)
        return;
    log_warning("heartbeat: %s", error->text);
    if (service->dispatcher)
        timer_set(loop_timers(service->master->loop), &service->beat,
                  clock_after(clock_now(), BEAT_AGAIN_NS), write_heartbeat);
}

static void write_heartbeat(struct timer *timer)
{
    struct dispatch_service *service = container_of(timer, struct dispatch_service, beat);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const struct nats_kv kv = get_heartbeat_bucket(service);
    const int64_t wall = bus_time();
    const int64_t since = roster_beats_since(master_roster(service->master));
    struct liveness_master sign = {
        .master_id = service->master->id,
        .timestamp = { wall / CLOCK_SECOND, (uint32_t)(wall % CLOCK_SECOND) },
        .version = ZESTER_VERSION,
        .since = { since / CLOCK_SECOND, (uint32_t)(since % CLOCK_SECOND) },
    };
    struct liveness_trees used, published;
    struct err err;

    dispatcher_list(service->dispatcher, &arena, &sign.active_jobs);
    used = tree_board_used(&service->master->trees);
    published = tree_board_published(&service->master->trees);
    sign.trees = liveness_show_trees(&arena, &used);
    sign.published = liveness_show_trees(&arena, &published);
    if (record_encode(&bytes, &liveness_master_type, &sign, &err) < 0 ||
        nats_kv_put(&kv, service->master->id, buf_view(&bytes), on_beaten, service, &err) < 0)
        log_warning("heartbeat: %s", err.text);
    timer_set(loop_timers(service->master->loop), &service->beat, clock_after(clock_now(), BEAT_NS),
              write_heartbeat);
}

/* Trees change one after the other. */
static void on_trees_changed(void *self)
{
    struct dispatch_service *service = self;

    timer_set(loop_timers(service->master->loop), &service->beat,
              clock_after(clock_now(), BEAT_SOON_NS), write_heartbeat);
}

/* --- jobs of dead masters ----------------------------------------------------------- */

static void forget_orphan(struct dispatch_service *service, struct orphan *orphan)
{
    (void)map_remove(&service->orphans, str_from(orphan->jid));
    free(orphan);
}

static void note_orphan(struct dispatch_service *service, struct str jid)
{
    struct orphan *orphan = map_find(&service->orphans, jid);

    if (!orphan) {
        orphan = mem_zalloc(sizeof(*orphan));
        memcpy(orphan->jid, jid.p, jid.n);
        (void)map_set(&service->orphans, str_from(orphan->jid), orphan);
    }
    orphan->scans = orphan->last_scan + 1 == service->scan_number ? orphan->scans + 1 : 1;
    orphan->last_scan = service->scan_number;
    if (orphan->scans < SCANS_MISSING)
        return;
    dispatcher_recover(service->dispatcher, orphan->jid);
    forget_orphan(service, orphan);
}

/* Jobs missing in the last scan have an owner again, or have ended. */
static void forget_old_orphans(struct dispatch_service *service)
{
    MAP_EACH (&service->orphans, entry) {
        struct orphan *orphan = entry->value;

        if (orphan->last_scan + 1 < service->scan_number)
            forget_orphan(service, orphan);
    }
}

static void check_active(struct dispatch_service *service, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str jid = entry->key;
    struct job_active active;
    struct err err;

    (void)str_cut(&jid, '.');
    if (jid.n == 0 || jid.n > JOB_ID_MAX || dispatcher_has(service->dispatcher, jid))
        return;
    if (record_decode(&arena, &job_active_type, 1, entry->value, &active, &err) < 0)
        active.owner = "";
    /* our own unknown job: the answer to a write got lost */
    if (strcmp(active.owner, service->master->id) == 0 ||
        !roster_master_lives(master_roster(service->master), str_from(active.owner)))
        note_orphan(service, jid);
}

static void on_active(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct dispatch_service *service = self;

    if (entry) {
        if (service->dispatcher && entry->change == NATS_KV_PUT)
            check_active(service, entry);
        return;
    }
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_debug("looking for jobs without a master: %s", error->text);
    service->is_scanning = false;
}

static void scan_active_jobs(struct timer *timer)
{
    struct dispatch_service *service = container_of(timer, struct dispatch_service, scan);
    const struct nats_kv kv = { .js = service->master->js,
                                .bucket = store_bucket_name(STORE_JOBS) };
    struct err err;

    timer_set(loop_timers(service->master->loop), &service->scan, clock_after(clock_now(), SCAN_NS),
              scan_active_jobs);
    dispatcher_verify(service->dispatcher, roster_doubts(master_roster(service->master)));
    if (service->is_scanning || !roster_is_seeded(master_roster(service->master)))
        return;
    service->scan_number++;
    forget_old_orphans(service);
    service->is_scanning = nats_kv_list(&kv, ACTIVE_KEYS, on_active, service, &err) == 0;
}

/* --- life --------------------------------------------------------------------------- */

/* Announces _master/job/<jid>/<word>. Its depth is that of the reaction that started the job, so
 * that a rule that reacts to its own jobs ends. */
static void announce_job(struct dispatch_service *service, const struct job *job, const char *word)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *depth = value_get_text(&job->metadata, DISPATCHER_DEPTH);
    const char *tag = arena_printf(&arena, "job/%s/%s", job->jid, word);
    const struct value data = value_map(value_map_new(&arena, 7));
    int64_t number = 0;
    struct err err;

    if (depth && number_parse_int(str_from(depth), &number, &err) < 0)
        number = 0;
    value_map_set(&arena, data.map, value_text("jid"), value_text(job->jid));
    value_map_set(&arena, data.map, value_text("function"), value_text(job->function));
    value_map_set(&arena, data.map, value_text("user"), value_text(job->user ? job->user : ""));
    value_map_set(&arena, data.map, value_text("status"), value_text(job_status_name(job->status)));
    value_map_set(&arena, data.map, value_text("targets"), value_int((int64_t)job->targets.n));
    value_map_set(&arena, data.map, value_text("returned"), value_int(job->return_count));
    value_map_set(&arena, data.map, value_text("succeeded"), value_int(job->success_count));
    if (announce_event(service->master,
                       &(struct announcement){ .tag = tag,
                                               .data = data,
                                               .depth = (int32_t)number,
                                               .about = job->jid,
                                               .seconds = job->created.seconds },
                       &err) < 0)
        log_warning("job %s: event '%s' was not sent: %s", job->jid, word, err.text);
}

static void on_job_sent(void *self, const struct job *job)
{
    announce_job(self, job, "dispatched");
}

static void on_job_end(void *self, const struct job *job, double seconds)
{
    struct dispatch_service *service = self;

    announce_job(service, job, "finalized");

    metrics_add(service->master->metrics, MASTER_JOBS, 1, job_status_name(job->status), NULL);
    metrics_observe(service->master->metrics, MASTER_JOB_DURATION, seconds, job->function, NULL);
}

static void on_reclaim(void *self)
{
    metrics_add(((struct dispatch_service *)self)->master->metrics, MASTER_JOB_RECLAIMS, 1, NULL,
                NULL);
}

static void on_drop(void *self, enum dispatcher_drop reason)
{
    metrics_add(((struct dispatch_service *)self)->master->metrics, MASTER_JOB_DROPPED, 1,
                dispatcher_drop_name(reason), NULL);
}

static void begin_own_job(void *self, const struct job *job)
{
    orchestrator_begin(master_orchestrator(((struct dispatch_service *)self)->master), job);
}

static void end_own(void *self, const char *jid)
{
    orchestrator_end(master_orchestrator(((struct dispatch_service *)self)->master), str_from(jid));
}

/* Only deleted or revoked peels lose their facts. */
static void on_dispatch_facts_changed(struct roster_listener *listener, struct str peel)
{
    struct dispatch_service *service = container_of(listener, struct dispatch_service, facts);

    if (!roster_facts(master_roster(service->master), peel))
        dispatcher_note_gone(service->dispatcher, peel);
}

static const struct nats_nkey *find_signer(void *self)
{
    const struct master *master = ((const struct dispatch_service *)self)->master;
    const struct authority *authority;

    if (!master->conf.sign_requests)
        return NULL;
    authority = master_find(master, &authority_service);
    return &authority->account;
}

static void close_dispatch_service(struct dispatch_service *service)
{
    if (service->facts.changed)
        master_roster_forget(service->master, &service->facts);
    service->facts.changed = NULL;
    nats_sub_free(service->requests);
    nats_sub_free(service->cancels);
    nats_sub_free(service->dispatched);
    service->requests = service->cancels = service->dispatched = NULL;
    dispatcher_free(service->dispatcher);
    service->dispatcher = NULL;
}

static const struct nats_nkey *find_dispatch_account(void *self)
{
    const struct dispatch_service *service = self;

    return &((const struct authority *)master_find(service->master, &authority_service))->account;
}

static int start_dispatch_service(void *self, struct err *err)
{
    struct dispatch_service *service = self;
    struct nats_conn *conn = service->master->js.conn;

    service->dispatcher =
        dispatcher_new(&(struct dispatcher_options){ .js = service->master->js,
                                                     .master_id = service->master->id,
                                                     .roster = master_roster(service->master),
                                                     .account = find_dispatch_account,
                                                     .on_sent = on_job_sent,
                                                     .on_end = on_job_end,
                                                     .on_reclaim = on_reclaim,
                                                     .begin_own = begin_own_job,
                                                     .end_own = end_own,
                                                     .on_drop = on_drop,
                                                     .signer = find_signer,
                                                     .self = service },
                       err);
    service->requests =
        nats_sub_new(conn,
                     &(struct nats_sub_options){ .subject = subject_template(SUBJECT_DISPATCH),
                                                 .queue = subject_queue(SUBJECT_DISPATCH),
                                                 .message = on_dispatch_request,
                                                 .self = service },
                     err);
    service->cancels = nats_sub_new(conn,
                                    &(struct nats_sub_options){ .subject = "zester.job.*.cancel",
                                                                .message = on_cancel_request,
                                                                .self = service },
                                    err);
    service->dispatched = nats_sub_new(
        conn,
        &(struct nats_sub_options){
            .subject = "zester.job.*.dispatch", .message = on_dispatched_job, .self = service },
        err);
    if (!service->requests || !service->cancels || !service->dispatched) {
        close_dispatch_service(service);
        return -1;
    }
    service->facts.changed = on_dispatch_facts_changed;
    master_roster_listen(service->master, &service->facts);
    service->master->trees.changed = on_trees_changed;
    service->master->trees.self = service;
    write_heartbeat(&service->beat);
    scan_active_jobs(&service->scan);
    return 0;
}

/* Other masters take over the jobs as soon as the heartbeat is gone. */
static void stop_dispatch_service(void *self)
{
    struct dispatch_service *service = self;
    const struct nats_kv kv = get_heartbeat_bucket(service);
    struct err err;

    service->master->trees.changed = NULL;
    timer_clear(loop_timers(service->master->loop), &service->beat);
    timer_clear(loop_timers(service->master->loop), &service->scan);
    close_dispatch_service(service);
    if (nats_kv_delete(&kv, service->master->id, 0, on_heartbeat_deleted, service->master, &err) ==
        0)
        master_hold(service->master);
}

static void free_dispatch_service(void *self)
{
    struct dispatch_service *service = self;

    for (struct map_entry *entry; (entry = map_next(&service->orphans, NULL));)
        forget_orphan(service, entry->value);
    map_done(&service->orphans);
    free(service);
}

const struct master_service master_dispatch_service = {
    .name = "dispatch",
    .open = open_dispatch_service,
    .start = start_dispatch_service,
    .stop = stop_dispatch_service,
    .free = free_dispatch_service,
};
