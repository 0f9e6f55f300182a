#include "commands/cli/fleet/reactor/reactor_replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "fleet/bus/store.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/fleet/bucket.h"
#include "fleet/master/reactor/rule_files.h"
#include "core/data/msgpack.h"
#include "core/data/time_text.h"
#include "fleet/nats/error.h"
#include "fleet/nats/ordered.h"
#include "fleet/reactor/event_gate.h"
#include "fleet/reactor/published.h"
#include "fleet/reactor/replay.h"
#include "fleet/reactor/rule_set.h"
#include "fleet/reactor/tester.h"
#include "core/sys/clock.h"

/* Events of a replay, which are held in memory, and how long reading them may take. */
#define EVENTS_MAX 100000
#define READ_NS    (300 * CLOCK_SECOND)
/* Chains are as long as the masters let them be. */
#define DEPTH_MAX INT32_MAX

struct stored_event {
    struct str subject, payload;
    int64_t time; /* when it was stored */
};

/* One replay: events read, and counts. */
struct replay_session {
    struct arena *arena;
    struct fleet *fleet;
    const struct reactor_replay_options *options;
    VEC(struct stored_event) events;
    bool is_done, is_too_much;
    struct nats_error error; /* with has_failed */
    bool has_failed;
    struct rule_set *rules;
    struct reaction_env *env;
    struct map facts; /* by peel: struct value, null when there are none */
    struct value_list *rows;
    int64_t fire, differ, idle, failed, unmatched, dropped; /* failed: a rule has a mistake */
};

/* --- events --------------------------------------------------------------------------- */

static void on_stored_event(void *self, const struct nats_msg *msg,
                            const struct nats_delivery *delivery)
{
    struct replay_session *session = self;
    const struct stored_event event = {
        .subject = arena_str(session->arena, msg->subject),
        .payload = arena_str(session->arena, msg->payload.p ? msg->payload : STR("")),
        .time = delivery->time,
    };

    session->is_too_much = session->events.n == EVENTS_MAX;
    if (session->is_too_much)
        session->is_done = true;
    else
        VEC_PUSH_IN(session->arena, &session->events, event);
}

static void on_events_end(void *self)
{
    ((struct replay_session *)self)->is_done = true;
}

static void on_events_failed(void *self, const struct nats_error *error)
{
    struct replay_session *session = self;

    session->is_done = session->has_failed = true;
    session->error = *error;
}

static const char *print_start_time(struct arena *arena, int64_t wall)
{
    return time_text(arena,
                     (struct value_time){ wall / CLOCK_SECOND, (uint32_t)(wall % CLOCK_SECOND) });
}

static int read_stored_events(struct replay_session *session, struct err *err)
{
    const int64_t now = clock_wall(), since = session->options->since;
    const struct nats_ordered_options options = {
        .stream = STORE_EVENTS,
        .deliver = NATS_DELIVER_FROM_TIME,
        .start_time = print_start_time(session->arena, since < now ? now - since : 0),
        .message = on_stored_event,
        .caught_up = on_events_end,
        .failed = on_events_failed,
        .self = session,
    };
    struct nats_ordered *ordered = nats_ordered_new(&session->fleet->js, &options, err);
    int result;

    if (!ordered)
        return -1;
    result = fleet_wait(session->fleet, &session->is_done, READ_NS, err);
    nats_ordered_free(ordered);
    if (result == 0 && session->has_failed)
        return nats_error_to_err(&session->error, err);
    if (result == 0 && session->is_too_much)
        return err_set(err, ERR_INVALID, "more than %d events; choose a shorter --since",
                       EVENTS_MAX);
    return result;
}

/* --- rules ---------------------------------------------------------------------------- */

static void put_entry(void *self, const struct nats_kv_entry *entry)
{
    published_put(self, entry->key, entry->value.p ? entry->value : STR(""));
}

static int load_published_rules(struct replay_session *session, struct diags *diags,
                                struct err *err)
{
    struct diags lints = DIAGS_INIT(session->arena);
    struct published published = { 0 };
    const int result =
        fleet_bucket_each(session->fleet, STORE_REACTOR_FILES, NULL, put_entry, &published, err);

    if (result == 0)
        session->rules = published_load(&published, diags, &lints);
    published_done(&published);
    if (result == 0 && !session->rules) {
        (void)diags_to_err(diags, err);
        return err_wrap(err, "the published rules");
    }
    return result;
}

/* Mistakes of a folder are in `diags`. */
static int load_replay_rules(struct replay_session *session, struct diags *diags, struct err *err)
{
    struct diags lints = DIAGS_INIT(session->arena);
    struct rule_files files;

    if (!session->options->rules)
        return load_published_rules(session, diags, err);
    if (rule_files_read(session->arena, session->options->rules, &files, err) < 0)
        return -1;
    session->rules = rule_set_new(files.list.p, files.list.n, diags, &lints);
    return session->rules ? 0 : diags_to_err(diags, err);
}

/* --- what is known of an event ---------------------------------------------------------- */

static int find_origin_facts(struct replay_session *session, const struct event_source *source,
                             const struct value **ret_facts, struct err *err)
{
    struct value *facts;
    struct str bytes;

    *ret_facts = NULL;
    if (source->type != EVENT_FROM_PEEL)
        return 0;
    facts = map_find(&session->facts, str_from(source->origin));
    if (!facts) {
        facts = ARENA_NEW(session->arena, struct value);
        if (fleet_bucket_get(session->fleet, STORE_FACTS, source->origin, &bytes, err) == 0) {
            if (msgpack_decode_front(session->arena, bytes, facts, err) < 0)
                *facts = value_null();
        } else if (err->code != ERR_NOT_FOUND) {
            return -1;
        }
        (void)map_set(&session->facts, str_from(arena_strdup(session->arena, source->origin)),
                      facts);
    }
    *ret_facts = facts->kind == VALUE_MAP ? facts : NULL;
    return 0;
}

static int find_outcome(struct replay_session *session, const char *id, struct outcome *outcome,
                        const struct outcome **ret, struct err *err)
{
    char key[OUTCOME_KEY_SIZE];
    struct str bytes;

    *ret = NULL;
    if (!id || id[0] == '\0')
        return 0;
    outcome_key(id, key);
    if (fleet_bucket_get(session->fleet, STORE_EVENT_OUTCOMES, key, &bytes, err) < 0)
        return err->code == ERR_NOT_FOUND ? 0 : -1;
    if (record_decode(session->arena, &outcome_type, 0, bytes, outcome, err) < 0)
        return -1;
    *ret = outcome;
    return 0;
}

/* --- rows ------------------------------------------------------------------------------- */

static struct value list_rule_texts(struct arena *arena, const struct param_strs *texts)
{
    struct value_list *list = value_list_new(arena, texts->n);

    for (size_t i = 0; i < texts->n; i++)
        value_list_push(arena, list, value_text(texts->p[i]));
    return value_list(list);
}

static struct value describe_now(struct arena *arena, const struct replay *replay)
{
    struct value_list *list = value_list_new(arena, replay->now.n);

    VEC_EACH (&replay->now, rule) {
        struct value_map *row = value_map_new(arena, 4);

        value_map_set(arena, row, value_text("rule"), value_text(rule->rule));
        value_map_set(arena, row, value_text("result"),
                      value_text(outcome_result_name(rule->result)));
        value_map_set(arena, row, value_text("actions"), list_rule_texts(arena, &rule->actions));
        value_map_set(arena, row, value_text("errors"), list_rule_texts(arena, &rule->errors));
        value_list_push(arena, list, value_map(row));
    }
    return value_list(list);
}

static struct value describe_then(struct arena *arena, const struct outcome *recorded)
{
    struct value_list *list = value_list_new(arena, recorded ? recorded->rules.list.n : 0);

    for (size_t i = 0; recorded && i < recorded->rules.list.n; i++) {
        const struct outcome_rule *rule = &recorded->rules.list.p[i];
        struct value_list *actions = value_list_new(arena, rule->blocks.list.n);
        struct value_map *row = value_map_new(arena, 3);

        VEC_EACH (&rule->blocks.list, block)
            value_list_push(arena, actions,
                            value_text(block->what[0] ? block->what : block->block));
        value_map_set(arena, row, value_text("rule"), value_text(rule->rule));
        value_map_set(arena, row, value_text("result"),
                      value_text(outcome_result_name(rule->result)));
        value_map_set(arena, row, value_text("actions"), value_list(actions));
        value_list_push(arena, list, value_map(row));
    }
    return value_list(list);
}

static bool has_mistake(const struct replay *replay)
{
    VEC_EACH (&replay->now, rule)
        if (rule->result == OUTCOME_RENDER_ERROR || rule->result == OUTCOME_VALIDATE_ERROR)
            return true;
    return false;
}

static void add_replay_row(struct replay_session *session, const struct stored_event *stored,
                           const struct event_gate_event *event, const struct replay *replay,
                           const struct outcome *recorded)
{
    struct arena *arena = session->arena;
    struct value_map *row = value_map_new(arena, 6);

    session->fire += replay->fires;
    session->differ += replay->differs;
    session->idle += replay->now.n > 0 && !replay->fires;
    session->failed += has_mistake(replay);
    session->unmatched += replay->now.n == 0;
    if (!replay->differs && (session->options->changed || replay->now.n == 0))
        return;
    value_map_set(arena, row, value_text("id"), value_text(event->event.id));
    value_map_set(arena, row, value_text("key"), value_text(event->source.key));
    value_map_set(arena, row, value_text("ts"), value_text(print_start_time(arena, stored->time)));
    value_map_set(arena, row, value_text("differs"), value_bool(replay->differs));
    value_map_set(arena, row, value_text("now"), describe_now(arena, replay));
    value_map_set(arena, row, value_text("then"), describe_then(arena, recorded));
    value_list_push(arena, session->rows, value_map(row));
}

/* Without the event gates that depend on the moment. */
static enum event_gate_drop pass_gates(struct replay_session *session,
                                       const struct stored_event *stored,
                                       struct event_gate_event *ret_event)
{
    const struct event_gate_delivery delivery = { .subject = stored->subject,
                                                  .payload = stored->payload,
                                                  .wall = stored->time };
    enum event_gate_drop drop;
    struct event_gate event_gate;

    event_gate_init(&event_gate, &(struct event_gate_options){ .max_chain_depth = DEPTH_MAX });
    drop = event_gate_check(&event_gate, session->arena, &delivery, ret_event);
    event_gate_done(&event_gate);
    return drop;
}

static int replay_stored(struct replay_session *session, const struct stored_event *stored,
                         struct err *err)
{
    const struct tester tester = {
        .rules = session->rules,
        .env = session->env,
        .enable_chaining = true,
        .max_chain_depth = DEPTH_MAX,
        .wall = stored->time,
    };
    const struct outcome *recorded;
    const struct value *facts;
    struct event_gate_event event;
    struct outcome outcome;
    struct replay replay;

    if (pass_gates(session, stored, &event) != EVENT_GATE_PASS) {
        session->dropped++;
        return 0;
    }
    if (find_outcome(session, event.event.id, &outcome, &recorded, err) < 0 ||
        find_origin_facts(session, &event.source, &facts, err) < 0)
        return -1;
    if (recorded && recorded->outcome == OUTCOME_DROPPED) {
        session->dropped++;
        return 0;
    }
    replay_event(&tester, session->arena, &event, facts, recorded, &replay);
    add_replay_row(session, stored, &event, &replay, recorded);
    return 0;
}

/* --- printing --------------------------------------------------------------------------- */

static void print_rule_list(const char *label, const struct value *rules)
{
    if (rules->list->count == 0)
        printf("  %s nothing\n", label);
    for (size_t i = 0; i < rules->list->count; i++) {
        const struct value *rule = &rules->list->items[i];
        const struct value *actions = value_get(rule, "actions"),
                           *errors = value_get(rule, "errors");

        printf("  %s %s: %s\n", label, value_get_text(rule, "rule"),
               value_get_text(rule, "result"));
        for (size_t k = 0; k < actions->list->count; k++)
            printf("         %s\n", actions->list->items[k].s.p);
        for (size_t k = 0; errors && k < errors->list->count; k++)
            printf("         error: %s\n", errors->list->items[k].s.p);
    }
}

static void print_replay_text(const struct replay_session *session)
{
    for (size_t i = 0; i < session->rows->count; i++) {
        const struct value *row = &session->rows->items[i];
        const bool differs = value_get(row, "differs")->b;

        printf("%s  %s  %s%s\n", value_get_text(row, "ts"), value_get_text(row, "key"),
               value_get_text(row, "id"), differs ? "  (differs)" : "");
        print_rule_list("now: ", value_get(row, "now"));
        if (differs)
            print_rule_list("then:", value_get(row, "then"));
    }
    printf("%zu events: %" PRId64 " would fire, %" PRId64
           " match a rule that would do nothing, %" PRId64 " match no rule, %" PRId64
           " dropped; %" PRId64 " would be handled differently\n",
           session->events.n, session->fire, session->idle, session->unmatched, session->dropped,
           session->differ);
    if (session->failed > 0)
        printf("%" PRId64 " match a rule with a mistake, which stops its reaction\n",
               session->failed);
}

static struct value describe_all(const struct replay_session *session)
{
    const struct {
        const char *name;
        int64_t count;
    } counts[] = {
        { "total", (int64_t)session->events.n }, { "fire", session->fire },
        { "differ", session->differ },           { "idle", session->idle },
        { "unmatched", session->unmatched },     { "dropped", session->dropped },
        { "failed", session->failed },
    };
    struct value_map *all = value_map_new(session->arena, 2);
    struct value_map *summary = value_map_new(session->arena, ARRAY_LEN(counts));

    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        value_map_set(session->arena, summary, value_text(counts[i].name),
                      value_int(counts[i].count));
    value_map_set(session->arena, all, value_text("events"), value_list(session->rows));
    value_map_set(session->arena, all, value_text("summary"), value_map(summary));
    return value_map(all);
}

/* --- the whole -------------------------------------------------------------------------- */

static int64_t read_replay_clock(void *user)
{
    (void)user;
    return clock_now();
}

static int replay_all(struct replay_session *session, struct diags *diags, struct err *err)
{
    const struct reaction_options options = { .now = read_replay_clock };

    if (load_replay_rules(session, diags, err) < 0 || read_stored_events(session, err) < 0)
        return -1;
    session->env = reaction_env_new(&options);
    session->rows = value_list_new(session->arena, 0);
    VEC_EACH (&session->events, stored)
        if (replay_stored(session, stored, err) < 0)
            return -1;
    return 0;
}

int reactor_replay(struct cli *cli, const struct reactor_replay_options *options)
{
    struct replay_session session = { .arena = cli->arena,
                                      .fleet = cli->fleet,
                                      .options = options };
    struct diags diags = DIAGS_INIT(cli->arena);
    struct value result;
    struct err err;
    int status = replay_all(&session, &diags, &err);

    reaction_env_free(session.env);
    map_done(&session.facts);
    if (status == 0 && options->fleet.format == FLEET_TEXT) {
        print_replay_text(&session);
        status = CLI_OK;
    } else if (status == 0) {
        result = describe_all(&session);
        status = fleet_print(cli, options->fleet.format, &result);
    } else {
        status =
            options->rules && diags_count(&diags) > 0 ? cli_diags(cli, &diags) : cli_err(cli, &err);
    }
    rule_set_drop(session.rules);
    return status;
}
