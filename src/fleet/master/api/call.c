#include "fleet/master/api/call.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/bus_time.h"
#include "core/data/json.h"
#include "fleet/master/api/api.h"
#include "fleet/master/audit.h"
#include "fleet/master/peels/roster.h"
#include "fleet/master/services.h"
#include "fleet/master/settings/settings_cache.h"
#include "core/sys/clock.h"
#include "fleet/wire/job.h"

/* Time limit for settings that a target needs. */
#define SETTINGS_NS (20 * CLOCK_SECOND)
/* Retry-After of answers. */
#define RETRY_SECONDS  2
#define REQUEST_ID_MAX 128

bool api_request_id_is_sane(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@/+=-";
    const size_t n = strlen(text);

    return n > 0 && n <= REQUEST_ID_MAX && strspn(text, letters) == n;
}

/* --- the end ------------------------------------------------------------------------ */

static void log_call(const struct api_call *call, enum api_status status)
{
    AUTO_BUF struct buf line = BUF_INIT(LOG_TEXT_MAX);
    const bool is_refused = status == API_UNAUTHORIZED;

    audit_add_pair(&line, "path", call->request->path);
    audit_add_pair(&line, "user", call->asker.user);
    if (call->asker.is_named)
        audit_add_pair(&line, "token", call->asker.token);
    audit_add_pair(&line, "from", call->request->remote);
    if (is_refused)
        log_warning("http.request.unauthorized method=%s request_id=%s%s", call->request->method,
                    call->id, buf_text(&line));
    log_info("http.request.complete method=%s status=%d duration_ms=%lld request_id=%s%s",
             call->request->method, status, (long long)((clock_now() - call->began) / CLOCK_MS),
             call->id, buf_text(&line));
}

static void end_api_call(struct api_call *call)
{
    struct arena arena = call->arena;

    call->api->calls--;
    arena_done(&arena); /* the call is in it */
}

static void send_http_answer(struct api_call *call, const struct http_answer *answer)
{
    log_call(call, (enum api_status)answer->status);
    http_answer(call->request, answer);
    end_api_call(call);
}

void api_answer(struct api_call *call, enum api_status status, const struct value *body)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    /* printed like the command line: data from peels need not be UTF-8 */
    if (json_print(&text, body, JSON_STYLE_TEXT, &err) < 0) {
        api_fail(call, API_BROKEN, "cannot encode the answer: %s", err.text);
        return;
    }
    buf_add_char(&text, '\n');
    send_http_answer(call, &(struct http_answer){ .status = (int)status, .body = buf_view(&text) });
}

void api_answer_page(struct api_call *call, const struct value *list, size_t total)
{
    api_set_header(call, API_HEADER_TOTAL, arena_printf(&call->arena, "%zu", total));
    api_answer(call, API_OK, list);
}

void api_answer_text(struct api_call *call, const char *type, struct str text, const char *policy)
{
    if (policy)
        api_set_header(call, "Content-Security-Policy", policy);
    send_http_answer(call, &(struct http_answer){ .status = API_OK, .type = type, .body = text });
}

static void send_failure(struct api_call *call, enum api_status status, const struct value *body,
                         int64_t retry_after)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    (void)json_print(&text, body, JSON_STYLE_TEXT, &err); /* texts and lists of them */
    buf_add_char(&text, '\n');
    send_http_answer(call, &(struct http_answer){ .status = (int)status,
                                                  .body = buf_view(&text),
                                                  .retry_after = retry_after });
}

static struct value make_failure(struct api_call *call, const char *text)
{
    struct value_map *map = value_map_new(&call->arena, 2);

    value_map_set(&call->arena, map, value_text("error"), value_text(text));
    return value_map(map);
}

void api_fail(struct api_call *call, enum api_status status, const char *fmt, ...)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct value body;
    va_list args;

    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    body = make_failure(call, buf_copy(&text, &call->arena).p);
    send_failure(call, status, &body, 0);
}

void api_fail_later(struct api_call *call, const char *text)
{
    const struct value body = make_failure(call, arena_strdup(&call->arena, text));

    send_failure(call, API_UNAVAILABLE, &body, RETRY_SECONDS);
}

void api_fail_bus(struct api_call *call, const struct nats_error *error)
{
    api_fail_later(call, arena_printf(&call->arena, "bus: %s", error->text));
}

void api_refuse(struct api_call *call, const struct err *why, const struct job *job)
{
    audit_log(&(struct audit){ .action = api_act_name(call->route->act),
                               .by = call->asker.user,
                               .id = job ? job->jid : call->name,
                               .function = job ? job->function : NULL,
                               .target = job ? job->target_expr : NULL,
                               .error = why->text });
    api_fail(call, API_FORBIDDEN, "%s", why->text);
}

void api_fail_mistakes(struct api_call *call, enum api_status status, const struct diags *diags)
{
    struct value_list *errors = value_list_new(&call->arena, diags->list.n);
    struct value body;
    struct err err;

    (void)diags_to_err(diags, &err);
    body = make_failure(call, arena_strdup(&call->arena, err.text));
    VEC_EACH (&diags->list, diag) {
        const char *text =
            diag->hint ? arena_printf(&call->arena, "%s (%s)", diag->text, diag->hint) : diag->text;

        value_list_push(&call->arena, errors, value_text(text));
    }
    value_map_set(&call->arena, body.map, value_text("errors"), value_list(errors));
    send_failure(call, status, &body, 0);
}

struct http_stream *api_answer_stream(struct api_call *call, http_closed_fn *closed, void *self)
{
    struct http_stream *stream;

    log_call(call, API_OK);
    stream = http_stream_new(call->request, closed, self);
    end_api_call(call);
    return stream;
}

void api_set_header(struct api_call *call, const char *name, const char *value)
{
    http_set_header(call->request, name, value);
}

void api_set_job(struct api_call *call, const char *jid)
{
    api_set_header(call, API_HEADER_JOB, jid);
}

/* --- pages -------------------------------------------------------------------------- */

void api_page_range(const struct api_page *page, size_t count, size_t *ret_from, size_t *ret_to)
{
    const size_t offset = (size_t)page->offset, limit = (size_t)page->limit;

    *ret_from = offset < count ? offset : count;
    *ret_to = count - *ret_from < limit ? count : *ret_from + limit;
}

bool api_page_takes(const struct api_page *page, size_t *seen)
{
    const size_t number = (*seen)++, offset = (size_t)page->offset;

    return number >= offset && number - offset < (size_t)page->limit;
}

static int compare_peel_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void api_sort(const char **texts, size_t count)
{
    if (count > 1)
        qsort(texts, count, sizeof(texts[0]), compare_peel_names);
}

/* --- targets ------------------------------------------------------------------------ */

struct resolution {
    struct settings_wait wait;
    struct api_call *call;
    const char *expr;
    bool is_limit; /* limits the caller; not part of the request */
    api_resolved_fn *fn;
};

static struct roster_question make_target_question(const struct resolution *resolution,
                                                   bool with_settings)
{
    return (struct roster_question){ .expr = resolution->expr,
                                     .type = "",
                                     .groups = resolution->call->master->conf.nodegroups,
                                     .with_settings = with_settings };
}

/* Refuse what cannot be decided. */
static void refuse_limit(const struct resolution *resolution, struct err *err)
{
    err_wrap(err, "the target '%.128s' of operator '%s'", resolution->expr,
             resolution->call->asker.policy->name);
    api_refuse(resolution->call, err, NULL);
}

static void resolve_call_target(struct resolution *resolution, bool with_settings)
{
    const struct roster_question question = make_target_question(resolution, with_settings);
    struct api_call *call = resolution->call;
    const struct roster *roster = master_roster(call->master);
    struct param_strs peels;
    struct err err;

    if (!roster)
        api_fail_later(call, "this master is stopping");
    else if (roster_resolve(roster, &call->arena, &question, &peels, &err) == 0)
        resolution->fn(call, &peels);
    else if (resolution->is_limit)
        refuse_limit(resolution, &err);
    else
        api_fail(call, API_BAD, "target '%s': %s", resolution->expr, err.text);
}

static void on_target_settings(struct settings_wait *wait, const char *problem)
{
    struct resolution *resolution = container_of(wait, struct resolution, wait);

    if (problem)
        api_fail_later(resolution->call, problem);
    else
        resolve_call_target(resolution, true);
}

static void begin_resolution(struct api_call *call, const struct resolution *asked)
{
    struct resolution *resolution = ARENA_NEW(&call->arena, struct resolution);
    struct roster_question question;

    *resolution = *asked;
    if (!roster_is_seeded(master_roster(call->master))) {
        api_fail_later(call, "this master has not read all facts yet");
        return;
    }
    question = make_target_question(resolution, true);
    if (roster_needs_settings(&question)) {
        resolution->wait.ready = on_target_settings;
        settings_cache_await(master_settings_cache(call->master), &resolution->wait, SETTINGS_NS);
    } else {
        resolve_call_target(resolution, false);
    }
}

void api_resolve(struct api_call *call, const char *expr, api_resolved_fn *fn)
{
    begin_resolution(call, &(struct resolution){ .call = call, .expr = expr, .fn = fn });
}

void api_resolve_inside(struct api_call *call, api_resolved_fn *fn)
{
    begin_resolution(
        call, &(struct resolution){
                  .call = call, .expr = call->asker.policy->target, .is_limit = true, .fn = fn });
}

enum policy_verdict api_judge(const struct api_call *call, const struct api_subject *subject,
                              struct err *why)
{
    return api_may(&call->asker, call->route->act, subject, bus_time_seconds(), why);
}
