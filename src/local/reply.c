#include "local/reply.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "data/yaml_print.h"
#include "local/perform.h"
#include "state/report.h"
#include "sys/clock.h"
#include "wire/exec.h"

/* What a value becomes as text. */
#define TEXT_MAX ((size_t)16 << 20)
/* More is cut before the bus can refuse it. */
#define REPLY_MAX ((size_t)64 << 20)

#define TOO_LARGE "left out: the result is larger than the bus takes"

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

static struct value print_details(struct arena *arena, const struct value_map *details)
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
    };
}

/* How much of the results is included. */
enum extent { EXTENT_ALL, EXTENT_NAMES, EXTENT_NOTHING };

static struct exec_response make_response(struct arena *arena, const struct reply_head *head,
                                          const struct perform_answer *answer, enum extent extent)
{
    struct exec_response response = {
        .v = EXEC_PROTOCOL,
        .peel_id = head->peel_id,
        .jid = head->request->jid,
        .success = answer->success && !answer->error,
        .test = answer->test,
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
        if (extent == EXTENT_ALL && state->details)
            one.details = print_details(arena, state->details);
        if (extent == EXTENT_NAMES && one.diff[0])
            one.diff = TOO_LARGE;
        VEC_PUSH_IN(arena, &response.results.list, one);
    }
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
