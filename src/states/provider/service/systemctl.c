/* A systemctl script on a machine without systemd, as in containers and tests. The real systemctl
 * cannot do anything there. */
#include "states/provider/service/manager.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/fd.h"
#include "core/sys/process.h"

/* The exit status of `systemctl is-active` for an unknown unit. */
#define EXIT_NO_UNIT 4

static bool is_script(const char *path)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    char mark[2];

    return fd >= 0 && read(fd, mark, sizeof(mark)) == (ssize_t)sizeof(mark) &&
           memcmp(mark, "#!", sizeof(mark)) == 0;
}

/* A running systemd was found before. */
static bool is_systemctl_script(struct arena *arena)
{
    const char *path = tool_find(arena, "systemctl");

    return path && is_script(path);
}

/* Scripts need not know "--", so a name must not look like an option. */
static int check_unit_name(const char *name, struct err *err)
{
    if (name[0] == '-')
        return err_set(err, ERR_INVALID, "'%s' is not a valid service name", name);
    return 0;
}

static int read_systemctl_status(const struct tool *tool, const char *name,
                                 struct service_status *ret, struct err *err)
{
    struct process_result active, enabled;
    struct str word;

    if (check_unit_name(name, err) < 0 ||
        tool_try(tool, TOOL("systemctl", "is-active", name), NULL, &active, err) < 0 ||
        tool_try(tool, TOOL("systemctl", "is-enabled", name), NULL, &enabled, err) < 0)
        return -1;
    word = str_trim(active.out);
    *ret = (struct service_status){
        .known = active.status.code != EXIT_NO_UNIT && !str_is(word, "unknown"),
        .running = process_status_ok(active.status),
        .failed = str_is(word, "failed"),
        .moving = str_is(word, "activating") || str_is(word, "deactivating"),
        .enabled = process_status_ok(enabled.status),
        .word = word.n > 0 ? arena_str(tool->arena, word).p : "unknown",
    };
    return 0;
}

static int run_systemctl_action(const struct tool *tool, const char *name,
                                enum service_action action, unsigned flags, struct err *err)
{
    (void)flags;
    if (check_unit_name(name, err) < 0)
        return -1;
    return tool_run(tool, TOOL("systemctl", service_action_word(action), name), NULL, NULL, err);
}

const struct service_manager service_manager_systemctl = {
    .name = "systemctl",
    .rank = 35,
    .needs = "a script called systemctl",
    .is_here = is_systemctl_script,
    .look = read_systemctl_status,
    .act = run_systemctl_action,
};
