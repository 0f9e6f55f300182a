#include "daemon/leftover.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/number.h"
#include "base/vec.h"
#include "daemon/record.h"
#include "sys/cgroup.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/fs.h"
#include "sys/path.h"

/* A killed process is gone soon, unless the kernel holds it. */
#define WAIT_MAX  (10 * CLOCK_SECOND)
#define WAIT_STEP (5 * CLOCK_MS)
#define STAT_MAX  ((size_t)4096)
#define LIST_MAX  ((size_t)4 << 20)
#define NOTE_SIZE 64
#define PROC_NAME 32

struct session {
    pid_t pid;
    uint64_t start;
};

struct sessions {
    VEC(struct session) list;
};

/* Fields of /proc/PID/stat behind the name, counted from the state. */
enum { STAT_STATE = 0, STAT_PARENT = 1, STAT_SESSION = 3, STAT_START = 19 };

struct stat_line {
    char state;
    pid_t parent, session;
    uint64_t start;
};

/* The name may hold anything, so fields are counted from the last parenthesis. */
static bool parse_stat(struct str text, struct stat_line *ret)
{
    const char *close = memrchr(text.p, ')', text.n);
    struct str rest, field;
    struct err ignored;
    uint64_t number = 0;

    if (!close || (size_t)(close - text.p) + 2 > text.n)
        return false;
    rest = str_from_offset(text, (size_t)(close - text.p) + 2);
    for (int i = 0; rest.p; i++) {
        field = str_cut(&rest, ' ');
        if (i == STAT_STATE)
            ret->state = field.n > 0 ? field.p[0] : '?';
        if (i != STAT_PARENT && i != STAT_SESSION && i != STAT_START)
            continue;
        if (number_parse_uint(field, &number, &ignored) < 0)
            return false;
        if (i == STAT_PARENT)
            ret->parent = (pid_t)number;
        else if (i == STAT_SESSION)
            ret->session = (pid_t)number;
        else
            ret->start = number;
        if (i == STAT_START)
            return true;
    }
    return false;
}

static bool read_stat(pid_t pid, struct stat_line *ret)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char path[PROC_NAME];
    struct str text;
    struct err ignored;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (fs_read(&arena, path, STAT_MAX, &text, &ignored) < 0 || !text.p)
        return false;
    return parse_stat(text, ret);
}

uint64_t leftover_start_time(pid_t pid)
{
    struct stat_line stat;

    return pid > 0 && read_stat(pid, &stat) ? stat.start : 0;
}

void leftover_boot_id(char ret_id[static LEFTOVER_BOOT_SIZE])
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str text = { NULL, 0 };
    struct err ignored;

    if (fs_read(&arena, "/proc/sys/kernel/random/boot_id", STAT_MAX, &text, &ignored) < 0)
        text = (struct str){ NULL, 0 };
    text = text.p ? str_trim(text) : STR("unknown");
    (void)snprintf(ret_id, LEFTOVER_BOOT_SIZE, "%.*s", STR_ARG(text));
}

void leftover_note(int fd, pid_t pid, uint64_t start)
{
    char line[NOTE_SIZE];
    int n = snprintf(line, sizeof(line), "%d %llu\n", (int)pid, (unsigned long long)start);
    struct err ignored; /* a full disk: state.json is the second chance */

    if (fd >= 0 && n > 0)
        (void)fd_write(fd, line, (size_t)n, &ignored);
}

/* --- finding -------------------------------------------------------------------------- */

static void add_list(struct arena *arena, const char *folder, struct sessions *sessions)
{
    struct str text, rest;
    struct err ignored;

    if (fs_read(arena, path_join(arena, folder, LEFTOVER_FILE), LIST_MAX, &text, &ignored) < 0 ||
        !text.p)
        return;
    rest = text;
    while (rest.p) {
        struct str line = str_cut(&rest, '\n'), pid = str_cut(&line, ' ');
        uint64_t number, start;

        if (rest.p && line.p && number_parse_uint(pid, &number, &ignored) == 0 &&
            number_parse_uint(line, &start, &ignored) == 0 && number > 1 && number <= INT32_MAX)
            VEC_PUSH_IN(arena, &sessions->list, (struct session){ (pid_t)number, start });
    }
}

/* The number is another one's now when its owner began at another time. */
static bool is_ours(const struct session *session)
{
    struct stat_line stat;

    if (session->start == 0)
        return false;
    return !read_stat(session->pid, &stat) || stat.start == session->start;
}

static const struct session *find(const struct sessions *sessions, pid_t session)
{
    VEC_EACH (&sessions->list, one)
        if (one->pid == session)
            return one;
    return NULL;
}

struct member {
    pid_t pid, parent;
    bool ours;
};

struct members {
    VEC(struct member) list;
};

/* Everything that lives, and whether it is in one of the sessions. */
static void look(struct arena *arena, const struct sessions *sessions, struct members *ret)
{
    struct fs_names names = { 0 };
    struct err ignored;

    if (fs_list(arena, "/proc", &names, &ignored) < 0)
        return;
    VEC_EACH (&names.list, name) {
        struct stat_line stat;
        uint64_t pid;

        if (number_parse_uint(str_from(*name), &pid, &ignored) < 0 || pid > INT32_MAX ||
            !read_stat((pid_t)pid, &stat) || stat.state == 'Z')
            continue;
        VEC_PUSH_IN(arena, &ret->list,
                    (struct member){ (pid_t)pid, stat.parent, find(sessions, stat.session) });
    }
}

static bool is_child_of_ours(const struct members *members, pid_t parent)
{
    VEC_EACH (&members->list, one)
        if (one->ours && one->pid == parent)
            return true;
    return false;
}

/* A main process keeps its descendants, also those that left its session. */
static void add_descendants(struct members *members)
{
    bool more = true;

    while (more) {
        more = false;
        VEC_EACH (&members->list, one)
            if (!one->ours && is_child_of_ours(members, one->parent))
                one->ours = more = true;
    }
}

/* Kill all that is ours; returns how many there were. */
static size_t sweep(struct arena *arena, const struct sessions *sessions)
{
    struct members members = { 0 };
    size_t count = 0;

    look(arena, sessions, &members);
    add_descendants(&members);
    VEC_EACH (&members.list, one)
        if (one->ours && kill(one->pid, SIGKILL) == 0)
            count++;
    return count;
}

static void pause_briefly(void)
{
    const struct timespec step = { 0, WAIT_STEP };

    (void)nanosleep(&step, NULL);
}

int leftover_kill(const char *folder, const struct record *record, size_t *ret_count,
                  struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char boot[LEFTOVER_BOOT_SIZE];
    struct sessions named = { 0 }, ours = { 0 };
    int64_t deadline = clock_after(clock_real(), WAIT_MAX);
    size_t left;

    *ret_count = 0;
    leftover_boot_id(boot);
    if (record && record->boot_id && strcmp(record->boot_id, boot) != 0)
        return 0; /* the machine was started anew since */
    if (record)
        VEC_EACH (&record->services, service)
            if (service->record.pid > 1)
                VEC_PUSH_IN(&arena, &named.list,
                            (struct session){ service->record.pid, service->pid_start });
    add_list(&arena, folder, &named);
    VEC_EACH (&named.list, session)
        if (is_ours(session))
            VEC_PUSH_IN(&arena, &ours.list, *session);
    if (ours.list.n == 0)
        return 0;
    for (*ret_count = left = sweep(&arena, &ours); left > 0; left = sweep(&arena, &ours)) {
        if (clock_real() > deadline)
            return err_set(err, ERR_TIMEOUT, "%zu processes of an earlier daemon do not end", left);
        pause_briefly();
    }
    return 0;
}

int leftover_kill_group(const char *path, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct cgroup group = CGROUP_NONE;
    struct fs_info info;
    struct str name = path_basename(path);
    int result = -1;

    if (fs_stat(path, &info, err) < 0 || info.kind == FS_NONE)
        return 0;
    if (cgroup_create(&group, path_dirname(&arena, path), arena_strndup(&arena, name.p, name.n),
                      err) < 0)
        return -1;
    if (cgroup_kill(&group, err) == 0 &&
        cgroup_wait(&group, clock_after(clock_real(), WAIT_MAX), err) == 0)
        result = cgroup_remove(&group, err);
    cgroup_done(&group);
    return result;
}
