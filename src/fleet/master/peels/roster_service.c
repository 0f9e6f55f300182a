/* The service "target-service": keeps the roster, and resolves targets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/accounts.h"
#include "fleet/bus/grant.h"
#include "core/data/json.h"
#include "core/data/msgpack.h"
#include "core/data/value.h"
#include "fleet/master/enroll/enrollment_cache.h"
#include "fleet/master/peels/basket_cache.h"
#include "fleet/master/peels/question_share.h"
#include "fleet/master/peels/roster.h"
#include "fleet/master/peels/usage.h"
#include "fleet/master/services.h"
#include "fleet/master/settings/settings_cache.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/header.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/question.h"
#include "fleet/wire/subject.h"

#define GAUGE_NS (5 * CLOCK_SECOND)
/* Much less than the asker's own timeout; it asks again. */
#define SETTINGS_NS (2 * CLOCK_SECOND)

struct roster_service {
    struct master *master;
    struct roster *roster;
    struct basket_cache *basket_cache;
    struct background_tasks background_tasks;
    struct settings_cache *settings;
    struct nats_sub *questions;
    struct timer gauge;
    struct roster_listener *listeners;
    struct usage_meter *meter; /* or NULL */
    struct question_share share;
};

static void *open_roster_service(struct master *master, struct err *err)
{
    struct roster_service *service = mem_zalloc(sizeof(*service));

    service->master = master;
    question_share_init(&service->share);
    if (background_tasks_open_workers(&service->background_tasks, master->loop,
                                      BACKGROUND_TASKS_COMPUTING, err) == 0)
        return service;
    question_share_done(&service->share);
    free(service);
    return NULL;
}

struct roster *master_roster(const struct master *master)
{
    return ((struct roster_service *)master_find(master, &master_roster_service))->roster;
}

struct settings_cache *master_settings_cache(const struct master *master)
{
    return ((struct roster_service *)master_find(master, &master_roster_service))->settings;
}

/* --- target resolution -------------------------------------------------------------- */

static struct value collect_shared(struct arena *arena, const struct basket_cache *basket_cache,
                                   const struct param_strs *peels, const char *name)
{
    struct value_map *map = value_map_new(arena, peels->n);

    for (size_t i = 0; i < peels->n; i++) {
        struct str bytes = basket_cache_get(basket_cache, peels->p[i], name);
        struct value v;
        struct err ignored; /* malformed entries of peels are ignored */

        if (bytes.p && msgpack_decode(arena, bytes, &v, &ignored) == 0)
            value_map_append(arena, map, value_text(peels->p[i]), v);
    }
    return value_map(map);
}

/* A question, and the destination of its answer. */
struct asked {
    struct settings_wait wait;
    struct roster_service *service;
    struct arena arena; /* the question is in it */
    struct question_resolve question;
    struct str reply;
    struct str peel; /* the asking peel; empty: not a peel */
    bool with_settings;
};

static struct roster_question make_roster_question(const struct asked *asked, const char *expr,
                                                   const char *type)
{
    return (struct roster_question){ .expr = expr,
                                     .type = type,
                                     .groups = asked->service->master->conf.nodegroups,
                                     .time = asked->peel.n > 0 ? QUESTION_TIME_NS
                                                               : QUESTION_OTHER_TIME_NS,
                                     .with_settings = asked->with_settings };
}

/* Keeps peels that also match a second expression. Both lists are sorted. */
static int keep_in_scope(const struct asked *asked, struct arena *arena, struct param_strs *peels,
                         struct err *err)
{
    const struct roster_question scope = make_roster_question(asked, asked->question.scope, "");
    struct param_strs inside;
    const char **kept = ARENA_ARRAY(arena, const char *, peels->n);
    size_t n = 0, at = 0;

    if (roster_resolve(asked->service->roster, arena, &scope, &inside, err) < 0)
        return err_wrap(err, "scope");
    for (size_t i = 0; i < peels->n; i++) {
        while (at < inside.n && strcmp(inside.p[at], peels->p[i]) < 0)
            at++;
        if (at < inside.n && strcmp(inside.p[at], peels->p[i]) == 0)
            kept[n++] = peels->p[i];
    }
    *peels = (struct param_strs){ n, kept };
    return 0;
}

static void count_refusal(const struct asked *asked, const char *reason)
{
    metrics_add(asked->service->master->metrics, MASTER_QUESTIONS_REFUSED, 1, reason, NULL);
}

static void resolve_question(const struct asked *asked, struct arena *arena,
                             struct question_resolved *ret)
{
    const struct question_resolve *question = &asked->question;
    const struct roster_question target =
        make_roster_question(asked, question->expr, question->type);
    const struct roster_service *service = asked->service;
    struct err err;

    if (roster_resolve(service->roster, arena, &target, &ret->peels, &err) < 0 ||
        (question->scope[0] && keep_in_scope(asked, arena, &ret->peels, &err) < 0)) {
        ret->peels = (struct param_strs){ 0 };
        ret->err = arena_strdup(arena, err.text);
        ret->invalid = err.code == ERR_INVALID;
        if (err.code == ERR_BUSY)
            count_refusal(asked, "time");
        return;
    }
    if (asked->with_settings)
        ret->warning = settings_cache_warning(service->settings, arena);
    if (question->basket[0])
        ret->basket = collect_shared(arena, service->basket_cache, &ret->peels, question->basket);
}

static void send_question_answer(struct asked *asked, const struct question_resolved *answer)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    if (record_encode(&bytes, &question_resolved_type, answer, &err) < 0 ||
        nats_publish(asked->service->master->js.conn,
                     &(struct nats_pub){ .subject = asked->reply, .payload = buf_view(&bytes) },
                     &err) < 0)
        log_warning("answer to a question about targets: %s", err.text);
    arena_done(&asked->arena);
    free(asked);
}

static void send_problem(struct asked *asked, const char *problem, bool pending)
{
    send_question_answer(
        asked, &(struct question_resolved){ .err = problem, .warning = "", .pending = pending });
}

static void answer_roster_question(struct asked *asked)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct question_resolved answer = { .err = "", .warning = "" };
    const int64_t began = clock_thread();

    resolve_question(asked, &arena, &answer);
    question_share_charge(&asked->service->share, asked->peel, clock_thread() - began, clock_now());
    send_question_answer(asked, &answer);
}

static void on_question_settings(struct settings_wait *wait, const char *problem)
{
    struct asked *asked = container_of(wait, struct asked, wait);

    if (problem)
        send_problem(asked, problem, wait->is_late);
    else
        answer_roster_question(asked);
}

static bool needs_target_settings(const struct asked *asked)
{
    const struct question_resolve *question = &asked->question;
    const struct roster_question target =
        make_roster_question(asked, question->expr, question->type);
    const struct roster_question scope = make_roster_question(asked, question->scope, "");

    return roster_needs_settings(&target) || (question->scope[0] && roster_needs_settings(&scope));
}

/* Peels must not query settings of other peels, which they could guess value by value. A peel's
 * question comes from another account; in a fleet with a single account, a peel receives answers
 * only below "_INBOX.<its id>", and the second token of others is random. */
static bool is_from_peel(const struct asked *asked)
{
    const struct enrollment_cache *enrollment_cache =
        master_find(asked->service->master, &enrollment_cache_service);

    return !enrollment_cache_is_complete(enrollment_cache) || asked->peel.n > 0;
}

/* Identified by the name of its credentials, or their key, as set by the server. */
static struct str read_question_asker(struct asked *asked, struct str header)
{
    static const char *const keys[] = { "name_tag", "user" };
    struct value info;
    struct str line;
    struct err ignored;

    if (nats_header_find(header, ACCOUNTS_REQUEST_INFO, &line) &&
        json_decode_lenient(&asked->arena, arena_str(&asked->arena, line), &info, &ignored) == 0)
        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
            if (value_get_view(&info, keys[i]).n > 0)
                return value_get_view(&info, keys[i]);
    return STR("unknown");
}

/* The asking peel; empty: another client. In a fleet with a single account it is identified by the
 * reply subject. */
static struct str find_asker(struct asked *asked, struct str header)
{
    const struct enrollment_cache *enrollment_cache =
        master_find(asked->service->master, &enrollment_cache_service);
    struct str rest = asked->reply, name;

    if (str_starts(rest, STR(ACCOUNTS_REPLY)))
        return read_question_asker(asked, header);
    (void)str_cut(&rest, '.');
    name = str_cut(&rest, '.');
    return enrollment_cache_has(enrollment_cache, name) ? name : STR("");
}

/* Is the share used up, or the question too large? Then it is answered. */
static bool is_refused(struct asked *asked, const struct nats_msg *msg)
{
    const bool is_large = msg->payload.n > QUESTION_SIZE_MAX;

    if (!is_large && question_share_wait(&asked->service->share, asked->peel, clock_now()) == 0)
        return false;
    count_refusal(asked, is_large ? "size" : "share");
    send_problem(asked,
                 is_large ? "the question is too large"
                          : "too many or too expensive questions about targets; ask again later",
                 false);
    return true;
}

static void on_question(void *self, const struct nats_msg *msg)
{
    struct roster_service *service = self;
    struct asked *asked;
    struct err err;

    /* peels ask as well: they must not make a master publish elsewhere */
    if (!str_starts(msg->reply, STR(GRANT_INBOX ".")) &&
        !str_starts(msg->reply, STR(ACCOUNTS_REPLY)))
        return;
    asked = mem_zalloc(sizeof(*asked));
    asked->service = service;
    asked->reply = arena_str(&asked->arena, msg->reply);
    asked->peel = find_asker(asked, msg->header);
    if (is_refused(asked, msg))
        return;
    if (!roster_is_seeded(service->roster)) {
        send_problem(asked, "this master has not read all facts yet; try again in a moment", false);
    } else if (record_decode(&asked->arena, &question_resolve_type, 1,
                             arena_str(&asked->arena, msg->payload), &asked->question, &err) < 0) {
        send_problem(asked, err.text, false);
    } else if (needs_target_settings(asked) && !is_from_peel(asked)) {
        asked->with_settings = true;
        asked->wait.ready = on_question_settings;
        settings_cache_await(service->settings, &asked->wait, SETTINGS_NS);
    } else {
        answer_roster_question(asked);
    }
}

/* --- life --------------------------------------------------------------------------- */

/* At least three heartbeats. */
static void sweep_basket_cache(const struct roster_service *service)
{
    const int64_t expires = service->master->conf.basket_expires;

    if (expires > 0 && roster_is_seeded(service->roster))
        basket_cache_sweep(service->basket_cache, service->roster,
                           expires > ROSTER_PEEL_SILENCE_NS ? expires : ROSTER_PEEL_SILENCE_NS);
}

static void on_roster_gauge_timer(struct timer *timer)
{
    struct roster_service *service = container_of(timer, struct roster_service, gauge);
    struct roster_problem first;

    metrics_set(service->master->metrics, MASTER_PEELS_OLD,
                (double)roster_problems(service->roster, &first), NULL, NULL);
    sweep_basket_cache(service);
    metrics_set(service->master->metrics, MASTER_CONNECTED_PEELS,
                (double)roster_online_count(service->roster), NULL, NULL);
    timer_set(loop_timers(service->master->loop), &service->gauge,
              clock_after(clock_now(), GAUGE_NS), on_roster_gauge_timer);
}

static void count_drop(struct roster_service *service, struct str peel, const char *what)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    metrics_add(service->master->metrics, MASTER_PEEL_DROPPED, 1, arena_str(&arena, peel).p, what);
}

static void on_answered_facts(void *self, struct str peel, const struct value *facts)
{
    struct roster_service *service = self;

    if (facts)
        metrics_add(service->master->metrics, MASTER_FACTS_SYNCS, 1, NULL, NULL);
    for (struct roster_listener *one = service->listeners; one; one = one->next)
        one->changed(one, peel);
}

static void on_facts_written(void *self, struct str peel, size_t bytes)
{
    struct roster_service *service = self;

    if (service->meter)
        service->meter->wrote(service->meter, USAGE_FACTS, peel, bytes);
}

static void on_facts_dropped(void *self, struct str peel)
{
    count_drop(self, peel, "facts");
}

static void on_shared(void *self, struct str peel, size_t bytes)
{
    struct roster_service *service = self;

    if (service->meter)
        service->meter->wrote(service->meter, USAGE_BASKET, peel, bytes);
}

static void on_shared_too_much(void *self, struct str peel)
{
    struct roster_service *service = self;

    count_drop(service, peel, "basket");
    if (service->meter)
        service->meter->exceeded(service->meter, USAGE_BASKET, peel);
}

void master_roster_set_meter(struct master *master, struct usage_meter *meter)
{
    ((struct roster_service *)master_find(master, &master_roster_service))->meter = meter;
}

void master_roster_listen(struct master *master, struct roster_listener *listener)
{
    struct roster_service *service = master_find(master, &master_roster_service);

    listener->next = service->listeners;
    service->listeners = listener;
}

void master_roster_forget(struct master *master, struct roster_listener *listener)
{
    struct roster_service *service = master_find(master, &master_roster_service);
    struct roster_listener **place = &service->listeners;

    while (*place && *place != listener)
        place = &(*place)->next;
    if (*place)
        *place = listener->next;
}

static void close_roster_service(struct roster_service *service)
{
    nats_sub_free(service->questions);
    service->questions = NULL;
    settings_cache_free(service->settings);
    service->settings = NULL;
    basket_cache_free(service->basket_cache);
    service->basket_cache = NULL;
    roster_free(service->roster);
    service->roster = NULL;
}

static int start_roster_service(void *self, struct err *err)
{
    struct roster_service *service = self;
    const struct nats_sub_options options = {
        .subject = subject_template(SUBJECT_RESOLVE),
        .queue = subject_queue(SUBJECT_RESOLVE),
        .message = on_question,
        .self = service,
    };
    const struct basket_cache_options basket_cache_options = { .wrote = on_shared,
                                                               .exceeded = on_shared_too_much,
                                                               .self = service };

    service->roster = roster_new(&service->master->js,
                                 &(struct roster_options){ .master_id = service->master->id,
                                                           .on_facts = on_answered_facts,
                                                           .wrote = on_facts_written,
                                                           .dropped = on_facts_dropped,
                                                           .self = service },
                                 err);
    if (service->roster)
        service->basket_cache = basket_cache_new(&service->master->js, &basket_cache_options, err);
    if (service->basket_cache)
        service->questions = nats_sub_new(service->master->js.conn, &options, err);
    if (!service->questions) {
        close_roster_service(service);
        return -1;
    }
    service->settings = settings_cache_new(service->master, &service->background_tasks);
    on_roster_gauge_timer(&service->gauge);
    return 0;
}

static void stop_roster_service(void *self)
{
    struct roster_service *service = self;

    timer_clear(loop_timers(service->master->loop), &service->gauge);
    close_roster_service(service);
}

static void free_roster_service(void *self)
{
    struct roster_service *service = self;

    background_tasks_close(&service->background_tasks);
    question_share_done(&service->share);
    free(service);
}

static enum health_status check_roster_service(void *self, char message[static HEALTH_TEXT_MAX])
{
    struct roster_service *service = self;

    if (roster_is_seeded(service->roster)) {
        (void)snprintf(message, HEALTH_TEXT_MAX, "%zu peels", roster_count(service->roster));
        return HEALTH_OK;
    }
    (void)snprintf(message, HEALTH_TEXT_MAX, "reading facts");
    return HEALTH_DOWN;
}

const struct master_service master_roster_service = {
    .name = "target-service",
    .open = open_roster_service,
    .start = start_roster_service,
    .stop = stop_roster_service,
    .free = free_roster_service,
    .check = check_roster_service,
};
