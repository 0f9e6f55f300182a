#include "fleet/peel/main.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/nats/hub.h"
#include "fleet/peel/conf.h"
#include "fleet/peel/identity.h"
#include "fleet/peel/peel.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/loop.h"
#include "core/sys/notify.h"
#include "fleet/wire/peel_id.h"

#define COMPONENT "peel"
#define IDLE_LOOK (CLOCK_SECOND / 2)

struct peel_program {
    struct arena line_arena, conf_arena;
    struct daemon_line line;
    struct peel_conf conf;
    struct loop *loop;
    struct nats_hub *hub;
    struct peel *peel;
    struct timer deadline, idle;
    struct notify notify;
    char log_id[PEEL_ID_SIZE]; /* "" until it is known */
    bool is_stopping, is_leaving;
    int status; /* of the process, once it has ended */
};

/* --- signals ---------------------------------------------------------------------- */

static void log_peel_diags(const struct diags *diags)
{
    for (size_t i = 0; i < diags->list.n; i++) {
        AUTO_BUF struct buf text = BUF_INIT(LOG_TEXT_MAX);

        place_print(diags->list.p[i].at, &text);
        log_warning("configuration cannot be read at=%s problem=%s", buf_text(&text),
                    diags->list.p[i].text);
    }
}

static void reload_peel_conf(struct peel_program *program)
{
    struct arena arena = ARENA_INIT, old = program->conf_arena;
    const struct peel_conf before = program->conf;
    struct diags diags = DIAGS_INIT(&arena);
    struct peel_conf conf = { 0 };

    if (daemon_conf_read(&peel_conf_daemon, &program->line, &arena, &conf, &diags, &diags) < 0) {
        log_peel_diags(&diags);
        log_error("configuration has errors, keeping the old one file=%s",
                  daemon_conf_file(&peel_conf_daemon, &program->line));
        arena_done(&arena);
        return;
    }
    program->conf = conf;
    program->conf_arena = arena;
    peel_reload(program->peel, &before);
    daemon_log_set(conf.log_format, conf.log_level);
    arena_done(&old);
    log_info("configuration read again");
}

/* Jobs that are still running end with the process; the next start answers for them. */
static void on_stop_deadline(struct timer *timer)
{
    log_warning("stopping takes too long, ending now");
    _exit(container_of(timer, struct peel_program, deadline)->status);
}

static void on_stopped(void *self)
{
    struct peel_program *program = self;

    loop_stop(program->loop);
}

static void stop_peel(struct peel_program *program)
{
    program->is_stopping = true;
    timer_set(loop_timers(program->loop), &program->deadline,
              clock_after(clock_now(), PEEL_STOP_NS), on_stop_deadline);
    peel_stop(program->peel);
}

static void on_enroll_untrusted(void *self)
{
    struct peel_program *program = self;

    if (program->is_stopping)
        return;
    log_error("no master has a trusted certificate, ending: correct master_url, enroll_ca or "
              "enroll_ca_pin; if the fleet has a new authority, remove enroll-ca.crt auth_dir=%s",
              program->conf.auth_dir);
    program->status = PEEL_UNTRUSTED_STATUS;
    stop_peel(program);
}

static void on_idle_look(struct timer *timer)
{
    struct peel_program *program = container_of(timer, struct peel_program, idle);

    if (program->is_stopping)
        return;
    if (peel_is_idle(program->peel))
        stop_peel(program);
    else
        timer_set(loop_timers(program->loop), timer, clock_after(clock_now(), IDLE_LOOK),
                  on_idle_look);
}

/* An upgrade has replaced the program, maybe as a job of ours: the supervisor starts the new one
 * once no job runs. */
static void leave_when_idle(struct peel_program *program)
{
    if (program->is_leaving || program->is_stopping)
        return;
    program->is_leaving = true;
    log_info("ending as soon as no job runs, so that the installed version is started");
    on_idle_look(&program->idle);
}

static void on_peel_signal(void *self, int signo)
{
    struct peel_program *program = self;

    if (signo == PEEL_LEAVE_SIGNAL) {
        leave_when_idle(program);
        return;
    }
    if (signo == SIGHUP) {
        reload_peel_conf(program);
        return;
    }
    if (program->is_stopping)
        _exit(EXIT_SUCCESS);
    log_info("stopping signal=%d", signo);
    stop_peel(program);
}

static int catch_peel_signals(struct peel_program *program, struct err *err)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP, PEEL_LEAVE_SIGNAL };
    const struct sigaction ignore = { .sa_handler = SIG_IGN };

    (void)sigaction(SIGPIPE, &ignore, NULL);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        if (loop_on_signal(program->loop, signals[i], on_peel_signal, program, err) < 0)
            return -1;
    return 0;
}

/* --- life ------------------------------------------------------------------------- */

static int open_program(struct peel_program *program, struct err *err)
{
    program->loop = loop_new(err);
    if (!program->loop || catch_peel_signals(program, err) < 0)
        return -1;
    notify_init(&program->notify, program->loop);
    program->hub = nats_hub_new(program->loop);
    program->peel =
        peel_new(&(struct peel_options){ .loop = program->loop,
                                         .hub = program->hub,
                                         .conf = &program->conf,
                                         .host = peel_identity_host(&program->line_arena),
                                         .stopped = on_stopped,
                                         .untrusted = on_enroll_untrusted,
                                         .self = program },
                 err);
    return program->peel ? 0 : -1;
}

static int serve_peel(struct peel_program *program)
{
    struct err err;

    if (open_program(program, &err) < 0) {
        log_error("peel cannot start error=%s", err.text);
        return DAEMON_CONF_ERROR;
    }
    (void)snprintf(program->log_id, sizeof(program->log_id), "%s", peel_id(program->peel));
    log_info("peel started");
    notify_ready(&program->notify);
    loop_run(program->loop);
    log_info("peel ended");
    return program->status;
}

int peel_main(int argc, char **argv)
{
    struct peel_program program = { 0 };
    int status;

    if (daemon_conf_start(&peel_conf_daemon, &program.line_arena, argc, argv, &program.line,
                          &program.conf, &status)) {
        daemon_log_start(COMPONENT, program.log_id);
        daemon_log_set(program.conf.log_format, program.conf.log_level);
        fd_limit_raise();
        status = serve_peel(&program);
        notify_done(&program.notify);
        peel_free(program.peel);
        nats_hub_free(program.hub);
        loop_free(program.loop);
    }
    arena_done(&program.conf_arena);
    arena_done(&program.line_arena);
    return status;
}
