#include "fleet/master/update/rollout_drive.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/mem.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/master/audit.h"
#include "fleet/master/master.h"
#include "fleet/master/update/update_board.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/request.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/update/rollout.h"
#include "fleet/wire/subject.h"

#define COMMAND_MAX 4096

enum phase { PHASE_WAITING, PHASE_ASKING, PHASE_STORING, PHASE_TELLING, PHASE_ENDED };

struct rollout_drive {
    struct arena life; /* as long as the drive */
    struct rollout_drive_options options;
    struct arena arena; /* the stored record */
    struct update_rollout record;
    uint64_t revision;
    enum phase phase;
    struct timer timer;
    int64_t beaten; /* clock_now of the last stored record */
    bool is_releasing, is_held;
    struct arena refused;
    struct map refusals; /* node -> text, from the last commands */

    /* of a round */
    struct arena round;
    struct param_strs nodes;
    struct rollout_view *views;
    struct rollout_orders steps;
    size_t pending;
};

/* One question or command to a node. */
struct update_call {
    struct rollout_drive *drive;
    size_t number;
    const char *node;
    enum update_verb verb;
};

static void on_rollout_timer(struct timer *timer);
static void send_update_calls(struct rollout_drive *drive);

static struct value_time get_rollout_time(void)
{
    const int64_t now = bus_time();

    return (struct value_time){ now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) };
}

const char *rollout_drive_id(const struct rollout_drive *drive)
{
    return drive->options.id;
}

static void forget_refusals(struct rollout_drive *drive)
{
    arena_done(&drive->refused);
    drive->refused = (struct arena)ARENA_INIT;
    drive->refusals = (struct map)MAP_INIT_IN(&drive->refused);
}

/* All pending calls have ended. */
static void free_drive(struct rollout_drive *drive)
{
    const struct rollout_drive_options options = drive->options;

    options.ended(options.self, drive);
    if (drive->is_held)
        master_release(options.master);
    timer_clear(loop_timers(options.master->loop), &drive->timer);
    forget_refusals(drive);
    arena_done(&drive->round);
    arena_done(&drive->arena);
    arena_done(&drive->life);
    free(drive);
}

static void end_drive(struct rollout_drive *drive)
{
    drive->phase = PHASE_ENDED;
    if (drive->pending == 0)
        free_drive(drive);
}

static void wait_for_round(struct rollout_drive *drive)
{
    int64_t pause = (int64_t)drive->nodes.n * ROLLOUT_ROUND_NODE;

    if (pause < ROLLOUT_ROUND_MIN)
        pause = ROLLOUT_ROUND_MIN;
    if (pause > ROLLOUT_ROUND_MAX)
        pause = ROLLOUT_ROUND_MAX;
    drive->phase = PHASE_WAITING;
    timer_set(loop_timers(drive->options.master->loop), &drive->timer,
              clock_after(clock_now(), pause), on_rollout_timer);
}

/* --- storing ---------------------------------------------------------------------------- */

/* Takes the stored record, in its own memory. */
static int take_rollout_record(struct rollout_drive *drive, struct str bytes, struct err *err)
{
    struct arena arena = ARENA_INIT;
    struct update_rollout record;

    if (record_decode(&arena, &update_rollout_type, 1, arena_str(&arena, bytes), &record, err) <
        0) {
        arena_done(&arena);
        return -1;
    }
    arena_done(&drive->arena);
    drive->arena = arena;
    drive->record = record;
    return 0;
}

static void on_released(void *self, const struct nats_error *error, uint64_t revision)
{
    struct rollout_drive *drive = self;

    (void)revision;
    if (error)
        log_warning(
            "cannot release a rollout, another master takes it over after a timeout id=%s error=%s",
            drive->options.id, error->text);
    drive->pending--;
    end_drive(drive);
}

static void report_rollout_end(const struct rollout_drive *drive)
{
    audit_log(&(struct audit){
        .action =
            drive->record.state == UPDATE_ROLLOUT_COMPLETED ? "update.completed" : "update.aborted",
        .by = drive->record.operator,
        .id = drive->options.id,
        .error = drive->record.error,
    });
}

static void release_now(struct rollout_drive *drive);

static void on_rollout_stored(void *self, const struct nats_error *error, uint64_t revision)
{
    struct rollout_drive *drive = self;

    drive->pending--;
    if (error) {
        log_info("rollout record not stored, releasing it id=%s error=%s", drive->options.id,
                 error->text);
        end_drive(drive);
        return;
    }
    drive->revision = revision;
    drive->beaten = clock_now();
    if (drive->is_releasing) {
        release_now(drive);
    } else if (update_rollout_is_over(drive->record.state)) {
        report_rollout_end(drive);
        end_drive(drive);
    } else {
        send_update_calls(drive);
    }
}

static void write_rollout(struct rollout_drive *drive, nats_kv_revision_fn *fn)
{
    const struct nats_kv kv = { .js = drive->options.master->js,
                                .bucket = store_bucket_name(STORE_UPDATE_ROLLOUTS) };
    AUTO_BUF struct buf bytes = BUF_INIT(ROLLOUT_RECORD_MAX);
    struct err err;

    drive->phase = PHASE_STORING;
    drive->record.driver_heartbeat = get_rollout_time();
    if (record_encode(&bytes, &update_rollout_type, &drive->record, &err) < 0 ||
        take_rollout_record(drive, buf_view(&bytes), &err) < 0 ||
        nats_kv_update(&kv, drive->options.id, buf_view(&bytes), drive->revision, fn, drive, &err) <
            0) {
        log_warning("rollout record cannot be stored id=%s error=%s", drive->options.id, err.text);
        end_drive(drive);
        return;
    }
    drive->pending++;
}

static void release_now(struct rollout_drive *drive)
{
    drive->record.driver_id = "";
    write_rollout(drive, on_released);
}

/* --- questions and commands ------------------------------------------------------------- */

static int print_command(struct rollout_drive *drive, const struct update_call *call,
                         struct buf *out, struct err *err)
{
    const struct update_plan *plan = &drive->record.config;
    struct update_command command = { .verb = call->verb,
                                      .version = plan->version,
                                      .component = plan->component,
                                      .soak = plan->soak_time,
                                      .sha256 = "",
                                      .object_key = "",
                                      .goos = "",
                                      .goarch = "",
                                      .key = "",
                                      .signature = "" };
    struct update_manifest manifest;
    struct update_node node;

    if (call->verb == UPDATE_PREPARE) {
        if (!update_board_node(drive->options.board, &drive->round, plan->component, call->node,
                               &node) ||
            !update_board_manifest(drive->options.board, &drive->round, &node, plan->version,
                                   &manifest))
            return err_set(err, ERR_NOT_FOUND, "version '%s' is not published for this node",
                           plan->version);
        command.sha256 = manifest.sha256;
        command.object_key = manifest.object_key;
        command.goos = manifest.goos;
        command.goarch = manifest.goarch;
        command.size = manifest.size;
        command.key = manifest.key;
        command.signature = manifest.signature;
    }
    return record_encode(out, &update_command_type, &command, err);
}

static int send_update_call(struct rollout_drive *drive, struct update_call *call,
                            nats_reply_fn *fn, struct err *err)
{
    static const enum subject_kind kinds[UPDATE_COMPONENTS] = {
        [UPDATE_PEEL] = SUBJECT_UPDATE_PEEL, [UPDATE_MASTER] = SUBJECT_UPDATE_MASTER
    };
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX), payload = BUF_INIT(COMMAND_MAX);
    const struct subject_names names = { .peel = str_from(call->node) };

    if (subject_print(&subject, kinds[drive->record.config.component], &names, err) < 0 ||
        print_command(drive, call, &payload, err) < 0)
        return -1;
    return nats_request(
        drive->options.master->js.conn,
        &(struct nats_pub){ .subject = buf_view(&subject), .payload = buf_view(&payload) },
        ROLLOUT_ANSWER_NS, fn, call, NULL, err);
}

static bool read_reply(struct arena *arena, const struct nats_error *error,
                       const struct nats_msg *msg, struct update_response *ret)
{
    struct err err;

    return !error && record_decode(arena, &update_response_type, 1, arena_str(arena, msg->payload),
                                   ret, &err) == 0;
}

/* All have answered, or will not. */
static void finish_questions(struct rollout_drive *drive)
{
    const struct rollout_round round = { .nodes = &drive->nodes,
                                         .views = drive->views,
                                         .now = get_rollout_time(),
                                         .node_limit = ROLLOUT_NODE_NS };
    bool has_changed;

    drive->steps = (struct rollout_orders){ 0 };
    has_changed = rollout_step(&drive->round, &drive->record, &round, &drive->steps);
    VEC_EACH (&drive->steps.list, step)
        step->node = arena_strdup(&drive->round, step->node); /* the record is read again */
    forget_refusals(drive);
    if (has_changed || clock_now() - drive->beaten >= ROLLOUT_BEAT_NS)
        write_rollout(drive, on_rollout_stored);
    else
        send_update_calls(drive);
}

static void on_node_answer(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    const struct update_call *call = self;
    struct rollout_drive *drive = call->drive;
    struct rollout_view *view = &drive->views[call->number];

    view->answered = read_reply(&drive->round, error, msg, &view->said);
    drive->pending--;
    if (drive->phase == PHASE_ENDED)
        end_drive(drive);
    else if (drive->pending == 0 && drive->phase == PHASE_ASKING && !drive->is_releasing)
        finish_questions(drive);
}

static struct update_call *make_update_call(struct rollout_drive *drive, size_t number,
                                            const char *node, enum update_verb verb)
{
    struct update_call *call = ARENA_NEW(&drive->round, struct update_call);

    *call = (struct update_call){ drive, number, node, verb };
    return call;
}

/* Another master has changed it, to abort it or to take it over. */
static bool is_outdated(const struct rollout_drive *drive)
{
    const struct update_entry *entry =
        update_board_find(drive->options.board, UPDATE_LIST_ROLLOUTS, drive->options.id);

    return entry && entry->revision > drive->revision;
}

static void on_rollout_timer(struct timer *timer)
{
    struct rollout_drive *drive = container_of(timer, struct rollout_drive, timer);
    struct err err;

    if (is_outdated(drive)) {
        end_drive(drive);
        return;
    }
    arena_done(&drive->round);
    drive->round = (struct arena)ARENA_INIT;
    drive->phase = PHASE_ASKING;
    drive->nodes = rollout_next_nodes(&drive->round, &drive->record);
    drive->views = ARENA_ARRAY(&drive->round, struct rollout_view, drive->nodes.n + 1);
    for (size_t i = 0; i < drive->nodes.n; i++) {
        const char *node = drive->nodes.p[i];

        drive->views[i] =
            (struct rollout_view){ .refusal = map_find(&drive->refusals, str_from(node)) };
        if (send_update_call(drive, make_update_call(drive, i, node, UPDATE_STATUS), on_node_answer,
                             &err) == 0)
            drive->pending++;
    }
    if (drive->pending == 0)
        finish_questions(drive);
}

/* A busy node refuses temporarily. */
static bool is_node_busy(enum update_state state)
{
    return state == UPDATE_PREPARING || state == UPDATE_APPLYING || state == UPDATE_SOAKING ||
           state == UPDATE_ROLLING_BACK;
}

static void note_refusal(struct rollout_drive *drive, const char *node, const char *why)
{
    log_warning("node refuses id=%s node=%s error=%s", drive->options.id, node, why);
    (void)map_set(&drive->refusals, str_from(arena_strdup(&drive->refused, node)),
                  (char *)arena_strdup(&drive->refused, why));
}

static void on_command_answer(void *self, const struct nats_error *error,
                              const struct nats_msg *msg)
{
    const struct update_call *call = self;
    struct rollout_drive *drive = call->drive;
    struct update_response said;

    if (read_reply(&drive->round, error, msg, &said) && strcmp(said.status, UPDATE_OK) != 0 &&
        !is_node_busy(said.state) && (call->verb == UPDATE_PREPARE || call->verb == UPDATE_APPLY))
        note_refusal(drive, call->node, said.error);
    drive->pending--;
    if (drive->phase == PHASE_ENDED)
        end_drive(drive);
    else if (drive->pending == 0 && drive->phase == PHASE_TELLING && !drive->is_releasing)
        wait_for_round(drive);
}

static void send_update_calls(struct rollout_drive *drive)
{
    struct err err;

    drive->phase = PHASE_TELLING;
    VEC_EACH (&drive->steps.list, step) {
        log_info("sending a command to a node id=%s node=%s command=%s version=%s",
                 drive->options.id, step->node, update_verb_name(step->verb),
                 drive->record.config.version);
        if (send_update_call(drive, make_update_call(drive, 0, step->node, step->verb),
                             on_command_answer, &err) == 0)
            drive->pending++;
        else
            note_refusal(drive, step->node, err.text);
    }
    if (drive->pending == 0)
        wait_for_round(drive);
}

/* --- life ------------------------------------------------------------------------------- */

struct rollout_drive *rollout_drive_new(const struct rollout_drive_options *options,
                                        struct str record, uint64_t revision)
{
    struct rollout_drive *drive = mem_zalloc(sizeof(*drive));
    struct err err;

    drive->options = *options;
    drive->revision = revision;
    drive->beaten = clock_now();
    forget_refusals(drive);
    if (take_rollout_record(drive, record, &err) < 0) {
        log_warning("rollout record cannot be read id=%s error=%s", options->id, err.text);
        free(drive);
        return NULL;
    }
    drive->options.id = arena_strdup(&drive->life, options->id);
    timer_set(loop_timers(options->master->loop), &drive->timer, clock_now(), on_rollout_timer);
    return drive;
}

void rollout_drive_release(struct rollout_drive *drive)
{
    if (drive->is_releasing || drive->phase == PHASE_ENDED)
        return;
    drive->is_releasing = drive->is_held = true;
    master_hold(drive->options.master);
    timer_clear(loop_timers(drive->options.master->loop), &drive->timer);
    if (drive->phase != PHASE_STORING)
        release_now(drive);
}
