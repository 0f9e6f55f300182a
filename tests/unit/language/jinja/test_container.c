/* Templates change their own containers in place, those of the context in a copy. */
#include "language/jinja/filters/builtins.h"
#include "language/jinja/container.h"

#include "language/jinja/method.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "test.h"

struct scene {
    struct arena arena;
    struct render render;
};

static const struct jinja_options lenient = { .builtins = &filter_builtins, .lenient = true };

static void scene_init(struct scene *scene)
{
    scene->arena = (struct arena)ARENA_INIT;
    render_init(&scene->render, NULL, &lenient, &scene->arena);
}

/* A list of the context: nobody may change it. */
static struct value shared_list(struct scene *scene, int64_t first)
{
    struct value_list *list = value_list_new(&scene->arena, 1);

    value_list_push(&scene->arena, list, value_int(first));
    return value_list(list);
}

static const char *shown(struct scene *scene, const struct value *v)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    CHECK(op_repr(&scene->render, v, &out) == 0);
    return arena_strdup(&scene->arena, buf_text(&out));
}

static void call(struct scene *scene, const struct value *self, const char *name,
                 const struct value *arg)
{
    const struct function_call with = { .args = arg, .count = arg ? 1 : 0 };
    struct value ret;

    CHECK(method_call(&scene->render, builtins_method(&filter_builtins, self, str_from(name)), self,
                      &with, &ret) == 0);
}

TEST(a_shared_list_stays_unchanged_while_every_name_sees_the_change)
{
    struct scene scene;
    struct value item = value_int(2), list, holder, other;
    struct value_map *map;

    scene_init(&scene);
    list = shared_list(&scene, 1);
    map = value_map_new(&scene.arena, 1);
    value_map_set(&scene.arena, map, value_text("l"), list);
    holder = value_map(map);
    other = list;
    call(&scene, &list, "append", &item);
    CHECK_INT(list.list->count, 1);
    CHECK_STR(shown(&scene, &list), "[1, 2]");
    CHECK_STR(shown(&scene, &other), "[1, 2]");
    CHECK_STR(shown(&scene, &holder), "{'l': [1, 2]}");
    arena_done(&scene.arena);
}

TEST(changed_copies_compare_by_their_current_content)
{
    struct scene scene;
    struct value one, two, item = value_int(2);
    bool same;

    scene_init(&scene);
    one = shared_list(&scene, 1);
    two = shared_list(&scene, 1);
    CHECK(op_compare(&scene.render, OP_EQ, &one, &two, &same) == 0 && same);
    call(&scene, &one, "append", &item);
    CHECK(op_compare(&scene.render, OP_EQ, &one, &two, &same) == 0 && !same);
    call(&scene, &two, "append", &item);
    CHECK(op_compare(&scene.render, OP_EQ, &one, &two, &same) == 0 && same);
    arena_done(&scene.arena);
}

TEST(nothing_is_kept_while_nothing_was_changed)
{
    struct scene scene;
    struct value list;

    scene_init(&scene);
    list = shared_list(&scene, 1);
    CHECK(container_list(&scene.render, &list) == list.list);
    CHECK(scene.render.overlay == NULL);
    arena_done(&scene.arena);
}

TEST(lists_of_the_template_change_in_place)
{
    struct scene scene;
    struct value list, item = value_int(1);

    scene_init(&scene);
    list = value_list(container_new_list(&scene.render, 0));
    call(&scene, &list, "append", &item);
    CHECK_INT(list.list->count, 1);
    CHECK(scene.render.overlay == NULL);
    arena_done(&scene.arena);
}

TEST(hundreds_of_changed_containers_are_found_again)
{
    struct scene scene;
    struct value lists[300], item = value_int(7);

    scene_init(&scene);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        lists[i] = shared_list(&scene, (int64_t)i);
        call(&scene, &lists[i], "append", &item);
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const struct value_list *now = container_list(&scene.render, &lists[i]);

        CHECK_INT(now->count, 2);
        CHECK_INT(now->items[0].i, i);
    }
    arena_done(&scene.arena);
}

TEST(a_list_that_extends_itself_doubles_once)
{
    struct scene scene;
    struct value list;

    scene_init(&scene);
    list = shared_list(&scene, 1);
    call(&scene, &list, "extend", &list);
    CHECK_STR(shown(&scene, &list), "[1, 1]");
    call(&scene, &list, "extend", &list);
    CHECK_STR(shown(&scene, &list), "[1, 1, 1, 1]");
    arena_done(&scene.arena);
}

TEST(containers_that_hold_themselves_print_with_dots)
{
    struct scene scene;
    struct value list, map, views;

    scene_init(&scene);
    list = value_list(container_new_list(&scene.render, 0));
    call(&scene, &list, "append", &list);
    CHECK_STR(shown(&scene, &list), "[[...]]");
    map = value_map(container_new_map(&scene.render, 0));
    value_map_set(&scene.arena, map.map, value_text("m"), map);
    CHECK_STR(shown(&scene, &map), "{'m': {...}}");
    views = value_map(container_new_map(&scene.render, 0));
    value_map_set(&scene.arena, views.map, value_text("l"), list);
    CHECK_STR(shown(&scene, &views), "{'l': [[...]]}");
    arena_done(&scene.arena);
}

TEST(sorting_backwards_keeps_equal_items_in_their_order)
{
    struct value_pair reverse = { value_text("reverse"), value_bool(true) };
    const struct function_call with = { .named = &reverse, .named_count = 1 };
    struct value list, ret;
    struct scene scene;

    scene_init(&scene);
    list = value_list(container_new_list(&scene.render, 0));
    for (int64_t i = 0; i < 5; i++) {
        value_list_push(&scene.arena, list.list, value_int(i));
        value_list_push(&scene.arena, list.list, value_double((double)i));
    }
    CHECK(method_call(&scene.render, builtins_method(&filter_builtins, &list, STR("sort")), &list,
                      &with, &ret) == 0);
    CHECK_STR(shown(&scene, &list), "[4, 4.0, 3, 3.0, 2, 2.0, 1, 1.0, 0, 0.0]");
    arena_done(&scene.arena);
}
