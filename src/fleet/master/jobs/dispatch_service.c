/*
 * The service "dispatch": takes jobs from operators, shows that this master lives, and takes over
 * the jobs of masters that do not.
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
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"
#include "fleet/wire/job_cancel.h"
#include "fleet/wire/liveness.h"
#include "fleet/wire/subject.h"

#define BEAT_NS (5 * CLOCK_SECOND)
/* After one that was not stored: others count on it as soon as the bucket has a leader again. */
#define BEAT_AGAIN_NS (1 * CLOCK_SECOND)
#define SCAN_NS       (5 * CLOCK_SECOND)
/* An owner must be missing in so many scans, one after the other. */
#define SCANS_MISSING 2
#define ACTIVE_KEYS   "active.*"

/* A job whose owner was not seen. */
struct orphan {
    unsigned scans;
    unsigned last_scan;
    char jid[JOB_ID_MAX + 1];
};

struct office {
    struct master *master;
    struct roster_listener facts;
    struct dispatcher *dispatcher;
    struct nats_sub *orders, *cancels, *dispatched;
    struct timer beat, scan;
    struct map orphans; /* struct orphan by jid */
    unsigned scan_number;
    bool is_scanning;
};

static void *open_office(struct master *master, struct err *err)
{
    struct office *office = mem_zalloc(sizeof(*office));

    (void)err;
    office->master = master;
    return office;
}

struct dispatcher *master_dispatcher(const struct master *master)
{
    return ((struct office *)master_find(master, &master_dispatch_service))->dispatcher;
}

/* --- orders ------------------------------------------------------------------------- */

struct order {
    struct office *office;
    struct arena arena;
    struct audit audit; /* what it asks for */
    size_t reply_size;
    char reply[];
};

static void send_reply(struct office *office, struct str subject, const struct job_reply *reply)
{
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 16);
    struct err err;

    if (record_encode(&bytes, &job_reply_type, reply, &err) < 0 ||
        nats_publish(office->master->js.conn,
                     &(struct nats_pub){ .subject = subject, .payload = buf_view(&bytes) },
                     &err) < 0)
        log_warning("answer to a dispatch: %s", err.text);
}

static void on_dispatched(void *self, enum dispatch_outcome outcome, const char *text)
{
    struct order *order = self;
    bool accepted = outcome == DISPATCH_SENT || outcome == DISPATCH_DUPLICATE;

    order->audit.error = accepted ? NULL : text;
    audit_log(&order->audit);
    if (order->reply_size)
        send_reply(order->office, (struct str){ order->reply, order->reply_size },
                   &(struct job_reply){ .jid = accepted ? text : "",
                                        .error = accepted ? "" : text,
                                        .pending = outcome == DISPATCH_PENDING });
    arena_done(&order->arena);
    free(order);
}

static void on_order(void *self, const struct nats_msg *msg)
{
    struct office *office = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct order *order = mem_zalloc(sizeof(*order) + msg->reply.n);
    struct job job;
    struct err err;

    order->office = office;
    order->audit.action = AUDIT_JOB;
    order->reply_size = msg->reply.n;
    if (msg->reply.n)
        memcpy(order->reply, msg->reply.p, msg->reply.n);
    if (record_decode(&arena, &job_type, 1, msg->payload, &job, &err) < 0) {
        on_dispatched(order, DISPATCH_INVALID, err.text);
        return;
    }
    order->audit = audit_of_job(&order->arena, &job);
    if (authority_check_order(office->master, msg, &err) < 0) {
        on_dispatched(order, DISPATCH_INVALID, err.text);
        return;
    }
    if (job_is_orchestration(&job)) { /* only reactions have masters do their work */
        on_dispatched(order, DISPATCH_INVALID, "operators run 'zester orchestrate'");
        return;
    }
    dispatcher_send(office->dispatcher, &job, false, on_dispatched, order);
}

static void on_cancel(void *self, const struct nats_msg *msg)
{
    struct office *office = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job_cancel cancel;
    enum subject_kind kind;
    struct subject_names names;

    if (!subject_parse(msg->subject, &kind, &names) || kind != SUBJECT_JOB_CANCEL ||
        !job_cancel_read(&arena, msg->payload, msg->header.n > 0, &cancel))
        return;
    if (dispatcher_cancel(office->dispatcher, names.jid))
        audit_log(&(struct audit){
            .action = "job.kill", .by = cancel.operator, .id = arena_str(&arena, names.jid).p });
}

/* Any master has dispatched a job. */
static void on_dispatched_job(void *self, const struct nats_msg *msg)
{
    struct office *office = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job_event event;
    struct job job;
    struct err err;

    if (record_decode(&arena, &job_event_type, 1, msg->payload, &event, &err) == 0 &&
        record_read(&arena, &job_type, 1, &event.data, &job, &err) == 0)
        dispatcher_note_job(office->dispatcher, &job);
}

/* --- signs of life ------------------------------------------------------------------ */

static void on_farewell(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)error; /* others see it by the silence */
    (void)revision;
    master_release(self);
}

static struct nats_kv beats_of(const struct office *office)
{
    return (struct nats_kv){ .js = office->master->js,
                             .bucket = store_bucket_name(STORE_MASTER_HEARTBEAT) };
}

static void beat(struct timer *timer);

static void on_beaten(void *self, const struct nats_error *error, uint64_t revision)
{
    struct office *office = self;

    (void)revision;
    if (!error || error->fault == NATS_FAULT_CANCELED)
        return;
    log_warning("heartbeat: %s", error->text);
    if (office->dispatcher)
        timer_set(loop_timers(office->master->loop), &office->beat,
                  clock_after(clock_now(), BEAT_AGAIN_NS), beat);
}

static void beat(struct timer *timer)
{
    struct office *office = container_of(timer, struct office, beat);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const struct nats_kv kv = beats_of(office);
    const int64_t wall = bus_time();
    const int64_t since = roster_beats_since(master_roster(office->master));
    struct liveness_master sign = {
        .master_id = office->master->id,
        .timestamp = { wall / CLOCK_SECOND, (uint32_t)(wall % CLOCK_SECOND) },
        .version = ZESTER_VERSION,
        .since = { since / CLOCK_SECOND, (uint32_t)(since % CLOCK_SECOND) },
    };
    struct err err;

    dispatcher_list(office->dispatcher, &arena, &sign.active_jobs);
    if (record_encode(&bytes, &liveness_master_type, &sign, &err) < 0 ||
        nats_kv_put(&kv, office->master->id, buf_view(&bytes), on_beaten, office, &err) < 0)
        log_warning("heartbeat: %s", err.text);
    timer_set(loop_timers(office->master->loop), &office->beat, clock_after(clock_now(), BEAT_NS),
              beat);
}

/* --- jobs of masters that are gone --------------------------------------------------- */

static void forget_orphan(struct office *office, struct orphan *orphan)
{
    (void)map_remove(&office->orphans, str_from(orphan->jid));
    free(orphan);
}

static void note_orphan(struct office *office, struct str jid)
{
    struct orphan *orphan = map_find(&office->orphans, jid);

    if (!orphan) {
        orphan = mem_zalloc(sizeof(*orphan));
        memcpy(orphan->jid, jid.p, jid.n);
        (void)map_set(&office->orphans, str_from(orphan->jid), orphan);
    }
    orphan->scans = orphan->last_scan + 1 == office->scan_number ? orphan->scans + 1 : 1;
    orphan->last_scan = office->scan_number;
    if (orphan->scans < SCANS_MISSING)
        return;
    dispatcher_recover(office->dispatcher, orphan->jid);
    forget_orphan(office, orphan);
}

/* Those that the last scan did not see have a master again, or have ended. */
static void forget_old_orphans(struct office *office)
{
    MAP_EACH (&office->orphans, entry) {
        struct orphan *orphan = entry->value;

        if (orphan->last_scan + 1 < office->scan_number)
            forget_orphan(office, orphan);
    }
}

static void check_active(struct office *office, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str jid = entry->key;
    struct job_active active;
    struct err err;

    (void)str_cut(&jid, '.');
    if (jid.n == 0 || jid.n > JOB_ID_MAX || dispatcher_has(office->dispatcher, jid))
        return;
    if (record_decode(&arena, &job_active_type, 1, entry->value, &active, &err) < 0)
        active.owner = "";
    /* our own, of which we know nothing: the answer to a write got lost */
    if (strcmp(active.owner, office->master->id) == 0 ||
        !roster_master_lives(master_roster(office->master), str_from(active.owner)))
        note_orphan(office, jid);
}

static void on_active(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct office *office = self;

    if (entry) {
        if (office->dispatcher && entry->change == NATS_KV_PUT)
            check_active(office, entry);
        return;
    }
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_debug("looking for jobs without a master: %s", error->text);
    office->is_scanning = false;
}

static void scan(struct timer *timer)
{
    struct office *office = container_of(timer, struct office, scan);
    const struct nats_kv kv = { .js = office->master->js, .bucket = store_bucket_name(STORE_JOBS) };
    struct err err;

    timer_set(loop_timers(office->master->loop), &office->scan, clock_after(clock_now(), SCAN_NS),
              scan);
    dispatcher_verify(office->dispatcher, roster_doubts(master_roster(office->master)));
    if (office->is_scanning || !roster_is_seeded(master_roster(office->master)))
        return;
    office->scan_number++;
    forget_old_orphans(office);
    office->is_scanning = nats_kv_list(&kv, ACTIVE_KEYS, on_active, office, &err) == 0;
}

/* --- life --------------------------------------------------------------------------- */

/* An event for rules: _master/job/<jid>/<word>. Its depth is that of the reaction that the job
 * comes from, so that a rule that reacts to its own jobs ends. */
static void announce_job(struct office *office, const struct job *job, const char *word)
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
    if (announce_event(office->master,
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
    struct office *office = self;

    announce_job(office, job, "finalized");

    metrics_add(office->master->metrics, MASTER_JOBS, 1, job_status_name(job->status), NULL);
    metrics_observe(office->master->metrics, MASTER_JOB_DURATION, seconds, job->function, NULL);
}

static void on_reclaim(void *self)
{
    metrics_add(((struct office *)self)->master->metrics, MASTER_JOB_RECLAIMS, 1, NULL, NULL);
}

static void on_drop(void *self, enum dispatcher_drop reason)
{
    metrics_add(((struct office *)self)->master->metrics, MASTER_JOB_DROPPED, 1,
                dispatcher_drop_name(reason), NULL);
}

static void begin_own(void *self, const struct job *job)
{
    orchestrator_begin(master_orchestrator(((struct office *)self)->master), job);
}

static void end_own(void *self, const char *jid)
{
    orchestrator_end(master_orchestrator(((struct office *)self)->master), str_from(jid));
}

/* Only peels that have left lose their facts. */
static void on_facts_changed(struct roster_listener *listener, struct str peel)
{
    struct office *office = container_of(listener, struct office, facts);

    if (!roster_facts(master_roster(office->master), peel))
        dispatcher_note_gone(office->dispatcher, peel);
}

static const struct nats_nkey *find_signer(void *self)
{
    const struct master *master = ((const struct office *)self)->master;
    const struct authority *authority;

    if (!master->conf.sign_requests)
        return NULL;
    authority = master_find(master, &authority_service);
    return &authority->account;
}

static void close_office(struct office *office)
{
    if (office->facts.changed)
        master_roster_forget(office->master, &office->facts);
    office->facts.changed = NULL;
    nats_sub_free(office->orders);
    nats_sub_free(office->cancels);
    nats_sub_free(office->dispatched);
    office->orders = office->cancels = office->dispatched = NULL;
    dispatcher_free(office->dispatcher);
    office->dispatcher = NULL;
}

static const struct nats_nkey *find_account(void *self)
{
    const struct office *office = self;

    return &((const struct authority *)master_find(office->master, &authority_service))->account;
}

static int start_office(void *self, struct err *err)
{
    struct office *office = self;
    struct nats_conn *conn = office->master->js.conn;

    office->dispatcher =
        dispatcher_new(&(struct dispatcher_options){ .js = office->master->js,
                                                     .master_id = office->master->id,
                                                     .roster = master_roster(office->master),
                                                     .account = find_account,
                                                     .on_sent = on_job_sent,
                                                     .on_end = on_job_end,
                                                     .on_reclaim = on_reclaim,
                                                     .begin_own = begin_own,
                                                     .end_own = end_own,
                                                     .on_drop = on_drop,
                                                     .signer = find_signer,
                                                     .self = office },
                       err);
    office->orders =
        nats_sub_new(conn,
                     &(struct nats_sub_options){ .subject = subject_template(SUBJECT_DISPATCH),
                                                 .queue = subject_queue(SUBJECT_DISPATCH),
                                                 .message = on_order,
                                                 .self = office },
                     err);
    office->cancels =
        nats_sub_new(conn,
                     &(struct nats_sub_options){
                         .subject = "zester.job.*.cancel", .message = on_cancel, .self = office },
                     err);
    office->dispatched = nats_sub_new(
        conn,
        &(struct nats_sub_options){
            .subject = "zester.job.*.dispatch", .message = on_dispatched_job, .self = office },
        err);
    if (!office->orders || !office->cancels || !office->dispatched) {
        close_office(office);
        return -1;
    }
    office->facts.changed = on_facts_changed;
    master_roster_listen(office->master, &office->facts);
    beat(&office->beat);
    scan(&office->scan);
    return 0;
}

/* Others take the jobs over at once when the sign of life is gone. */
static void stop_office(void *self)
{
    struct office *office = self;
    const struct nats_kv kv = beats_of(office);
    struct err err;

    timer_clear(loop_timers(office->master->loop), &office->beat);
    timer_clear(loop_timers(office->master->loop), &office->scan);
    close_office(office);
    if (nats_kv_delete(&kv, office->master->id, 0, on_farewell, office->master, &err) == 0)
        master_hold(office->master);
}

static void free_office(void *self)
{
    struct office *office = self;

    for (struct map_entry *entry; (entry = map_next(&office->orphans, NULL));)
        forget_orphan(office, entry->value);
    map_done(&office->orphans);
    free(office);
}

const struct master_service master_dispatch_service = {
    .name = "dispatch",
    .open = open_office,
    .start = start_office,
    .stop = stop_office,
    .free = free_office,
};
