#include "fleet/view/answer.h"

#include <math.h>

#include "core/base/arena.h"
#include "core/data/value.h"
#include "test.h"

/* The value in an answer with this result, or NULL. */
static const struct value *shown_value(struct arena *arena, struct value wrapped, bool with_text)
{
    struct fleet_answer answer = { .peel = "p", .has_come = true, .success = true, .error = "" };
    struct value_map *details = value_map_new(arena, 1);
    struct exec_result result = { .name = "settings.items", .value = wrapped };
    struct value *all = ARENA_NEW(arena, struct value);

    if (with_text)
        value_map_set(arena, details, value_text("result"), value_text("8"));
    result.details = value_map(details);
    VEC_PUSH_IN(arena, &answer.response.results.list, result);
    *all = fleet_answer_value(arena, &answer, false);
    return value_get(&value_get(all, "results")->list->items[0], "value");
}

static struct value list_of(struct arena *arena, const struct value *items, size_t count)
{
    struct value list = value_list(value_list_new(arena, count));

    for (size_t i = 0; i < count; i++)
        value_list_push(arena, list.list, items[i]);
    return list;
}

TEST(the_value_of_an_answer_is_what_was_sent_or_the_text_of_its_details)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct value eight = value_int(8), none = value_null();
    const struct value *shown = shown_value(&arena, list_of(&arena, &eight, 1), true);

    CHECK(value_is(shown, VALUE_INT) && shown->i == 8);
    CHECK(value_is(shown_value(&arena, list_of(&arena, &none, 1), true), VALUE_NULL));
    CHECK(value_is(shown_value(&arena, value_null(), true), VALUE_STR));
    CHECK(!shown_value(&arena, value_null(), false));
}

TEST(a_value_that_was_too_large_or_has_no_form_in_json_is_left_out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct value both[] = { value_int(8), value_int(9) }, endless = value_double(INFINITY);

    CHECK(!shown_value(&arena, list_of(&arena, NULL, 0), true));
    CHECK(!shown_value(&arena, list_of(&arena, both, 2), true));
    CHECK(!shown_value(&arena, list_of(&arena, &endless, 1), true));
}
