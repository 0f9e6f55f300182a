#include "kepler/supervise/treemark.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/clock.h"
#include "core/sys/process.h"
#include "test.h"
#include "wait.h"

#define WAIT (60 * CLOCK_SECOND)

static const char *const plain[] = { "PATH=/usr/bin:/bin", "KEPLER_TREE=old", "A=b", NULL };

TEST(a_new_mark_replaces_the_old_one)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *const *env;

    CHECK(unsetenv("KEPLER_TREE") == 0);
    env = treemark_add(&arena, plain, (struct treemark){ 0xabc, 42 });
    CHECK_STR(env[0], "PATH=/usr/bin:/bin");
    CHECK_STR(env[1], "A=b");
    CHECK_STR(env[2], "KEPLER_TREE=0000000000000abc.42");
    CHECK(env[3] == NULL);
}

TEST(the_mark_of_an_outer_daemon_is_kept)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    CHECK(setenv("KEPLER_TREE", "0000000000000def.7", 1) == 0);
    CHECK_STR(treemark_add(&arena, plain, (struct treemark){ 0xabc, 42 })[2],
              "KEPLER_TREE=0000000000000def.7:0000000000000abc.42");
}

TEST(a_process_is_recognized_by_each_of_its_marks_only)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *const argv[] = { "sleep", "1000", NULL };
    struct process_spec spec = { .argv = argv };
    struct process process;
    struct process_status status;
    struct err err;
    uint64_t tree = 0;

    CHECK(setenv("KEPLER_TREE", "0000000000000def.7", 1) == 0);
    spec.env = treemark_add(&arena, plain, (struct treemark){ 0xabc, 42 });
    CHECK(process_start(&spec, &process, &err) == 0);
    /* Between exec and its first instruction a process shows no environment. */
    WAIT_FOR(treemark_find(process.pid, 0xabc, &tree));
    CHECK_INT(tree, 42);
    CHECK(treemark_find(process.pid, 0xdef, &tree));
    CHECK_INT(tree, 7);
    CHECK(!treemark_find(process.pid, 0xab, &tree));
    CHECK(!treemark_find(getpid(), 0xabc, &tree));
    CHECK(process_signal(&process, 9, &err) == 0);
    CHECK(process_wait(&process, clock_after(clock_real(), WAIT), &status, &err) == 0);
    CHECK(!treemark_find(process.pid, 0xabc, &tree));
    process_done(&process);
}
