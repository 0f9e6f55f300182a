#include "core/base/library.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test.h"

static struct {
    double (*cosine)(double);
} api;
static const struct library_symbol symbols[] = { { "cos", &api.cosine } };

TEST(a_library_is_loaded_once_for_all_threads)
{
    struct library library = { "libm.so.6", symbols, ARRAY_LEN(symbols), NULL, 0 };

    CHECK(library_get(&library));
    CHECK(api.cosine(0) == 1);
    CHECK(library_get(&library));
}

static bool refuse(void)
{
    return false;
}

TEST(a_library_without_a_function_or_that_refuses_is_not_there)
{
    static const struct library_symbol others[] = { { "no_such_function", &api.cosine } };
    struct library lacking = { "libm.so.6", others, ARRAY_LEN(others), NULL, 0 };
    struct library refusing = { "libm.so.6", symbols, ARRAY_LEN(symbols), refuse, 0 };

    CHECK(!library_get(&lacking));
    CHECK(!library_get(&refusing));
}

TEST(a_library_that_is_installed_later_is_found)
{
    char folder[] = "/tmp/test_library.XXXXXX";
    char path[sizeof(folder) + 10];
    struct library library = { path, symbols, ARRAY_LEN(symbols), NULL, 0 };
    struct link_map *map = NULL;
    void *handle = dlopen("libm.so.6", RTLD_NOW);

    CHECK(handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0);
    CHECK(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof(path), "%s/lib.so", folder);
    CHECK(!library_get(&library));
    CHECK(!library_get(&library));
    CHECK_INT(symlink(map->l_name, path), 0);
    CHECK(library_get(&library));
    CHECK(api.cosine(0) == 1);
    (void)unlink(path);
    (void)rmdir(folder);
}

static struct library shared = { "libm.so.6", symbols, ARRAY_LEN(symbols), NULL, 0 };

static void *use_shared(void *arg)
{
    (void)arg;
    return library_get(&shared) && api.cosine(0) == 1 ? &shared : NULL;
}

TEST(threads_that_come_at_once_all_get_it)
{
    pthread_t threads[8];

    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        CHECK_INT(pthread_create(&threads[i], NULL, use_shared, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        void *result;

        CHECK_INT(pthread_join(threads[i], &result), 0);
        CHECK(result == &shared);
    }
}
