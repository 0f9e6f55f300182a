/*
 * inject - run a program and let one of its system calls fail, or kill it there.
 *
 *     inject [--log FILE] [--fail N:ERRNO | --full N:ERRNO | --kill N] [--reads] -- COMMAND...
 *
 * The calls that change the file system are numbered from 1 in the order in which they are made:
 * by all threads of the program itself, not by the programs that it starts. With --reads, those
 * that look at it are numbered as well. Then
 *
 *     --fail N:28    call N fails with that error and does nothing
 *     --full N:28    call N and all that need room after it fail: a disk that is full stays full
 *     --kill N       the program is killed before call N
 *     --log FILE     a line for each numbered call: number, call, and the file it is about
 *
 * The kernel asks us about each of these calls (seccomp user notification), so that nothing is
 * preloaded and the program is the real one. The exit status is that of the program, or 128 and
 * the signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* How a call says what it is about. */
enum aim {
    AIM_PATH, /* by a path: it always counts */
    AIM_FILE, /* by a descriptor, the first argument: it counts when that is a file with a name */
    AIM_OPEN, /* openat: counts as a change when it may create or write */
    AIM_OPEN_AT, /* openat2: the same, with its flags in memory */
    AIM_COPY,    /* copy_file_range: the third argument is the file that changes */
};

enum effect {
    CHANGES,
    GROWS, /* a change that needs room on the disk */
    READS,
};

struct call {
    int number;
    const char *name;
    enum aim aim;
    enum effect effect;
};

#define CALL(name, aim, effect)                                                                    \
    {                                                                                              \
        SYS_##name, #name, aim, effect                                                             \
    }

/* clang-format off */
static const struct call calls[] = {
    CALL(openat, AIM_OPEN, GROWS), CALL(openat2, AIM_OPEN_AT, GROWS),
    CALL(write, AIM_FILE, GROWS), CALL(pwrite64, AIM_FILE, GROWS),
    CALL(writev, AIM_FILE, GROWS), CALL(pwritev, AIM_FILE, GROWS),
    CALL(copy_file_range, AIM_COPY, GROWS), CALL(sendfile, AIM_FILE, GROWS),
    CALL(fallocate, AIM_FILE, GROWS), CALL(ftruncate, AIM_FILE, CHANGES),
    CALL(fsync, AIM_FILE, CHANGES), CALL(fdatasync, AIM_FILE, CHANGES), CALL(syncfs, AIM_FILE, CHANGES),
    CALL(fchmod, AIM_FILE, CHANGES), CALL(fchown, AIM_FILE, CHANGES),
    CALL(fchmodat, AIM_PATH, CHANGES), CALL(fchownat, AIM_PATH, CHANGES), CALL(utimensat, AIM_PATH, CHANGES),
    CALL(renameat, AIM_PATH, GROWS), CALL(renameat2, AIM_PATH, GROWS),
    CALL(mkdirat, AIM_PATH, GROWS), CALL(symlinkat, AIM_PATH, GROWS),
    CALL(linkat, AIM_PATH, GROWS), CALL(mknodat, AIM_PATH, GROWS),
    CALL(unlinkat, AIM_PATH, CHANGES), CALL(truncate, AIM_PATH, CHANGES),
    CALL(setxattr, AIM_PATH, GROWS), CALL(lsetxattr, AIM_PATH, GROWS),
    CALL(fsetxattr, AIM_FILE, GROWS), CALL(fremovexattr, AIM_FILE, CHANGES),
    CALL(read, AIM_FILE, READS), CALL(pread64, AIM_FILE, READS),
    CALL(getdents64, AIM_FILE, READS), CALL(readlinkat, AIM_PATH, READS),
    CALL(statx, AIM_PATH, READS), CALL(newfstatat, AIM_PATH, READS),
#ifdef SYS_rename /* older processors have these beside the ones above */
    CALL(rename, AIM_PATH, GROWS), CALL(mkdir, AIM_PATH, GROWS), CALL(rmdir, AIM_PATH, CHANGES),
    CALL(unlink, AIM_PATH, CHANGES), CALL(symlink, AIM_PATH, GROWS), CALL(link, AIM_PATH, GROWS),
    CALL(chmod, AIM_PATH, CHANGES), CALL(chown, AIM_PATH, CHANGES), CALL(lchown, AIM_PATH, CHANGES),
    CALL(mknod, AIM_PATH, GROWS), CALL(readlink, AIM_PATH, READS),
#endif
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))
/* clang-format on */

enum deed { DEED_NONE, DEED_FAIL, DEED_FULL, DEED_KILL };

struct options {
    enum deed deed;
    long when;
    int error;
    bool reads;
    FILE *log;
    char **command;
};

static int die(const char *what)
{
    perror(what);
    exit(125);
}

/* --- the program ----------------------------------------------------------------- */

/* Ask about the calls of the table, allow all others. Returns the descriptor of the questions. */
static int install_filter(void)
{
    struct sock_filter code[2 * CALLS + 2];
    struct sock_fprog program = { .filter = code };
    size_t n = 0;

    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < CALLS; i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                 (unsigned)calls[i].number, 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = (unsigned short)n;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        die("inject: no new privileges");
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &program);
}

/* The one message between the two: the descriptor of the questions. */
union fd_message {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static void send_fd(int socket, int fd)
{
    union fd_message control = { 0 };
    char byte = 0;
    struct iovec data = { &byte, 1 };
    struct msghdr message = { .msg_iov = &data,
                              .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = sizeof(control) };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    if (sendmsg(socket, &message, 0) < 0)
        die("inject: send");
}

static int receive_fd(int socket)
{
    union fd_message control = { 0 };
    char byte;
    struct iovec data = { &byte, 1 };
    struct msghdr message = { .msg_iov = &data,
                              .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = sizeof(control) };
    struct cmsghdr *header;
    int fd;

    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) <= 0)
        die("inject: receive");
    header = CMSG_FIRSTHDR(&message);
    if (!header)
        die("inject: no descriptor received");
    memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    return fd;
}

static pid_t start(char **command, int *ret_questions)
{
    int pair[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        die("inject: socketpair");
    pid = fork();
    if (pid < 0)
        die("inject: fork");
    if (pid == 0) {
        int questions = install_filter();

        if (questions < 0)
            die("inject: seccomp");
        send_fd(pair[1], questions);
        (void)close(questions);
        (void)execvp(command[0], command);
        die(command[0]);
    }
    (void)close(pair[1]);
    *ret_questions = receive_fd(pair[0]);
    (void)close(pair[0]);
    return pid;
}

/* --- questions ------------------------------------------------------------------- */

static const struct call *find_call(int number)
{
    for (size_t i = 0; i < CALLS; i++)
        if (calls[i].number == number)
            return &calls[i];
    return NULL;
}

static bool is_thread_of(pid_t thread, pid_t program)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d", program, thread);
    return access(path, F_OK) == 0;
}

/* What an open descriptor is; an empty text when nobody knows. */
static void read_fd(pid_t program, uint64_t fd, char target[static PATH_MAX])
{
    char path[64];
    ssize_t n;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", program, (int)fd);
    n = readlink(path, target, PATH_MAX - 1);
    target[n > 0 ? n : 0] = '\0';
}

/* A file with a name, not a pipe, socket or terminal. */
static bool is_named_file(pid_t program, uint64_t fd)
{
    char target[PATH_MAX];

    read_fd(program, fd, target);
    return target[0] == '/' && strncmp(target, "/proc/", 6) != 0 &&
           (strncmp(target, "/dev/", 5) != 0 || strncmp(target, "/dev/shm/", 9) == 0);
}

/* The path that an argument points to. */
static void read_path(pid_t thread, uint64_t address, char path[static PATH_MAX])
{
    struct iovec here = { path, 1 }, there = { NULL, 1 };

    for (size_t i = 0; i + 1 < PATH_MAX; i++) {
        here.iov_base = path + i;
        there.iov_base = (void *)(uintptr_t)(address + i);
        path[i] = '\0';
        if (process_vm_readv(thread, &here, 1, &there, 1, 0) != 1 || !path[i])
            return;
    }
    path[PATH_MAX - 1] = '\0';
}

/* The path is the first argument, or the second after the descriptor of a folder. */
static bool is_at_call(const struct call *call)
{
    size_t n = strlen(call->name);

    return strcmp(call->name + n - 2, "at") == 0 || strncmp(call->name + n - 3, "at", 2) == 0 ||
           strcmp(call->name, "statx") == 0;
}

static void write_log(FILE *log, long number, const struct call *call,
                      const struct seccomp_notif *question, pid_t program)
{
    const __u64 *args = question->data.args;
    char folder[PATH_MAX] = "", path[PATH_MAX] = "";

    if (call->aim == AIM_FILE || call->aim == AIM_COPY) {
        read_fd(program, args[call->aim == AIM_COPY ? 2 : 0], path);
    } else {
        bool at = is_at_call(call);

        read_path((pid_t)question->pid, args[at ? 1 : 0], path);
        if (at && path[0] != '/')
            read_fd(program, args[0], folder);
    }
    (void)fprintf(log, "%ld %s %s%s%s\n", number, call->name, folder, folder[0] ? "/" : "", path);
}

static uint64_t open_flags(const struct call *call, const struct seccomp_notif *question)
{
    struct open_how how = { 0 };
    struct iovec here = { &how, sizeof(how.flags) };
    struct iovec there = { (void *)(uintptr_t)question->data.args[2], sizeof(how.flags) };

    if (call->aim == AIM_OPEN)
        return question->data.args[2];
    (void)process_vm_readv((pid_t)question->pid, &here, 1, &there, 1, 0);
    return how.flags;
}

static bool counts(const struct options *options, const struct seccomp_notif *question,
                   const struct call *call, pid_t program)
{
    if (!is_thread_of((pid_t)question->pid, program) || (call->effect == READS && !options->reads))
        return false;
    switch (call->aim) {
    case AIM_PATH: return true;
    case AIM_FILE: return is_named_file(program, question->data.args[0]);
    case AIM_COPY: return is_named_file(program, question->data.args[2]);
    case AIM_OPEN:
    case AIM_OPEN_AT:
        return options->reads ||
               (open_flags(call, question) & (O_CREAT | O_WRONLY | O_RDWR | O_TRUNC)) != 0;
    }
    return false;
}

/* What the call fails with; 0: it goes on. */
static int judge(const struct options *options, const struct call *call, long number)
{
    if (options->deed == DEED_FAIL && number == options->when)
        return options->error;
    if (options->deed == DEED_FULL && number >= options->when && call->effect == GROWS)
        return options->error;
    return 0;
}

static void answer(int questions, const struct seccomp_notif *question, int error)
{
    struct seccomp_notif_resp reply = { .id = question->id };

    if (error)
        reply.error = -error;
    else
        reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    (void)ioctl(questions, SECCOMP_IOCTL_NOTIF_SEND, &reply); /* it may be dead by now */
}

static void serve(int questions, pid_t program, const struct options *options, long *number)
{
    struct seccomp_notif question = { 0 };
    const struct call *call;
    int error = 0;

    if (ioctl(questions, SECCOMP_IOCTL_NOTIF_RECV, &question) < 0)
        return; /* who asked is gone */
    call = find_call(question.data.nr);
    if (call && counts(options, &question, call, program)) {
        ++*number;
        if (options->log)
            write_log(options->log, *number, call, &question, program);
        if (options->deed == DEED_KILL && *number == options->when)
            (void)kill(program, SIGKILL);
        error = judge(options, call, *number);
    }
    answer(questions, &question, error);
}

/* Until nobody is left who could ask: also what the program has started. */
static void serve_all(int questions, pid_t program, const struct options *options)
{
    struct pollfd ready = { .fd = questions, .events = POLLIN };
    long number = 0;

    for (;;) {
        if (poll(&ready, 1, -1) < 0 && errno != EINTR)
            die("inject: poll");
        if (ready.revents & POLLIN)
            serve(questions, program, options, &number);
        else if (ready.revents & POLLHUP)
            return;
    }
}

/* --- the command line ------------------------------------------------------------- */

static int usage(void)
{
    (void)fprintf(stderr, "usage: inject [--log FILE] [--fail N:ERRNO | --full N:ERRNO | --kill N] "
                          "[--reads] -- COMMAND...\n");
    exit(125);
}

static void read_deed(struct options *options, enum deed deed, const char *text)
{
    char *end;

    options->deed = deed;
    options->when = strtol(text, &end, 10);
    if (*end == ':')
        options->error = (int)strtol(end + 1, &end, 10);
    if (*end || options->when <= 0 || (deed != DEED_KILL) != (options->error > 0))
        usage();
}

static struct options read_options(char **words)
{
    static const struct {
        const char *name;
        enum deed deed;
    } deeds[] = { { "--fail", DEED_FAIL }, { "--full", DEED_FULL }, { "--kill", DEED_KILL } };
    struct options options = { 0 };

    for (; *words && strcmp(*words, "--") != 0; words++) {
        bool known = strcmp(*words, "--reads") == 0;

        options.reads |= known;
        if (strcmp(*words, "--log") == 0 && words[1]) {
            options.log = fopen(*++words, "we");
            if (!options.log)
                die(*words);
            continue;
        }
        for (size_t i = 0; !known && i < sizeof(deeds) / sizeof(deeds[0]); i++)
            if (strcmp(*words, deeds[i].name) == 0 && words[1]) {
                read_deed(&options, deeds[i].deed, *++words);
                known = true;
            }
        if (!known)
            usage();
    }
    if (!*words || !words[1])
        usage();
    options.command = words + 1;
    return options;
}

int main(int argc, char **argv)
{
    struct options options = read_options(argv + (argc > 0));
    int questions, status;
    pid_t program = start(options.command, &questions);

    serve_all(questions, program, &options);
    if (waitpid(program, &status, 0) < 0)
        die("inject: wait");
    if (options.log && fclose(options.log) != 0)
        die("inject: log");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
