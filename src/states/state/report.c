#include "states/state/report.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "states/state/outcome.h"

static void put_report_value(struct arena *arena, struct value_map *map, const char *key,
                             struct value v)
{
    value_map_set(arena, map, value_text(key), v);
}

const char *report_place(struct arena *arena, const struct state_result *result)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (result->outcome != OUTCOME_FAILED || !result->at.file)
        return "";
    place_print(result->at, &text);
    return buf_copy(&text, arena).p;
}

static bool has_structure(const struct value_map *details)
{
    for (size_t i = 0; i < details->count; i++)
        if (!value_is_textual(&details->pairs[i].value))
            return true;
    return false;
}

bool report_value(const struct state_result *result, struct value *ret)
{
    const struct value details = result->details ? value_map(result->details) : value_null();
    const struct value *answer = value_get(&details, "result");

    if (result->value)
        *ret = *result->value;
    else if (answer)
        *ret = *answer;
    else if (result->details && has_structure(result->details))
        *ret = details;
    else if (value_get(&details, "stdout"))
        *ret = *value_get(&details, "stdout");
    else
        return false;
    return true;
}

struct value report_state(struct arena *arena, const struct state_result *result)
{
    struct value_map *map = value_map_new(arena, 10);
    bool skipped = result->outcome == OUTCOME_SKIPPED;
    const char *place = report_place(arena, result);
    struct value answer;

    put_report_value(arena, map, "name", value_text(result->name));
    put_report_value(arena, map, "level", value_int(result->level));
    put_report_value(arena, map, "changed", value_bool(result->outcome == OUTCOME_CHANGED));
    if (result->diff.n > 0)
        put_report_value(arena, map, "diff", value_str(result->diff));
    if (result->hash)
        put_report_value(arena, map, "plan_hash", value_text(result->hash));
    put_report_value(arena, map, "duration", value_int(result->duration));
    if (result->details && result->details->count > 0)
        put_report_value(arena, map, "details", value_map(result->details));
    if (report_value(result, &answer))
        put_report_value(arena, map, "value", answer);
    if (result->error)
        put_report_value(arena, map, "error", value_text(result->error));
    if (place[0])
        put_report_value(arena, map, "place", value_text(place));
    if (result->dry)
        put_report_value(arena, map, "test", value_bool(true));
    if (result->would_change)
        put_report_value(arena, map, "would_change", value_bool(true));
    if (skipped)
        put_report_value(arena, map, "skipped", value_bool(true));
    if (skipped && skip_reason_text(result->skip_reason)[0])
        put_report_value(arena, map, "skip_reason",
                         value_text(skip_reason_text(result->skip_reason)));
    if (result->handler)
        put_report_value(arena, map, "handled_by", value_text(result->handler));
    if (result->cause)
        put_report_value(arena, map, "cause", value_text(result->cause));
    if (result->again)
        put_report_value(arena, map, "would_change_again", value_text(result->again));
    return value_map(map);
}

struct value report_needs(struct arena *arena, const struct state_result *result)
{
    struct value_list *list;

    if (result->need_count == 0)
        return value_null();
    list = value_list_new(arena, result->need_count);
    for (uint32_t i = 0; i < result->need_count; i++)
        value_list_push(arena, list, value_int(result->needs[i]));
    return value_list(list);
}

static struct value make_report_summary(struct arena *arena, const struct run_result *result)
{
    struct value_map *map = value_map_new(arena, 8);

    put_report_value(arena, map, "states", value_int((int64_t)result->states.n));
    put_report_value(arena, map, "changed", value_int(result->changed));
    put_report_value(arena, map, "failed", value_int(result->failed));
    put_report_value(arena, map, "skipped", value_int(result->skipped));
    if (result->would_change > 0)
        put_report_value(arena, map, "would_change", value_int(result->would_change));
    if (result->again > 0)
        put_report_value(arena, map, "would_change_again", value_int(result->again));
    put_report_value(arena, map, "duration", value_int(result->duration));
    put_report_value(arena, map, "canceled", value_bool(result->canceled));
    if (result->run_id)
        put_report_value(arena, map, "run_id", value_text(result->run_id));
    if (result->revert) {
        struct value_list *ids = value_list_new(arena, result->reverted.n);

        VEC_EACH (&result->reverted, id)
            value_list_push(arena, ids, value_text(*id));
        put_report_value(arena, map, "reverted", value_list(ids));
    }
    return value_map(map);
}

static struct value_map *make_report_head(struct arena *arena, const char *peel_id, bool success)
{
    struct value_map *map = value_map_new(arena, 8);

    put_report_value(arena, map, "peel_id", value_text(peel_id));
    put_report_value(arena, map, "status", value_text(success ? "success" : "failed"));
    put_report_value(arena, map, "success", value_bool(success));
    return map;
}

struct value report_run(struct arena *arena, const char *peel_id, const struct run_result *result)
{
    struct value_map *map = make_report_head(arena, peel_id, run_result_is_success(result));
    struct value_list *list = value_list_new(arena, result->states.n);

    if (result->test)
        put_report_value(arena, map, "test", value_bool(true));
    else if (result->looked > 0)
        put_report_value(arena, map, "converged", value_bool(run_result_is_converged(result)));
    VEC_EACH (&result->states, state)
        value_list_push(arena, list, report_state(arena, state));
    put_report_value(arena, map, "results", value_list(list));
    put_report_value(arena, map, "summary", make_report_summary(arena, result));
    if (result->canceled)
        put_report_value(arena, map, "error", value_text("execution canceled"));
    return value_map(map);
}

struct value report_error(struct arena *arena, const char *peel_id, const char *error)
{
    struct value_map *map = make_report_head(arena, peel_id, false);

    put_report_value(arena, map, "results", value_list(value_list_new(arena, 0)));
    put_report_value(arena, map, "error", value_text(error));
    return value_map(map);
}
