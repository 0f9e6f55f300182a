/* Init scripts, with update-rc.d or chkconfig for what starts at boot. */
#include "states/provider/service/manager.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/fs.h"
#include "core/sys/process.h"

#define FOLDER "/etc/init.d"

/* Both programs rewrite files for all services; concurrent runs would lose changes. */
static pthread_mutex_t links = PTHREAD_MUTEX_INITIALIZER;

static bool has_init_scripts(struct arena *arena)
{
    struct fs_names names = { 0 };
    struct err ignored;

    return fs_list(arena, FOLDER, &names, &ignored) == 0 && names.list.n > 0;
}

static const char *make_script_path(const struct tool *tool, const char *name)
{
    return arena_printf(tool->arena, FOLDER "/%s", name);
}

/* S20name or K80name. */
static bool is_link_of(const char *link, const char *name)
{
    return (link[0] == 'S' || link[0] == 'K') && strlen(link) > 3 &&
           strspn(link + 1, "0123456789") == 2 && strcmp(link + 3, name) == 0;
}

/* In the multi-user runlevels. */
static int find_links(const struct tool *tool, const char *name, struct service_status *ret,
                      struct err *err)
{
    ret->unlisted = true;
    for (int level = 2; level <= 5; level++) {
        const char *folder = arena_printf(tool->arena, "/etc/rc%d.d", level);
        struct fs_names names = { 0 };
        struct fs_info info;

        if (fs_stat(folder, &info, err) < 0)
            return -1;
        if (info.kind != FS_FOLDER)
            continue;
        if (fs_list(tool->arena, folder, &names, err) < 0)
            return -1;
        VEC_EACH (&names.list, link)
            if (is_link_of(*link, name)) {
                ret->unlisted = false;
                ret->enabled |= (*link)[0] == 'S';
            }
    }
    return 0;
}

static int read_sysv_status(const struct tool *tool, const char *name, struct service_status *ret,
                            struct err *err)
{
    const char *script = make_script_path(tool, name);
    struct process_result result;

    *ret = (struct service_status){ .known = access(script, X_OK) == 0, .word = "unknown" };
    if (!ret->known)
        return 0;
    if (tool_try(tool, TOOL(script, "status"), NULL, &result, err) < 0)
        return -1;
    ret->running = process_status_ok(result.status);
    /* 1 and 2: dead, with a stale file */
    ret->failed = result.status.code == 1 || result.status.code == 2;
    ret->word = ret->running ? "running" : ret->failed ? "dead" : "stopped";
    return find_links(tool, name, ret, err);
}

static int run_link_tool(const struct tool *tool, const char *name, enum service_action action,
                         struct err *err)
{
    const bool enable = action == SERVICE_ENABLE, forget = action == SERVICE_FORGET;

    if (tool_find(tool->arena, "update-rc.d")) {
        if (forget)
            return tool_run(tool, TOOL("update-rc.d", "-f", name, "remove"), NULL, NULL, err);
        if (enable && tool_run(tool, TOOL("update-rc.d", name, "defaults"), NULL, NULL, err) < 0)
            return -1;
        return tool_run(tool, TOOL("update-rc.d", name, enable ? "enable" : "disable"), NULL, NULL,
                        err);
    }
    if (!tool_find(tool->arena, "chkconfig"))
        return err_set(err, ERR_UNSUPPORTED,
                       "service '%s' cannot be %sd: neither update-rc.d nor chkconfig is installed",
                       name, enable ? "enable" : "disable");
    if (forget)
        return tool_run(tool, TOOL("chkconfig", "--del", name), NULL, NULL, err);
    if (enable && tool_run(tool, TOOL("chkconfig", "--add", name), NULL, NULL, err) < 0)
        return -1;
    return tool_run(tool, TOOL("chkconfig", name, enable ? "on" : "off"), NULL, NULL, err);
}

static int set_links(const struct tool *tool, const char *name, enum service_action action,
                     struct err *err)
{
    int result;

    (void)pthread_mutex_lock(&links);
    result = run_link_tool(tool, name, action, err);
    (void)pthread_mutex_unlock(&links);
    return result;
}

static int run_sysv_action(const struct tool *tool, const char *name, enum service_action action,
                           unsigned flags, struct err *err)
{
    (void)flags;
    if (action == SERVICE_ENABLE || action == SERVICE_DISABLE || action == SERVICE_FORGET)
        return set_links(tool, name, action, err);
    if (action == SERVICE_MASK || action == SERVICE_UNMASK)
        return err_set(err, ERR_UNSUPPORTED, "init scripts cannot be %sed",
                       service_action_word(action));
    return tool_run(tool, TOOL(make_script_path(tool, name), service_action_word(action)), NULL,
                    NULL, err);
}

const struct service_manager service_manager_sysv = {
    .name = "sysv",
    .rank = 40, /* last: scripts may exist on machines where nothing runs them */
    .needs = "scripts in " FOLDER,
    .is_here = has_init_scripts,
    .look = read_sysv_status,
    .act = run_sysv_action,
};
