#include "commands/cli/fleet/setup/supervisor.h"

#include <assert.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/data/json.h"
#include "core/sys/clock.h"
#include "core/sys/newfiles.h"
#include "core/sys/path.h"
#include "core/sys/process.h"

#define SYSTEMD_RUNS "/run/systemd/system"
#define UNIT_FOLDER  "/etc/systemd/system"
#define FILE_MODE    0644
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

/* --- files -------------------------------------------------------------------------- */

static int write_service_file(struct arena *arena, const char *path, struct str text, bool *changed,
                              struct err *err)
{
    const struct newfile file = { .name = path_basename(path).p, .text = text, .mode = FILE_MODE };

    if (access(path, F_OK) == 0)
        return 0;
    if (newfiles_write(path_dirname(arena, path), &file, 1, "it is never overwritten", err) < 0)
        return -1;
    *changed = true;
    return 0;
}

static void print_unit(struct buf *out, const struct supervised *service, const char *after)
{
    buf_printf(out, "[Unit]\nDescription=%s\nAfter=%s\nWants=%s\n\n[Service]\n", service->summary,
               after, after);
    buf_printf(out, "ExecStart=\"%s\" %s \"%s\"\n", service->program, service->flag, service->conf);
    buf_add_text(out, "ExecReload=/bin/kill -HUP $MAINPID\n"
                      "Restart=always\n"
                      "RestartSec=2\n"
                      "LimitNOFILE=1048576\n");
    if (service->final_status > 0)
        buf_printf(out, "RestartPreventExitStatus=%d\n", service->final_status);
    buf_add_text(out, "\n"
                      "[Install]\n"
                      "WantedBy=multi-user.target\n");
}

static int write_units(struct arena *arena, const struct supervisor *supervisor, bool *changed,
                       struct err *err)
{
    const char *after = "network-online.target";

    for (size_t i = 0; i < supervisor->count; i++) {
        const struct supervised *service = &supervisor->services[i];
        AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);

        print_unit(&text, service, after);
        if (write_service_file(arena, path_join(arena, UNIT_FOLDER, service->unit), buf_view(&text),
                               changed, err) < 0)
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
    return write_service_file(arena, supervisor->kepler_conf, buf_view(&text), changed, err);
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

const char *supervisor_hint(struct arena *arena, const struct supervisor *supervisor)
{
    const struct supervised *last = &supervisor->services[supervisor->count - 1];

    if (supervisor->kind == SUPERVISOR_SYSTEMD)
        return arena_printf(arena, "journalctl -u %s", last->unit);
    if (supervisor->kind == SUPERVISOR_KEPLER)
        return arena_printf(arena, "kepler logs -f %s", supervisor->kepler_conf);
    return arena_printf(arena, "the log of %s", last->program);
}
