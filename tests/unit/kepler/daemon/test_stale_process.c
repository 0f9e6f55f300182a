#include "kepler/daemon/stale_process.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "kepler/supervise/treemark.h"
#include "core/sys/cgroup.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/process.h"
#include "test.h"
#include "wait.h"

/* Hides its words and its environment, as a process on its way into a program does, and shows them
 * again after a while. Numbers are fields of /proc/PID/stat after the name, and those of prctl. */
#define HIDES                                                                                      \
    "import ctypes, os, struct, sys, time\n"                                                       \
    "libc = ctypes.CDLL(None)\n"                                                                   \
    "libc.sbrk.restype = ctypes.c_void_p\n"                                                        \
    "stat = [0, 0] + open('/proc/self/stat').read().rsplit(')', 1)[1].split()\n"                   \
    "code, data, heap, stack, args, env = [int(stat[i]) for i in (25, 44, 46, 27, 47, 49)]\n"      \
    "code_end, data_end, args_end, env_end = [int(stat[i]) for i in (26, 45, 48, 50)]\n"           \
    "def show(args_end, env_end):\n"                                                               \
    "    fields = (code, code_end, data, data_end, heap, libc.sbrk(0), stack, args, args_end, "    \
    "env, env_end, 0, 0, -1)\n"                                                                    \
    "    map = struct.pack('12QIi', *fields)\n"                                                    \
    "    if libc.prctl(35, 14, map, ctypes.c_ulong(len(map)), 0) != 0:\n"                          \
    "        sys.exit(1)\n"                                                                        \
    "show(args, env)\n"                                                                            \
    "os.write(1, b'x')\n"                                                                          \
    "time.sleep(0.1)\n"                                                                            \
    "show(args_end, env_end)\n"                                                                    \
    "time.sleep(1000)\n"

#define WAIT (60 * CLOCK_SECOND)

/* A child that sleeps, in the list. */
static struct process start(int child_registry)
{
    const char *const argv[] = { "sleep", "1000", NULL };
    const struct process_spec spec = { .argv = argv,
                                       .group = PROCESS_GROUP_SESSION,
                                       .child_registry = child_registry };
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

TEST(listed_processes_are_found_and_ended)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, test_folder(), "births");
    struct process_status status;
    struct process process;
    struct err err;
    size_t killed = 99;
    uint64_t mark;
    AUTO_FD int fd = -1;

    CHECK(stale_process_kill(path, &killed, &err) == 0);
    CHECK_INT(killed, 0);
    CHECK(stale_process_open(path, &fd, &mark, &err) == 0);
    process = start(fd);
    CHECK(stale_process_kill(path, &killed, &err) == 0);
    CHECK_INT(killed, 1);
    CHECK(process_wait(&process, clock_after(clock_real(), WAIT), &status, &err) == 0);
    CHECK_INT(status.signo, 9);
    process_done(&process);
}

TEST(a_rewritten_list_keeps_only_live_processes)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, test_folder(), "births");
    struct process_status status;
    struct process dead, alive;
    struct err err;
    size_t killed, empty;
    uint64_t mark;
    AUTO_FD int fd = -1, again = -1;

    CHECK(stale_process_open(path, &fd, &mark, &err) == 0);
    empty = file_size(path);
    dead = start(fd);
    alive = start(fd);
    CHECK_INT(file_size(path), empty + 2 * sizeof(struct process_birth));
    CHECK(process_signal(&dead, 9, &err) == 0);
    CHECK(process_wait(&dead, clock_after(clock_real(), WAIT), &status, &err) == 0);
    CHECK(stale_process_open(path, &again, &mark, &err) == 0);
    CHECK_INT(file_size(path), empty + sizeof(struct process_birth));
    CHECK(stale_process_kill(path, &killed, &err) == 0);
    CHECK_INT(killed, 1);
    CHECK(process_wait(&alive, clock_after(clock_real(), WAIT), &status, &err) == 0);
    process_done(&dead);
    process_done(&alive);
}

TEST(a_process_with_another_birth_time_is_not_ours)
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

    CHECK(stale_process_open(path, &fd, &mark, &err) == 0);
    process = start(0);
    birth = (struct process_birth){ process.pid, 5 * CLOCK_SECOND };
    CHECK(fd_write(fd, &birth, sizeof(birth), &err) == 0);
    CHECK(stale_process_kill(path, &killed, &err) == 0);
    CHECK_INT(killed, 0);
    CHECK(process_signal(&process, 9, &err) == 0);
    CHECK(process_wait(&process, clock_after(clock_real(), WAIT), &status, &err) == 0);
    process_done(&process);
}

TEST(a_torn_list_or_one_from_another_boot_is_ignored)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, test_folder(), "births");
    struct err err;
    size_t killed;

    CHECK(fs_write(path, STR("torn"), 0600, &err) == 0);
    CHECK(stale_process_kill(path, &killed, &err) == 0);
    CHECK_INT(killed, 0);
}

TEST(a_process_that_left_its_session_is_found_by_its_mark)
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
    uint64_t mark, again, tree;
    AUTO_FD int fd = -1, second = -1;

    CHECK(stale_process_open(path, &fd, &mark, &err) == 0);
    CHECK(stale_process_open(path, &second, &again, &err) == 0);
    CHECK(mark == again); /* also in a list that is written anew */
    spec.env = treemark_add(&arena, env, (struct treemark){ mark, 1 });
    CHECK(process_start(&spec, &process, &err) == 0);
    /* Between exec and its first instruction a process shows no environment. */
    WAIT_FOR(treemark_find(process.pid, mark, &tree));
    CHECK(stale_process_kill(path, &killed, &err) == 0);
    CHECK_INT(killed, 1);
    CHECK(process_wait(&process, clock_after(clock_real(), WAIT), &status, &err) == 0);
    CHECK_INT(status.signo, 9);
    process_done(&process);
}

TEST(a_process_without_visible_environment_is_checked_again)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, test_folder(), "births");
    const char *const argv[] = { "/usr/bin/python3", "-c", HIDES, NULL };
    const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
    struct process_spec spec = { .argv = argv,
                                 .group = PROCESS_GROUP_SESSION,
                                 .out = { .kind = PROCESS_PIPE } };
    struct process_status status;
    struct process process;
    struct err err;
    size_t killed;
    uint64_t mark;
    AUTO_FD int fd = -1;
    char byte;

    CHECK(stale_process_open(path, &fd, &mark, &err) == 0);
    spec.env = treemark_add(&arena, env, (struct treemark){ mark, 1 });
    CHECK(process_start(&spec, &process, &err) == 0);
    if (read(process.out, &byte, 1) == 1) {
        CHECK(stale_process_kill(path, &killed, &err) == 0);
        CHECK_INT(killed, 1);
    } else {
        print_message("skipped: hiding needs a right that we do not have\n");
    }
    CHECK(process_wait(&process, clock_after(clock_real(), WAIT), &status, &err) == 0);
    process_done(&process);
}

/* --- groups --------------------------------------------------------------------------- */

static atomic_bool sweeps_end;

static void *sweep_often(void *parent)
{
    while (!atomic_load(&sweeps_end))
        (void)stale_process_sweep_groups(parent);
    return NULL;
}

/* Several daemons that start sweep at the same time. */
TEST(a_sweep_keeps_locked_groups)
{
    enum { SWEEPERS = 3, ROUNDS = 300 };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    pthread_t sweepers[SWEEPERS];
    struct cgroup parent;
    const char *home, *name;
    struct err err;

    CHECK_INT(cgroup_home(&arena, &home, &err), 0);
    if (!home) {
        print_message("skipped: no writable cgroup v2\n");
        return;
    }
    CHECK_INT(cgroup_create(&parent, home, arena_printf(&arena, "zester-test-%d", getpid()), &err),
              0);
    name = STALE_PROCESS_GROUP_PREFIX "0123456789abcdef";
    atomic_store(&sweeps_end, false);
    for (int i = 0; i < SWEEPERS; i++)
        CHECK_INT(pthread_create(&sweepers[i], NULL, sweep_often, parent.path), 0);
    for (int i = 0; i < ROUNDS; i++) {
        struct cgroup group;
        struct stat ours, there;

        if (stale_process_own_group(&group, parent.path, name, &err) < 0)
            continue; /* the error reports repeated removal */
        for (int looks = 0; looks < 5; looks++) {
            (void)sched_yield();
            CHECK_INT(fstat(group.fd, &ours), 0);
            CHECK_INT(stat(group.path, &there), 0);
            CHECK(ours.st_ino == there.st_ino);
        }
        cgroup_done(&group);
    }
    atomic_store(&sweeps_end, true);
    for (int i = 0; i < SWEEPERS; i++)
        CHECK_INT(pthread_join(sweepers[i], NULL), 0);
    (void)stale_process_sweep_groups(parent.path);
    CHECK_INT(cgroup_remove(&parent, &err), 0);
    cgroup_done(&parent);
}
