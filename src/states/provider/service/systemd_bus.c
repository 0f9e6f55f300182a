/*
 * Only the types of libsystemd's header are used; the functions come from the table
 * below, filled by dlopen. Each call has a connection of its own, since a connection
 * belongs to one thread.
 */
#include "states/provider/service/systemd_bus.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/library.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"

#define LIBRARY "libsystemd.so.0"

/* Where systemd listens for root, also without a bus. */
#define PRIVATE     "unix:path=/run/systemd/private"
#define DESTINATION "org.freedesktop.systemd1"
#define OBJECT      "/org/freedesktop/systemd1"
#define MANAGER     DESTINATION ".Manager"
#define UNIT        DESTINATION ".Unit"
#define SERVICE     DESTINATION ".Service"

/* One query; a reload takes long with thousands of units. */
#define CALL_TIMEOUT (180 * CLOCK_SECOND)
/* One job; the timeouts of units are shorter. */
#define JOB_TIMEOUT (3600 * CLOCK_SECOND)
/* How soon a cancel is noticed. */
#define WAKE_UP (100 * CLOCK_MS)
/* The limit of systemd. */
#define NAME_MAX_BYTES 255

struct bus_api {
    int (*new)(sd_bus **ret);
    int (*set_address)(sd_bus *bus, const char *address);
    int (*start)(sd_bus *bus);
    int (*open_system)(sd_bus **ret);
    int (*set_timeout)(sd_bus *bus, uint64_t usec);
    sd_bus *(*close)(sd_bus *bus);
    int (*call)(sd_bus *bus, const char *destination, const char *path, const char *interface,
                const char *member, sd_bus_error *error, sd_bus_message **reply, const char *types,
                ...);
    int (*get_string)(sd_bus *bus, const char *destination, const char *path, const char *interface,
                      const char *member, sd_bus_error *error, char **ret);
    int (*get_plain)(sd_bus *bus, const char *destination, const char *path, const char *interface,
                     const char *member, sd_bus_error *error, char type, void *ret);
    int (*match)(sd_bus *bus, sd_bus_slot **ret, const char *sender, const char *path,
                 const char *interface, const char *member, sd_bus_message_handler_t callback,
                 void *self);
    int (*process)(sd_bus *bus, sd_bus_message **ret);
    int (*wait)(sd_bus *bus, uint64_t usec);
    int (*read)(sd_bus_message *message, const char *types, ...);
    sd_bus_message *(*unref)(sd_bus_message *message);
    void (*free_error)(sd_bus_error *error);
};

static struct bus_api api;

/* When a failed connection may be tried again. */
static _Atomic int64_t absent_until = INT64_MIN;

static const struct library_symbol symbols[] = {
    { "sd_bus_new", &api.new },
    { "sd_bus_set_address", &api.set_address },
    { "sd_bus_start", &api.start },
    { "sd_bus_open_system", &api.open_system },
    { "sd_bus_set_method_call_timeout", &api.set_timeout },
    { "sd_bus_close_unref", &api.close },
    { "sd_bus_call_method", &api.call },
    { "sd_bus_get_property_string", &api.get_string },
    { "sd_bus_get_property_trivial", &api.get_plain },
    { "sd_bus_match_signal", &api.match },
    { "sd_bus_process", &api.process },
    { "sd_bus_wait", &api.wait },
    { "sd_bus_message_read", &api.read },
    { "sd_bus_message_unref", &api.unref },
    { "sd_bus_error_free", &api.free_error },
};
static struct library library = { LIBRARY, symbols, ARRAY_LEN(symbols), NULL, 0 };

/* --- names ------------------------------------------------------------------------------- */

static bool has_suffix(struct str name)
{
    static const char *const suffixes[] = { ".service", ".socket",    ".target", ".device",
                                            ".mount",   ".automount", ".swap",   ".timer",
                                            ".path",    ".slice",     ".scope" };

    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
        if (str_ends(name, str_from(suffixes[i])))
            return true;
    return false;
}

/* Complete a unit name like systemctl; NULL for names that it would escape or treat as a pattern.
 *  */
static const char *find_unit_name(const struct tool *tool, const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                ":-_.\\@";
    const char *unit =
        has_suffix(str_from(name)) ? name : arena_printf(tool->arena, "%s.service", name);

    return unit[strspn(unit, plain)] == '\0' && strlen(unit) <= NAME_MAX_BYTES ? unit : NULL;
}

/* --- connections ------------------------------------------------------------------------- */

struct bus_session {
    const struct tool *tool;
    sd_bus *bus;
    sd_bus_error error; /* of the last call that failed */
};

static void bus_session_done(struct bus_session *session)
{
    if (!session->bus)
        return;
    api.free_error(&session->error);
    session->bus = api.close(session->bus);
}
#define AUTO_BUS_SESSION __attribute__((cleanup(bus_session_done)))

static int open_private(sd_bus **ret)
{
    sd_bus *bus = NULL;

    if (api.new(&bus) < 0)
        return -1;
    if (api.set_address(bus, PRIVATE) < 0 || api.start(bus) < 0) {
        api.close(bus);
        return -1;
    }
    *ret = bus;
    return 0;
}

static int note_missing_bus(void)
{
    atomic_store(&absent_until, clock_after(clock_now(), SYSTEMD_BUS_ABSENCE));
    return SYSTEMD_BUS_NONE;
}

static int open_bus_session(struct bus_session *session)
{
    if (clock_now() < atomic_load(&absent_until))
        return SYSTEMD_BUS_NONE;
    if (!library_get(&library))
        return note_missing_bus();
    if ((geteuid() != 0 || open_private(&session->bus) < 0) && api.open_system(&session->bus) < 0)
        return note_missing_bus();
    if (api.set_timeout(session->bus, (uint64_t)(CALL_TIMEOUT / CLOCK_US)) < 0)
        return note_missing_bus();
    return 0;
}

static bool is_denied(const char *error)
{
    return error && (strcmp(error, SD_BUS_ERROR_ACCESS_DENIED) == 0 ||
                     strcmp(error, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED) == 0);
}

/* If permission is denied, systemctl may succeed, since it can ask for a password. */
static int report_bus_refusal(const struct bus_session *session, const char *verb, const char *unit,
                              struct err *err)
{
    if (is_denied(session->error.name))
        return note_missing_bus();
    /* by the signal that cancels */
    if (strcmp(session->error.name ? session->error.name : "", "System.Error.EINTR") == 0 &&
        cancel_is_raised(session->tool->cancel))
        return err_set(err, ERR_CANCELED, "canceled while asking systemd to %s %s", verb, unit);
    return err_set(err, ERR_INVALID, "systemd: failed to %s %s: %s", verb, unit,
                   session->error.message ? session->error.message : "no reason was given");
}

/* The object of a unit, which need not exist. The first call of a connection: an invalid reply
 * means that systemd is not there. */
static int load_unit(struct bus_session *session, const char *unit, const char **ret,
                     struct err *err)
{
    sd_bus_message *reply = NULL;
    const char *path;

    if (api.call(session->bus, DESTINATION, OBJECT, MANAGER, "LoadUnit", &session->error, &reply,
                 "s", unit) < 0) {
        const struct str name = str_from(session->error.name ? session->error.name : "");

        if (str_starts(name, STR(DESTINATION ".")))
            return report_bus_refusal(session, "load", unit, err);
        return str_is(name, SD_BUS_ERROR_INVALID_ARGS) ? SYSTEMD_BUS_NONE : note_missing_bus();
    }
    *ret = api.read(reply, "o", &path) < 0 ? NULL : arena_strdup(session->tool->arena, path);
    api.unref(reply);
    return *ret ? 0 : note_missing_bus();
}

static int begin_unit(struct bus_session *session, const char *unit, const char **ret_path,
                      struct err *err)
{
    const int begun = unit ? open_bus_session(session) : SYSTEMD_BUS_NONE;

    return begun != 0 ? begun : load_unit(session, unit, ret_path, err);
}

static int get_bus_text(struct bus_session *session, const char *path, const char *interface,
                        const char *key, struct str *ret)
{
    char *text;

    if (api.get_string(session->bus, DESTINATION, path, interface, key, &session->error, &text) < 0)
        return -1;
    *ret = str_from(arena_strdup(session->tool->arena, text));
    free(text); /* from the library, allocated by malloc */
    return 0;
}

int systemd_bus_show(const struct tool *tool, const char *name, struct systemd_unit *ret,
                     struct err *err)
{
    AUTO_BUS_SESSION struct bus_session session = { .tool = tool };
    const char *unit = find_unit_name(tool, name), *path;
    const int begun = begin_unit(&session, unit, &path, err);
    int stale;

    if (begun != 0)
        return begun;
    if (get_bus_text(&session, path, UNIT, "LoadState", &ret->load) < 0 ||
        get_bus_text(&session, path, UNIT, "ActiveState", &ret->active) < 0 ||
        get_bus_text(&session, path, UNIT, "UnitFileState", &ret->file) < 0 ||
        api.get_plain(session.bus, DESTINATION, path, UNIT, "NeedDaemonReload", &session.error,
                      SD_BUS_TYPE_BOOLEAN, &stale) < 0)
        return report_bus_refusal(&session, "show", unit, err);
    ret->stale = stale;
    return 0;
}

static int reload_bus_units(struct bus_session *session, struct err *err)
{
    if (api.call(session->bus, DESTINATION, OBJECT, MANAGER, "Reload", &session->error, NULL,
                 NULL) < 0)
        return report_bus_refusal(session, "reload", "the unit files", err);
    return 0;
}

int systemd_bus_reload(const struct tool *tool, struct err *err)
{
    AUTO_BUS_SESSION struct bus_session session = { .tool = tool };
    const int begun = open_bus_session(&session);

    return begun != 0 ? begun : reload_bus_units(&session, err);
}

/* --- jobs -------------------------------------------------------------------------------- */

struct bus_job {
    struct arena *arena;
    const char *verb, *unit, *unit_path;
    const char *path;   /* NULL: not known yet */
    const char *result; /* NULL: it has not ended */
};

static int on_job_removed(sd_bus_message *message, void *self, sd_bus_error *error)
{
    struct bus_job *job = self;
    const char *path, *unit, *result;
    uint32_t id;

    (void)error;
    if (api.read(message, "uoss", &id, &path, &unit, &result) >= 0 && job->path &&
        strcmp(path, job->path) == 0)
        job->result = arena_strdup(job->arena, result);
    return 0;
}

static int wait_job_end(const struct bus_session *session, const struct bus_job *job,
                        struct err *err)
{
    const int64_t patience = session->tool->timeout > 0 ? session->tool->timeout : JOB_TIMEOUT;
    const int64_t deadline = clock_after(clock_real(), patience);

    while (!job->result) {
        int r = api.process(session->bus, NULL);

        if (r == 0)
            r = api.wait(session->bus, (uint64_t)(WAKE_UP / CLOCK_US));
        if (r < 0 && r != -EINTR)
            return err_sys(err, -r, "systemd: lost the connection while waiting to %s %s",
                           job->verb, job->unit);
        if (cancel_is_raised(session->tool->cancel))
            return err_set(err, ERR_CANCELED, "canceled while waiting for systemd to %s %s",
                           job->verb, job->unit);
        if (clock_real() > deadline)
            return err_set(err, ERR_TIMEOUT, "systemd did not %s %s within %g seconds", job->verb,
                           job->unit, (double)patience / CLOCK_SECOND);
    }
    return 0;
}

static const char *find_failure_reason(struct bus_session *session, const struct bus_job *job)
{
    static const struct {
        const char *result, *words;
    } reasons[] = {
        { "timeout", "the job timed out" },
        { "dependency", "a dependency failed" },
        { "canceled", "the job was replaced by another one" },
        { "invalid", "it is not active" },
        { "assert", "an assertion of the unit failed" },
        { "unsupported", "the unit type is not supported on this machine" },
        { "once", "it can only be started once" },
    };
    struct str why;

    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (strcmp(job->result, reasons[i].result) == 0)
            return reasons[i].words;
    /* A service has more details: "exit-code", "timeout", "start-limit-hit". */
    if (!str_ends(str_from(job->unit), STR(".service")) ||
        get_bus_text(session, job->unit_path, SERVICE, "Result", &why) < 0)
        return "no reason was given";
    return arena_printf(job->arena, "the service ended with '%s'", why.p);
}

static int check_job_result(struct bus_session *session, const struct bus_job *job, struct err *err)
{
    if (strcmp(job->result, "done") == 0 || strcmp(job->result, "skipped") == 0)
        return 0;
    return err_set(
        err, ERR_INVALID,
        "systemd: the job to %s %s ended with result '%s': %s; see 'systemctl status %s' "
        "and 'journalctl -xeu %s'",
        job->verb, job->unit, job->result, find_failure_reason(session, job), job->unit, job->unit);
}

static int run_bus_job(struct bus_session *session, const char *method, struct bus_job *job,
                       bool block, struct err *err)
{
    sd_bus_message *reply = NULL;
    const char *path;
    int r = 0;

    /* Subscribe first: a job may end before its reply is read. */
    if (block)
        r = api.match(session->bus, NULL, DESTINATION, OBJECT, MANAGER, "JobRemoved",
                      on_job_removed, job);
    if (r < 0)
        return err_sys(err, -r, "systemd: cannot listen for the end of jobs");
    if (block && api.call(session->bus, DESTINATION, OBJECT, MANAGER, "Subscribe", &session->error,
                          NULL, NULL) < 0)
        return report_bus_refusal(session, job->verb, job->unit, err);
    if (api.call(session->bus, DESTINATION, OBJECT, MANAGER, method, &session->error, &reply, "ss",
                 job->unit, "replace") < 0)
        return report_bus_refusal(session, job->verb, job->unit, err);
    r = api.read(reply, "o", &path);
    if (r >= 0)
        job->path = arena_strdup(job->arena, path);
    api.unref(reply);
    if (r < 0)
        return err_sys(err, -r, "systemd: no job to %s %s", job->verb, job->unit);
    if (!block)
        return 0;
    return wait_job_end(session, job, err) < 0 ? -1 : check_job_result(session, job, err);
}

/* --- actions ----------------------------------------------------------------------------- */

static const struct bus_request {
    const char *method;
    const char *types; /* NULL: a job; else argument types: unit files, runtime, force */
    bool native;       /* only for units with a file; others need the init script tools */
} bus_requests[SERVICE_ACTIONS] = {
    [SERVICE_START] = { "StartUnit", NULL, false },
    [SERVICE_STOP] = { "StopUnit", NULL, false },
    [SERVICE_RESTART] = { "RestartUnit", NULL, false },
    [SERVICE_RELOAD] = { "ReloadUnit", NULL, false },
    [SERVICE_ENABLE] = { "EnableUnitFiles", "asbb", true },
    [SERVICE_DISABLE] = { "DisableUnitFiles", "asb", true },
    [SERVICE_MASK] = { "MaskUnitFiles", "asbb", false },
    [SERVICE_UNMASK] = { "UnmaskUnitFiles", "asb", false },
    [SERVICE_FORGET] = { "DisableUnitFiles", "asb", true },
};

static int change_files(struct bus_session *session, const struct bus_request *request,
                        const struct bus_job *job, bool runtime, struct err *err)
{
    struct str file;

    if (request->native && get_bus_text(session, job->unit_path, UNIT, "UnitFileState", &file) < 0)
        return report_bus_refusal(session, job->verb, job->unit, err);
    if (request->native && (file.n == 0 || str_is(file, "generated")))
        return SYSTEMD_BUS_NONE;
    if (api.call(session->bus, DESTINATION, OBJECT, MANAGER, request->method, &session->error, NULL,
                 request->types, 1, job->unit, (int)runtime, (int)false) < 0)
        return report_bus_refusal(session, job->verb, job->unit, err);
    return reload_bus_units(session, err);
}

int systemd_bus_act(const struct tool *tool, const char *name, enum service_action action,
                    unsigned flags, struct err *err)
{
    const struct bus_request *request = &bus_requests[action];
    struct bus_job job = { .arena = tool->arena,
                           .verb = service_action_word(action),
                           .unit = find_unit_name(tool, name) };
    AUTO_BUS_SESSION struct bus_session session = { .tool = tool };
    const int begun = begin_unit(&session, job.unit, &job.unit_path, err);

    if (begun != 0)
        return begun;
    if (request->types)
        return change_files(&session, request, &job, flags & SERVICE_RUNTIME, err);
    return run_bus_job(&session, request->method, &job, !(flags & SERVICE_NO_BLOCK), err);
}
