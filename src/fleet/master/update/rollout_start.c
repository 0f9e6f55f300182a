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
#include "fleet/master/settings/settings_cache.h"
#include "fleet/master/update/update_board.h"
#include "fleet/nats/error.h"
#include "core/sys/clock.h"
#include "fleet/update/auto_rollout.h"
#include "fleet/update/rollout.h"

#define ID_PREFIX "rol-"
/* Time limit for settings that a target needs. */
#define SETTINGS_NS (8 * CLOCK_SECOND)

struct nats_kv rollout_records(const struct master *master)
{
    return (struct nats_kv){ .js = master->js,
                             .bucket = store_bucket_name(STORE_UPDATE_ROLLOUTS),
                             .settled = true };
}

/* A start in progress. */
struct rollout_request {
    struct settings_wait wait;
    struct arena arena;
    struct master *master;
    struct update_board *board;
    struct str reply;
    struct update_start start;
    struct update_rollout rollout;
    int32_t nodes;
};

static void answer_start(struct rollout_request *request, const char *error)
{
    const struct update_started reply = {
        .id = request->start.config.dry_run || error ? "" : request->rollout.id,
        .batches = request->rollout.batches,
        .nodes = request->nodes,
        .error = error ? error : "",
        .state = error ? "" : update_rollout_state_name(request->rollout.state),
    };
    struct arena arena = request->arena;

    if (!request->start.config.dry_run)
        audit_log(&(struct audit){ .action = "update.rollout",
                                   .by = request->start.operator,
                                   .id = reply.id,
                                   .target = request->start.config.target,
                                   .error = error });
    master_answer(request->master, request->reply, &update_started_type, &reply);
    arena_done(&arena); /* the rollout request is in it */
}

static void on_rollout_created(void *self, const struct nats_error *error, uint64_t revision)
{
    struct rollout_request *request = self;

    (void)revision; /* the watch brings it */
    if (error && error->fault == NATS_FAULT_CONFLICT)
        answer_start(request, arena_printf(&request->arena, "rollout '%s' already exists",
                                           request->rollout.id));
    else
        answer_start(request, error ? error->text : NULL);
}

/* Is it a list of names, not an expression? */
static bool is_bare_list(const char *target)
{
    return strchr(target, ',') && !strpbrk(target, "@ ()*?[");
}

static struct roster_question make_rollout_question(const struct rollout_request *request)
{
    const char *target = request->start.config.target;

    return (struct roster_question){ .expr = target,
                                     .type = is_bare_list(target) ? "list" : "",
                                     .groups = request->master->conf.nodegroups };
}

/* Settings were available when the request continued (on_rollout_settings). */
static int find_peels(struct rollout_request *request, struct param_strs *ret, struct err *err)
{
    struct roster_question question = make_rollout_question(request);

    question.with_settings = true;
    return roster_resolve(master_roster(request->master), &request->arena, &question, ret, err);
}

static bool is_node_meant(const char *target, struct str id)
{
    struct str rest = str_from(target);

    while (rest.p)
        if (glob_match(str_trim(str_cut(&rest, ',')), id))
            return true;
    return false;
}

static int compare_node_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Masters are known from their reports; a target is a list of names or patterns. */
static void find_masters(struct rollout_request *request, struct param_strs *ret)
{
    static const struct str prefix = { "master.", 7 };
    struct {
        VEC(const char *) list;
    } found = { 0 };

    MAP_EACH (update_board_map(request->board, UPDATE_LIST_NODES), entry) {
        const struct str id = str_from_offset(entry->key, prefix.n);

        if (str_starts(entry->key, prefix) && is_node_meant(request->start.config.target, id))
            VEC_PUSH_IN(&request->arena, &found.list, arena_str(&request->arena, id).p);
    }
    if (found.list.n > 0)
        qsort(found.list.p, found.list.n, sizeof(found.list.p[0]), compare_node_names);
    *ret = (struct param_strs){ found.list.n, found.list.p };
}

static int check_node(struct rollout_request *request, const struct update_node *node,
                      struct err *err)
{
    const char *version = request->start.config.version;
    struct update_manifest manifest;
    int64_t end;

    if (!update_board_manifest(request->board, &request->arena, node, version, &manifest))
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

/* Matching nodes that report and are not degraded. */
static int choose_nodes(struct rollout_request *request, struct param_strs *ret, struct err *err)
{
    struct param_strs meant = { 0 };
    struct {
        VEC(const char *) list;
    } chosen = { 0 };

    if (request->start.config.component == UPDATE_MASTER)
        find_masters(request, &meant);
    else if (find_peels(request, &meant, err) < 0)
        return -1;
    for (size_t i = 0; i < meant.n; i++) {
        struct update_node node;

        if (!update_board_node(request->board, &request->arena, request->start.config.component,
                               meant.p[i], &node) ||
            node.degraded)
            continue;
        if (check_node(request, &node, err) < 0)
            return -1;
        VEC_PUSH_IN(&request->arena, &chosen.list, meant.p[i]);
    }
    *ret = (struct param_strs){ chosen.list.n, chosen.list.p };
    if (chosen.list.n == 0)
        return err_set(err, ERR_NOT_FOUND, "target '%s' matches no %s with a healthy watchdog",
                       request->start.config.target,
                       update_component_name(request->start.config.component));
    return 0;
}

/* Two rollouts at once would undo each other's work. */
static int check_others(struct rollout_request *request, struct err *err)
{
    MAP_EACH (update_board_map(request->board, UPDATE_LIST_ROLLOUTS), entry) {
        const struct update_entry *stored = entry->value;
        struct update_rollout other;

        if (record_decode(&request->arena, &update_rollout_type, 1,
                          arena_str(&request->arena, stored->bytes), &other, err) == 0 &&
            !update_rollout_is_over(other.state) &&
            other.config.component == request->start.config.component)
            return err_set(err, ERR_BUSY, "rollout '%s' of %s is in progress", other.id,
                           update_component_name(other.config.component));
    }
    return 0;
}

static int make_rollout(struct rollout_request *request, struct err *err)
{
    const struct update_plan *plan = &request->start.config;
    const int64_t now = bus_time();
    const struct value_time time = { now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) };
    struct update_rollout *rollout = &request->rollout;
    struct param_strs nodes;
    char id[KSUID_SIZE];

    if (!update_version_is_valid(plan->version))
        return err_set(err, ERR_INVALID, "'%s' is not a valid version", plan->version);
    if (choose_nodes(request, &nodes, err) < 0)
        return -1;
    ksuid_new(time.seconds, id);
    *rollout = (struct update_rollout){
        .id = plan->rollout_id[0] ? plan->rollout_id
                                  : arena_printf(&request->arena, ID_PREFIX "%s", id),
        .config = *plan,
        .started_at = time,
        .error = "",
        .driver_id = request->master->id,
        .driver_heartbeat = time,
        .operator= request->start.operator, };
    rollout->config.rollout_id = rollout->id;
    if (!nats_kv_is_key(rollout->id) || strncmp(rollout->id, ID_PREFIX, strlen(ID_PREFIX)) != 0)
        return err_set(err, ERR_INVALID, "'%s' is not a valid rollout id: it begins with '%s'",
                       rollout->id, ID_PREFIX);
    if (str_starts(str_from(rollout->id), STR(AUTO_ROLLOUT_PREFIX)))
        return err_set(err, ERR_INVALID, "'%s': the prefix '%s' is reserved for automatic rollouts",
                       rollout->id, AUTO_ROLLOUT_PREFIX);
    request->nodes = (int32_t)nodes.n;
    return rollout_plan(&request->arena, rollout, &nodes, time, err);
}

static int store_rollout(struct rollout_request *request, struct err *err)
{
    const struct nats_kv kv = rollout_records(request->master);
    AUTO_BUF struct buf bytes = BUF_INIT(ROLLOUT_RECORD_MAX / 4 * 3); /* errors add to it */

    if (record_encode(&bytes, &update_rollout_type, &request->rollout, err) < 0)
        return -1;
    return nats_kv_create(&kv, request->rollout.id, buf_view(&bytes), on_rollout_created, request,
                          err);
}

static void on_free_to_start(void *self, const char *error)
{
    struct rollout_request *request = self;
    struct err err;

    if (error)
        answer_start(request, error);
    else if (store_rollout(request, &err) < 0)
        answer_start(request, err.text);
}

/* First checks the known rollouts, then those started at this moment. */
static int claim_rollout(struct rollout_request *request, struct err *err)
{
    if (check_others(request, err) < 0)
        return -1;
    return rollout_claim_begin(&request->master->js, request->board, &request->rollout,
                               on_free_to_start, request, err);
}

static int check_rollout_ready(const struct rollout_request *request, struct err *err)
{
    const struct roster *roster = master_roster(request->master);

    if (!update_board_is_seeded(request->board) || !roster || !roster_is_seeded(roster))
        return err_set(err, ERR_BUSY, "this master has just started; try again");
    return 0;
}

static void begin_rollout(struct rollout_request *request)
{
    struct err err;
    int result = make_rollout(request, &err);

    if (result == 0 && !request->start.config.dry_run)
        result = claim_rollout(request, &err);
    if (result < 0)
        answer_start(request, err.text);
    else if (request->start.config.dry_run)
        answer_start(request, NULL);
}

static void on_rollout_settings(struct settings_wait *wait, const char *problem)
{
    struct rollout_request *request = container_of(wait, struct rollout_request, wait);

    if (problem)
        answer_start(request, problem);
    else
        begin_rollout(request);
}

static bool is_by_settings(const struct rollout_request *request)
{
    const struct roster_question question = make_rollout_question(request);

    return request->start.config.component == UPDATE_PEEL && roster_needs_settings(&question);
}

void rollout_start_answer(struct master *master, struct update_board *board,
                          const struct nats_msg *msg)
{
    struct arena arena = ARENA_INIT;
    struct rollout_request *request = ARENA_NEW(&arena, struct rollout_request);
    struct err err;
    int result;

    *request = (struct rollout_request){
        .wait = { .ready = on_rollout_settings }, .arena = arena, .master = master, .board = board
    };
    request->reply = arena_str(&request->arena, msg->reply);
    result = record_decode(&request->arena, &update_start_type, 1,
                           arena_str(&request->arena, msg->payload), &request->start, &err);
    if (result == 0)
        result = check_rollout_ready(request, &err);
    if (result < 0)
        answer_start(request, err.text);
    else if (is_by_settings(request))
        settings_cache_await(master_settings_cache(request->master), &request->wait, SETTINGS_NS);
    else
        begin_rollout(request);
}
