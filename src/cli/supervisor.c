#include "cli/supervisor.h"

#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "data/json.h"
#include "sys/clock.h"
#include "sys/newfiles.h"
#include "sys/path.h"
#include "sys/process.h"

#define SYSTEMD_RUNS "/run/systemd/system"
#define UNIT_FOLDER  "/etc/systemd/system"
#define NATS_UNIT    "zester-nats.service"
#define MASTER_UNIT  "zester-master.service"
#define FILE_MODE    0644
#define TEXT_MAX     ((size_t)64 << 10)
#define RUN_TIMEOUT  (INT64_C(120) * CLOCK_SECOND)
#define OUTPUT_MAX   ((size_t)64 << 10)

static const char nats_unit[] = "[Unit]\n"
                                "Description=NATS server of zester\n"
                                "After=network-online.target\n"
                                "Wants=network-online.target\n"
                                "\n"
                                "[Service]\n"
                                "ExecStart=\"%s\" -c \"%s\"\n"
                                "ExecReload=/bin/kill -HUP $MAINPID\n"
                                "Restart=always\n"
                                "RestartSec=2\n"
                                "LimitNOFILE=1048576\n"
                                "\n"
                                "[Install]\n"
                                "WantedBy=multi-user.target\n";

static const char master_unit[] = "[Unit]\n"
                                  "Description=Directs the peels of a zester fleet\n"
                                  "After=" NATS_UNIT "\n"
                                  "Wants=" NATS_UNIT "\n"
                                  "\n"
                                  "[Service]\n"
                                  "ExecStart=\"%s\" --config \"%s\"\n"
                                  "ExecReload=/bin/kill -HUP $MAINPID\n"
                                  "Restart=always\n"
                                  "RestartSec=2\n"
                                  "\n"
                                  "[Install]\n"
                                  "WantedBy=multi-user.target\n";

enum supervisor_kind supervisor_choose(enum supervisor_kind kind)
{
    if (kind != SUPERVISOR_AUTO)
        return kind;
    return access(SYSTEMD_RUNS, F_OK) == 0 ? SUPERVISOR_SYSTEMD : SUPERVISOR_KEPLER;
}

/* --- files -------------------------------------------------------------------------- */

static int write_file(struct arena *arena, const char *path, struct str text, bool *changed,
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

static int write_units(struct arena *arena, const struct supervisor *supervisor, bool *changed,
                       struct err *err)
{
    AUTO_BUF struct buf nats = BUF_INIT(TEXT_MAX), master = BUF_INIT(TEXT_MAX);

    buf_printf(&nats, nats_unit, supervisor->nats_server, supervisor->nats_conf);
    buf_printf(&master, master_unit, supervisor->master, supervisor->master_conf);
    if (write_file(arena, UNIT_FOLDER "/" NATS_UNIT, buf_view(&nats), changed, err) < 0)
        return -1;
    return write_file(arena, UNIT_FOLDER "/" MASTER_UNIT, buf_view(&master), changed, err);
}

static void add_command(struct buf *out, const char *const *words)
{
    char before = '[';

    for (; *words; words++) {
        buf_add_char(out, before);
        json_print_text(out, str_from(*words), JSON_STYLE_COMPACT);
        before = ',';
    }
    buf_add_text(out, "]\n");
}

static int write_kepler(struct arena *arena, const struct supervisor *supervisor, bool *changed,
                        struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);

    buf_add_text(&text, "# The server of the bus and the master of this machine.\n"
                        "kepler:\n"
                        "  autostart: true\n"
                        "services:\n"
                        "  nats:\n"
                        "    restart: always\n"
                        "    command: ");
    add_command(
        &text, (const char *const[]){ supervisor->nats_server, "-c", supervisor->nats_conf, NULL });
    buf_add_text(&text, "  master:\n"
                        "    restart: always\n"
                        "    depends_on: [nats]\n"
                        "    command: ");
    add_command(&text, (const char *const[]){ supervisor->master, "--config",
                                              supervisor->master_conf, NULL });
    return write_file(arena, supervisor->kepler_conf, buf_view(&text), changed, err);
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

static int run_program(struct arena *arena, const char *const *words, struct err *err)
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

static int start_systemd(struct arena *arena, struct err *err)
{
    if (run_program(arena, (const char *const[]){ "systemctl", "daemon-reload", NULL }, err) < 0)
        return -1;
    return run_program(
        arena,
        (const char *const[]){ "systemctl", "enable", "--now", NATS_UNIT, MASTER_UNIT, NULL }, err);
}

static int start_kepler(struct arena *arena, const struct supervisor *supervisor, struct err *err)
{
    const char *kepler = supervisor->kepler;

    if (run_program(arena, (const char *const[]){ kepler, "daemon", "status", NULL }, err) < 0 &&
        run_program(arena, (const char *const[]){ kepler, "daemon", "start", "-d", NULL }, err) < 0)
        return -1;
    return run_program(
        arena, (const char *const[]){ kepler, "start", "-f", supervisor->kepler_conf, "-d", NULL },
        err);
}

int supervisor_start(struct arena *arena, const struct supervisor *supervisor, struct err *err)
{
    if (supervisor->kind == SUPERVISOR_SYSTEMD)
        return start_systemd(arena, err);
    if (supervisor->kind == SUPERVISOR_KEPLER)
        return start_kepler(arena, supervisor, err);
    return 0;
}

const char *supervisor_hint(struct arena *arena, const struct supervisor *supervisor)
{
    if (supervisor->kind == SUPERVISOR_SYSTEMD)
        return "journalctl -u " NATS_UNIT " -u " MASTER_UNIT;
    if (supervisor->kind == SUPERVISOR_KEPLER)
        return arena_printf(arena, "kepler logs -f %s", supervisor->kepler_conf);
    return "the logs of nats-server and zester-master";
}
