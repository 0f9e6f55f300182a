#include "commands/cli/fleet/why/fleet.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/store.h"
#include "commands/cli/fleet/event/event_why.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/job.h"
#include "commands/cli/fleet/orchestrate/orchestra.h"
#include "core/data/json.h"
#include "core/data/time_text.h"
#include "fleet/nats/error.h"
#include "fleet/nats/stream.h"
#include "core/sys/clock.h"
#include "fleet/wire/event.h"
#include "fleet/wire/outcome.h"

/* Bytes of an event's data that are shown. */
#define DATA_SHOWN 200
/* How long one message of the stream may take. */
#define STORED_NS (10 * CLOCK_SECOND)

struct walk {
    struct why_chain *chain;
    struct fleet *fleet;
    const char *job, *event; /* the next one; one of them, or none: the end */
};

/* --- jobs -------------------------------------------------------------------------------- */

static const char *describe_targets(struct arena *arena, const struct job *job)
{
    if (job->targets.n == 1)
        return job->targets.p[0];
    return arena_printf(arena, "%zu peels", job->targets.n);
}

static void add_rule_link(struct walk *walk, const char *rule, const char *tag)
{
    const struct why_link link = {
        .kind = "reaction",
        .id = rule,
        .what = arena_printf(walk->chain->arena, "fired for %s", tag ? tag : "an event"),
    };

    VEC_PUSH_IN(walk->chain->arena, &walk->chain->list, link);
}

static int visit_job(struct walk *walk, struct err *err)
{
    struct arena *arena = walk->chain->arena;
    const char *jid = walk->job, *rule;
    struct why_link link = { .kind = "job", .id = jid };
    struct job job;

    walk->job = NULL;
    if (fleet_read_job(walk->fleet, jid, &job, err) < 0)
        return -1;
    link.time = job.created;
    link.what = arena_printf(arena, "%s on %s, %s, %d of %zu succeeded", job.function,
                             describe_targets(arena, &job), job_status_name(job.status),
                             job.success_count, job.targets.n);
    if (!why_add(walk->chain, &link))
        return 0;
    walk->job = value_get_text(&job.metadata, ORCHESTRA_JOB);
    if (walk->job) /* a step: the rule and the event are those of the whole run */
        return 0;
    rule = value_get_text(&job.metadata, "rule");
    walk->event = value_get_text(&job.metadata, "event_id");
    if (rule)
        add_rule_link(walk, rule, value_get_text(&job.metadata, "event_tag"));
    if (!walk->event)
        why_end(walk->chain, "requested by %s", job.user[0] ? job.user : "somebody");
    return 0;
}

/* --- events ------------------------------------------------------------------------------ */

struct stored {
    struct arena *arena;
    bool is_done, is_found;
    struct event event;
};

static void on_event_message(void *self, const struct nats_error *error,
                             const struct nats_stored *message)
{
    struct stored *stored = self;
    struct err ignored;

    stored->is_done = true;
    stored->is_found = !error && record_decode(stored->arena, &event_type, 0,
                                               arena_str(stored->arena, message->payload),
                                               &stored->event, &ignored) == 0;
}

/* Read the event; false when the stream no longer has it, or has another one there. */
static bool read_event_message(struct walk *walk, const struct outcome *outcome, struct event *ret)
{
    struct stored stored = { .arena = walk->chain->arena };
    struct err ignored;

    if (outcome->seq == 0 ||
        nats_stream_get(&walk->fleet->js, STORE_EVENTS, &(struct nats_which){ .seq = outcome->seq },
                        on_event_message, &stored, &ignored) < 0)
        return false;
    while (!stored.is_done) /* it has its own timeout */
        (void)fleet_wait(walk->fleet, &stored.is_done, STORED_NS, &ignored);
    *ret = stored.event;
    return stored.is_found && strcmp(stored.event.id, outcome->id) == 0;
}

static const char *describe_event_link(struct arena *arena, const struct outcome *outcome,
                                       const struct event *event)
{
    AUTO_BUF struct buf data = BUF_INIT(BUF_NO_LIMIT);
    struct err ignored;

    if (!event || !value_is(&event->data, VALUE_MAP) ||
        json_print(&data, &event->data, 0, &ignored) < 0)
        return outcome->key;
    if (data.n > DATA_SHOWN)
        return arena_printf(arena, "%s %.*s...", outcome->key, DATA_SHOWN, buf_text(&data));
    return arena_printf(arena, "%s %s", outcome->key, buf_text(&data));
}

/* Masters tell of jobs, and peels of their states, below tags with the id. */
static const char *find_job_in_tag(struct arena *arena, struct str key)
{
    static const char *const heads[] = { "job/", "salt/state_result/" };

    (void)str_cut(&key, '/');
    for (size_t i = 0; key.p && i < ARRAY_LEN(heads); i++)
        if (str_starts(key, str_from(heads[i]))) {
            struct str rest = str_from_offset(key, strlen(heads[i])), jid = str_cut(&rest, '/');

            return jid.n > 0 ? arena_strndup(arena, jid.p, jid.n) : NULL;
        }
    return NULL;
}

static const char *find_outcome_job(struct arena *arena, const struct outcome *outcome,
                                    const struct event *event)
{
    const char *job = event ? value_get_text(&event->data, "job") : NULL;

    if (!job && event)
        job = value_get_text(&event->data, "jid");
    return job ? job : find_job_in_tag(arena, str_from(outcome->key));
}

/* The source of an event that nothing else caused. */
static void end_at_source(struct why_chain *chain, const char *key)
{
    const char *slash = strchr(key, '/');
    const int n = slash ? (int)(slash - key) : (int)strlen(key);

    if (strncmp(key, EVENT_ORIGIN_ADMIN "/", (size_t)n + 1) == 0)
        why_end(chain, "sent by an operator");
    else if (strncmp(key, EVENT_ORIGIN_MASTER "/", (size_t)n + 1) == 0)
        why_end(chain, "raised by a master");
    else if (slash && strncmp(slash, "/beacon/", strlen("/beacon/")) == 0)
        why_end(chain, "seen by a beacon of %.*s", n, key);
    else
        why_end(chain, "sent by %.*s", n, key);
}

static int visit_event(struct walk *walk, struct err *err)
{
    struct arena *arena = walk->chain->arena;
    struct why_link link = { .kind = "event", .id = walk->event };
    const struct event *known;
    struct outcome outcome;
    struct event event;

    walk->event = NULL;
    if (event_read_outcome(walk->fleet, link.id, &outcome, err) < 0)
        return -1;
    known = read_event_message(walk, &outcome, &event) ? &event : NULL;
    link.what = describe_event_link(arena, &outcome, known);
    link.time = known ? known->ts : outcome.ts;
    if (!why_add(walk->chain, &link))
        return 0;
    if (outcome.parent[0]) {
        const struct str rule = str_from(outcome.provenance);

        if (str_starts(rule, STR(EVENT_PROVENANCE)))
            add_rule_link(walk, outcome.provenance + strlen(EVENT_PROVENANCE), NULL);
        walk->event = outcome.parent;
        return 0;
    }
    walk->job = find_outcome_job(arena, &outcome, known);
    if (!walk->job)
        end_at_source(walk->chain, outcome.key);
    return 0;
}

/* --- the walk ---------------------------------------------------------------------------- */

static int visit_next(struct walk *walk, struct err *err)
{
    return walk->job ? visit_job(walk, err) : visit_event(walk, err);
}

/* Records are kept for some days: where one is missing, the chain ends. */
static int follow_all_links(struct walk *walk, struct err *err)
{
    if (visit_next(walk, err) < 0)
        return -1;
    while (walk->job || walk->event) {
        const char *job = walk->job, *event = walk->event;

        if (visit_next(walk, err) == 0)
            continue;
        if (err->code != ERR_NOT_FOUND)
            return -1;
        why_end(walk->chain, "not known: %s %s is no longer recorded", job ? "job" : "event",
                job ? job : event);
        return 0;
    }
    return 0;
}

int why_add_job(struct why_chain *chain, struct fleet *fleet, const char *jid, struct err *err)
{
    return follow_all_links(&(struct walk){ .chain = chain, .fleet = fleet, .job = jid }, err);
}

int why_add_event(struct why_chain *chain, struct fleet *fleet, const char *id, struct err *err)
{
    return follow_all_links(&(struct walk){ .chain = chain, .fleet = fleet, .event = id }, err);
}

/* --- reactions --------------------------------------------------------------------------- */

struct newest {
    struct arena *arena;
    const char *rule;
    const char *event; /* NULL: none yet */
    struct why_link link;
};

static const struct outcome_rule *find_outcome_rule(const struct outcome *outcome, const char *name)
{
    VEC_EACH (&outcome->rules.list, rule)
        if (strcmp(rule->rule, name) == 0)
            return rule;
    return NULL;
}

static const char *describe_rule(struct arena *arena, const struct outcome *outcome,
                                 const struct outcome_rule *rule)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_printf(&text, "%s for %s", outcome_result_name(rule->result), outcome->key);
    if (rule->message[0])
        buf_printf(&text, ": %s", rule->message);
    VEC_EACH (&rule->blocks.list, block) {
        buf_printf(&text, ", %s %s", block->block, outcome_result_name(block->result));
        if (block->made[0])
            buf_printf(&text, " (%s)", block->made);
    }
    return buf_copy(&text, arena).p;
}

static void note_link_outcome(void *self, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct newest *newest = self;
    const struct outcome_rule *rule;
    struct outcome outcome;
    struct err ignored;

    if (record_decode(&scratch, &outcome_type, 0, entry->value, &outcome, &ignored) < 0)
        return;
    rule = find_outcome_rule(&outcome, newest->rule);
    if (!rule || (newest->event && !time_is_later(outcome.ts, newest->link.time)))
        return;
    newest->event = arena_strdup(newest->arena, outcome.id);
    newest->link = (struct why_link){ .kind = "reaction",
                                      .id = newest->rule,
                                      .what = describe_rule(newest->arena, &outcome, rule),
                                      .time = outcome.ts };
}

int why_add_reaction(struct why_chain *chain, struct fleet *fleet, const char *rule,
                     struct err *err)
{
    struct newest newest = { .arena = chain->arena, .rule = rule };

    if (fleet_bucket_each(fleet, STORE_EVENT_OUTCOMES, NULL, note_link_outcome, &newest, err) < 0)
        return -1;
    if (!newest.event)
        return err_set(err, ERR_NOT_FOUND, "no event of the last week matched a rule with '%.256s'",
                       rule);
    (void)why_add(chain, &newest.link);
    return why_add_event(chain, fleet, newest.event, err);
}
