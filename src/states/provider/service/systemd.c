/* systemd, over the bus; otherwise with systemctl, which shows everything about a unit in one
 * call. */
#include "states/provider/service/manager.h"

#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/provider/service/systemd_bus.h"
#include "core/sys/process.h"

#define BOOTED "/run/systemd/system"

static bool is_systemd_running(struct arena *arena)
{
    return access(BOOTED, F_OK) == 0 && tool_find(arena, "systemctl");
}

/* The value of a line "Key=value"; empty when there is none. */
static struct str find_property(struct str text, const char *key)
{
    const size_t n = strlen(key);

    while (text.p) {
        const struct str line = str_cut(&text, '\n');

        if (line.n > n && line.p[n] == '=' && memcmp(line.p, key, n) == 0)
            return str_trim(str_from_offset(line, n + 1));
    }
    return STR("");
}

static bool is_systemd_word(struct str word, const char *const *words)
{
    for (; *words; words++)
        if (str_is(word, *words))
            return true;
    return false;
}

/* A unit without a unit file (an init script) needs a separate query. */
static int ask_enabled(const struct tool *tool, const char *name, bool *ret, struct err *err)
{
    struct process_result result;

    if (tool_try(tool, TOOL("systemctl", "is-enabled", "--quiet", "--", name), NULL, &result, err) <
        0)
        return -1;
    *ret = process_status_ok(result.status);
    return 0;
}

static int show_unit(const struct tool *tool, const char *name, struct systemd_unit *ret,
                     struct err *err)
{
    const int shown = systemd_bus_show(tool, name, ret, err);
    struct str text;

    if (shown != SYSTEMD_BUS_NONE)
        return shown;
    if (tool_run(tool,
                 TOOL("systemctl", "show",
                      "--property=LoadState,ActiveState,UnitFileState,NeedDaemonReload", "--",
                      name),
                 NULL, &text, err) < 0)
        return -1;
    *ret = (struct systemd_unit){
        .load = find_property(text, "LoadState"),
        .active = find_property(text, "ActiveState"),
        .file = find_property(text, "UnitFileState"),
        .stale = str_is(find_property(text, "NeedDaemonReload"), "yes"),
    };
    return 0;
}

static int read_systemd_status(const struct tool *tool, const char *name,
                               struct service_status *ret, struct err *err)
{
    static const char *const up[] = { "active", "reloading", "refreshing", NULL };
    /* includes a unit in a restart loop */
    static const char *const moving[] = { "activating", "deactivating", NULL };
    static const char *const on[] = { "enabled",  "enabled-runtime", "static",
                                      "indirect", "alias",           NULL };
    /* without an [Install] section */
    static const char *const fixed[] = { "static", "indirect", NULL };
    struct systemd_unit unit;

    if (show_unit(tool, name, &unit, err) < 0)
        return -1;
    *ret = (struct service_status){
        .known = !str_is(unit.load, "not-found"),
        .running = is_systemd_word(unit.active, up),
        .failed = str_is(unit.active, "failed"),
        .moving = is_systemd_word(unit.active, moving),
        .enabled = is_systemd_word(unit.file, on),
        .fixed = is_systemd_word(unit.file, fixed),
        .masked = str_is(unit.load, "masked") || str_starts(unit.file, STR("masked")),
        .word = arena_str(tool->arena, unit.active).p,
    };
    if (ret->known && !ret->masked && (unit.file.n == 0 || str_is(unit.file, "generated")))
        return ask_enabled(tool, name, &ret->enabled, err);
    return 0;
}

static int reread_units(const struct tool *tool, struct err *err)
{
    const int reloaded = systemd_bus_reload(tool, err);

    if (reloaded != SYSTEMD_BUS_NONE)
        return reloaded;
    return tool_run(tool, TOOL("systemctl", "daemon-reload"), NULL, NULL, err);
}

/* Reload first if the unit file has changed since systemd read it. */
static int reload_systemd_units(const struct tool *tool, const char *name, struct err *err)
{
    struct systemd_unit unit;

    if (show_unit(tool, name, &unit, err) < 0)
        return -1;
    if (!unit.stale && !str_is(unit.load, "not-found"))
        return 0;
    return reread_units(tool, err);
}

static int act_by_program(const struct tool *tool, const char *name, enum service_action action,
                          unsigned flags, struct err *err)
{
    struct tool_words words = { 0 };

    tool_add(tool, &words, "systemctl");
    tool_add(tool, &words, service_action_word(action));
    if ((flags & SERVICE_NO_BLOCK) && action <= SERVICE_RELOAD)
        tool_add(tool, &words, "--no-block");
    if ((flags & SERVICE_RUNTIME) && action >= SERVICE_ENABLE)
        tool_add(tool, &words, "--runtime");
    tool_add(tool, &words, "--");
    tool_add(tool, &words, name);
    return tool_run(tool, tool_argv(tool, &words), NULL, NULL, err);
}

static int run_systemd_action(const struct tool *tool, const char *name, enum service_action action,
                              unsigned flags, struct err *err)
{
    int done;

    if (action != SERVICE_STOP && action != SERVICE_DISABLE &&
        reload_systemd_units(tool, name, err) < 0)
        return -1;
    done = systemd_bus_act(tool, name, action, flags, err);
    return done != SYSTEMD_BUS_NONE ? done : act_by_program(tool, name, action, flags, err);
}

const struct service_manager service_manager_systemd = {
    .name = "systemd",
    .rank = 10,
    .learns_late = true, /* of unit files */
    .needs = BOOTED " and systemctl",
    .is_here = is_systemd_running,
    .look = read_systemd_status,
    .act = run_systemd_action,
    .reread = reread_units,
};
