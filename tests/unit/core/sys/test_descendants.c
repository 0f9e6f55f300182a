#include "core/sys/descendants.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/sys/process.h"
#include "test.h"
#include "wait.h"

/* Seen by all of the descendants. */
struct board {
    _Atomic pid_t child;
    _Atomic int beats; /* of the second thread of the child, as long as that lives */
};

static void *beat(void *arg)
{
    struct board *board = arg;

    for (;;) {
        board->beats++;
        wait_a_little();
    }
    return NULL;
}

/* Its first thread ends; the other one goes on. */
static void live_headless(struct board *board)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, beat, board) != 0)
        _exit(1);
    board->child = getpid();
    (void)syscall(SYS_exit, 0);
}

static pid_t start_head(struct board *board)
{
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid > 0)
        return pid;
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (fork() == 0)
        live_headless(board);
    for (;;)
        (void)pause();
}

/* Whatever /proc says of it. */
static bool is_shown_as_zombie(pid_t pid)
{
    char path[64], text[256] = "";
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    (void)!fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    return strstr(text, ") Z ") != NULL;
}

TEST(a_descendant_whose_first_thread_has_ended_is_killed_too)
{
    struct board *board =
        mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = start_head(board);
    struct process head = {
        .pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0), .in = -1, .out = -1, .err = -1
    };
    struct err err;
    int beats;

    CHECK(head.pidfd >= 0);
    WAIT_FOR(board->child != 0 && board->beats > 0 && is_shown_as_zombie(board->child));
    CHECK_INT(descendants_kill(&head, &err), 0);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    beats = board->beats;
    for (int i = 0; i < 50; i++)
        wait_a_little();
    CHECK_INT(board->beats, beats);
    process_done(&head);
    CHECK_INT(munmap(board, sizeof(*board)), 0);
}
