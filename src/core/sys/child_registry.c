#include "core/sys/child_registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/base/str.h"
#include "core/sys/clock.h"
#include "core/sys/descendants.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/process.h"

#define STAT_MAX  ((size_t)4096)
#define LIST_MAX  ((size_t)64 << 20)
#define PROC_NAME 32
#define FILE_MODE 0600
#define ROOM      ((size_t)64 << 10)
/* Births are in nanoseconds, starts in ticks. */
#define BIRTH_SLACK CLOCK_SECOND
/* On a busy machine a child may be slow to report its birth. */
#define BIRTH_LATE (60 * CLOCK_SECOND)

/* Fields of /proc/PID/stat after the name, counted from the state. */
enum {
    STAT_STATE = 0,
    STAT_PARENT = 1,
    STAT_SESSION = 3,
    STAT_USER_TIME = 11,
    STAT_SYSTEM_TIME = 12,
    STAT_START = 19,
    STAT_VIRTUAL = 20,
    STAT_RESIDENT = 21,
    STAT_FIELDS = 22,
};

static bool is_stat_field_read(int field)
{
    return field == STAT_PARENT || field == STAT_SESSION || field == STAT_USER_TIME ||
           field == STAT_SYSTEM_TIME || field >= STAT_START;
}

/* The name may hold anything, so fields are counted from the last parenthesis. */
static bool parse_stat(struct str text, struct child_registry_stat *ret)
{
    const char *close = memrchr(text.p, ')', text.n);
    uint64_t numbers[STAT_FIELDS] = { 0 };
    struct err ignored;
    struct str rest;
    char state = '?';

    if (!close || (size_t)(close - text.p) + 2 > text.n)
        return false;
    rest = str_from_offset(text, (size_t)(close - text.p) + 2);
    for (int i = 0; i < STAT_FIELDS; i++) {
        const struct str field = rest.p ? str_cut(&rest, ' ') : STR("");

        if (i == STAT_STATE && field.n > 0)
            state = field.p[0];
        if (is_stat_field_read(i) && number_parse_uint(field, &numbers[i], &ignored) < 0)
            return false;
    }
    *ret = (struct child_registry_stat){
        .state = state,
        .parent = (pid_t)numbers[STAT_PARENT],
        .session = (pid_t)numbers[STAT_SESSION],
        .start = numbers[STAT_START],
        .ticks = numbers[STAT_USER_TIME] + numbers[STAT_SYSTEM_TIME],
        .virtual_bytes = numbers[STAT_VIRTUAL],
        .resident_pages = numbers[STAT_RESIDENT],
    };
    return true;
}

bool child_registry_read_stat(pid_t pid, struct child_registry_stat *ret)
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

void child_registry_read_boot(char ret_id[static CHILD_REGISTRY_BOOT_SIZE])
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str text = { NULL, 0 };
    struct err ignored;

    memset(ret_id, 0, CHILD_REGISTRY_BOOT_SIZE);
    if (fs_read(&arena, "/proc/sys/kernel/random/boot_id", STAT_MAX, &text, &ignored) < 0 ||
        !text.p)
        return;
    text = str_trim(text);
    memcpy(ret_id, text.p, text.n < CHILD_REGISTRY_BOOT_SIZE ? text.n : CHILD_REGISTRY_BOOT_SIZE);
}

/* If its birth differs, the number belongs to another process now. If the child is gone, strangers
 * may have had the number since: survivors of its session are recognised by their mark only. */
bool child_registry_is_alive(const struct process_birth *birth)
{
    struct child_registry_stat stat;
    int64_t tick = CLOCK_SECOND / sysconf(_SC_CLK_TCK), away;

    if (birth->pid <= 1 || birth->pid > INT32_MAX)
        return false;
    if (!child_registry_read_stat((pid_t)birth->pid, &stat))
        return false;
    away = (int64_t)stat.start * tick - birth->time;
    return away < BIRTH_SLACK && away > -BIRTH_LATE;
}

/* --- a plain list: | boot id 40 | struct process_birth ... | ----------------------------- */

/* Holding it before the second check makes sure that we kill the right process. */
static int kill_child(const struct process_birth *birth, size_t *count, struct err *err)
{
    AUTO_FD int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)birth->pid, 0);
    const struct process child = { .pid = (pid_t)birth->pid, .pidfd = pidfd };

    if (pidfd < 0 || !child_registry_is_alive(birth))
        return 0;
    (*count)++;
    return descendants_kill(&child, err);
}

int child_registry_kill(const char *path, size_t *ret_count, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char boot[CHILD_REGISTRY_BOOT_SIZE];
    struct str text;

    *ret_count = 0;
    if (fs_read(&arena, path, LIST_MAX, &text, err) < 0)
        return -1;
    child_registry_read_boot(boot);
    if (text.n < sizeof(boot) || memcmp(text.p, boot, sizeof(boot)) != 0)
        return 0; /* from before a reboot */
    for (size_t at = sizeof(boot); at + sizeof(struct process_birth) <= text.n;
         at += sizeof(struct process_birth)) {
        struct process_birth birth;

        memcpy(&birth, text.p + at, sizeof(birth));
        if (child_registry_is_alive(&birth) && kill_child(&birth, ret_count, err) < 0)
            return err_wrap(err, "process %lld", (long long)birth.pid);
    }
    return 0;
}

/* A full disk must not keep programs from starting: they may be the ones that make room. */
static void reserve_room(int fd)
{
    (void)fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)ROOM);
}

int child_registry_open(const char *path, int *ret_fd, struct err *err)
{
    char boot[CHILD_REGISTRY_BOOT_SIZE];
    AUTO_FD int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);

    if (fd < 0)
        return err_sys(err, errno, "create '%s'", path);
    child_registry_read_boot(boot);
    if (fd_write(fd, boot, sizeof(boot), err) < 0)
        return err_wrap(err, "write '%s'", path);
    reserve_room(fd);
    *ret_fd = fd_take(&fd);
    return 0;
}

void child_registry_clear(int fd)
{
    if (ftruncate(fd, CHILD_REGISTRY_BOOT_SIZE) == 0) /* else it is longer, which is harmless */
        reserve_room(fd);
}
