#include "states/state/variables.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "test.h"

static const char *value_in(const char *const *env, const char *name)
{
    const size_t n = strlen(name);

    for (; env && *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return "(none)";
}

TEST(variables_override_the_process_environment)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct variables *variables = variables_new();
    const char *const *env;

    CHECK_INT(setenv("ZESTER_ONE", "old", 1), 0);
    CHECK_INT(setenv("ZESTER_ONE_MORE", "kept", 1), 0);
    CHECK_INT(setenv("ZESTER_TWO", "goes", 1), 0);
    CHECK(variables_make(variables, &arena) == NULL);
    variables_set(variables, "ZESTER_ONE", "new");
    variables_set(variables, "ZESTER_TWO", NULL);
    variables_set(variables, "ZESTER_THREE", "first");
    variables_set(variables, "ZESTER_THREE", "a=b");
    env = variables_make(variables, &arena);
    CHECK_STR(value_in(env, "ZESTER_ONE"), "new");
    CHECK_STR(value_in(env, "ZESTER_ONE_MORE"), "kept");
    CHECK_STR(value_in(env, "ZESTER_TWO"), "(none)");
    CHECK_STR(value_in(env, "ZESTER_THREE"), "a=b");
    CHECK_STR(getenv("ZESTER_ONE"), "old");
    CHECK_STR(variables_find(variables, &arena, "ZESTER_ONE"), "new");
    CHECK_STR(variables_find(variables, &arena, "ZESTER_ONE_MORE"), "kept");
    CHECK(variables_find(variables, &arena, "ZESTER_TWO") == NULL);
    variables_free(variables);
}

TEST(variables_are_optional)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    variables_set(NULL, "ZESTER_ONE", "x");
    CHECK(variables_make(NULL, &arena) == NULL);
    variables_free(NULL);
}
