#include "fleet/master/update/rollout_start.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/glob.h"
#include "core/base/ksuid.h"
#include "core/base/map.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/master/announce.h"
#include "fleet/master/audit.h"
#include "fleet/master/update/rollout_claim.h"
#include "fleet/master/update/rollout_drive.h"
#include "fleet/master/peels/roster.h"
#include "fleet/master/services.h"
#include "fleet/master/settings/settings_book.h"
#include "fleet/master/update/update_board.h"
#include "fleet/nats/error.h"
#include "core/sys/clock.h"
#include "fleet/update/auto_rollout.h"
#include "fleet/update/rollout.h"

#define ID_PREFIX "rol-"
/* For the settings that a target asks for. */
#define SETTINGS_NS (8 * CLOCK_SECOND)

struct nats_kv rollout_records(const struct master *master)
{
    return (struct nats_kv){ .js = master->js,
                             .bucket = store_bucket_name(STORE_UPDATE_ROLLOUTS),
                             .settled = true };
}

/* A start under way. */
struct petition {
    struct settings_wait wait;
    struct arena arena;
    struct master *master;
    struct update_board *board;
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
    master_answer(petition->master, petition->reply, &update_started_type, &reply);
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
                                     .groups = petition->master->conf.nodegroups };
}

/* What it needs was there when the petition went on (on_settings). */
static int find_peels(struct petition *petition, struct param_strs *ret, struct err *err)
{
    struct roster_question question = make_question(petition);

    question.with_settings = true;
    return roster_resolve(master_roster(petition->master), &petition->arena, &question, ret, err);
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

    MAP_EACH (update_board_map(petition->board, UPDATE_SHELF_NODES), entry) {
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

    if (!update_board_manifest(petition->board, &petition->arena, node, version, &manifest))
        return err_set(err, ERR_NOT_FOUND, "version '%s' of %s is not published for %s/%s ('%s')",
                       version, update_component_name(node->component), node->goos, node->goarch,
                       node->id);
    end = update_manifest_end(&manifest);
    if (end != UPDATE_EXPIRES_NEVER && end < bus_time_seconds())
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

        if (!update_board_node(petition->board, &petition->arena, petition->start.config.component,
                               meant.p[i], &node) ||
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
    MAP_EACH (update_board_map(petition->board, UPDATE_SHELF_ROLLOUTS), entry) {
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
    const int64_t now = bus_time();
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
        .driver_id = petition->master->id,
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
    const struct nats_kv kv = rollout_records(petition->master);
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
    return rollout_claim_begin(&petition->master->js, petition->board, &petition->rollout,
                               on_free_to_start, petition, err);
}

static int check_ready(const struct petition *petition, struct err *err)
{
    const struct roster *roster = master_roster(petition->master);

    if (!update_board_is_seeded(petition->board) || !roster || !roster_is_seeded(roster))
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

void rollout_start_answer(struct master *master, struct update_board *board,
                          const struct nats_msg *msg)
{
    struct arena arena = ARENA_INIT;
    struct petition *petition = ARENA_NEW(&arena, struct petition);
    struct err err;
    int result;

    *petition = (struct petition){
        .wait = { .ready = on_settings }, .arena = arena, .master = master, .board = board
    };
    petition->reply = arena_str(&petition->arena, msg->reply);
    result = record_decode(&petition->arena, &update_start_type, 1,
                           arena_str(&petition->arena, msg->payload), &petition->start, &err);
    if (result == 0)
        result = check_ready(petition, &err);
    if (result < 0)
        answer_start(petition, err.text);
    else if (is_by_settings(petition))
        settings_book_await(master_settings_book(petition->master), &petition->wait, SETTINGS_NS);
    else
        begin_rollout(petition);
}
