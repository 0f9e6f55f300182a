/* The agent of this machine: from its configuration to its last run. */
#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "commands/cli/fleet/doctor/doctor.h"
#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/time_text.h"
#include "core/http/probe.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "fleet/bus/claims.h"
#include "fleet/nats/creds.h"
#include "fleet/peel/conf.h"
#include "fleet/peel/data_store.h"
#include "fleet/peel/identity.h"
#include "fleet/peel/peel_settings.h"
#include "states/run/lastrun.h"

#define ASK_NS (5 * CLOCK_SECOND)
/* Unsent messages that are worth a word. */
#define WAITING_MANY 100
/* Free space: this share of the file system, or so many bytes, is little. */
#define ROOM_SHARE 20
#define ROOM_BYTES ((uint64_t)100 << 20)
#define ROOM_LEAST ((uint64_t)10 << 20)
#define START_IT   "start it: 'systemctl start zester-peel', and see 'journalctl -u zester-peel'"

struct own_peel {
    struct doctor *doctor;
    struct peel_conf conf;
    const char *id;
};

static void add_finding(struct doctor *doctor, enum doctor_verdict verdict, const char *check,
                        const char *text, const char *advice)
{
    doctor_add(doctor, (struct doctor_finding){ check, verdict, arena_strdup(doctor->arena, text),
                                                advice });
}

/* --- who it is ------------------------------------------------------------------------ */

static bool check_peel_conf(struct own_peel *peel, const char *file)
{
    struct doctor *doctor = peel->doctor;
    const struct daemon_line line = { .file = file,
                                      .given = value_map(value_map_new(doctor->arena, 1)) };
    struct diags diags = DIAGS_INIT(doctor->arena);
    struct err err;

    if (daemon_conf_read(&peel_conf_daemon, &line, doctor->arena, &peel->conf, &diags, &diags) <
        0) {
        (void)diags_to_err(&diags, &err);
        add_finding(doctor, DOCTOR_FAIL, "config", err.text,
                    "correct the file; 'zester-peel --help' has all keys");
        return false;
    }
    doctor_add_ok(doctor, "config", file);
    return true;
}

static bool check_peel_rights(struct own_peel *peel)
{
    if (access(peel->conf.data_dir, R_OK | X_OK) == 0 && access(peel->conf.auth_dir, X_OK) == 0)
        return true;
    add_finding(peel->doctor, DOCTOR_FAIL, "rights",
                arena_printf(peel->doctor->arena, "'%s' or '%s' cannot be read",
                             peel->conf.data_dir, peel->conf.auth_dir),
                "run this as root; if they do not exist, 'zester-peel join' makes this machine a "
                "peel");
    return false;
}

static bool check_peel_id(struct own_peel *peel)
{
    struct err err;

    if (peel_identity_find(peel->doctor->arena, peel->conf.auth_dir, peel->conf.id, &peel->id,
                           &err) < 0) {
        add_finding(peel->doctor, DOCTOR_FAIL, "identity", err.text,
                    "join the fleet with the command that 'zester-master token' prints");
        return false;
    }
    doctor_add_ok(peel->doctor, "identity", peel->id);
    return true;
}

/* Its clock is judged by them, too: they were issued in the past. */
static void check_peel_creds(struct own_peel *peel)
{
    struct doctor *doctor = peel->doctor;
    const char *path = arena_printf(doctor->arena, "%s/%s.creds", peel->conf.auth_dir, peel->id);
    struct claims_user claims;
    struct nats_creds creds;
    struct str text;
    struct err err;

    doctor->target.creds = path;
    if (fs_read(doctor->arena, path, NATS_CREDS_MAX, &text, &err) < 0 || !text.p) {
        add_finding(doctor, DOCTOR_FAIL, "credentials",
                    arena_printf(doctor->arena, "'%s' does not exist: not enrolled yet", path),
                    arena_printf(doctor->arena,
                                 "on a master: 'zester enroll list', then 'zester enroll approve "
                                 "--peel %s'",
                                 peel->id));
        return;
    }
    if (nats_creds_parse(text, &creds, &err) < 0) {
        add_finding(doctor, DOCTOR_FAIL, "credentials", err.text,
                    "remove the file, and enroll again");
        return;
    }
    if (claims_read_user(doctor->arena, str_from(arena_strdup(doctor->arena, creds.jwt)), &claims,
                         &err) == 0)
        doctor_add_term(doctor, &(struct doctor_term){
                                    .check = "credentials",
                                    .what = path,
                                    .begins = claims.head.iat,
                                    .ends = claims.head.exp,
                                    .advice = "the agent renews them by itself while it is "
                                              "connected; set the clock of this machine if it is "
                                              "wrong, else enroll again" });
    nats_creds_done(&creds);
}

/* --- its connection ------------------------------------------------------------------- */

static void check_peel_servers(struct own_peel *peel)
{
    if (!peel->conf.nats_url || !peel->conf.nats_url[0])
        return; /* masters told the agent, which says below whether it is connected */
    peel->doctor->target.urls = peel->conf.nats_url;
    peel->doctor->target.ca = peel->conf.nats_ca;
    peel->doctor->target.auth_dir = peel->conf.auth_dir;
    doctor_check_reach(peel->doctor);
}

static const struct {
    const char *check, *advice;
} check_advice[] = {
    { "nats", "see the names, ports and certificates above; 'zester enroll show' on a master says "
              "whether this machine was revoked" },
    { "kv", "the bus does not store: see 'zester doctor' on a master" },
    { "files", "see the log of the agent, and 'zester fileserver status' on a master" },
    { "", "see the log of the agent" },
};

static const char *advise_check(const char *name)
{
    size_t i = 0;

    while (check_advice[i].check[0] && strcmp(check_advice[i].check, name) != 0)
        i++;
    return check_advice[i].advice;
}

static void add_agent_checks(struct doctor *doctor, const struct value *checks)
{
    for (size_t i = 0; value_is(checks, VALUE_MAP) && i < checks->map->count; i++) {
        const struct value_pair *pair = &checks->map->pairs[i];
        const char *name = arena_printf(doctor->arena, "agent: %.*s", STR_ARG(pair->key.s));
        const char *status = value_get_text(&pair->value, "status");
        const char *message = value_get_text(&pair->value, "message");

        if (status && strcmp(status, "ok") == 0)
            doctor_add_ok(doctor, name, "ok");
        else
            add_finding(doctor, status && strcmp(status, "down") == 0 ? DOCTOR_FAIL : DOCTOR_WARN,
                        name, message ? message : "not ready", advise_check(pair->key.s.p));
    }
}

static void check_agent(struct own_peel *peel)
{
    struct doctor *doctor = peel->doctor;
    const char *address = peel->conf.health_addr;
    struct probe_answer answer;
    struct value body;
    struct err err;

    if (!address || !address[0]) {
        add_finding(doctor, DOCTOR_WARN, "agent", "it serves no health: 'health_addr' is empty",
                    "set it to an address of loopback, so that its state can be seen");
        return;
    }
    if (probe_get(doctor->arena, address, "/readyz", ASK_NS, &answer, &err) < 0) {
        add_finding(doctor, DOCTOR_FAIL, "agent",
                    arena_printf(doctor->arena, "does not run: %s", err.text), START_IT);
        return;
    }
    doctor_add_ok(doctor, "agent", arena_printf(doctor->arena, "runs (%s)", address));
    if (json_decode(doctor->arena, answer.body, &body, &err) == 0)
        add_agent_checks(doctor, value_get(&body, "checks"));
}

/* --- what it has ---------------------------------------------------------------------- */

static void check_content(struct own_peel *peel)
{
    struct doctor *doctor = peel->doctor;
    const char *states;
    struct value settings;
    bool has_settings;
    struct err err;

    states = data_store_states(doctor->arena, &peel->conf, &err);
    if (states)
        doctor_add_ok(doctor, "states", states);
    else
        add_finding(doctor, DOCTOR_WARN, "states", "no tree was received yet",
                    "publish one on a master: 'zester fileserver status'");
    if (peel_settings_read(doctor->arena, peel->conf.data_dir, &settings, &has_settings, &err) < 0)
        add_finding(doctor, DOCTOR_FAIL, "settings", err.text,
                    "remove the file: the agent writes it again from what masters publish");
    else if (has_settings)
        doctor_add_ok(doctor, "settings", "known");
    else
        add_finding(doctor, DOCTOR_WARN, "settings", PEEL_SETTINGS_UNKNOWN,
                    "on a master, 'zester settings show' finds mistakes in them");
}

static void check_waiting(struct own_peel *peel)
{
    struct doctor *doctor = peel->doctor;
    struct fs_names names;
    struct err err;

    if (fs_list(doctor->arena, path_join(doctor->arena, peel->conf.data_dir, DATA_STORE_OUTBOX),
                &names, &err) < 0)
        return; /* it has never run */
    add_finding(
        doctor, names.list.n > WAITING_MANY ? DOCTOR_WARN : DOCTOR_OK, "outbox",
        arena_printf(doctor->arena, "%zu files of returns that are not stored yet", names.list.n),
        names.list.n > WAITING_MANY ? "they are sent when the bus can be reached again" : NULL);
}

static void check_disk(struct own_peel *peel)
{
    struct doctor *doctor = peel->doctor;
    enum doctor_verdict verdict = DOCTOR_OK;
    struct statvfs fs;
    uint64_t left;

    if (statvfs(peel->conf.data_dir, &fs) < 0)
        return;
    left = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (left < ROOM_LEAST)
        verdict = DOCTOR_FAIL;
    else if (left < ROOM_BYTES || fs.f_bavail < fs.f_blocks / ROOM_SHARE)
        verdict = DOCTOR_WARN;
    add_finding(
        doctor, verdict, "disk",
        arena_printf(doctor->arena, "%s: %" PRIu64 " MiB free", peel->conf.data_dir, left >> 20),
        verdict == DOCTOR_OK ? NULL : "make room: without it, nothing can be changed or reported");
}

static void check_last_run(struct own_peel *peel)
{
    struct doctor *doctor = peel->doctor;
    struct lastrun run = { 0 };
    struct err err;
    const char *when;

    if (lastrun_read(doctor->arena, peel->conf.data_dir, &run, &err) < 0) {
        if (err.code != ERR_NOT_FOUND)
            add_finding(doctor, DOCTOR_WARN, "last run", err.text, "apply states again");
        return;
    }
    when = time_text(doctor->arena, run.time);
    if (run.success)
        doctor_add_ok(doctor, "last run",
                      arena_printf(doctor->arena, "%s at %s succeeded", run.function, when));
    else
        add_finding(doctor, DOCTOR_WARN, "last run",
                    arena_printf(doctor->arena,
                                 "%s at %s: %" PRIu32 " of %" PRIu32 " states failed%s%s",
                                 run.function, when, run.failed, run.states,
                                 run.error && run.error[0] ? "; " : "", run.error ? run.error : ""),
                    "'zester-peel call state.last' shows them");
}

void doctor_check_own_peel(struct doctor *doctor, const char *file)
{
    struct own_peel peel = { .doctor = doctor };

    if (!check_peel_conf(&peel, file) || !check_peel_rights(&peel))
        return;
    if (check_peel_id(&peel)) {
        check_peel_creds(&peel);
        check_peel_servers(&peel);
    }
    check_agent(&peel);
    check_content(&peel);
    check_waiting(&peel);
    check_disk(&peel);
    check_last_run(&peel);
}
