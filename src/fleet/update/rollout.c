#include "fleet/update/rollout.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"

#define SECOND INT64_C(1000000000)
/* In the note of a result: prepare was sent to the node. */
#define NOTE_ASKED "preparing"

/* --- the plan --------------------------------------------------------------------------- */

static size_t batch_size(const struct update_plan *plan, size_t nodes)
{
    size_t size = plan->batch_size > 0 ? (size_t)plan->batch_size : 1;

    if (plan->batch_percent > 0)
        size = (nodes * (size_t)plan->batch_percent + 99) / 100;
    return size > 0 ? size : 1;
}

int rollout_plan(struct arena *arena, struct update_rollout *rollout,
                 const struct param_strs *nodes, struct value_time now, struct err *err)
{
    const size_t size = batch_size(&rollout->config, nodes->n);
    struct value_list *batches = value_list_new(arena, nodes->n / size + 1);

    if (nodes->n > ROLLOUT_NODES_MAX)
        return err_set(err, ERR_LIMIT, "a rollout has at most %d nodes", ROLLOUT_NODES_MAX);
    for (size_t i = 0; i < nodes->n; i += size) {
        struct value_list *batch = value_list_new(arena, size);

        for (size_t j = i; j < nodes->n && j < i + size; j++) {
            value_list_push(arena, batch, value_text(nodes->p[j]));
            VEC_PUSH_IN(arena, &rollout->node_results.list,
                        (struct update_result){ .node = nodes->p[j],
                                                .id = nodes->p[j],
                                                .error = "",
                                                .note = "",
                                                .updated = now });
        }
        value_list_push(arena, batches, value_list(batch));
    }
    rollout->batches = value_list(batches);
    return 0;
}

static const struct value *current_batch(const struct update_rollout *rollout)
{
    const struct value *batches = &rollout->batches;

    if (!value_is(batches, VALUE_LIST) || (size_t)rollout->current_batch >= batches->list->count)
        return NULL;
    batches = &batches->list->items[rollout->current_batch];
    return value_is(batches, VALUE_LIST) ? batches : NULL;
}

static int compare_result(const void *node, const void *result)
{
    return strcmp(node, ((const struct update_result *)result)->node);
}

static struct update_result *find_node_result(const struct update_rollout *rollout,
                                              const char *node)
{
    if (rollout->node_results.list.n == 0)
        return NULL;
    return bsearch(node, rollout->node_results.list.p, rollout->node_results.list.n,
                   sizeof(rollout->node_results.list.p[0]), compare_result);
}

static bool is_final(enum update_node_result status)
{
    return status >= UPDATE_NODE_CONFIRMED;
}

static bool is_updating(const struct update_result *result)
{
    return !is_final(result->status) &&
           (result->status != UPDATE_NODE_PENDING || result->note[0] != '\0');
}

struct param_strs rollout_next_nodes(struct arena *arena, const struct update_rollout *rollout)
{
    const bool is_aborting = rollout->state == UPDATE_ROLLOUT_ABORTING;
    const struct value *batch = current_batch(rollout);
    struct {
        VEC(const char *) list;
    } nodes = { 0 };

    for (size_t i = 0; batch && i < batch->list->count; i++) {
        const struct value *name = &batch->list->items[i];
        const struct update_result *result =
            value_is(name, VALUE_STR) ? find_node_result(rollout, name->s.p) : NULL;

        if (result && !is_final(result->status) && (!is_aborting || is_updating(result)))
            VEC_PUSH_IN(arena, &nodes.list, result->node);
    }
    return (struct param_strs){ nodes.list.n, nodes.list.p };
}

/* --- one step --------------------------------------------------------------------------- */

/* Where a node is on its way to the version. */
enum phase {
    PHASE_SILENT,
    PHASE_FREE, /* runs another version, and nothing is under way */
    PHASE_BUSY, /* something is, which ends by itself */
    PHASE_STAGED,
    PHASE_SOAKING,
    PHASE_READY,   /* has soaked */
    PHASE_DONE,    /* runs the version for good */
    PHASE_FOREIGN, /* another version soaks */
};

struct step {
    struct arena *arena;
    struct update_rollout *rollout;
    const struct rollout_round *round;
    struct rollout_orders *orders;
    bool has_changed;
};

static enum phase find_phase(const struct update_rollout *rollout, const struct rollout_view *view)
{
    const char *version = rollout->config.version;
    bool is_ours;

    if (!view->answered)
        return PHASE_SILENT;
    is_ours = strcmp(view->said.version, version) == 0;
    switch (view->said.state) {
    case UPDATE_IDLE:
    case UPDATE_CONFIRMED:
        return strcmp(view->said.running_version, version) == 0 ? PHASE_DONE : PHASE_FREE;
    case UPDATE_PREPARING: return is_ours ? PHASE_BUSY : PHASE_FREE;
    case UPDATE_STAGED: return is_ours ? PHASE_STAGED : PHASE_FREE;
    case UPDATE_SOAKING:
        return !is_ours ? PHASE_FOREIGN : view->said.soak_passed ? PHASE_READY : PHASE_SOAKING;
    case UPDATE_APPLYING:
    case UPDATE_ROLLING_BACK: break;
    }
    return PHASE_BUSY;
}

static void set_node_result(struct step *step, struct update_result *result,
                            enum update_node_result status, const char *error)
{
    if (result->status == status && !error[0])
        return;
    result->status = status;
    result->error = arena_printf(step->arena, "%.*s", ROLLOUT_ERROR_MAX, error);
    result->note = "";
    result->updated = step->round->now;
    step->has_changed = true;
}

static void add_order(struct step *step, const struct update_result *result, enum update_verb verb)
{
    VEC_PUSH_IN(step->arena, &step->orders->list, (struct rollout_order){ result->node, verb });
}

static int64_t compute_elapsed(struct value_time from, struct value_time to)
{
    return (to.seconds - from.seconds) * SECOND + (int64_t)to.nanoseconds -
           (int64_t)from.nanoseconds;
}

/* No progress within the limit. A soak takes its time and ends by itself. */
static bool is_node_late(const struct step *step, const struct update_result *result,
                         enum phase phase)
{
    int64_t limit = step->round->node_limit;

    if (phase == PHASE_SOAKING || phase == PHASE_READY)
        limit += step->rollout->config.soak_time * 3;
    return compute_elapsed(result->updated, step->round->now) > limit;
}

static bool has_rollout_failed(const struct step *step, const struct rollout_view *view)
{
    return view->said.error[0] &&
           strcmp(view->said.failed_version, step->rollout->config.version) == 0;
}

static void advance_free(struct step *step, struct update_result *result,
                         const struct rollout_view *view)
{
    const bool was_asked = result->note[0] != '\0' || result->status == UPDATE_NODE_PREPARED;

    if (result->status == UPDATE_NODE_APPLIED) {
        set_node_result(step, result, UPDATE_NODE_ROLLED_BACK,
                        view->said.error[0] ? view->said.error : "rolled back by the node");
    } else if (was_asked && has_rollout_failed(step, view)) {
        set_node_result(step, result, UPDATE_NODE_FAILED, view->said.error);
    } else {
        step->has_changed |= result->note[0] == '\0';
        result->note = NOTE_ASKED;
        add_order(step, result, UPDATE_PREPARE);
    }
}

static void advance_node(struct step *step, struct update_result *result,
                         const struct rollout_view *view, enum phase phase)
{
    if (view->refusal) {
        set_node_result(step, result, UPDATE_NODE_FAILED, view->refusal);
        return;
    }
    if (phase != PHASE_DONE && is_node_late(step, result, phase)) {
        set_node_result(step, result, UPDATE_NODE_FAILED,
                        phase == PHASE_SILENT ? "does not answer" : "makes no progress");
        return;
    }
    switch (phase) {
    case PHASE_FREE: advance_free(step, result, view); break;
    case PHASE_STAGED:
        if (result->status == UPDATE_NODE_APPLIED && has_rollout_failed(step, view))
            set_node_result(step, result, UPDATE_NODE_FAILED, view->said.error);
        else if (result->status != UPDATE_NODE_APPLIED)
            set_node_result(step, result, UPDATE_NODE_PREPARED, "");
        break;
    case PHASE_SOAKING:
    case PHASE_READY: set_node_result(step, result, UPDATE_NODE_APPLIED, ""); break;
    case PHASE_DONE:
        set_node_result(step, result,
                        is_updating(result) ? UPDATE_NODE_CONFIRMED : UPDATE_NODE_SKIPPED, "");
        break;
    case PHASE_FOREIGN: add_order(step, result, UPDATE_ROLLBACK); break;
    case PHASE_SILENT:
    case PHASE_BUSY: break;
    }
}

/* A node that has soaked does not wait for slow ones until it goes back by itself. */
static bool has_waited(const struct step *step, const struct update_result *result)
{
    return compute_elapsed(result->updated, step->round->now) > step->rollout->config.soak_time * 2;
}

/* The phase reached by all unfinished nodes of the batch. */
static void give_orders(struct step *step, const enum phase *phases)
{
    const struct param_strs *nodes = step->round->nodes;
    bool all_staged = true, all_ready = true;

    for (size_t i = 0; i < nodes->n; i++) {
        const struct update_result *result = find_node_result(step->rollout, nodes->p[i]);

        if (is_final(result->status))
            continue;
        all_staged &= result->status >= UPDATE_NODE_PREPARED;
        all_ready &= phases[i] == PHASE_READY;
    }
    for (size_t i = 0; i < nodes->n; i++) {
        struct update_result *result = find_node_result(step->rollout, nodes->p[i]);

        if (is_final(result->status))
            continue;
        if (phases[i] == PHASE_STAGED && all_staged) {
            set_node_result(step, result, UPDATE_NODE_APPLIED, "");
            add_order(step, result, UPDATE_APPLY);
        } else if (phases[i] == PHASE_READY && (all_ready || has_waited(step, result))) {
            add_order(step, result, UPDATE_CONFIRM);
        }
    }
}

static void count_failures(struct step *step)
{
    struct update_rollout *rollout = step->rollout;
    const int32_t budget = rollout->config.max_failed > 0 ? rollout->config.max_failed : 1;
    const struct update_result *last = NULL;

    rollout->failed_count = 0;
    VEC_EACH (&rollout->node_results.list, result)
        if (result->status == UPDATE_NODE_FAILED || result->status == UPDATE_NODE_ROLLED_BACK) {
            rollout->failed_count++;
            last = result;
        }
    if (last && rollout->failed_count >= budget) {
        rollout_abort(step->arena, rollout,
                      arena_printf(step->arena, "%d of %d failures allowed: '%s': %s",
                                   (int)rollout->failed_count, (int)budget, last->node,
                                   last->error));
        step->has_changed = true;
    }
}

static void set_state(struct step *step, enum update_rollout_state state)
{
    if (step->rollout->state == state)
        return;
    step->rollout->state = state;
    step->has_changed = true;
    if (update_rollout_is_over(state))
        step->rollout->finished_at = step->round->now;
}

static struct value_time add_time_span(struct value_time now, int64_t ns)
{
    const int64_t sum = (int64_t)now.nanoseconds + ns % SECOND;

    return (struct value_time){ now.seconds + ns / SECOND + sum / SECOND,
                                (uint32_t)(sum % SECOND) };
}

/* Nodes of the next batch have their limit from its beginning on. */
static void begin_rollout_batch(struct step *step)
{
    const struct value *batch = current_batch(step->rollout);

    for (size_t i = 0; batch && i < batch->list->count; i++) {
        struct update_result *result = find_node_result(step->rollout, batch->list->items[i].s.p);

        if (result)
            result->updated = step->rollout->pause_until;
    }
}

static void end_batch(struct step *step)
{
    struct update_rollout *rollout = step->rollout;

    step->has_changed = true;
    rollout->current_batch++;
    if (!current_batch(rollout)) {
        set_state(step, UPDATE_ROLLOUT_COMPLETED);
        return;
    }
    set_state(step, UPDATE_ROLLOUT_PREPARING);
    rollout->pause_until = add_time_span(step->round->now, rollout->config.batch_pause);
    begin_rollout_batch(step);
}

/* The current phase of the batch. */
static void name_state(struct step *step)
{
    const struct param_strs *nodes = step->round->nodes;
    enum update_node_result least = UPDATE_NODE_CONFIRMED;

    for (size_t i = 0; i < nodes->n; i++) {
        const struct update_result *result = find_node_result(step->rollout, nodes->p[i]);

        if (result->status < least)
            least = result->status;
    }
    if (least == UPDATE_NODE_CONFIRMED)
        end_batch(step);
    else
        set_state(step, least == UPDATE_NODE_PENDING    ? UPDATE_ROLLOUT_PREPARING
                        : least == UPDATE_NODE_PREPARED ? UPDATE_ROLLOUT_ROLLING
                                                        : UPDATE_ROLLOUT_SOAKING);
}

/* --- aborting --------------------------------------------------------------------------- */

void rollout_abort(struct arena *arena, struct update_rollout *rollout, const char *why)
{
    rollout->state = UPDATE_ROLLOUT_ABORTING;
    rollout->error = arena_strdup(arena, why);
}

static void take_back(struct step *step, struct update_result *result,
                      const struct rollout_view *view, enum phase phase)
{
    switch (phase) {
    case PHASE_FREE:
    case PHASE_FOREIGN: set_node_result(step, result, UPDATE_NODE_ROLLED_BACK, ""); return;
    case PHASE_DONE: set_node_result(step, result, UPDATE_NODE_CONFIRMED, ""); return;
    case PHASE_STAGED:
    case PHASE_SOAKING:
    case PHASE_READY: add_order(step, result, UPDATE_ROLLBACK); break;
    case PHASE_BUSY:
        if (view->said.state == UPDATE_PREPARING)
            add_order(step, result, UPDATE_ROLLBACK);
        break;
    case PHASE_SILENT: break;
    }
    if (is_node_late(step, result, PHASE_SILENT))
        set_node_result(step, result, UPDATE_NODE_FAILED, "was not rolled back: does not answer");
}

static void step_abort(struct step *step, const enum phase *phases)
{
    const struct param_strs *nodes = step->round->nodes;
    bool is_over = true;

    for (size_t i = 0; i < nodes->n; i++) {
        struct update_result *result = find_node_result(step->rollout, nodes->p[i]);

        take_back(step, result, &step->round->views[i], phases[i]);
        is_over &= is_final(result->status);
    }
    if (is_over)
        set_state(step, UPDATE_ROLLOUT_ABORTED);
}

bool rollout_step(struct arena *arena, struct update_rollout *rollout,
                  const struct rollout_round *round, struct rollout_orders *orders)
{
    struct step step = { arena, rollout, round, orders, false };
    enum phase *phases = ARENA_ARRAY(arena, enum phase, round->nodes->n + 1);

    if (update_rollout_is_over(rollout->state))
        return false;
    for (size_t i = 0; i < round->nodes->n; i++)
        phases[i] = find_phase(rollout, &round->views[i]);
    if (rollout->state == UPDATE_ROLLOUT_ABORTING) {
        step_abort(&step, phases);
        return step.has_changed;
    }
    if (compute_elapsed(rollout->pause_until, round->now) < 0)
        return false;
    for (size_t i = 0; i < round->nodes->n; i++)
        advance_node(&step, find_node_result(rollout, round->nodes->p[i]), &round->views[i],
                     phases[i]);
    count_failures(&step);
    if (rollout->state == UPDATE_ROLLOUT_ABORTING) {
        vec_clear(&orders->list);
        return true;
    }
    give_orders(&step, phases);
    name_state(&step);
    return step.has_changed;
}
