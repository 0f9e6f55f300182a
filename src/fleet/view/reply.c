#include "fleet/view/reply.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/yaml_print.h"
#include "states/local/perform.h"
#include "states/state/report.h"
#include "core/sys/clock.h"
#include "fleet/wire/exec.h"

/* A value as text. */
#define TEXT_MAX ((size_t)16 << 20)
/* More is cut before the bus can refuse it. */
#define REPLY_MAX ((size_t)64 << 20)

/* Texts up to this are never cut. */
#define SHORT_MAX ((size_t)4096)

#define TOO_LARGE "left out: the result is larger than the bus takes"

static bool is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

static struct value as_text(struct arena *arena, const struct value *v)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct err err;

    if (value_is_textual(v))
        return *v;
    if (yaml_print(&out, v, &err) < 0)
        return value_text(arena_printf(arena, "(%s)", err.text));
    return value_str(arena_str(arena, str_trim_right(buf_view(&out))));
}

static struct value print_reply_details(struct arena *arena, const struct value_map *details)
{
    struct value_map *map = value_map_new(arena, details->count);

    for (size_t i = 0; i < details->count; i++)
        value_map_set(arena, map, as_text(arena, &details->pairs[i].key),
                      as_text(arena, &details->pairs[i].value));
    return value_map(map);
}

void reply_state(struct arena *arena, const struct state_result *state,
                 struct exec_result *ret_result)
{
    *ret_result = (struct exec_result){
        .name = state->name,
        .changed = state->outcome == OUTCOME_CHANGED,
        .diff = state->diff.n > 0 ? arena_str(arena, state->diff).p : "",
        .duration = state->duration,
        .details = value_null(),
        .level = state->level,
        .error = state->error ? state->error : "",
        .place = report_place(arena, state),
        .skipped = state->outcome == OUTCOME_SKIPPED,
        .skip_reason =
            state->outcome == OUTCOME_SKIPPED ? skip_reason_text(state->skip_reason) : "",
        .cause = state->cause ? state->cause : "",
        .again = state->again ? state->again : "",
    };
}

/* --- long texts ------------------------------------------------------------------------ */

/* Size limits for long texts of a message. */
struct room {
    size_t used, texts;
};

static void measure_text(struct room *room, size_t n)
{
    room->used += n <= SHORT_MAX ? n : 0;
    room->texts += n > SHORT_MAX;
}

/* Both ends: a log says at its end what went wrong. */
static struct str shorten_reply_text(struct arena *arena, struct str text, size_t max)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    size_t begin = max / 2, end = text.n - max / 2;

    if (text.n <= SHORT_MAX || text.n <= max)
        return text;
    while (begin > 0 && is_inside_character(text.p[begin]))
        begin--;
    while (end < text.n && is_inside_character(text.p[end]))
        end++;
    buf_add(&out, text.p, begin);
    buf_printf(&out, "\n[%zu bytes left out]\n", end - begin);
    buf_add(&out, text.p + end, text.n - end);
    return buf_copy(&out, arena);
}

static void measure_result(struct room *room, const struct exec_result *result)
{
    measure_text(room, strlen(result->diff));
    measure_text(room, strlen(result->error));
    measure_text(room, strlen(result->again));
    for (size_t i = 0; result->details.kind == VALUE_MAP && i < result->details.map->count; i++)
        measure_text(room, result->details.map->pairs[i].value.s.n);
}

static void cut_result(struct arena *arena, struct exec_result *result, size_t max)
{
    result->diff = shorten_reply_text(arena, str_from(result->diff), max).p;
    result->error = shorten_reply_text(arena, str_from(result->error), max).p;
    result->again = shorten_reply_text(arena, str_from(result->again), max).p;
    for (size_t i = 0; result->details.kind == VALUE_MAP && i < result->details.map->count; i++) {
        struct value *v = &result->details.map->pairs[i].value;

        *v = value_str(shorten_reply_text(arena, v->s, max));
    }
}

/* A quarter of the message is for what is not counted here. */
static void cut_results(struct arena *arena, struct exec_response *response, size_t size_max)
{
    const size_t most = size_max / 4 * 3;
    struct room room = { 0 };

    VEC_EACH (&response->results.list, result)
        measure_result(&room, result);
    if (room.texts == 0 || room.used >= most)
        return;
    VEC_EACH (&response->results.list, result)
        cut_result(arena, result, (most - room.used) / room.texts);
}

/* --- messages ------------------------------------------------------------------------- */

/* How much of the results is included. */
enum extent { EXTENT_ALL, EXTENT_ENDS, EXTENT_NAMES, EXTENT_NOTHING };

/* A text is among the details already, unless those are cut. */
static struct value wrap_reply_value(struct arena *arena, const struct state_result *state,
                                     enum extent extent)
{
    struct value list = value_list(value_list_new(arena, 1)), answer;

    if (!report_value(state, &answer) || (extent == EXTENT_ALL && value_is_textual(&answer)))
        return value_null();
    if (extent == EXTENT_ALL)
        value_list_push(arena, list.list, answer);
    return list;
}

static struct exec_response make_response(struct arena *arena, const struct reply_head *head,
                                          const struct perform_answer *answer, enum extent extent)
{
    struct exec_response response = {
        .v = EXEC_PROTOCOL,
        .peel_id = head->peel_id,
        .jid = head->request->jid,
        .success = answer->success && !answer->error,
        .test = answer->test,
        .looked = answer->result.looked > 0,
        .again = answer->result.again,
        .error = answer->error              ? answer->error
                 : extent == EXTENT_NOTHING ? TOO_LARGE
                                            : "",
    };

    if (extent != EXTENT_NOTHING)
        VEC_RESERVE_IN(arena, &response.results.list, answer->result.states.n);
    for (size_t i = 0; extent != EXTENT_NOTHING && i < answer->result.states.n; i++) {
        const struct state_result *state = &answer->result.states.p[i];
        struct exec_result one;

        reply_state(arena, state, &one);
        if (extent == EXTENT_ALL)
            one.needs = report_needs(arena, state);
        if (extent <= EXTENT_ENDS && state->details)
            one.details = print_reply_details(arena, state->details);
        one.value = wrap_reply_value(arena, state, extent);
        if (extent == EXTENT_NAMES && one.diff[0])
            one.diff = TOO_LARGE;
        if (extent == EXTENT_NAMES && one.again[0])
            one.again = TOO_LARGE;
        VEC_PUSH_IN(arena, &response.results.list, one);
    }
    if (extent == EXTENT_ENDS)
        cut_results(arena, &response, head->size_max);
    return response;
}

struct str reply_response(struct arena *arena, const struct reply_head *head,
                          const struct perform_answer *answer)
{
    AUTO_BUF struct buf out = BUF_INIT(REPLY_MAX);
    struct err err;

    for (enum extent extent = EXTENT_ALL; extent <= EXTENT_NOTHING; extent++) {
        const struct exec_response response = make_response(arena, head, answer, extent);

        buf_clear(&out);
        if (record_encode(&out, &exec_response_type, &response, &err) == 0 &&
            out.n <= head->size_max)
            break;
    }
    return buf_copy(&out, arena);
}

static struct exec_answer make_answer(struct arena *arena, const struct reply_head *head,
                                      const struct perform_answer *answer, enum extent extent)
{
    const struct exec_response response = make_response(arena, head, answer, extent);

    return (struct exec_answer){
        .jid = response.jid,
        .peel_id = response.peel_id,
        .success = response.success,
        .response = response,
        .error = response.error,
    };
}

struct str reply_return(struct arena *arena, const struct reply_head *head,
                        const struct perform_answer *answer, int64_t duration, int64_t now)
{
    AUTO_BUF struct buf out = BUF_INIT(REPLY_MAX);
    struct err err;

    for (enum extent extent = EXTENT_ALL; extent <= EXTENT_NOTHING; extent++) {
        struct exec_answer message = make_answer(arena, head, answer, extent);

        message.duration = duration;
        message.timestamp =
            (struct value_time){ now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) };
        buf_clear(&out);
        if (record_encode(&out, &exec_answer_type, &message, &err) == 0 && out.n <= head->size_max)
            break;
    }
    return buf_copy(&out, arena);
}
