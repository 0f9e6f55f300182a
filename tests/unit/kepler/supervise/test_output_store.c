#include "kepler/supervise/output_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/sys/fs.h"
#include "test.h"

static struct value one(struct arena *arena, const char *key, const char *text)
{
    struct value_map *map = value_map_new(arena, 1);

    value_map_set(arena, map, value_text(key), value_text(text));
    return value_map(map);
}

TEST(outputs_survive_a_round_trip)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    struct value values = one(&arena, "key", "a \"quoted\" text\n"), outputs, hooks;
    struct err err;

    CHECK(output_store_load(&arena, folder, "web", &outputs, &hooks, &err) == 0);
    CHECK_INT(outputs.map->count, 0);
    CHECK_INT(hooks.map->count, 0);
    CHECK(output_store_put(folder, "web", &values, &err) == 0);
    CHECK(output_store_put_process(folder, "web", &values, &err) == 0);
    CHECK(output_store_put_step(folder, "web", HOOK_PRE_START, "one", &values, &err) == 0);
    CHECK(output_store_put_step(folder, "web", HOOK_PRE_START, "two", &values, &err) == 0);
    CHECK(output_store_load(&arena, folder, "web", &outputs, &hooks, &err) == 0);
    CHECK_STR(value_get(&outputs, "key")->s.p, "a \"quoted\" text\n");
    CHECK_STR(value_path(&hooks, STR("pre_start.outputs.two.key"), '.')->s.p,
              "a \"quoted\" text\n");
    CHECK(output_store_clear(folder, "web", &err) == 0);
    CHECK(output_store_load(&arena, folder, "web", &outputs, &hooks, &err) == 0);
    CHECK_INT(outputs.map->count, 0);
}

TEST(a_file_that_is_not_json_is_named)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = arena_printf(&arena, "%s/web", test_folder());
    struct value outputs, hooks;
    struct err err;

    CHECK(mkdir(path, 0700) == 0);
    CHECK(fs_write(arena_printf(&arena, "%s/outputs.json", path), STR("{"), 0600, &err) == 0);
    CHECK(output_store_load(&arena, test_folder(), "web", &outputs, &hooks, &err) == -1);
    CHECK_HAS(err.text, "web/outputs.json");
}

TEST(a_step_cannot_write_elsewhere)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value values = one(&arena, "a", "b");
    struct err err;

    CHECK(output_store_put_step(test_folder(), "web", HOOK_PRE_START, "../../x", &values, &err) ==
          -1);
    CHECK_HAS(err.text, "'../../x': its name is not a valid file name");
}
