/* OpenRC, by rc-service and rc-update. */
#include "states/provider/service/manager.h"

#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/process.h"

#define FOLDER "/run/openrc"

static bool is_openrc_running(struct arena *arena)
{
    return access(FOLDER, F_OK) == 0 && tool_find(arena, "rc-service") &&
           tool_find(arena, "rc-update");
}

/* The part after the bar of "  sshd | default boot" in the output of `rc-update show`. */
static struct str find_runlevels(struct str text, const char *name)
{
    while (text.p) {
        struct str line = str_cut(&text, '\n');
        const struct str service = str_trim(str_cut(&line, '|'));

        if (line.p && str_is(service, name))
            return str_trim(line);
    }
    return STR("");
}

static int read_openrc_status(const struct tool *tool, const char *name, struct service_status *ret,
                              struct err *err)
{
    struct process_result exists, status;
    struct str levels;

    if (tool_try(tool, TOOL("rc-service", "--exists", name), NULL, &exists, err) < 0)
        return -1;
    *ret = (struct service_status){ .known = process_status_ok(exists.status), .word = "unknown" };
    if (!ret->known)
        return 0;
    if (tool_try(tool, TOOL("rc-service", name, "status"), NULL, &status, err) < 0 ||
        tool_run(tool, TOOL("rc-update", "show"), NULL, &levels, err) < 0)
        return -1;
    ret->running = process_status_ok(status.status);
    ret->failed = status.status.code == 32;                           /* crashed */
    ret->moving = status.status.code == 4 || status.status.code == 8; /* stopping, starting */
    ret->enabled = find_runlevels(levels, name).n > 0;
    ret->word = ret->running  ? "started"
                : ret->failed ? "crashed"
                : ret->moving ? "in transition"
                              : "stopped";
    return 0;
}

/* By name: removing from all of them fails for runlevels that the service is not in. */
static int leave_runlevels(const struct tool *tool, const char *name, struct err *err)
{
    struct tool_words words = { 0 };
    struct str levels;

    if (tool_run(tool, TOOL("rc-update", "show"), NULL, &levels, err) < 0)
        return -1;
    levels = find_runlevels(levels, name);
    if (levels.n == 0)
        return 0;
    tool_add(tool, &words, "rc-update");
    tool_add(tool, &words, "del");
    tool_add(tool, &words, name);
    while (levels.p) {
        const struct str level = str_trim(str_cut(&levels, ' '));

        if (level.n > 0)
            tool_add(tool, &words, arena_str(tool->arena, level).p);
    }
    return tool_run(tool, tool_argv(tool, &words), NULL, NULL, err);
}

static int run_openrc_action(const struct tool *tool, const char *name, enum service_action action,
                             unsigned flags, struct err *err)
{
    (void)flags;
    switch (action) {
    case SERVICE_ENABLE:
        return tool_run(tool, TOOL("rc-update", "add", name, "default"), NULL, NULL, err);
    case SERVICE_FORGET:
    case SERVICE_DISABLE: return leave_runlevels(tool, name, err);
    case SERVICE_MASK:
    case SERVICE_UNMASK:
        return err_set(err, ERR_UNSUPPORTED, "OpenRC cannot %s services",
                       service_action_word(action));
    case SERVICE_START:
    case SERVICE_STOP:
    case SERVICE_RESTART:
    case SERVICE_RELOAD: break;
    }
    return tool_run(tool, TOOL("rc-service", name, service_action_word(action)), NULL, NULL, err);
}

const struct service_manager service_manager_openrc = {
    .name = "openrc",
    .rank = 20,
    .needs = FOLDER ", rc-service and rc-update",
    .is_here = is_openrc_running,
    .look = read_openrc_status,
    .act = run_openrc_action,
};
