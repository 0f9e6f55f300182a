#include "commands/cli/kepler/follow.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/kepler/kepler.h"
#include "commands/cli/kepler/client.h"
#include "commands/cli/kepler/lines.h"
#include "commands/cli/kepler/progress.h"
#include "commands/cli/kepler/status_text.h"
#include "kepler/config/reason.h"
#include "kepler/control/message.h"
#include "core/sys/clock.h"

/* A service that fails right after it was ready still counts. */
#define LATE_FAILURE (200 * CLOCK_MS)
/* Lines of failed services that are shown at the end. */
#define TAIL_LINES  20
#define FAILURE_MAX 4096
#define SKIPPED_MAX ((size_t)1 << 20)

struct following {
    const struct kepler_follow *follow;
    struct kepler_client client;
    struct kepler_progress progress;
    struct kepler_lines lines;
    uint64_t start_id, stop_id; /* 0: not requested */
    bool answered;              /* the request is under way */
    bool ready;                 /* all awaited services are */
    bool ended;
    int status;
    const char *message;       /* the services that were started */
    struct param_strs started; /* by us */
    int64_t before;            /* services that were already up */
    VEC(const char *) failed;  /* services with an unhandled failure */
    uint64_t tail_id;          /* id of the request for their last lines; 0: not requested */
    struct timer timeout, late;
};

static void end_following(struct following *following, int status)
{
    if (following->ended)
        return;
    following->ended = true;
    following->status = status;
    kepler_client_stop(&following->client);
}

/* End with the current status. In the background the user has not seen the output of failed
 * services: fetch it first. */
static void finish_command(struct following *following)
{
    const struct request_logs tail = { .config = following->follow->start.config,
                                       .services = { following->failed.n, following->failed.p },
                                       .tail = TAIL_LINES,
                                       .has_tail = true };

    if (!following->follow->detached || following->failed.n == 0)
        end_following(following, following->status);
    else if (!following->tail_id)
        following->tail_id = kepler_client_send(&following->client, REQUEST_LOGS, &tail);
}

static void stop_some(struct following *following, struct param_strs services, bool clean,
                      const char *because)
{
    const struct request_stop stop = { .config = following->follow->start.config,
                                       .services = services,
                                       .clean = clean,
                                       .keep_logs = following->failed.n > 0,
                                       .because = because };

    if (!following->stop_id)
        following->stop_id = kepler_client_send(&following->client, REQUEST_STOP, &stop);
}

static void stop_followed_services(struct following *following, bool clean, const char *because)
{
    const struct request_start *start = &following->follow->start;

    if (clean)
        stop_some(following, (struct param_strs){ 0 }, true, because);
    else if (!start->needs)
        stop_some(following, start->services, false, because);
    else if (following->started.n > 0)
        stop_some(following, following->started, false, because);
    else
        finish_command(following); /* it has started nothing */
}

/* Services that were up before are not ours to stop. */
static void stop_own(struct following *following, const char *because)
{
    bool clean = following->follow->clean;

    if (clean || following->before == 0) {
        stop_followed_services(following, clean, because);
        return;
    }
    if (!following->follow->quiet)
        (void)fprintf(
            stderr,
            "%lld service%s started before this command keep%s running: see 'kepler stop'\n",
            (long long)following->before, following->before == 1 ? "" : "s",
            following->before == 1 ? "s" : "");
    if (following->started.n > 0)
        stop_some(following, following->started, false, because);
    else
        finish_command(following);
}

/* --- messages of the daemon ------------------------------------------------------------------ */

static void on_failure(struct following *following, const struct value *body)
{
    AUTO_BUF struct buf text = BUF_INIT(FAILURE_MAX);
    const struct value *v = value_get(body, "service"), *detail = value_get(body, "detail");
    const char *name = v && value_is(v, VALUE_STR) ? v->s.p : "?";

    if (following->stop_id)
        return; /* we stopped it */
    VEC_PUSH_IN(following->client.arena, &following->failed,
                arena_strdup(following->client.arena, name));
    kepler_failure_print(body, &text);
    (void)kepler_error("service '%s' failed: %s", name, buf_text(&text));
    if (detail && value_is(detail, VALUE_STR) && detail->s.n > 0)
        (void)fprintf(stderr, "  %s\n", detail->s.p);
    kepler_progress_leave(&following->progress);
    following->status = KEPLER_FAILED;
    if (following->follow->abort)
        stop_followed_services(following, false,
                               arena_printf(following->client.arena,
                                            "the start was aborted because service '%s' failed",
                                            name));
    else if (following->follow->kind == REQUEST_RESTART && following->follow->detached)
        finish_command(following);
}

static void on_stop_overdue(struct timer *timer)
{
    struct following *following = container_of(timer, struct following, late);

    if (following->stop_id)
        return;
    following->ready = true;
    finish_command(following);
}

static void on_services_ready(struct following *following, const struct value *body)
{
    (void)body;
    if (following->follow->detached && !following->stop_id)
        timer_set(loop_timers(following->client.loop), &following->late,
                  clock_after(clock_now(), LATE_FAILURE), on_stop_overdue);
}

static void on_quiescent(struct following *following, const struct value *body)
{
    (void)body;
    if (following->follow->detached || following->stop_id)
        return; /* we wait for ready, or for the end of the stop */
    if (following->follow->clean)
        stop_followed_services(following, true, "the run is over");
    else
        finish_command(following);
}

static void on_hook(struct following *following, const struct value *body)
{
    const struct value *name = value_get(body, "service"), *hook = value_get(body, "hook");
    const struct value *what = value_get(body, "what");

    if (following->follow->verbose && name && hook && what && value_is(name, VALUE_STR) &&
        value_is(hook, VALUE_STR) && value_is(what, VALUE_STR))
        (void)fprintf(stderr, "%s: hook %s %s\n", name->s.p, hook->s.p, what->s.p);
}

static void on_lines(struct following *following, const struct value *body)
{
    kepler_lines_print(&following->lines, body);
}

static void on_service_progress(struct following *following, const struct value *body)
{
    kepler_progress_set(&following->progress, body);
}

/* Others mean nothing here. */
static const struct {
    const char *name;
    void (*fn)(struct following *following, const struct value *body);
} events[] = {
    { "lines", on_lines },     { "progress", on_service_progress }, { "hook", on_hook },
    { "failure", on_failure }, { "ready", on_services_ready },      { "quiescent", on_quiescent },
};

static void on_follow_event(struct following *following, const struct message *message)
{
    for (size_t i = 0; i < ARRAY_LEN(events); i++)
        if (strcmp(message->name, events[i].name) == 0)
            events[i].fn(following, &message->body);
}

/* Print at once, even where lines follow. */
static void print_at_once(const char *text)
{
    puts(text);
    (void)fflush(stdout);
}

/* Reported at the end, once it is true. */
static void keep_done_text(struct following *following, const struct message *reply)
{
    if (!following->follow->quiet)
        following->message =
            arena_strdup(following->client.arena, message_text(reply, "message", ""));
}

/* Kept for an interrupt. */
static void note_started(struct following *following, const struct message *reply)
{
    struct arena *arena = following->client.arena;
    const struct value *started = value_get(&reply->body, "started");
    const struct value *before = value_get(&reply->body, "before");
    const char **names;

    if (!started || !value_is(started, VALUE_LIST) || !before || !value_is(before, VALUE_INT))
        return;
    names = ARENA_ARRAY(arena, const char *, started->list->count);
    for (size_t i = 0; i < started->list->count; i++)
        if (value_is(&started->list->items[i], VALUE_STR))
            names[following->started.n++] = arena_strdup(arena, started->list->items[i].s.p);
    following->started.p = names;
    following->before = before->i;
}

/* The request is under way or done, and more messages follow. In the foreground, lines are
 * report enough. */
static void on_request_accepted(struct following *following, const struct message *reply)
{
    const struct value *warnings = value_get(&reply->body, "warnings");

    following->answered = true;
    note_started(following, reply);
    if (following->follow->quiet)
        return;
    for (size_t i = 0; value_is(warnings, VALUE_LIST) && i < warnings->list->count; i++)
        kepler_warn("%s", warnings->list->items[i].s.p);
    if (following->follow->detached)
        keep_done_text(following, reply);
    else if (following->follow->only_look)
        print_at_once(message_text(reply, "message", ""));
}

/* Without warnings this is the end: there was nothing to do, or the config was unloaded. */
static void on_request_done(struct following *following, const struct message *reply)
{
    int status = kepler_client_check(reply);
    bool ours = reply->id == following->start_id;

    if (status != 0) {
        end_following(following, status);
    } else if (ours && value_get(&reply->body, "warnings")) {
        on_request_accepted(following, reply);
    } else if (reply->id == following->stop_id || !following->stop_id) {
        if (ours && !following->answered)
            keep_done_text(following, reply);
        finish_command(following);
    }
}

/* Diagnostic output, so it goes to stderr. */
static void on_tail(struct following *following, const struct message *message)
{
    if (message->kind == MESSAGE_REPLY) {
        end_following(following, following->status);
        return;
    }
    following->lines.out = stderr;
    kepler_lines_print(&following->lines, &message->body);
}

static void on_follow_message(void *self, struct kepler_client *client,
                              const struct message *message)
{
    struct following *following = self;

    (void)client;
    if (following->tail_id && message->id == following->tail_id)
        on_tail(following, message);
    else if (message->kind == MESSAGE_EVENT && message->id == following->start_id)
        on_follow_event(following, message);
    else if (message->kind == MESSAGE_REPLY)
        on_request_done(following, message);
}

/* --- signals and timeouts -------------------------------------------------------------------- */

static void on_follow_timeout(struct timer *timer)
{
    struct following *following = container_of(timer, struct following, timeout);
    AUTO_BUF struct buf text = BUF_INIT(FAILURE_MAX);
    bool any = kepler_progress_print_pending(&following->progress, &text);

    end_following(following, kepler_error("timeout: not all services are ready%s%s",
                                          any ? ": " : "", buf_text(&text)));
}

/* Detached, the request continues without us. */
static void on_follow_signal(void *self, int signo)
{
    struct following *following = self;

    (void)signo;
    if (following->follow->only_look) {
        finish_command(following);
        return;
    }
    if (following->stop_id || following->follow->detached) {
        end_following(following, KEPLER_INTERRUPTED);
        return;
    }
    stop_own(following, "the command was interrupted");
}

static int listen_to_signals(struct following *following)
{
    struct err err;

    if (loop_on_signal(following->client.loop, SIGINT, on_follow_signal, following, &err) < 0 ||
        loop_on_signal(following->client.loop, SIGTERM, on_follow_signal, following, &err) < 0)
        return kepler_err(&err);
    return 0;
}

/* A named service that never ran is an error. */
static void check_named_services(struct following *following)
{
    const struct param_strs names = following->follow->start.services;

    if (following->follow->only_look || following->stop_id)
        return;
    for (size_t i = 0; i < names.n; i++) {
        const char *reason = kepler_progress_find_skip(&following->progress, names.p[i]);
        AUTO_BUF struct buf text = BUF_INIT(FAILURE_MAX);

        if (!reason)
            continue;
        reason_print_skip(names.p[i], str_from(reason), &text);
        following->status = kepler_error("%s", buf_text(&text));
    }
}

/* Where no terminal showed progress. */
static void print_not_started(const struct following *following)
{
    AUTO_BUF struct buf text = BUF_INIT(SKIPPED_MAX);
    const struct kepler_follow *follow = following->follow;

    if (follow->quiet || following->progress.on || !follow->detached ||
        follow->start.services.n > 0)
        return;
    kepler_progress_print_not_started(&following->progress, &text);
    (void)fputs(buf_text(&text), stderr);
}

/* The daemon's message about the start, for services that came up since. */
static void report_services_up(const struct following *following)
{
    size_t up = 0;

    for (size_t i = 0; i < following->started.n; i++)
        up += kepler_progress_is_up(&following->progress, following->started.p[i]);
    if (up == following->started.n)
        puts(following->message);
    else
        printf("Started %zu service%s\n", up, up == 1 ? "" : "s");
}

static int run_following(struct following *following)
{
    const struct kepler_follow *follow = following->follow;
    int status = listen_to_signals(following);

    if (status != 0)
        return status;
    following->start_id = kepler_client_send(&following->client, follow->kind, &follow->start);
    if (follow->timeout > 0)
        timer_set(loop_timers(following->client.loop), &following->timeout,
                  clock_after(clock_now(), follow->timeout), on_follow_timeout);
    kepler_progress_start(&following->progress, following->client.loop);
    kepler_client_run(&following->client);
    kepler_progress_stop(&following->progress);
    if (following->ready)
        print_not_started(following);
    if (following->message && (following->ready || following->status == KEPLER_OK))
        report_services_up(following);
    if (following->ended)
        check_named_services(following);
    if (!following->ended)
        return kepler_error("lost the connection to the daemon%s%s",
                            following->client.why[0] ? ": " : "", following->client.why);
    return following->status;
}

int kepler_follow(struct arena *arena, const struct kepler_follow *follow)
{
    struct following following = { .follow = follow };
    int status = kepler_client_open(&following.client, arena, on_follow_message, &following);

    kepler_progress_init(&following.progress, follow->detached && !follow->quiet);
    kepler_lines_init(&following.lines, follow->form, follow->color);
    if (status == 0)
        status = run_following(&following);
    kepler_lines_done(&following.lines);
    kepler_progress_done(&following.progress);
    kepler_client_done(&following.client);
    return status;
}
