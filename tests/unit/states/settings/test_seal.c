#include "states/settings/seal.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "test.h"

static const char example[] = "db: !secret {user: admin, password: hunter2}\n"
                              "key: !secret abcd\n"
                              "port: 5432\n"
                              "names: [plain, hunter2]\n";

TEST(secret_marks_are_restored_from_a_list_of_texts)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct value marked, bare;
    struct param_strs texts;

    assert_int_equal(yaml_parse(&arena, "f", str_from(example),
                                &(struct yaml_options){ .tags = yaml_all_tags }, &marked, &diags),
                     0);
    assert_int_equal(seal_mark(&arena, &marked, &diags), 0);
    texts = seal_texts(&arena, &marked);
    assert_int_equal(texts.n, 3);
    assert_string_equal(texts.p[1], "hunter2");
    assert_int_equal(
        yaml_parse(&arena, "f", STR("a: [hunter2, other]\nb: abcd\n"), NULL, &bare, &diags), 0);
    seal_restore(&bare, &texts);
    assert_true(value_get(&bare, "a")->list->items[0].flags & VALUE_SECRET);
    assert_false(value_get(&bare, "a")->list->items[1].flags & VALUE_SECRET);
    assert_true(value_get(&bare, "b")->flags & VALUE_SECRET);
}
