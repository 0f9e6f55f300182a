#include "daemon/leftover.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "supervise/treemark.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/fs.h"
#include "sys/path.h"
#include "sys/process.h"
#include "test.h"

#define WAIT (20 * CLOCK_SECOND)

/* A child that sleeps, in the list. */
static struct process start(int births)
{
    const char *const argv[] = { "sleep", "1000", NULL };
    const struct process_spec spec = { .argv = argv,
                                       .group = PROCESS_GROUP_SESSION,
                                       .births = births };
    struct process process;
    struct err err;

    CHECK(process_start(&spec, &process, &err) == 0);
    return process;
}

static size_t file_size(const char *path)
{
    struct fs_info info;
    struct err err;

    CHECK(fs_stat(path, &info, &err) == 0);
    return (size_t)info.size;
}

TEST(what_is_in_the_list_is_found_and_ended)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, test_folder(), "births");
    struct process_status status;
    struct process process;
    struct err err;
    size_t killed = 99;
    uint64_t mark;
    AUTO_FD int fd = -1;

    CHECK(leftover_kill(path, &killed, &err) == 0);
    CHECK_INT(killed, 0);
    CHECK(leftover_open(path, &fd, &mark, &err) == 0);
    process = start(fd);
    CHECK(leftover_kill(path, &killed, &err) == 0);
    CHECK_INT(killed, 1);
    CHECK(process_wait(&process, clock_after(clock_real(), WAIT), &status, &err) == 0);
    CHECK_INT(status.signo, 9);
    process_done(&process);
}

TEST(a_list_written_anew_keeps_who_lives_and_forgets_the_others)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, test_folder(), "births");
    struct process_status status;
    struct process dead, alive;
    struct err err;
    size_t killed, empty;
    uint64_t mark;
    AUTO_FD int fd = -1, again = -1;

    CHECK(leftover_open(path, &fd, &mark, &err) == 0);
    empty = file_size(path);
    dead = start(fd);
    alive = start(fd);
    CHECK_INT(file_size(path), empty + 2 * sizeof(struct process_birth));
    CHECK(process_signal(&dead, 9, &err) == 0);
    CHECK(process_wait(&dead, clock_after(clock_real(), WAIT), &status, &err) == 0);
    CHECK(leftover_open(path, &again, &mark, &err) == 0);
    CHECK_INT(file_size(path), empty + sizeof(struct process_birth));
    CHECK(leftover_kill(path, &killed, &err) == 0);
    CHECK_INT(killed, 1);
    CHECK(process_wait(&alive, clock_after(clock_real(), WAIT), &status, &err) == 0);
    process_done(&dead);
    process_done(&alive);
}

TEST(a_process_that_was_born_at_another_time_is_a_stranger)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, test_folder(), "births");
    struct process_birth birth;
    struct process process;
    struct process_status status;
    struct err err;
    size_t killed;
    uint64_t mark;
    AUTO_FD int fd = -1;

    CHECK(leftover_open(path, &fd, &mark, &err) == 0);
    process = start(0);
    birth = (struct process_birth){ process.pid, 5 * CLOCK_SECOND };
    CHECK(fd_write(fd, &birth, sizeof(birth), &err) == 0);
    CHECK(leftover_kill(path, &killed, &err) == 0);
    CHECK_INT(killed, 0);
    CHECK(process_signal(&process, 9, &err) == 0);
    CHECK(process_wait(&process, clock_after(clock_real(), WAIT), &status, &err) == 0);
    process_done(&process);
}

TEST(a_list_of_another_life_of_the_machine_or_a_torn_one_is_no_list)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, test_folder(), "births");
    struct err err;
    size_t killed;

    CHECK(fs_write(path, STR("torn"), 0600, &err) == 0);
    CHECK(leftover_kill(path, &killed, &err) == 0);
    CHECK_INT(killed, 0);
}

TEST(who_left_its_session_is_found_by_its_mark)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, test_folder(), "births");
    const char *const argv[] = { "sleep", "1000", NULL };
    const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
    struct process_spec spec = { .argv = argv, .group = PROCESS_GROUP_SESSION };
    struct process_status status;
    struct process process;
    struct err err;
    size_t killed;
    uint64_t mark, again;
    AUTO_FD int fd = -1, second = -1;

    CHECK(leftover_open(path, &fd, &mark, &err) == 0);
    CHECK(leftover_open(path, &second, &again, &err) == 0);
    CHECK(mark == again); /* also in a list that is written anew */
    spec.env = treemark_add(&arena, env, (struct treemark){ mark, 1 });
    CHECK(process_start(&spec, &process, &err) == 0);
    CHECK(leftover_kill(path, &killed, &err) == 0);
    CHECK_INT(killed, 1);
    CHECK(process_wait(&process, clock_after(clock_real(), WAIT), &status, &err) == 0);
    CHECK_INT(status.signo, 9);
    process_done(&process);
}
