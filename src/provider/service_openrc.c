/* OpenRC, by rc-service and rc-update. */
#include "provider/service.h"

#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "sys/process.h"

#define FOLDER "/run/openrc"

static bool is_here(struct arena *arena)
{
    return access(FOLDER, F_OK) == 0 && tool_find(arena, "rc-service") &&
           tool_find(arena, "rc-update");
}

/* "  sshd | default" in what `rc-update show` prints. */
static bool has_runlevel(struct str text, const char *name)
{
    while (text.p) {
        struct str line = str_cut(&text, '\n');
        const struct str service = str_trim(str_cut(&line, '|'));

        if (str_is(service, name))
            return line.p && str_trim(line).n > 0;
    }
    return false;
}

static int look(const struct tool *tool, const char *name, struct service_status *ret,
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
    ret->failed = status.status.code == 32; /* crashed */
    ret->enabled = has_runlevel(levels, name);
    ret->word = ret->running ? "started" : ret->failed ? "crashed" : "stopped";
    return 0;
}

static int act(const struct tool *tool, const char *name, enum service_action action,
               unsigned flags, struct err *err)
{
    (void)flags;
    switch (action) {
    case SERVICE_ENABLE:
        return tool_run(tool, TOOL("rc-update", "add", name, "default"), NULL, NULL, err);
    case SERVICE_FORGET:
    case SERVICE_DISABLE:
        return tool_run(tool, TOOL("rc-update", "--all", "del", name), NULL, NULL, err);
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

const struct service_manager service_openrc = {
    .name = "openrc",
    .needs = FOLDER ", rc-service and rc-update",
    .is_here = is_here,
    .look = look,
    .act = act,
};
