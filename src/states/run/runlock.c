#include "states/run/runlock.h"

#include <errno.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/state/host.h"
#include "states/run/run.h"
#include "core/sys/fs.h"
#include "core/sys/lock.h"
#include "core/sys/path.h"

/* Limit for the other process's command line. */
#define COMMAND_MAX 4096

/* "process 17 (zester state.apply web)" */
static const char *describe_lock_owner(struct arena *arena, const char *path)
{
    struct str line = { NULL, 0 };
    struct err ignored;
    pid_t pid = 0;
    char *text;

    if (lock_holder(path, &pid, &ignored) < 0 || pid <= 0)
        return "another process";
    if (fs_read(arena, arena_printf(arena, "/proc/%d/cmdline", pid), COMMAND_MAX, &line, &ignored) <
            0 ||
        !line.p || line.n == 0)
        return arena_printf(arena, "process %d", pid);
    text = arena_strndup(arena, line.p, line.n);
    for (size_t i = 0; i + 1 < line.n; i++)
        text[i] = text[i] == '\0' ? ' ' : text[i];
    return arena_printf(arena, "process %d (%s)", pid, text);
}

static void report_wait(const struct run_sink *sink, const char *text)
{
    const struct run_event event = { .kind = RUN_WAITING, .text = text };

    if (sink)
        sink->emit(sink->self, &event);
}

int runlock_take(struct lock *lock, const struct state_host *host, const struct run_sink *sink,
                 struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, host->data_dir, "run.lock");
    int64_t wait = host->lock_wait > 0 ? host->lock_wait : RUNLOCK_WAIT;
    const char *holder;

    if (lock_take(lock, path, LOCK_EXCLUSIVE, LOCK_TRY, host->cancel, err) == 0)
        return 0;
    if (err->code == ERR_SYSTEM && (err->errnum == ENOENT || err->errnum == ENOTDIR)) {
        if (fs_mkdirs(host->data_dir, 0755, err) < 0)
            return err_wrap(err, "the data folder '%s'", host->data_dir);
        if (lock_take(lock, path, LOCK_EXCLUSIVE, LOCK_TRY, host->cancel, err) == 0)
            return 0;
    }
    if (err->code != ERR_BUSY)
        return -1;
    holder = describe_lock_owner(&arena, path);
    report_wait(sink, arena_printf(&arena, "waiting for the run of %s", holder));
    if (lock_take(lock, path, LOCK_EXCLUSIVE, wait, host->cancel, err) == 0)
        return 0;
    if (err->code == ERR_BUSY)
        return err_set(err, ERR_BUSY, "another run is in progress: %s", holder);
    return -1;
}
