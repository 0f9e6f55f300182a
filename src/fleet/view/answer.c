#include "fleet/view/answer.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/wire/peel_id.h"

/* Limit on a returned value as JSON. */
#define VALUE_TEXT_MAX ((size_t)64 << 20)

/* --- reading ------------------------------------------------------------------------ */

static void read_response(struct fleet_answer *answer, struct arena *arena,
                          const struct value *data)
{
    struct err err;

    answer->response = (struct exec_response){ .error = "" };
    if (data->kind == VALUE_MAP &&
        record_read(arena, &exec_response_type, 1, data, &answer->response, &err) < 0)
        answer->error = arena_printf(arena, "malformed answer: %s", err.text);
}

bool fleet_answer_take(struct fleet_answer *answer, struct arena *arena, struct str jid,
                       struct str payload)
{
    struct exec_return ret;
    struct err err;

    if ((answer->has_come && !answer->is_unreachable && !answer->is_overdue) ||
        record_decode(arena, &exec_return_type, 1, arena_str(arena, payload), &ret, &err) < 0 ||
        !exec_return_is_of(&ret, jid, str_from(answer->peel)))
        return false;
    answer->has_come = true;
    answer->is_unreachable = ret.unreachable;
    answer->is_queued = ret.unreachable && ret.queued;
    answer->is_overdue = ret.overdue;
    answer->error = ret.error;
    answer->duration = ret.duration;
    read_response(answer, arena, &ret.return_data);
    answer->success = ret.success && answer->error[0] == '\0';
    return true;
}

bool fleet_answer_is_silent(const struct fleet_answer *answer)
{
    return !answer->has_come || answer->is_unreachable;
}

const char *fleet_answer_error(const struct fleet_answer *answer)
{
    return answer->has_come ? answer->error : EXEC_OVERDUE;
}

const char *fleet_answer_first_error(struct arena *arena, const struct fleet_answer *answer)
{
    if (answer->success && !fleet_answer_is_silent(answer))
        return "";
    VEC_EACH (&answer->response.results.list, result)
        if (result->error[0] && !result->skipped)
            return arena_printf(arena, "%s: %s", result->name, result->error);
    return fleet_answer_error(answer);
}

const char *fleet_answer_status(const struct fleet_answer *answer)
{
    if (fleet_answer_is_silent(answer))
        return answer->is_queued ? "queued" : "unreachable";
    return answer->success ? "success" : "failed";
}

/* --- values ------------------------------------------------------------------------- */

static void put_answer_text(struct arena *arena, struct value_map *map, const char *key,
                            const char *text)
{
    if (text && text[0])
        value_map_set(arena, map, value_text(key), value_text(text));
}

static struct value duration_value(struct arena *arena, int64_t ns, bool readable)
{
    AUTO_BUF struct buf text = BUF_INIT(64);

    if (!readable)
        return value_int(ns);
    number_print_duration(ns, &text);
    return value_str(buf_copy(&text, arena));
}

/* One peel cannot spoil the document of all, with a number that is not finite for example. */
static bool has_json_form(const struct value *v)
{
    AUTO_BUF struct buf out = BUF_INIT(VALUE_TEXT_MAX);
    struct err err;

    return json_print(&out, v, JSON_STYLE_TEXT, &err) == 0;
}

/* False: nothing was returned, or it was too large to be sent. */
static bool read_answer_value(const struct exec_result *result, struct value *ret)
{
    const struct value *text = value_get(&result->details, "result");

    if (result->value.kind == VALUE_LIST) {
        if (result->value.list->count != 1 || !has_json_form(&result->value.list->items[0]))
            return false;
        *ret = result->value.list->items[0];
        return true;
    }
    if (!text)
        text = value_get(&result->details, "stdout");
    if (text)
        *ret = *text;
    return text;
}

static struct value result_value(struct arena *arena, const struct exec_result *result,
                                 bool readable)
{
    struct value_map *map = value_map_new(arena, 8);
    struct value answer;

    value_map_set(arena, map, value_text("name"), value_text(result->name));
    value_map_set(arena, map, value_text("changed"), value_bool(result->changed));
    if (result->details.kind == VALUE_MAP && result->details.map->count > 0)
        value_map_set(arena, map, value_text("details"), result->details);
    if (!readable && read_answer_value(result, &answer))
        value_map_set(arena, map, value_text("value"), answer);
    value_map_set(arena, map, value_text("duration"),
                  duration_value(arena, result->duration, readable));
    put_answer_text(arena, map, "diff", result->diff);
    put_answer_text(arena, map, "error", result->error);
    put_answer_text(arena, map, "place", result->place);
    if (result->skipped)
        value_map_set(arena, map, value_text("skipped"), value_bool(true));
    put_answer_text(arena, map, "skip_reason", result->skip_reason);
    put_answer_text(arena, map, "cause", result->cause);
    put_answer_text(arena, map, "would_change_again", result->again);
    return value_map(map);
}

struct value fleet_answer_value(struct arena *arena, const struct fleet_answer *answer,
                                bool readable)
{
    struct value_map *map = value_map_new(arena, 5);
    struct value_list *results = value_list_new(arena, answer->response.results.list.n);

    VEC_EACH (&answer->response.results.list, result)
        value_list_push(arena, results, result_value(arena, result, readable));
    value_map_set(arena, map, value_text("peel_id"), value_text(peel_id_name(arena, answer->peel)));
    value_map_set(arena, map, value_text("status"), value_text(fleet_answer_status(answer)));
    value_map_set(arena, map, value_text("success"),
                  value_bool(!fleet_answer_is_silent(answer) && answer->success));
    if (answer->response.looked && !answer->response.test)
        value_map_set(arena, map, value_text("converged"), value_bool(answer->response.again == 0));
    value_map_set(arena, map, value_text("results"), value_list(results));
    put_answer_text(arena, map, "error", fleet_answer_error(answer));
    return value_map(map);
}

struct value fleet_answer_summary(struct arena *arena, const struct fleet_answer *answer)
{
    struct value_map *map = value_map_new(arena, 5);

    value_map_set(arena, map, value_text("peel_id"), value_text(peel_id_name(arena, answer->peel)));
    value_map_set(arena, map, value_text("success"), value_bool(answer->success));
    value_map_set(arena, map, value_text("status"), value_text(fleet_answer_status(answer)));
    value_map_set(arena, map, value_text("duration"), value_int(answer->duration));
    put_answer_text(arena, map, "error", answer->error);
    return value_map(map);
}
