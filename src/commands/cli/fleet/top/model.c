#include "commands/cli/fleet/top/model.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "fleet/wire/event.h"
#include "fleet/wire/liveness.h"
#include "fleet/wire/outcome.h"
#include "fleet/wire/peel_id.h"

/* A master that was not heard for longer is gone; they beat every five seconds. */
#define MASTER_NS (15 * CLOCK_SECOND)

struct top_model *top_model_new(void)
{
    struct top_model *model = mem_zalloc(sizeof(*model));

    model->peels = (struct fleet_peels)FLEET_PEELS_INIT(&model->arenas[0]);
    return model;
}

void top_model_free(struct top_model *model)
{
    if (!model)
        return;
    arena_done(&model->arenas[0]);
    arena_done(&model->arenas[1]);
    free(model);
}

static void set_model_text(char field[static TOP_TEXT_SIZE], const char *text)
{
    struct str kept = str_slice(str_from(text ? text : ""), 0, TOP_TEXT_SIZE - 1);

    if (kept.n == TOP_TEXT_SIZE - 1)
        kept.n = utf8_valid_length(kept);
    memcpy(field, kept.p, kept.n);
    field[kept.n] = '\0';
}

static int64_t find_wall_time(struct value_time time)
{
    if (time.seconds <= 0 || time.seconds > INT64_MAX / CLOCK_SECOND - 1)
        return 0;
    return time.seconds * CLOCK_SECOND + time.nanoseconds;
}

/* Make room at the front; the oldest falls off. */
static void *push_row(void *rows, size_t size, size_t *count)
{
    if (*count < TOP_ROWS)
        ++*count;
    memmove((char *)rows + size, rows, (*count - 1) * size);
    memset(rows, 0, size);
    return rows;
}

/* --- machines ----------------------------------------------------------------------- */

/* Copy what is alive into the other arena. */
static void compact_peels(struct top_model *model)
{
    struct fleet_peels old = model->peels;

    model->current ^= 1;
    model->peels = (struct fleet_peels)FLEET_PEELS_INIT(&model->arenas[model->current]);
    VEC_EACH (&old.list, peel)
        fleet_peels_copy(&model->peels, *peel);
    arena_done(&model->arenas[model->current ^ 1]);
    model->stale = 0;
}

void top_model_take_facts(struct top_model *model, const struct nats_kv_entry *entry)
{
    fleet_peels_take_facts(&model->peels, entry);
    if (++model->stale > TOP_STALE_RUNS + model->peels.list.n)
        compact_peels(model);
}

/* Facts and heartbeats come in any order. */
void top_model_take_beat(struct top_model *model, const struct nats_kv_entry *entry)
{
    if (peel_id_is_valid(entry->key))
        (void)fleet_peels_add(&model->peels, entry->key);
    if (fleet_peels_take_beat(&model->peels, entry))
        model->stale++;
    if (model->stale > TOP_STALE_RUNS + model->peels.list.n)
        compact_peels(model);
}

void top_model_take_master(struct top_model *model, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct liveness_master beat;
    struct top_master *master = NULL;
    struct err err;

    if (record_decode(&scratch, &liveness_master_type, 1, entry->value, &beat, &err) < 0)
        return;
    for (size_t i = 0; i < model->master_count && !master; i++)
        if (strncmp(model->masters[i].id, beat.master_id, TOP_TEXT_SIZE - 1) == 0 ||
            entry->time - model->masters[i].seen > MASTER_NS)
            master = &model->masters[i];
    if (!master && model->master_count < TOP_MASTERS)
        master = &model->masters[model->master_count++];
    if (!master)
        return;
    set_model_text(master->id, beat.master_id);
    master->seen = entry->time;
    master->jobs = (uint32_t)beat.active_jobs.n;
}

size_t top_model_count_masters(const struct top_model *model, int64_t now)
{
    size_t count = 0;

    for (size_t i = 0; i < model->master_count; i++)
        count += now - model->masters[i].seen < MASTER_NS;
    return count;
}

/* --- jobs --------------------------------------------------------------------------- */

static struct top_job *find_model_job(struct top_model *model, const char *jid)
{
    for (size_t i = 0; i < model->job_count; i++)
        if (strcmp(model->jobs[i].jid, jid) == 0)
            return &model->jobs[i];
    return NULL;
}

void top_model_take_job(struct top_model *model, const struct job *job)
{
    struct top_job *row = find_model_job(model, job->jid);

    if (strlen(job->jid) >= TOP_TEXT_SIZE)
        return;
    if (!row)
        row = push_row(model->jobs, sizeof(model->jobs[0]), &model->job_count);
    set_model_text(row->jid, job->jid);
    set_model_text(row->function, job->function);
    set_model_text(row->target, job->target_expr && job->target_expr[0] ? job->target_expr
                                : job->targets.n > 0                    ? job->targets.p[0]
                                                                        : "");
    set_model_text(row->user, job->user);
    row->status = job->status;
    row->created = find_wall_time(job->created);
    row->targets = (uint32_t)job->targets.n;
    if (job_status_is_final(job->status) || job->return_count > 0)
        row->returned = job->return_count > 0 ? (uint32_t)job->return_count : 0;
    row->succeeded = job->success_count > 0 ? (uint32_t)job->success_count : 0;
}

void top_model_count_return(struct top_model *model, struct str jid)
{
    for (size_t i = 0; i < model->job_count; i++) {
        struct top_job *job = &model->jobs[i];

        if (!str_eq_text(jid, job->jid))
            continue;
        if (!job_status_is_final(job->status) && job->returned < job->targets)
            job->returned++;
        return;
    }
}

size_t top_model_count_active(const struct top_model *model)
{
    size_t count = 0;

    for (size_t i = 0; i < model->job_count; i++)
        count += !job_status_is_final(model->jobs[i].status);
    return count;
}

/* --- events ------------------------------------------------------------------------- */

/* Forget the seconds that are over. */
static void advance_rate(struct top_model *model, int64_t second)
{
    if (second - model->last_second >= TOP_RATE_SECONDS)
        memset(model->seconds, 0, sizeof(model->seconds));
    for (int64_t i = model->last_second + 1;
         i <= second && i - model->last_second <= TOP_RATE_SECONDS; i++)
        model->seconds[i % TOP_RATE_SECONDS] = 0;
    model->last_second = second;
}

void top_model_take_event(struct top_model *model, const struct event_source *source,
                          const struct event *event, int64_t time)
{
    struct top_event *row = push_row(model->events, sizeof(model->events[0]), &model->event_count);
    const int64_t second = time / CLOCK_SECOND;

    set_model_text(row->key, source->key);
    set_model_text(row->id, event->id);
    row->time = time;
    row->depth = event->depth;
    if (second > model->last_second)
        advance_rate(model, second);
    if (second > 0 && model->last_second - second < TOP_RATE_SECONDS)
        model->seconds[second % TOP_RATE_SECONDS]++;
}

double top_model_rate(const struct top_model *model, int64_t now)
{
    double count = 0;

    for (int64_t i = 0; i < TOP_RATE_SECONDS; i++) {
        const int64_t second = model->last_second - i;

        if (second > 0 && now / CLOCK_SECOND - second < TOP_RATE_SECONDS)
            count += model->seconds[second % TOP_RATE_SECONDS];
    }
    return count / TOP_RATE_SECONDS;
}

/* --- reactions ---------------------------------------------------------------------- */

static void add_reaction(struct top_model *model, const struct outcome *outcome, const char *rule,
                         const char *result)
{
    struct top_reaction *row =
        push_row(model->reactions, sizeof(model->reactions[0]), &model->reaction_count);

    set_model_text(row->rule, rule);
    set_model_text(row->result, result);
    set_model_text(row->key, outcome->key);
    set_model_text(row->event, outcome->id);
    row->time = find_wall_time(outcome->ts);
}

void top_model_take_outcome(struct top_model *model, const struct outcome *outcome)
{
    VEC_EACH (&outcome->rules.list, rule)
        add_reaction(model, outcome, rule->rule, outcome_result_name(rule->result));
    if (outcome->rules.list.n == 0)
        add_reaction(model, outcome, "-", outcome_kind_name(outcome->outcome));
}

void top_model_set_lag(struct top_model *model, int64_t waiting, int64_t pending)
{
    model->has_lag = true;
    model->waiting = waiting;
    model->pending = pending;
}
