/* The request that has services read their own configuration again: reload. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/sys/fs.h"
#include "core/sys/signals.h"
#include "kepler/config/config.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/project.h"

#define STATUS_TEXT_MAX ((size_t)64 << 10)
#define HEX             16

/* The signals of a line such as "SigCgt:\t0000000180014003"; bit 0 is signal 1. */
static uint64_t read_signal_set(const char *text, const char *key)
{
    const char *line = strstr(text, key);

    return line ? strtoull(line + strlen(key), NULL, HEX) : 0;
}

/* Would the signal end the process? -1: it cannot be read. */
static int is_deadly(struct arena *arena, pid_t pid, int signo, bool *ret_deadly, struct err *err)
{
    const uint64_t bit = UINT64_C(1) << (signo - 1);
    const char *path = arena_printf(arena, "/proc/%d/status", (int)pid);
    struct str text;

    if (fs_read(arena, path, STATUS_TEXT_MAX, &text, err) < 0)
        return -1;
    *ret_deadly =
        !text.p ||
        !((read_signal_set(text.p, "\nSigCgt:") | read_signal_set(text.p, "\nSigIgn:")) & bit);
    return 0;
}

/* The main process of a running service is our child: its pid is its own until it was reaped. */
static int check_reloadable(struct call *call, const struct service *service, struct err *err)
{
    const char *name = service->config->name;
    AUTO_BUF struct buf signal = BUF_INIT(BUF_NO_LIMIT);
    bool deadly;

    if (!status_is_running(service_status(service)) || service->record.pid <= 0)
        return err_set(err, ERR_INVALID, "service '%s' does not run: 'kepler start %s' starts it",
                       name, name);
    if (is_deadly(&call->arena, service->record.pid, service->config->reload_signal, &deadly, err) <
        0)
        return err_wrap(err, "reload service '%s'", name);
    signal_print(service->config->reload_signal, &signal);
    if (deadly)
        return err_set(err, ERR_UNSUPPORTED,
                       "service '%s' (pid %d) does not handle %s, which would end it: set "
                       "'reload_signal', or use 'kepler restart %s'",
                       name, (int)service->record.pid, buf_text(&signal), name);
    return 0;
}

static int send_reload(struct call *call, const struct service *service, struct err *err)
{
    if (kill(service->record.pid, service->config->reload_signal) < 0)
        return err_sys(err, errno, "reload service '%s'", service->config->name);
    log_info("service reload config=%s service=%s signal=%d cause=requested by %s",
             call->project->path, service->config->name, service->config->reload_signal, call->who);
    return 0;
}

/* All are checked before the first one is signalled. */
static int reload_all(struct call *call, struct err *err)
{
    const struct engine *engine = call->project->engine;

    for (size_t i = 0; i < call->set.count; i++)
        if (check_reloadable(call, engine_get(engine, call->set.services[i]), err) < 0)
            return -1;
    for (size_t i = 0; i < call->set.count; i++)
        if (send_reload(call, engine_get(engine, call->set.services[i]), err) < 0)
            return -1;
    return 0;
}

void handle_reload(struct call *call)
{
    const struct request_ask *args = call->args;
    struct err err;

    if (!args->config || args->services.n == 0) {
        call_refuse(call, MESSAGE_ERROR, "reload requires a config and a service");
        return;
    }
    if (call_find_loaded(call, args->config, args->services) < 0)
        return;
    if (reload_all(call, &err) < 0)
        call_fail(call, &err);
    else
        call_say(call, "Reloaded %zu service%s", call->set.count, call->set.count == 1 ? "" : "s");
}
