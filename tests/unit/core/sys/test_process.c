#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/cgroup.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/process.h"

#define NOBODY 65534
#define WAIT   (60 * CLOCK_SECOND) /* only failures take that long */

static struct arena arena = ARENA_INIT;

static struct process_result run(const struct process_spec *spec)
{
    struct process_result result = { 0 };
    struct err err = { .text = "" };
    int rc = process_run(spec, NULL, NULL, &arena, &result, &err);

    CHECK_STR(err.text, "");
    CHECK_INT(rc, 0);
    return result;
}

static struct process_result shell(const char *command)
{
    return run(&(struct process_spec){ .command = command });
}

static const char *failure(const struct process_spec *spec)
{
    static struct err err;
    struct process process;

    CHECK_INT(process_start(spec, &process, &err), -1);
    return err.text;
}

static size_t count_fds(void)
{
    struct fs_names names;
    struct err err;

    CHECK_INT(fs_list(&arena, "/proc/self/fd", &names, &err), 0);
    return names.list.n;
}

TEST(both_streams_and_the_status_are_captured)
{
    struct process_result result = shell("echo out; echo err >&2; exit 3");

    CHECK_STR(result.out.p, "out\n");
    CHECK_STR(result.err.p, "err\n");
    CHECK_INT(result.status.code, 3);
    CHECK_INT(result.status.signo, 0);
    CHECK(result.duration > 0);
}

TEST(a_signal_that_killed_is_reported_by_name)
{
    AUTO_BUF struct buf text = BUF_INIT(100);
    struct process_result result = shell("kill -TERM $$");

    CHECK_INT(result.status.signo, SIGTERM);
    process_status_print(result.status, &text);
    CHECK_STR(buf_text(&text), "killed by SIGTERM");
}

TEST(a_program_is_found_in_the_path_of_the_child)
{
    const char *folder = test_folder();
    const char *path = path_join(&arena, folder, "hello-there");
    const char *const argv[] = { "hello-there", "you", NULL };
    const char *const env[] = { arena_printf(&arena, "PATH=/nowhere:%s", folder), NULL };
    struct err err;

    CHECK_INT(fs_write(path, STR("#!/bin/sh\necho hello $1\n"), 0755, &err), 0);
    CHECK_STR(run(&(struct process_spec){ .argv = argv, .env = env }).out.p, "hello you\n");
}

TEST(a_file_that_is_not_a_binary_is_a_script_for_the_shell)
{
    const char *path = path_join(&arena, test_folder(), "hello-there");
    const char *const argv[] = { path, "a b", "c", NULL };
    struct err err;

    CHECK_INT(fs_write(path, STR("echo \"hello $1 $2\"\n"), 0755, &err), 0);
    CHECK_STR(run(&(struct process_spec){ .argv = argv }).out.p, "hello a b c\n");
}

TEST(a_failure_before_the_program_runs_names_the_step)
{
    const char *const none[] = { "no-such-program", "x", NULL };
    const char *const folder[] = { "/tmp", NULL };
    const char *const fine[] = { "/bin/true", NULL };
    const char *const empty[] = { NULL };
    const char *const env[] = { "PATH=/usr/bin:/bin", NULL };

    CHECK_STR(failure(&(struct process_spec){ .argv = none, .env = env }),
              "start 'no-such-program': No such file or directory");
    CHECK_STR(failure(&(struct process_spec){ .argv = folder }), "start '/tmp': Permission denied");
    CHECK_STR(failure(&(struct process_spec){ .argv = fine, .cwd = "/no/where" }),
              "start '/bin/true': change to folder '/no/where': No such file or directory");
    CHECK_STR(failure(&(struct process_spec){ .argv = empty }),
              "start a process: no program given");
    CHECK_STR(failure(&(struct process_spec){
                  .argv = fine, .fds = &(struct process_fd){ .fd = 999, .as = 5 }, .fd_count = 1 }),
              "start '/bin/true': set up its files: Bad file descriptor");
}

TEST(a_failed_start_leaves_no_child_and_no_open_file)
{
    const char *const none[] = { "no-such-program", NULL };
    const struct process_spec spec = { .argv = none,
                                       .in = { .kind = PROCESS_PIPE },
                                       .out = { .kind = PROCESS_PIPE },
                                       .err = { .kind = PROCESS_PIPE } };
    size_t before = count_fds();

    for (int i = 0; i < 100; i++)
        (void)failure(&spec);
    CHECK_INT(count_fds(), before);
    CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
    CHECK_INT(errno, ECHILD);
}

TEST(the_environment_is_exactly_the_given_one)
{
    const char *const env[] = { "A=1", "B=two words", "EMPTY=", NULL };
    const char *const argv[] = { "/usr/bin/env", NULL };

    CHECK_STR(run(&(struct process_spec){ .argv = argv, .env = env }).out.p,
              "A=1\nB=two words\nEMPTY=\n");
}

TEST(the_folder_umask_and_limits_are_set)
{
    const struct process_limit limits[] = { { RLIMIT_NOFILE, 77, 88 }, { RLIMIT_CORE, 0, 0 } };
    const struct process_spec spec = { .command = "pwd; umask; ulimit -Sn; ulimit -Hn; ulimit -c",
                                       .cwd = "/usr/bin",
                                       .has_umask = true,
                                       .umask = 027,
                                       .limits = limits,
                                       .limit_count = 2 };

    CHECK_STR(run(&spec).out.p, "/usr/bin\n0027\n77\n88\n0\n");
}

TEST(a_raised_limit_on_files_is_not_passed_on)
{
    struct process_result before = shell("ulimit -Sn");

    CHECK_INT(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 512, 1024 }), 0);
    fd_limit_raise();
    CHECK_STR(shell("ulimit -Sn").out.p, "512\n");
    CHECK(before.out.n > 0);
}

TEST(the_child_sees_only_its_own_files)
{
    int mine = open("/dev/null", O_RDONLY); /* not close-on-exec, on purpose */
    const char *const argv[] = { "/bin/ls", "/proc/self/fd", NULL };

    CHECK(mine >= 0);
    CHECK_STR(run(&(struct process_spec){ .argv = argv }).out.p,
              "0\n1\n2\n3\n"); /* 3 is ls's own */
    (void)close(mine);
}

/* A pipe on high numbers, so that low ones are free for the test. */
static void high_pipe(int ends[2])
{
    int low[2];

    CHECK_INT(pipe2(low, O_CLOEXEC), 0);
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 20);
        CHECK(ends[i] >= 20);
        (void)close(low[i]);
    }
}

TEST(files_may_change_places)
{
    const struct process_fd swapped[] = { { 4, 3 }, { 3, 4 } };
    const struct process_spec spec = { .command = "printf a >&3; printf b >&4",
                                       .fds = swapped,
                                       .fd_count = 2 };
    int first[2], second[2];
    char text[3] = "";

    high_pipe(first);
    high_pipe(second);
    CHECK_INT(dup2(first[1], 4), 4); /* our 4 is to be the child's 3 */
    CHECK_INT(dup2(second[1], 3), 3);
    CHECK(process_status_ok(run(&spec).status));
    CHECK_INT(read(first[0], text, 1), 1);
    CHECK_INT(read(second[0], text + 1, 1), 1);
    CHECK_STR(text, "ab");
}

TEST(the_user_is_changed_completely)
{
    const gid_t groups[] = { 100, 200 };
    const struct process_user user = { NOBODY, NOBODY, groups, 2 };
    const struct process_spec spec = { .command = "id -u; id -g; id -G; cat /proc/self/status",
                                       .user = &user };
    struct process_result result;

    if (geteuid() != 0) {
        print_message("skipped: changing the user needs root\n");
        CHECK_HAS(failure(&spec), "set its groups: Operation not permitted");
        return;
    }
    result = run(&spec);
    CHECK_HAS(result.out.p, "65534\n65534\n65534 100 200\n");
    CHECK_HAS(result.out.p, "Uid:\t65534\t65534\t65534\t65534\n");
}

TEST(the_folder_is_entered_as_the_new_user)
{
    const struct process_user user = { .uid = NOBODY, .gid = NOBODY };
    const char *folder = path_join(&arena, test_folder(), "closed");
    const struct process_spec spec = { .command = "true", .cwd = folder, .user = &user };
    struct err err;

    if (geteuid() != 0) {
        print_message("skipped: changing the user needs root\n");
        return;
    }
    CHECK_INT(fs_mkdirs(folder, 0700, &err), 0);
    CHECK_HAS(failure(&spec), "closed': Permission denied");
}

TEST(signals_are_as_new_in_the_child)
{
    sigset_t set;

    (void)sigfillset(&set);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGUSR1, SIG_IGN);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    CHECK_HAS(shell("grep -E '^Sig(Blk|Ign)' /proc/self/status").out.p,
              "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(new_privileges_can_be_given_up)
{
    const struct process_spec spec = { .command = "grep NoNewPrivs /proc/self/status",
                                       .no_new_privs = true };

    CHECK_STR(run(&spec).out.p, "NoNewPrivs:\t1\n");
}

TEST(a_session_group_and_a_signal_to_it)
{
    const struct process_spec spec = { .command = "sleep 100 & sleep 100; true",
                                       .group = PROCESS_GROUP_NEW,
                                       .out = { .kind = PROCESS_PIPE } };
    struct process_status status;
    struct process process;
    struct err err;
    char byte;

    CHECK_INT(process_start(&spec, &process, &err), 0);
    CHECK_INT(getpgid(process.pid), process.pid);
    CHECK_INT(kill(-process.pid, SIGKILL), 0);
    CHECK_INT(process_wait(&process, clock_real() + WAIT, &status, &err), 0);
    CHECK_INT(status.signo, SIGKILL);
    CHECK_INT(read(process.out, &byte, 1), 0); /* nobody holds the pipe: all are dead */
    process_done(&process);
}

static void start_and_end(int out)
{
    const char *const argv[] = { "/bin/sleep", "100", NULL };
    const struct process_spec spec = { .argv = argv,
                                       .out = { .kind = PROCESS_FD, .fd = out },
                                       .parent_death = SIGTERM };
    struct process process;
    struct err err;

    _exit(process_start(&spec, &process, &err) < 0);
}

TEST(a_child_may_end_with_its_parent)
{
    int ends[2], status;
    pid_t parent;
    char byte;

    CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
    parent = fork();
    if (parent == 0)
        start_and_end(ends[1]);
    CHECK_INT(close(ends[1]), 0);
    CHECK_INT(waitpid(parent, &status, 0), parent);
    CHECK_INT(status, 0);
    CHECK_INT(read(ends[0], &byte, 1), 0); /* nobody holds the pipe: the child is dead, too */
    CHECK_INT(close(ends[0]), 0);
}

TEST(waiting_ends_at_its_deadline)
{
    const char *const argv[] = { "/bin/sleep", "100", NULL };
    struct process_status status;
    struct process process;
    struct err err;

    CHECK_INT(process_start(&(struct process_spec){ .argv = argv }, &process, &err), 0);
    CHECK_INT(process_wait(&process, clock_real() + 20 * CLOCK_MS, &status, &err), -1);
    CHECK_INT(err.code, ERR_TIMEOUT);
    CHECK_INT(process_signal(&process, SIGKILL, &err), 0);
    CHECK_INT(process_wait(&process, CLOCK_NEVER, &status, &err), 0);
    process_done(&process);
}

static bool open_group(struct cgroup *cgroup, const char *name)
{
    const char *home;
    struct err err;

    CHECK_INT(cgroup_home(&arena, &home, &err), 0);
    if (!home) {
        print_message("skipped: no writable cgroup v2\n");
        return false;
    }
    CHECK_INT(cgroup_create(cgroup, home, name, &err), 0);
    return true;
}

static void close_group(struct cgroup *cgroup)
{
    struct err err;

    CHECK_INT(cgroup_wait(cgroup, clock_real() + WAIT, &err), 0);
    CHECK_INT(cgroup_remove(cgroup, &err), 0);
    cgroup_done(cgroup);
}

TEST(a_child_is_born_in_its_cgroup_and_errors_come_back_from_there)
{
    const char *const none[] = { "no-such-program", NULL };
    const char *name = arena_printf(&arena, "zester-test-process-%d", getpid());
    struct cgroup cgroup;

    if (!open_group(&cgroup, name))
        return;
    CHECK_HAS(
        run(&(struct process_spec){ .command = "cat /proc/self/cgroup", .cgroup = &cgroup }).out.p,
        arena_printf(&arena, "%s\n", name));
    CHECK_STR(failure(&(struct process_spec){ .argv = none, .cgroup = &cgroup }),
              "start 'no-such-program': No such file or directory");
    close_group(&cgroup);
}

/* Pages that a child was given a copy of are copied when we write to them again. */
static long faults_of_writing(char *pages, size_t size)
{
    struct rusage before, after;

    CHECK_INT(getrusage(RUSAGE_SELF, &before), 0);
    memset(pages, 1, size);
    CHECK_INT(getrusage(RUSAGE_SELF, &after), 0);
    return after.ru_minflt - before.ru_minflt;
}

TEST(no_child_costs_a_copy_of_our_memory)
{
    const size_t pages = 2048, size = pages * 4096;
    char *memory = arena_alloc(&arena, size);
    struct utsname machine;
    struct cgroup cgroup;

    memset(memory, 1, size);
    (void)run(&(struct process_spec){ .command = "true" });
    CHECK(faults_of_writing(memory, size) < (long)pages / 2);
    CHECK_INT(uname(&machine), 0);
    if (strcmp(machine.machine, "x86_64") != 0) {
        print_message("skipped: copied on this processor\n");
        return;
    }
    if (!open_group(&cgroup, arena_printf(&arena, "zester-test-memory-%d", getpid())))
        return;
    (void)run(&(struct process_spec){ .command = "true", .cgroup = &cgroup });
    CHECK(faults_of_writing(memory, size) < (long)pages / 2);
    close_group(&cgroup);
}

TEST(a_program_that_is_nowhere_is_not_found_although_a_folder_may_not_be_searched)
{
    static const gid_t nobody[] = { 65534 };
    static const struct process_user user = { 65534, 65534, nobody, 1 };
    char closed[] = "/tmp/zester-closed-XXXXXX";
    char path[128], file[128];
    const char *env[] = { path, NULL };
    struct process_spec spec = { .argv = (const char *const[]){ "no-such-program", NULL },
                                 .env = env };

    CHECK(mkdtemp(closed) != NULL);
    CHECK_INT(chmod(closed, 0700), 0);
    (void)snprintf(path, sizeof(path), "PATH=%s:/usr/bin", closed);
    (void)snprintf(file, sizeof(file), "%s/no-such-program", closed);
    if (geteuid() == 0)
        spec.user = &user;
    else
        CHECK_INT(chmod(closed, 0), 0);
    CHECK_HAS(failure(&spec), "No such file or directory");

    /* there, and not to be run: that is another error */
    CHECK_INT(chmod(closed, 0755), 0);
    FILE *out = fopen(file, "w");
    CHECK(out && fclose(out) == 0);
    CHECK_HAS(failure(&spec), "Permission denied");
    CHECK_INT(unlink(file), 0);
    CHECK_INT(rmdir(closed), 0);
}
