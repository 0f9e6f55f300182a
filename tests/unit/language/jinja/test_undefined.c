/* Undefined and StrictUndefined, in Jinja2's words. */
#include "language/jinja/filters/builtins.h"
#include "language/jinja/object.h"

#include "language/jinja/container.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/sequence.h"
#include "test.h"

static const struct jinja_options strict = { .builtins = &filter_builtins, .lenient = false },
                                  lenient = { .builtins = &filter_builtins, .lenient = true };

struct scene {
    struct arena arena;
    struct render render;
    struct value undefined;
};

static void scene_init(struct scene *scene, const struct jinja_options *options)
{
    scene->arena = (struct arena)ARENA_INIT;
    render_init(&scene->render, NULL, options, &scene->arena);
    scene->undefined = undefined_new(&scene->render, STR("x"), NULL);
}

/* The operations that every undefined refuses. */
static int refuse(struct scene *scene, unsigned which)
{
    const struct value *u = &scene->undefined, one = value_int(1), text = value_text("a");
    const struct function_call call = { 0 };
    struct value ret;
    bool answer;

    switch (which) {
    case 0: return op_binary(&scene->render, OP_ADD, u, &one, &ret);
    case 1: return op_binary(&scene->render, OP_ADD, &text, u, &ret);
    case 2: return op_binary(&scene->render, OP_MUL, &text, u, &ret);
    case 3: return op_unary(&scene->render, OP_NEG, u, &ret);
    case 4: return op_compare(&scene->render, OP_LT, u, &one, &answer);
    case 5: return op_attribute(&scene->render, u, STR("y"), &ret);
    case 6: return op_item(&scene->render, u, &one, &ret);
    case 7: return op_slice(&scene->render, u, NULL, NULL, NULL, &ret);
    case 8: return op_call(&scene->render, u, &call, &ret);
    default: return 0;
    }
}

TEST(every_undefined_refuses_arithmetic_order_lookups_and_calls)
{
    for (unsigned which = 0; which < 9; which++) {
        const struct jinja_options *both[] = { &strict, &lenient };

        for (size_t i = 0; i < ARRAY_LEN(both); i++) {
            struct scene scene;

            scene_init(&scene, both[i]);
            CHECK_INT(refuse(&scene, which), -1);
            CHECK(scene.render.error == RENDER_UNDEFINED);
            CHECK_STR(scene.render.error_text, "'x' is undefined");
            arena_done(&scene.arena);
        }
    }
}

/* The operations that only the strict one refuses. */
static int look(struct scene *scene, unsigned which)
{
    const struct value *u = &scene->undefined, one = value_int(1), text = value_text("%s");
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct value_list *items;
    struct value ret, list;
    bool answer;
    size_t size;

    list = value_list(container_new_list(&scene->render, 1));
    value_list_push(&scene->arena, list.list, one);
    switch (which) {
    case 0: return op_print(&scene->render, u, &out);
    case 1: return op_truth(&scene->render, u, &answer);
    case 2: return op_compare(&scene->render, OP_EQ, u, &one, &answer);
    case 3: return op_list(&scene->render, u, &items);
    case 4: return op_length(&scene->render, u, &size);
    case 5: return op_compare(&scene->render, OP_IN, &one, u, &answer);
    case 6: return op_compare(&scene->render, OP_IN, u, &list, &answer);
    case 7: return op_binary(&scene->render, OP_MOD, &text, u, &ret);
    case 8: return op_check_key(&scene->render, u);
    default: return op_output(&scene->render, u, &out);
    }
}

TEST(only_the_strict_one_refuses_to_be_printed_tested_walked_and_compared)
{
    for (unsigned which = 0; which < 10; which++) {
        struct scene scene;

        scene_init(&scene, &strict);
        CHECK_INT(look(&scene, which), -1);
        CHECK_STR(scene.render.error_text, "'x' is undefined");
        arena_done(&scene.arena);
        scene_init(&scene, &lenient);
        CHECK_INT(look(&scene, which), 0);
        arena_done(&scene.arena);
    }
}

TEST(inside_a_list_it_shows_its_name_only)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct scene scene;
    struct value list;

    scene_init(&scene, &strict);
    list = value_list(container_new_list(&scene.render, 1));
    value_list_push(&scene.arena, list.list, scene.undefined);
    CHECK_INT(op_print(&scene.render, &list, &out), 0);
    CHECK_STR(buf_text(&out), "[Undefined]");
    arena_done(&scene.arena);
}

TEST(a_near_key_is_suggested)
{
    struct scene scene;
    struct value map, found;

    scene_init(&scene, &strict);
    map = value_map(container_new_map(&scene.render, 1));
    value_map_set(&scene.arena, map.map, value_text("hostname"), value_int(1));
    CHECK_INT(op_attribute(&scene.render, &map, STR("hostnme"), &found), 0);
    CHECK_INT(undefined_fail(&scene.render, &found), -1);
    CHECK_STR(scene.render.error_text, "'dict object' has no attribute 'hostnme'");
    CHECK_STR(scene.render.error_hint, "did you mean 'hostname'?");
    arena_done(&scene.arena);
}

TEST(a_reason_of_its_own_is_shown)
{
    struct scene scene;
    struct value v;
    bool answer;

    scene_init(&scene, &strict);
    v = undefined_because(&scene.render, true, "there is no else");
    CHECK_INT(op_truth(&scene.render, &v, &answer), 0);
    CHECK(!answer);
    v = undefined_because(&scene.render, false, "there is no else");
    CHECK_INT(op_truth(&scene.render, &v, &answer), -1);
    CHECK_STR(scene.render.error_text, "there is no else");
    arena_done(&scene.arena);
}

TEST(a_generator_gives_its_items_once)
{
    struct scene scene;
    struct value list, generator;
    const struct value_list *items;
    size_t size;

    scene_init(&scene, &strict);
    list = value_list(container_new_list(&scene.render, 2));
    value_list_push(&scene.arena, list.list, value_int(1));
    value_list_push(&scene.arena, list.list, value_int(2));
    generator = generator_new(&scene.render, "generator", list.list);
    CHECK_INT(op_list(&scene.render, &generator, &items), 0);
    CHECK_INT(items->count, 2);
    CHECK_INT(op_list(&scene.render, &generator, &items), 0);
    CHECK_INT(items->count, 0);
    CHECK_INT(op_length(&scene.render, &generator, &size), -1);
    CHECK_STR(scene.render.error_text, "object of type 'generator' has no len()");
    arena_done(&scene.arena);
}
