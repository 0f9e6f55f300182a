/*
 * The service "rollouts": new versions of the daemons go to their nodes.
 *
 * Any master answers a start or an abort. The record of a rollout names its driver; a rollout
 * whose driver has given it up, has no sign of life, or has not touched the record for
 * rollout_stale_after is taken over by CAS, so that one master drives it at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/glob.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "bus/store.h"
#include "master/announce.h"
#include "master/audit.h"
#include "master/rollout_auto.h"
#include "master/rollout_claim.h"
#include "master/rollout_drive.h"
#include "master/roster.h"
#include "master/services.h"
#include "master/settings_book.h"
#include "master/update_board.h"
#include "master/update_sweep.h"
#include "nats/error.h"
#include "nats/kv.h"
#include "sys/clock.h"
#include "sys/loop.h"
#include "update/auto_rollout.h"
#include "update/rollout.h"
#include "wire/subject.h"

#define ID_PREFIX "rol-"
/* How often the records are looked at while nothing changes. */
#define SCAN_MIN CLOCK_SECOND
/* For the settings that a target asks for. */
#define SETTINGS_NS (8 * CLOCK_SECOND)
/* A driver stores its record every ROLLOUT_BEAT_NS: two of them missing are silence. */
#define STALE_MIN      (2 * ROLLOUT_BEAT_NS)
#define STALE_DEFAULT  (60 * CLOCK_SECOND)
#define RESUME_DEFAULT (60 * CLOCK_SECOND)

struct tower {
    struct master *master;
    struct update_board *board;
    struct update_sweep *sweep;
    struct rollout_auto *keeper;
    struct map drives; /* id -> struct rollout_drive */
    struct timer scan;
    struct nats_sub *starts, *aborts;
    bool is_stopping;
};

static struct nats_kv rollouts_of(const struct tower *tower)
{
    return (struct nats_kv){ .js = tower->master->js,
                             .bucket = store_bucket_name(STORE_UPDATE_ROLLOUTS),
                             .settled = true };
}

/* --- driving ---------------------------------------------------------------------------- */

static void on_scan(struct timer *timer);

/* Records are looked at after the turn that changed them. */
static void scan_soon(struct tower *tower)
{
    if (!tower->is_stopping)
        timer_set(loop_timers(tower->master->loop), &tower->scan, clock_now(), on_scan);
}

static void on_drive_ended(void *self, struct rollout_drive *drive)
{
    struct tower *tower = self;

    (void)map_remove(&tower->drives, str_from(rollout_drive_id(drive)));
    scan_soon(tower);
}

static void drive_rollout(struct tower *tower, const char *id, struct str record, uint64_t revision)
{
    struct rollout_drive *drive;

    if (tower->is_stopping || map_has(&tower->drives, str_from(id)))
        return;
    drive = rollout_drive_new(&(struct rollout_drive_options){ .master = tower->master,
                                                               .board = tower->board,
                                                               .id = id,
                                                               .ended = on_drive_ended,
                                                               .self = tower },
                              record, revision);
    if (!drive)
        return;
    log_info("driving a rollout id=%s", id);
    (void)map_set(&tower->drives, str_from(rollout_drive_id(drive)), drive);
}

/* A record that is about to be stored with this master as the driver. */
struct claim {
    struct arena arena;
    struct tower *tower;
    const char *id;
    struct str bytes;
};

static void on_claimed(void *self, const struct nats_error *error, uint64_t revision)
{
    struct claim *claim = self;

    if (!error) {
        log_info("rollout taken over id=%s", claim->id);
        drive_rollout(claim->tower, claim->id, claim->bytes, revision);
    }
    arena_done(&claim->arena);
    free(claim);
}

static void take_over(struct tower *tower, struct update_rollout *record, uint64_t revision)
{
    const struct nats_kv kv = rollouts_of(tower);
    AUTO_BUF struct buf bytes = BUF_INIT(ROLLOUT_RECORD_MAX);
    struct claim *claim = mem_zalloc(sizeof(*claim));
    struct err err;

    record->driver_id = tower->master->id;
    claim->tower = tower;
    claim->id = arena_strdup(&claim->arena, record->id);
    if (record_encode(&bytes, &update_rollout_type, record, &err) == 0) {
        claim->bytes = buf_copy(&bytes, &claim->arena);
        if (nats_kv_update(&kv, claim->id, claim->bytes, revision, on_claimed, claim, &err) == 0)
            return;
    }
    log_warning("rollout cannot be taken over id=%s error=%s", record->id, err.text);
    arena_done(&claim->arena);
    free(claim);
}

static int64_t stale_after(const struct tower *tower)
{
    const int64_t wanted = tower->master->conf.rollout_stale_after;

    return wanted == 0 ? STALE_DEFAULT : wanted < STALE_MIN ? STALE_MIN : wanted;
}

static bool is_abandoned(const struct tower *tower, const struct update_rollout *record,
                         const struct update_entry *entry)
{
    return !record->driver_id[0] || clock_now() - entry->seen > stale_after(tower) ||
           !roster_master_lives(master_roster(tower->master), str_from(record->driver_id));
}

static void look_at(struct tower *tower, const char *id, const struct update_entry *entry)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct update_rollout record;
    struct err err;

    if (record_decode(&arena, &update_rollout_type, 1, entry->bytes, &record, &err) < 0 ||
        strcmp(record.id, id) != 0 || update_rollout_is_over(record.state) ||
        map_has(&tower->drives, str_from(id)))
        return;
    if (strcmp(record.driver_id, tower->master->id) == 0)
        drive_rollout(tower, id, entry->bytes, entry->revision);
    else if (is_abandoned(tower, &record, entry))
        take_over(tower, &record, entry->revision);
}

static void on_scan(struct timer *timer)
{
    struct tower *tower = container_of(timer, struct tower, scan);
    const int64_t interval = tower->master->conf.rollout_resume_interval;
    AUTO_ARENA struct arena arena = ARENA_INIT;

    timer_set(loop_timers(tower->master->loop), timer,
              clock_after(clock_now(), interval == 0         ? RESUME_DEFAULT
                                       : interval < SCAN_MIN ? SCAN_MIN
                                                             : interval),
              on_scan);
    if (!update_board_is_seeded(tower->board) || !master_roster(tower->master) ||
        !roster_is_seeded(master_roster(tower->master)))
        return;
    MAP_EACH (update_board_map(tower->board, UPDATE_SHELF_ROLLOUTS), entry)
        look_at(tower, arena_str(&arena, entry->key).p, entry->value);
}

static void on_changed(void *self, enum update_shelf shelf, const char *key)
{
    struct tower *tower = self;

    if (shelf == UPDATE_SHELF_ROLLOUTS)
        scan_soon(tower);
    else if (tower->keeper && shelf == UPDATE_SHELF_MANIFESTS &&
             strcmp(key, UPDATE_SWITCH_KEY) == 0)
        rollout_auto_note_switch(tower->keeper);
}

/* --- a start ---------------------------------------------------------------------------- */

/* A start under way. */
struct petition {
    struct settings_wait wait;
    struct arena arena;
    struct tower *tower;
    struct str reply;
    struct update_start start;
    struct update_rollout rollout;
    int32_t nodes;
};

static void answer_start(struct petition *petition, const char *error)
{
    const struct update_started reply = {
        .id = petition->start.config.dry_run || error ? "" : petition->rollout.id,
        .batches = petition->rollout.batches,
        .nodes = petition->nodes,
        .error = error ? error : "",
        .state = error ? "" : update_rollout_state_name(petition->rollout.state),
    };
    struct arena arena = petition->arena;

    if (!petition->start.config.dry_run)
        audit_log(&(struct audit){ .action = "update.rollout",
                                   .by = petition->start.operator,
                                   .id = reply.id,
                                   .target = petition->start.config.target,
                                   .error = error });
    master_answer(petition->tower->master, petition->reply, &update_started_type, &reply);
    arena_done(&arena); /* the petition is in it */
}

static void on_created(void *self, const struct nats_error *error, uint64_t revision)
{
    struct petition *petition = self;

    (void)revision; /* the watch brings it */
    if (error && error->fault == NATS_FAULT_CONFLICT)
        answer_start(petition, arena_printf(&petition->arena, "there is a rollout '%s' already",
                                            petition->rollout.id));
    else
        answer_start(petition, error ? error->text : NULL);
}

/* Is this a list of names, and not an expression? */
static bool is_bare_list(const char *target)
{
    return strchr(target, ',') && !strpbrk(target, "@ ()*?[");
}

static struct roster_question make_question(const struct petition *petition)
{
    const char *target = petition->start.config.target;

    return (struct roster_question){ .expr = target,
                                     .type = is_bare_list(target) ? "list" : "",
                                     .groups = petition->tower->master->conf.nodegroups };
}

/* What it needs was there when the petition went on (on_settings). */
static int find_peels(struct petition *petition, struct param_strs *ret, struct err *err)
{
    struct roster_question question = make_question(petition);

    question.with_settings = true;
    return roster_resolve(master_roster(petition->tower->master), &petition->arena, &question, ret,
                          err);
}

static bool is_meant(const char *target, struct str id)
{
    struct str rest = str_from(target);

    while (rest.p)
        if (glob_match(str_trim(str_cut(&rest, ',')), id))
            return true;
    return false;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Masters are nodes that report; a target is a list of names or patterns. */
static void find_masters(struct petition *petition, struct param_strs *ret)
{
    static const struct str prefix = { "master.", 7 };
    struct {
        VEC(const char *) list;
    } found = { 0 };

    MAP_EACH (update_board_map(petition->tower->board, UPDATE_SHELF_NODES), entry) {
        const struct str id = str_from_offset(entry->key, prefix.n);

        if (str_starts(entry->key, prefix) && is_meant(petition->start.config.target, id))
            VEC_PUSH_IN(&petition->arena, &found.list, arena_str(&petition->arena, id).p);
    }
    if (found.list.n > 0)
        qsort(found.list.p, found.list.n, sizeof(found.list.p[0]), compare_names);
    *ret = (struct param_strs){ found.list.n, found.list.p };
}

static int check_node(struct petition *petition, const struct update_node *node, struct err *err)
{
    const char *version = petition->start.config.version;
    struct update_manifest manifest;
    int64_t end;

    if (!update_board_manifest(petition->tower->board, &petition->arena, node, version, &manifest))
        return err_set(err, ERR_NOT_FOUND, "version '%s' of %s is not published for %s/%s ('%s')",
                       version, update_component_name(node->component), node->goos, node->goarch,
                       node->id);
    end = update_manifest_end(&manifest);
    if (end != UPDATE_EXPIRES_NEVER && end < clock_wall() / CLOCK_SECOND)
        return err_set(err, ERR_NOT_FOUND, "version '%s' has expired", version);
    if (node->protocol < manifest.min_protocol)
        return err_set(err, ERR_UNSUPPORTED,
                       "'%s' speaks protocol %d, version '%s' requires at least %d", node->id,
                       (int)node->protocol, version, (int)manifest.min_protocol);
    return 0;
}

/* Nodes that are meant, report, and are not degraded. */
static int choose_nodes(struct petition *petition, struct param_strs *ret, struct err *err)
{
    struct param_strs meant = { 0 };
    struct {
        VEC(const char *) list;
    } chosen = { 0 };

    if (petition->start.config.component == UPDATE_MASTER)
        find_masters(petition, &meant);
    else if (find_peels(petition, &meant, err) < 0)
        return -1;
    for (size_t i = 0; i < meant.n; i++) {
        struct update_node node;

        if (!update_board_node(petition->tower->board, &petition->arena,
                               petition->start.config.component, meant.p[i], &node) ||
            node.degraded)
            continue;
        if (check_node(petition, &node, err) < 0)
            return -1;
        VEC_PUSH_IN(&petition->arena, &chosen.list, meant.p[i]);
    }
    *ret = (struct param_strs){ chosen.list.n, chosen.list.p };
    if (chosen.list.n == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "target '%s' matches no %s whose watchdog reports and is not degraded",
                       petition->start.config.target,
                       update_component_name(petition->start.config.component));
    return 0;
}

/* Two rollouts at once would undo each other's work. */
static int check_others(struct petition *petition, struct err *err)
{
    MAP_EACH (update_board_map(petition->tower->board, UPDATE_SHELF_ROLLOUTS), entry) {
        const struct update_entry *stored = entry->value;
        struct update_rollout other;

        if (record_decode(&petition->arena, &update_rollout_type, 1,
                          arena_str(&petition->arena, stored->bytes), &other, err) == 0 &&
            !update_rollout_is_over(other.state) &&
            other.config.component == petition->start.config.component)
            return err_set(err, ERR_BUSY, "rollout '%s' of %s is under way", other.id,
                           update_component_name(other.config.component));
    }
    return 0;
}

static int make_rollout(struct petition *petition, struct err *err)
{
    const struct update_plan *plan = &petition->start.config;
    const int64_t now = clock_wall();
    const struct value_time time = { now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) };
    struct update_rollout *rollout = &petition->rollout;
    struct param_strs nodes;
    char id[KSUID_SIZE];

    if (!update_version_is_valid(plan->version))
        return err_set(err, ERR_INVALID, "'%s' is not a valid version", plan->version);
    if (choose_nodes(petition, &nodes, err) < 0)
        return -1;
    ksuid_new(time.seconds, id);
    *rollout = (struct update_rollout){
        .id = plan->rollout_id[0] ? plan->rollout_id
                                  : arena_printf(&petition->arena, ID_PREFIX "%s", id),
        .config = *plan,
        .started_at = time,
        .error = "",
        .driver_id = petition->tower->master->id,
        .driver_heartbeat = time,
        .operator= petition->start.operator, };
    rollout->config.rollout_id = rollout->id;
    if (!nats_kv_is_key(rollout->id) || strncmp(rollout->id, ID_PREFIX, strlen(ID_PREFIX)) != 0)
        return err_set(err, ERR_INVALID, "'%s' is not a valid rollout id: it begins with '%s'",
                       rollout->id, ID_PREFIX);
    if (str_starts(str_from(rollout->id), STR(AUTO_ROLLOUT_PREFIX)))
        return err_set(err, ERR_INVALID,
                       "'%s': ids that begin with '%s' are for automatic rollouts", rollout->id,
                       AUTO_ROLLOUT_PREFIX);
    petition->nodes = (int32_t)nodes.n;
    return rollout_plan(&petition->arena, rollout, &nodes, time, err);
}

static int store_rollout(struct petition *petition, struct err *err)
{
    const struct nats_kv kv = rollouts_of(petition->tower);
    AUTO_BUF struct buf bytes = BUF_INIT(ROLLOUT_RECORD_MAX / 4 * 3); /* it grows by errors */

    if (record_encode(&bytes, &update_rollout_type, &petition->rollout, err) < 0)
        return -1;
    return nats_kv_create(&kv, petition->rollout.id, buf_view(&bytes), on_created, petition, err);
}

static void on_free_to_start(void *self, const char *error)
{
    struct petition *petition = self;
    struct err err;

    if (error)
        answer_start(petition, error);
    else if (store_rollout(petition, &err) < 0)
        answer_start(petition, err.text);
}

/* First those that this master knows of, then those that were started this moment. */
static int claim_rollout(struct petition *petition, struct err *err)
{
    if (check_others(petition, err) < 0)
        return -1;
    return rollout_claim_begin(&petition->tower->master->js, petition->tower->board,
                               &petition->rollout, on_free_to_start, petition, err);
}

static int check_ready(const struct tower *tower, struct err *err)
{
    const struct roster *roster = master_roster(tower->master);

    if (!update_board_is_seeded(tower->board) || !roster || !roster_is_seeded(roster))
        return err_set(err, ERR_BUSY, "this master has just started; try again");
    return 0;
}

static void begin_rollout(struct petition *petition)
{
    struct err err;
    int result = make_rollout(petition, &err);

    if (result == 0 && !petition->start.config.dry_run)
        result = claim_rollout(petition, &err);
    if (result < 0)
        answer_start(petition, err.text);
    else if (petition->start.config.dry_run)
        answer_start(petition, NULL);
}

static void on_settings(struct settings_wait *wait, const char *problem)
{
    struct petition *petition = container_of(wait, struct petition, wait);

    if (problem)
        answer_start(petition, problem);
    else
        begin_rollout(petition);
}

static bool is_by_settings(const struct petition *petition)
{
    const struct roster_question question = make_question(petition);

    return petition->start.config.component == UPDATE_PEEL && roster_needs_settings(&question);
}

static void on_start(void *self, const struct nats_msg *msg)
{
    struct arena arena = ARENA_INIT;
    struct petition *petition = ARENA_NEW(&arena, struct petition);
    struct err err;
    int result;

    *petition =
        (struct petition){ .wait = { .ready = on_settings }, .arena = arena, .tower = self };
    petition->reply = arena_str(&petition->arena, msg->reply);
    result = record_decode(&petition->arena, &update_start_type, 1,
                           arena_str(&petition->arena, msg->payload), &petition->start, &err);
    if (result == 0)
        result = check_ready(petition->tower, &err);
    if (result < 0)
        answer_start(petition, err.text);
    else if (is_by_settings(petition))
        settings_book_await(master_settings_book(petition->tower->master), &petition->wait,
                            SETTINGS_NS);
    else
        begin_rollout(petition);
}

/* --- an abort --------------------------------------------------------------------------- */

struct ending {
    struct arena arena;
    struct tower *tower;
    struct str reply;
    struct update_abort request;
};

static void answer_abort(struct ending *ending, const char *error)
{
    const struct update_aborted reply = { .error = error ? error : "" };
    struct arena arena = ending->arena;

    audit_log(&(struct audit){ .action = "update.abort",
                               .by = ending->request.operator,
                               .id = ending->request.rollout_id,
                               .error = error });
    master_answer(ending->tower->master, ending->reply, &update_aborted_type, &reply);
    arena_done(&arena); /* the ending is in it */
}

static void begin_abort(struct ending *ending);

static void on_aborted(void *self, const struct nats_error *error, uint64_t revision)
{
    struct ending *ending = self;

    (void)revision;
    if (error && error->fault == NATS_FAULT_CONFLICT && !ending->tower->is_stopping)
        begin_abort(ending); /* the driver was faster; the next attempt sees its record */
    else
        answer_abort(ending, error ? error->text : NULL);
}

static int store_abort(struct ending *ending, const struct nats_kv_entry *entry, struct err *err)
{
    const struct nats_kv kv = rollouts_of(ending->tower);
    AUTO_BUF struct buf bytes = BUF_INIT(ROLLOUT_RECORD_MAX);
    struct update_rollout record;

    if (record_decode(&ending->arena, &update_rollout_type, 1,
                      arena_str(&ending->arena, entry->value), &record, err) < 0)
        return -1;
    if (update_rollout_is_over(record.state))
        return err_set(err, ERR_INVALID, "rollout '%s' is %s already", record.id,
                       update_rollout_state_name(record.state));
    rollout_abort(&ending->arena, &record,
                  arena_printf(&ending->arena, "aborted by %s", ending->request.operator));
    if (record_encode(&bytes, &update_rollout_type, &record, err) < 0)
        return -1;
    return nats_kv_update(&kv, ending->request.rollout_id, buf_view(&bytes), entry->revision,
                          on_aborted, ending, err);
}

static void on_found(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct ending *ending = self;
    struct err err;

    if (error)
        answer_abort(ending,
                     error->fault == NATS_FAULT_NOT_FOUND ? "no such rollout" : error->text);
    else if (store_abort(ending, entry, &err) < 0)
        answer_abort(ending, err.text);
}

static void begin_abort(struct ending *ending)
{
    struct nats_kv kv = rollouts_of(ending->tower);
    struct err err;

    kv.indirect = true; /* what was just written counts */
    if (!nats_kv_is_key(ending->request.rollout_id))
        answer_abort(ending, "no such rollout");
    else if (nats_kv_get(&kv, ending->request.rollout_id, on_found, ending, &err) < 0)
        answer_abort(ending, err.text);
}

static void on_abort(void *self, const struct nats_msg *msg)
{
    struct arena arena = ARENA_INIT;
    struct ending *ending = ARENA_NEW(&arena, struct ending);
    struct err err;

    *ending = (struct ending){ .arena = arena, .tower = self };
    ending->reply = arena_str(&ending->arena, msg->reply);
    if (record_decode(&ending->arena, &update_abort_type, 1,
                      arena_str(&ending->arena, msg->payload), &ending->request, &err) < 0)
        answer_abort(ending, err.text);
    else
        begin_abort(ending);
}

/* --- life ------------------------------------------------------------------------------- */

static void *open_tower(struct master *master, struct err *err)
{
    struct tower *tower = mem_zalloc(sizeof(*tower));

    (void)err;
    tower->master = master;
    return tower;
}

static struct nats_sub *subscribe(struct tower *tower, enum subject_kind kind, nats_msg_fn *fn,
                                  struct err *err)
{
    return nats_sub_new(tower->master->js.conn,
                        &(struct nats_sub_options){ .subject = subject_template(kind),
                                                    .queue = subject_queue(kind),
                                                    .message = fn,
                                                    .self = tower },
                        err);
}

static void close_tower(struct tower *tower)
{
    nats_sub_free(tower->starts);
    nats_sub_free(tower->aborts);
    tower->starts = tower->aborts = NULL;
    timer_clear(loop_timers(tower->master->loop), &tower->scan);
    update_sweep_stop(tower->sweep);
    rollout_auto_stop(tower->keeper);
    if (tower->board)
        update_board_stop(tower->board);
}

static int start_tower(void *self, struct err *err)
{
    struct tower *tower = self;

    tower->board = update_board_new(&(struct update_board_options){ .js = tower->master->js,
                                                                    .changed = on_changed,
                                                                    .self = tower },
                                    err);
    if (!tower->board)
        return -1;
    tower->sweep = update_sweep_new(tower->master, tower->board);
    tower->keeper = rollout_auto_new(tower->master, tower->board);
    tower->starts = subscribe(tower, SUBJECT_UPDATE_START, on_start, err);
    tower->aborts = tower->starts ? subscribe(tower, SUBJECT_UPDATE_ABORT, on_abort, err) : NULL;
    if (!tower->aborts) {
        close_tower(tower);
        update_sweep_free(tower->sweep);
        rollout_auto_free(tower->keeper);
        update_board_free(tower->board);
        tower->board = NULL;
        tower->sweep = NULL;
        tower->keeper = NULL;
        return -1;
    }
    timer_set(loop_timers(tower->master->loop), &tower->scan, clock_now(), on_scan);
    return 0;
}

static void stop_tower(void *self)
{
    struct tower *tower = self;

    tower->is_stopping = true;
    close_tower(tower);
    MAP_EACH (&tower->drives, entry)
        rollout_drive_release(entry->value);
}

static void free_tower(void *self)
{
    struct tower *tower = self;

    map_done(&tower->drives);
    update_sweep_free(tower->sweep);
    rollout_auto_free(tower->keeper);
    update_board_free(tower->board);
    free(tower);
}

const struct master_service master_rollout_service = {
    .name = "rollouts",
    .open = open_tower,
    .start = start_tower,
    .stop = stop_tower,
    .free = free_tower,
};
