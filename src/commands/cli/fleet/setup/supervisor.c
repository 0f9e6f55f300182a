#include "commands/cli/fleet/setup/supervisor.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "commands/cli/fleet/setup/unit.h"
#include "core/data/json.h"
#include "core/sys/account.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/newfiles.h"
#include "core/sys/path.h"
#include "core/sys/process.h"

#define SYSTEMD_RUNS "/run/systemd/system"
#define FILE_MODE    0644
#define FOLDER_MODE  0755
#define MASTER_USER  "zester"
#define TEXT_MAX     ((size_t)64 << 10)
#define RUN_TIMEOUT  (INT64_C(120) * CLOCK_SECOND)
#define OUTPUT_MAX   ((size_t)64 << 10)

const char *supervisor_name(enum supervisor_kind kind)
{
    static const char *const names[] = { [SUPERVISOR_AUTO] = "auto",
                                         [SUPERVISOR_SYSTEMD] = "systemd",
                                         [SUPERVISOR_KEPLER] = "kepler",
                                         [SUPERVISOR_NONE] = "nobody" };

    return names[kind];
}

enum supervisor_kind supervisor_choose(enum supervisor_kind kind)
{
    if (kind != SUPERVISOR_AUTO)
        return kind;
    return access(SYSTEMD_RUNS, F_OK) == 0 ? SUPERVISOR_SYSTEMD : SUPERVISOR_KEPLER;
}

/* --- programs -------------------------------------------------------------------- */

static int run_service_tool(struct arena *arena, const char *const *words, struct err *err)
{
    AUTO_BUF struct buf status = BUF_INIT(TEXT_MAX);
    struct process_result result;
    struct str said;

    if (process_run(&(struct process_spec){ .argv = words },
                    &(struct process_bounds){ .timeout = RUN_TIMEOUT, .output_max = OUTPUT_MAX },
                    NULL, arena, &result, err) < 0)
        return -1;
    if (process_status_ok(result.status))
        return 0;
    process_status_print(result.status, &status);
    said = str_trim(result.err.n > 0 ? result.err : result.out);
    return err_set(err, ERR_UNSUPPORTED, "'%s %s': %s: %.*s", words[0], words[1],
                   result.timed_out ? "took too long" : buf_text(&status), STR_ARG(said));
}

/* --- files -------------------------------------------------------------------------- */

static int write_service_file(const struct supervisor *supervisor, struct arena *arena,
                              const char *path, struct str text, bool *changed, struct err *err)
{
    const struct newfile file = { .name = path_basename(path).p, .text = text, .mode = FILE_MODE };
    const struct fs_replace_options options = { .attr = { FILE_MODE, FS_KEEP, FS_KEEP } };

    if (access(path, F_OK) == 0)
        return supervisor->replaces ? fs_keep(path, text, &options, err) : 0;
    if (fs_mkdirs(path_dirname(arena, path), FOLDER_MODE, err) < 0 ||
        newfiles_write(path_dirname(arena, path), &file, 1, "it is never overwritten", err) < 0)
        return -1;
    *changed = true;
    return 0;
}

static int write_whole_unit(struct arena *arena, const struct supervisor *supervisor,
                            const struct supervised *service, const char *after, bool *changed,
                            struct err *err)
{
    const char *path = path_join(arena, UNIT_FOLDER, service->unit);
    const bool is_new = access(path, F_OK) != 0;
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);

    unit_print_whole(&text, service, after);
    if (write_service_file(supervisor, arena, path, buf_view(&text), changed, err) < 0)
        return -1;
    if (is_new)
        printf("No unit %s is installed (packages and 'make install' have one): wrote %s, which "
               "runs as root without a sandbox.\n",
               service->unit, path);
    return 0;
}

static int write_dropin(struct arena *arena, const struct supervisor *supervisor,
                        const struct supervised *service, bool *changed, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);

    unit_print_dropin(&text, service);
    return write_service_file(supervisor, arena, unit_dropin_path(arena, service), buf_view(&text),
                              changed, err);
}

static int write_unit(struct arena *arena, const struct supervisor *supervisor,
                      const struct supervised *service, const char *after, bool *changed,
                      struct err *err)
{
    const char *path;

    switch (unit_find(arena, service, &path)) {
    case UNIT_NONE: return write_whole_unit(arena, supervisor, service, after, changed, err);
    case UNIT_HIDDEN:
        printf("warning: " UNIT_FOLDER "/%s hides %s, with its sandbox: remove it, and run this "
               "command again\n",
               service->unit, path);
        return 0;
    case UNIT_PREFIX:
        if (run_service_tool(arena, (const char *const[]){ "systemctl", "link", path, NULL }, err) <
            0)
            return -1;
        break;
    case UNIT_SYSTEM: break;
    }
    return write_dropin(arena, supervisor, service, changed, err);
}

static int write_units(struct arena *arena, const struct supervisor *supervisor, bool *changed,
                       struct err *err)
{
    const char *after = "network-online.target";

    for (size_t i = 0; i < supervisor->count; i++) {
        const struct supervised *service = &supervisor->services[i];

        if (write_unit(arena, supervisor, service, after, changed, err) < 0)
            return -1;
        after = service->unit;
    }
    return 0;
}

static void print_service(struct buf *out, const struct supervised *service, const char *before)
{
    const char *const words[] = { service->program, service->flag, service->conf };

    buf_printf(out, "  %s:\n    restart: always\n", service->name);
    if (before)
        buf_printf(out, "    depends_on: [%s]\n", before);
    buf_add_text(out, "    command: [");
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        buf_add_text(out, i > 0 ? ", " : "");
        json_print_text(out, str_from(words[i]), JSON_STYLE_COMPACT);
    }
    buf_add_text(out, "]\n");
}

static int write_kepler(struct arena *arena, const struct supervisor *supervisor, bool *changed,
                        struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);

    buf_add_text(&text, "# The daemons of zester on this machine.\n"
                        "kepler:\n"
                        "  autostart: true\n"
                        "services:\n");
    for (size_t i = 0; i < supervisor->count; i++)
        print_service(&text, &supervisor->services[i],
                      i > 0 ? supervisor->services[i - 1].name : NULL);
    return write_service_file(supervisor, arena, supervisor->kepler_conf, buf_view(&text), changed,
                              err);
}

int supervisor_write(struct arena *arena, const struct supervisor *supervisor, bool *ret_changed,
                     struct err *err)
{
    *ret_changed = false;
    switch (supervisor->kind) {
    case SUPERVISOR_SYSTEMD: return write_units(arena, supervisor, ret_changed, err);
    case SUPERVISOR_KEPLER: return write_kepler(arena, supervisor, ret_changed, err);
    case SUPERVISOR_AUTO:
    case SUPERVISOR_NONE: break;
    }
    return 0;
}

/* --- starting ----------------------------------------------------------------------- */

static int start_systemd(struct arena *arena, const struct supervisor *supervisor, struct err *err)
{
    const char *words[SUPERVISOR_SERVICES_MAX + 4] = { "systemctl", "enable", "--now" };

    assert(supervisor->count <= SUPERVISOR_SERVICES_MAX);
    for (size_t i = 0; i < supervisor->count; i++)
        words[3 + i] = supervisor->services[i].unit;
    if (run_service_tool(arena, (const char *const[]){ "systemctl", "daemon-reload", NULL }, err) <
        0)
        return -1;
    return run_service_tool(arena, words, err);
}

static int start_kepler(struct arena *arena, const struct supervisor *supervisor, struct err *err)
{
    const char *kepler = supervisor->kepler;

    if (run_service_tool(arena, (const char *const[]){ kepler, "daemon", "status", NULL }, err) <
            0 &&
        run_service_tool(arena, (const char *const[]){ kepler, "daemon", "start", "-d", NULL },
                         err) < 0)
        return -1;
    return run_service_tool(
        arena, (const char *const[]){ kepler, "start", "-f", supervisor->kepler_conf, "-d", NULL },
        err);
}

int supervisor_start(struct arena *arena, const struct supervisor *supervisor, struct err *err)
{
    if (supervisor->kind == SUPERVISOR_SYSTEMD)
        return start_systemd(arena, supervisor, err);
    if (supervisor->kind == SUPERVISOR_KEPLER)
        return start_kepler(arena, supervisor, err);
    return 0;
}

static int restart_kepler(struct arena *arena, const struct supervisor *supervisor, struct err *err)
{
    return run_service_tool(arena,
                            (const char *const[]){ supervisor->kepler, "recreate", "-f",
                                                   supervisor->kepler_conf, NULL },
                            err);
}

int supervisor_restart(struct arena *arena, const struct supervisor *supervisor, struct err *err)
{
    if (supervisor->kind == SUPERVISOR_KEPLER)
        return restart_kepler(arena, supervisor, err);
    if (supervisor->kind != SUPERVISOR_SYSTEMD)
        return 0;
    if (run_service_tool(arena, (const char *const[]){ "systemctl", "daemon-reload", NULL }, err) <
        0)
        return -1;
    for (size_t i = 0; i < supervisor->count; i++)
        if (run_service_tool(
                arena,
                (const char *const[]){ "systemctl", "restart", supervisor->services[i].unit, NULL },
                err) < 0)
            return -1;
    return 0;
}

/* --- other units and users ------------------------------------------------------------ */

bool supervisor_has_unit(struct arena *arena, const char *unit)
{
    struct err ignored;

    return access(SYSTEMD_RUNS, F_OK) == 0 &&
           run_service_tool(
               arena, (const char *const[]){ "systemctl", "--quiet", "is-active", unit, NULL },
               &ignored) == 0;
}

int supervisor_disable_unit(struct arena *arena, const char *unit, struct err *err)
{
    struct err ignored;

    if (run_service_tool(
            arena, (const char *const[]){ "systemctl", "disable", "--now", unit, NULL }, err) < 0)
        return -1;
    /* systemd counts the status with which it ends as a failure */
    (void)run_service_tool(arena, (const char *const[]){ "systemctl", "reset-failed", unit, NULL },
                           &ignored);
    return 0;
}

static bool has_user(struct arena *arena)
{
    const struct account *account;
    struct err ignored;

    return account_find(arena, MASTER_USER, &account, &ignored) == 0 && account != NULL;
}

static bool uses_installed_units(struct arena *arena, const struct supervisor *supervisor)
{
    const char *path;

    for (size_t i = 0; i < supervisor->count; i++) {
        const enum unit_source source = unit_find(arena, &supervisor->services[i], &path);

        if (source != UNIT_SYSTEM && source != UNIT_PREFIX)
            return false;
    }
    return true;
}

const char *supervisor_user(struct arena *arena, const struct supervisor *supervisor)
{
    static const char line[] = "u " MASTER_USER " - \"Master of a zester fleet\" /var/lib/zester";
    struct err err;

    if (supervisor->kind != SUPERVISOR_SYSTEMD || geteuid() != 0 ||
        !uses_installed_units(arena, supervisor))
        return NULL;
    if (!has_user(arena) &&
        run_service_tool(arena, (const char *const[]){ "systemd-sysusers", "--inline", line, NULL },
                         &err) < 0) {
        printf("warning: the master will run as root: cannot create the user '" MASTER_USER
               "': %s\n",
               err.text);
        return NULL;
    }
    return MASTER_USER;
}

const char *supervisor_hint(struct arena *arena, const struct supervisor *supervisor)
{
    const struct supervised *last = &supervisor->services[supervisor->count - 1];

    if (supervisor->kind == SUPERVISOR_SYSTEMD)
        return arena_printf(arena, "journalctl -u %s", last->unit);
    if (supervisor->kind == SUPERVISOR_KEPLER)
        return arena_printf(arena, "kepler logs -f %s", supervisor->kepler_conf);
    return arena_printf(arena, "the log of %s", last->program);
}
