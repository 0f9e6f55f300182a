#include "fleet/reactor/reaction_run.h"

#include <stdio.h>

#include "core/base/err.h"
#include "core/base/number.h"
#include "core/data/yaml.h"
#include "fleet/reactor/awaited.h"
#include "fleet/reactor/reaction.h"
#include "fleet/reactor/rules.h"

#define SECOND NUMBER_NS_PER_S
#define EPOCH  (INT64_C(1800000000) * SECOND)

/* A master that writes down what it is asked to do. Sections of a case: the files of the rules,
 * `options`, `answers` (block: result, result...), `ends` (how jobs end that are waited for, in
 * their order: a status, or nobody knows) and `events`, a line for each delivery:
 * "<seconds> <id> <subject after zester.event.> [#delivery] [depth=N]". */
struct world {
    struct arena arena;
    struct pipeline pipeline;
    struct reaction_env *env;
    struct value answers;
    struct map asked; /* block -> how often */
    struct value ends;
    size_t ended;
    int64_t now;
    struct buf *out;
    VEC(struct reaction_run *) waiting; /* answers that come later */
    bool is_late;
};

static struct value parse_yaml(struct arena *arena, struct str text)
{
    struct diags diags = DIAGS_INIT(arena);
    struct value v;

    if (yaml_parse(arena, "case", text, NULL, &v, &diags) < 0)
        fail_msg("the case has no YAML");
    return v;
}

static const char *id_of(const struct reaction_run *reaction_run)
{
    return reaction_run_event(reaction_run)->event.id;
}

static struct reaction_run_answer find_answer(struct world *world, const char *block)
{
    static const struct {
        const char *word;
        struct reaction_run_answer answer;
    } words[] = {
        { "dispatched", { OUTCOME_DISPATCHED, false, NULL } },
        { "duplicate", { OUTCOME_DUPLICATE, false, NULL } },
        { "no_targets", { OUTCOME_NO_TARGETS, false, "no peel matches" } },
        { "aborted", { OUTCOME_ABORTED, false, "too many" } },
        { "refused", { OUTCOME_REFUSED, false, "not allowed" } },
        { "failed", { OUTCOME_ERROR, false, "never" } },
        { "error", { OUTCOME_ERROR, true, "not now" } },
    };
    const struct value *list = value_get(&world->answers, block);
    void **asked = map_place(&world->asked, str_from(arena_strdup(&world->arena, block)));
    size_t i = (size_t)*asked;

    if (!list || list->list->count == 0)
        return words[0].answer;
    *asked = (void *)(i + 1);
    i = i < list->list->count ? i : list->list->count - 1;
    for (size_t k = 0; k < ARRAY_LEN(words); k++)
        if (str_is(list->list->items[i].s, words[k].word))
            return words[k].answer;
    fail_msg("no such answer");
    return words[0].answer;
}

static void on_render(void *user, struct reaction_run *reaction_run)
{
    struct world *world = user;

    reaction_run_render(reaction_run, world->env);
    if (world->is_late)
        VEC_PUSH_IN(&world->arena, &world->waiting, reaction_run);
    else
        reaction_run_rendered(reaction_run);
}

static void on_dispatch(void *user, struct reaction_run *reaction_run,
                        const struct reaction_run_job *job)
{
    struct world *world = user;
    const char *rest = strchr(job->rule, '.') + 1;
    const struct reaction_run_answer answer = find_answer(world, rest);

    buf_printf(world->out, "  %s: dispatch %s %s on %s by %s depth %s\n", id_of(reaction_run),
               job->jid, job->dispatch->function, job->dispatch->expr, job->user,
               value_get_text(&job->metadata, "reactor_depth"));
    CHECK_STR(value_get_text(&job->metadata, "source"), "reactor");
    CHECK_STR(value_get_text(&job->metadata, "rule"), job->rule);
    CHECK_STR(value_get_text(&job->metadata, "event_id"), id_of(reaction_run));
    CHECK_STR(value_get_text(&job->metadata, "event_tag"),
              reaction_run_event(reaction_run)->source.tag);
    reaction_run_answer(reaction_run, &answer);
}

static void on_enroll(void *user, struct reaction_run *reaction_run, const char *rule,
                      const struct action_enroll *action)
{
    struct world *world = user;
    const struct reaction_run_answer answer = find_answer(world, strchr(rule, '.') + 1);

    buf_printf(world->out, "  %s: %s %s if %s, reason '%s'\n", id_of(reaction_run),
               action_decision_name(action->decision), action->id, action->require_peel,
               action->reason);
    reaction_run_answer(reaction_run, &answer);
}

static void on_send(void *user, struct reaction_run *reaction_run,
                    const struct reaction_run_send *send)
{
    struct world *world = user;
    const struct reaction_run_answer answer = find_answer(world, "send");

    CHECK(send->event.ts.seconds > 0);
    CHECK_INT(send->event.v, 1);
    CHECK_STR(send->parent, id_of(reaction_run));
    buf_printf(world->out, "  %s: send %s %s %s %s depth %d\n", id_of(reaction_run), send->subject,
               send->event.tag, send->event.id, send->event.origin, send->event.depth);
    reaction_run_answer(reaction_run, &answer);
}

static void on_await(void *user, struct reaction_run *reaction_run,
                     const struct reaction_run_job *job)
{
    static const struct reaction_run_answer unknown = { OUTCOME_ERROR, true, "nobody knows" };
    struct world *world = user;
    const struct value *list = &world->ends;
    struct awaited_end end = awaited_worlds[1];

    buf_printf(world->out, "  %s: wait for %s\n", id_of(reaction_run), job->jid);
    CHECK(job->dispatch->wait);
    if (list->kind == VALUE_LIST && world->ended < list->list->count)
        for (size_t i = 0; i < awaited_world_count; i++)
            if (str_is(list->list->items[world->ended].s, awaited_worlds[i].status))
                end = awaited_worlds[i];
    end.jid = job->jid;
    if (list->kind == VALUE_LIST && str_is(list->list->items[world->ended++].s, "unknown"))
        reaction_run_answer(reaction_run, &unknown);
    else
        reaction_run_job_ended(reaction_run, &end);
}

static void on_log(void *user, const struct reaction_run *reaction_run, const char *rule,
                   const char *message)
{
    struct world *world = user;

    buf_printf(world->out, "  %s: log '%s' for %s\n", id_of(reaction_run), message, rule);
}

static void on_opened(void *user, const char *rule)
{
    struct world *world = user;

    buf_printf(world->out, "  breaker of %s opens\n", rule);
}

static void on_end(void *user, struct reaction_run *reaction_run,
                   const struct reaction_run_end *end)
{
    static const char *const verdicts[] = { "ack", "nak", "give up" };
    struct world *world = user;

    buf_printf(world->out, "%s: %s", id_of(reaction_run), verdicts[end->verdict]);
    VEC_EACH (&end->outcome->rules.list, rule) {
        buf_printf(world->out, "; %s %s", rule->rule, outcome_result_name(rule->result));
        if (rule->message[0])
            buf_printf(world->out, " (%s)", rule->message);
        if (rule->blocks.list.n > 1 ||
            (rule->blocks.list.n == 1 && rule->blocks.list.p[0].message[0]))
            VEC_EACH (&rule->blocks.list, block)
                buf_printf(world->out, "%s%s %s%s%s", block == rule->blocks.list.p ? " [" : ", ",
                           block->block, outcome_result_name(block->result),
                           block->message[0] ? ": " : "", block->message);
        if (rule->blocks.list.n > 1 ||
            (rule->blocks.list.n == 1 && rule->blocks.list.p[0].message[0]))
            buf_add_char(world->out, ']');
    }
    buf_add_char(world->out, '\n');
    CHECK_STR(end->outcome->id, id_of(reaction_run));
    CHECK_INT(end->outcome->outcome == OUTCOME_EXHAUSTED, end->verdict == REACTION_RUN_EXHAUSTED);
}

static const struct value *find_facts(void *user, struct arena *arena, const char *peel)
{
    struct diags diags = DIAGS_INIT(arena);
    struct value *facts = ARENA_NEW(arena, struct value);

    (void)user;
    CHECK(yaml_parse(arena, "facts", str_from(arena_printf(arena, "host: %s", peel)), NULL, facts,
                     &diags) == 0);
    return facts;
}

static int64_t tell_time(void *user)
{
    return ((struct world *)user)->now;
}

static int64_t tell_date(void *user)
{
    return EPOCH + ((struct world *)user)->now;
}

static const struct pipeline_effects effects = {
    .render = on_render,
    .dispatch = on_dispatch,
    .enroll = on_enroll,
    .send = on_send,
    .await = on_await,
    .log = on_log,
    .opened = on_opened,
    .end = on_end,
    .facts = find_facts,
    .monotonic = tell_time,
    .wall = tell_date,
};

static void world_init(struct world *world, const struct golden *golden, struct buf *out)
{
    const struct reaction_options reactions = { 0 };
    struct pipeline_options options;
    struct value given;

    *world = (struct world){ .arena = ARENA_INIT, .now = 0, .out = out };
    given = parse_yaml(&world->arena, golden_section(golden, "options"));
    options = (struct pipeline_options){
        .event_gate = { .max_chain_depth = value_get_int(&given, "max_chain_depth", 3),
                        .source_rate = value_get_int(&given, "source_rate", 120),
                        .max_event_age = 3600 * SECOND },
        .enable_chaining = !value_get_bool(&given, "no_chaining"),
        .default_throttle = value_get_int(&given, "default_throttle", 0) * SECOND,
        .storm_rate = value_get_int(&given, "storm_rate", 60),
        .breaker_cooldown = 300 * SECOND,
    };
    world->is_late = value_get_bool(&given, "late");
    world->env = reaction_env_new(&reactions);
    world->answers = parse_yaml(&world->arena, golden_section(golden, "answers"));
    world->ends = parse_yaml(&world->arena, golden_section(golden, "ends"));
    pipeline_init(&world->pipeline, &options, &effects, world);
    pipeline_use(&world->pipeline, rules_read(&world->arena, golden));
}

static void world_done(struct world *world)
{
    CHECK_INT(world->pipeline.runs, 0);
    pipeline_done(&world->pipeline);
    reaction_env_free(world->env);
    map_done(&world->asked);
    arena_done(&world->arena);
}

static struct str next_word(struct str *rest)
{
    struct str word = rest->p ? str_cut(rest, ' ') : STR("");

    return word;
}

static void deliver(struct world *world, struct str line)
{
    AUTO_BUF struct buf payload = BUF_INIT(BUF_NO_LIMIT);
    struct arena *arena = &world->arena;
    struct pipeline_delivery delivery = { .number = 1 };
    struct pipeline_verdict verdict;
    struct event_source source = { .tag = "?" };
    struct event event = { .ts = { EPOCH / SECOND, 0 }, .v = 1 };
    struct err err;
    int64_t seconds;

    CHECK(number_parse_int(next_word(&line), &seconds, &err) == 0);
    world->now = seconds * SECOND;
    event.ts.seconds += seconds;
    event.id = arena_str(arena, next_word(&line)).p;
    delivery.subject =
        str_from(arena_printf(arena, "zester.event.%s", arena_str(arena, next_word(&line)).p));
    (void)event_parse_subject(arena, delivery.subject, &source);
    while (line.p) {
        struct str word = next_word(&line);

        if (word.n > 1 && word.p[0] == '#')
            delivery.number = (unsigned)(word.p[1] - '0');
        else if (str_starts(word, STR("depth=")))
            event.depth = word.p[6] - '0';
    }
    event.tag = source.tag;
    CHECK(record_encode(&payload, &event_type, &event, &err) == 0);
    delivery.payload = buf_view(&payload);
    pipeline_accept(&world->pipeline, &delivery, &verdict);
    if (verdict.reaction_run)
        reaction_run_begin(verdict.reaction_run);
    else if (verdict.drop != EVENT_GATE_PASS)
        buf_printf(world->out, "%s: dropped, %s\n", event.id, event_gate_drop_name(verdict.drop));
    else
        buf_printf(world->out, "%s: unmatched\n", event.id);
}

static int run_case(const struct golden *golden, struct buf *out)
{
    struct str events = golden_section(golden, "events");
    struct world world;

    world_init(&world, golden, out);
    while (events.p && events.n > 0) {
        struct str line = str_cut(&events, '\n');

        if (line.n > 0)
            deliver(&world, line);
    }
    for (size_t i = 0; i < world.waiting.n; i++) /* each may add more */
        reaction_run_rendered(world.waiting.p[i]);
    world_done(&world);
    return 0;
}

TEST(events_go_through_the_rules_that_they_match)
{
    test_golden("fleet/reactor/flights.txt", run_case);
}

TEST(a_flight_keeps_the_rules_that_it_was_matched_with)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct golden before = {
        .count = 2,
        .sections = { { "top.zy", STR("reactor: [{'*': [reactor.a]}]") },
                      { "a.zy", STR("x: {log: old}") } },
    };
    const struct golden after = {
        .count = 1,
        .sections = { { "top.zy", STR("reactor: []") } },
    };
    struct world world;

    world_init(&world, &before, &out);
    world.is_late = true;
    deliver(&world, STR("0 E1 web-01.send.a"));
    pipeline_use(&world.pipeline, rules_read(&world.arena, &after));
    deliver(&world, STR("1 E2 web-01.send.a"));
    reaction_run_rendered(world.waiting.p[0]);
    CHECK_STR(buf_text(&out), "E2: unmatched\n"
                              "  E1: log 'old' for reactor.a\n"
                              "E1: ack; reactor.a dispatched\n");
    world_done(&world);
}

TEST(a_flight_that_is_postponed_comes_again_and_uses_up_no_guard)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct golden rules = {
        .count = 2,
        .sections = { { "top.zy", STR("reactor: [{'*': {react: [reactor.a], throttle: 30s}}]") },
                      { "a.zy", STR("x: {log: fired}") } },
    };
    struct world world;

    world_init(&world, &rules, &out);
    world.is_late = true;
    deliver(&world, STR("0 E1 web-01.send.a"));
    reaction_run_postpone(world.waiting.p[0]);
    world.is_late = false;
    deliver(&world, STR("10 E1 web-01.send.a #2"));
    CHECK_STR(buf_text(&out), "E1: nak; reactor.a error\n"
                              "  E1: log 'fired' for reactor.a\n"
                              "E1: ack; reactor.a dispatched\n");
    world_done(&world);
}

TEST(identities_are_those_of_the_specification)
{
    char jid[EVENT_JID_SIZE], id[SHA256_HEX_SIZE], whole[SHA256_HEX_SIZE];

    event_job_id("web-01", "E1", "reactor.a", "x", jid);
    sha256_hex("web-01\0E1\0reactor.a\0x", 21, whole);
    CHECK_INT(strlen(jid), 4 + 32);
    CHECK(strncmp(jid, "rxn-", 4) == 0 && strncmp(jid + 4, whole, 32) == 0);
    event_derived_id("E1", "reactor.a", "x", id);
    sha256_hex("E1\0reactor.a\0x", 14, whole);
    CHECK_STR(id, whole);
}
