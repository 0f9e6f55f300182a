/*
 * Plays: services, events, and their results. The language of the
 * section "play" is the table at the end; the services are described as in fake.h.
 */
#include "kepler/engine/engine.h"

#include <stdio.h>

#include "kepler/engine/fake.h"
#include "kepler/engine/why.h"
#include "kepler/engine/why_text.h"

#define WORDS_MAX 16
#define WHY_MAX   4000

struct play {
    struct fake *fake;
    struct buf *out;
    struct str words[WORDS_MAX];
    size_t count;
};

/* The services among the words from `from` on. */
static struct engine_set set_of(const struct play *play, size_t from)
{
    uint32_t *list = ARENA_ARRAY(&play->fake->arena, uint32_t, WORDS_MAX);
    struct engine_set set = { list, 0, 0 };

    for (size_t i = from; i < play->count; i++)
        if (play->words[i].p[0] != '-')
            list[set.count++] = fake_index(play->fake, play->words[i]);
    return set;
}

static bool has_word(const struct play *play, const char *word)
{
    for (size_t i = 1; i < play->count; i++)
        if (str_is(play->words[i], word))
            return true;
    return false;
}

static uint32_t service_of(const struct play *play)
{
    CHECK(play->count > 1);
    return fake_index(play->fake, play->words[1]);
}

static int number_of(const struct play *play)
{
    CHECK(play->count > 2);
    return (int)strtol(play->words[2].p, NULL, 10);
}

static unsigned flags_of(const struct play *play, struct engine_set set)
{
    return (has_word(play, "--no-deps") ? ENGINE_NO_DEPS : 0) | (set.count > 0 ? ENGINE_NAMED : 0);
}

static void do_start(struct play *play)
{
    struct engine_set set = set_of(play, 1);

    engine_start(play->fake->engine, set, flags_of(play, set));
}

static void do_stop(struct play *play)
{
    struct engine_stop options = { .clean = has_word(play, "--clean") };

    for (size_t i = 1; i < play->count; i++)
        if (str_starts(play->words[i], STR("--signal=")))
            options.signal = signal_parse(str_from_offset(play->words[i], 9));
    engine_stop(play->fake->engine, set_of(play, 1), &options);
}

static void do_restart(struct play *play)
{
    struct engine_set set = set_of(play, 1);

    (void)engine_restart(play->fake->engine, set, flags_of(play, set));
}

static void do_exit(struct play *play)
{
    fake_exit(play->fake, service_of(play), (struct process_status){ number_of(play), 0 });
}

/* All end before the engine hears of anything else. */
static void do_die(struct play *play)
{
    int signo = signal_parse(play->words[play->count - 1]);

    for (size_t i = 1; i + 1 < play->count; i++)
        fake_end(play->fake, fake_index(play->fake, play->words[i]),
                 (struct process_status){ -1, signo });
    fake_settle(play->fake);
}

/* The same, with all of their trees. */
static void do_crash(struct play *play)
{
    for (size_t i = 1; i < play->count; i++) {
        uint32_t service = fake_index(play->fake, play->words[i]);

        fake_end(play->fake, service, (struct process_status){ -1, SIGKILL });
        (void)fake_deliver(play->fake, service);
    }
    fake_settle(play->fake);
}

static void do_check(struct play *play)
{
    if (!fake_answer(play->fake, service_of(play), str_is(play->words[2], "pass")))
        buf_add_text(play->out, "no check is running\n");
}

static void do_state(struct play *play)
{
    const bool changed = has_word(play, "changed");

    CHECK(play->count > 2);
    fake_run_state(play->fake, play->words[1], changed || has_word(play, "unchanged"), changed);
}

static void do_wait(struct play *play)
{
    fake_pass(play->fake, fake_seconds(play->words[1]));
}

static void do_files(struct play *play)
{
    uint32_t service = service_of(play);

    if (play->fake->services[service].watching)
        play->fake->world.events.files_changed(play->fake->engine, service, "/srv/app.conf");
    else
        buf_add_text(play->out, "no file is watched\n");
}

/* Completes the pending evaluation of a slow service. */
static void do_answer(struct play *play)
{
    struct fake_service *state = &play->fake->services[service_of(play)];

    if (state->question == FAKE_NOTHING)
        buf_add_text(play->out, "nothing was asked for\n");
    else
        state->answering = true;
    fake_settle(play->fake);
}

/* A hook that was held ends with this code. */
static void do_hook(struct play *play)
{
    struct fake_service *state = &play->fake->services[service_of(play)];

    CHECK(state->task[WORLD_HOOK]);
    state->task_ending[WORLD_HOOK] = true;
    state->task_status[WORLD_HOOK] = (struct process_status){ number_of(play), 0 };
}

static void do_set(struct play *play)
{
    struct fake_service *state = &play->fake->services[service_of(play)];

    state->spawn_fails = has_word(play, "spawn-fails");
    state->hold_hooks = has_word(play, "hold");
}

static void do_show(struct play *play)
{
    fake_show(play->fake, play->out);
    buf_add_char(play->out, '\n');
}

static void do_acts(struct play *play)
{
    struct buf *acts = &play->fake->acts;

    if (acts->n > 0)
        buf_cut(acts, acts->n - 2); /* the last "; " */
    buf_printf(play->out, "%s\n", buf_text(acts));
    buf_clear(acts);
}

static void do_changes(struct play *play)
{
    buf_add_str(play->out, buf_view(&play->fake->changes));
    buf_clear(&play->fake->changes);
}

static void do_ready(struct play *play)
{
    bool ready = readiness_is_ready(play->fake->engine, set_of(play, 1));

    buf_printf(play->out, "%s\n", ready ? "ready" : "not ready");
}

static void do_quiet(struct play *play)
{
    bool quiet = readiness_is_quiescent(play->fake->engine);

    buf_printf(play->out, "%s\n", quiet ? "quiescent" : "not quiescent");
}

static void do_down(struct play *play)
{
    bool down = engine_is_down(play->fake->engine, set_of(play, 1));

    buf_printf(play->out, "%s\n", down ? "down" : "not down");
}

static void do_settled(struct play *play)
{
    bool settled = engine_is_settled(play->fake->engine, set_of(play, 1));

    buf_printf(play->out, "%s\n", settled ? "settled" : "not settled");
}

static void do_as(struct play *play)
{
    CHECK(play->count > 1);
    engine_ask_as(play->fake->engine,
                  arena_strndup(&play->fake->arena, play->words[1].p, play->words[1].n));
}

static void do_why(struct play *play)
{
    struct value why = why_value(&play->fake->arena, play->fake->engine, service_of(play));

    why_print(&why, play->out);
}

static void do_count(struct play *play)
{
    const struct service_record *record = &engine_get(play->fake->engine, service_of(play))->record;

    buf_printf(play->out, "restarts %u, since healthy %u\n", record->restarts,
               record->restarts_since_healthy);
}

/* clang-format off */
static const struct {
    const char *word;
    void (*fn)(struct play *play);
} commands[] = {
    { "start",   do_start },   /* [SERVICE...] [--no-deps] */
    { "stop",    do_stop },    /* [SERVICE...] [--clean] [--signal=INT] */
    { "restart", do_restart }, /* [SERVICE...] [--no-deps] */
    { "exit",    do_exit },    /* SERVICE CODE: its process ends by itself */
    { "die",     do_die },     /* SERVICE... SIGNAL: likewise, of several at once */
    { "crash",   do_crash },   /* SERVICE...: likewise, with all of their trees */
    { "check",   do_check },   /* SERVICE pass|fail: the running check ends */
    { "hook",    do_hook },    /* SERVICE CODE: the held hook ends */
    { "answer",  do_answer },  /* SERVICE: its pending evaluation completes */
    { "files",   do_files },   /* SERVICE: a watched file changes */
    { "state",   do_state },   /* NAME changed|unchanged|failed: it ran */
    { "wait",    do_wait },    /* SECONDS */
    { "set",     do_set },     /* SERVICE spawn-fails|hold|fine: takes effect at once */
    { "show",    do_show },    /* print the status of all */
    { "acts",    do_acts },    /* print what the engine has done since the last time */
    { "changes", do_changes }, /* print the changes of status since the last time */
    { "ready",   do_ready },   /* [SERVICE...] */
    { "quiet",   do_quiet },
    { "down",    do_down },    /* [SERVICE...] */
    { "settled", do_settled }, /* [SERVICE...] */
    { "why",     do_why },     /* SERVICE */
    { "as",      do_as },      /* WHO: sends the following requests */
    { "count",   do_count },   /* SERVICE */
};
/* clang-format on */

static void do_line(struct play *play, struct str line)
{
    play->count = 0;
    while (line.p && play->count < WORDS_MAX)
        play->words[play->count++] = str_cut(&line, ' ');
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (str_is(play->words[0], commands[i].word)) {
            commands[i].fn(play);
            fake_settle(play->fake);
            return;
        }
    (void)fprintf(stderr, "no command '%.*s'\n", STR_ARG(play->words[0]));
    CHECK(false);
}

static int run_play(const struct golden *golden, struct buf *out)
{
    struct str text = golden_section(golden, "play");
    struct play play = { .fake = fake_new(golden_section(golden, "services")), .out = out };

    while (text.p) {
        struct str line = str_trim(str_cut(&text, '\n'));

        if (line.n > 0)
            do_line(&play, line);
    }
    fake_free(play.fake);
    return 0;
}

#define PLAYS(sentence, file)                                                                      \
    TEST(sentence)                                                                                 \
    {                                                                                              \
        test_golden("kepler/engine/" file, run_play);                                              \
    }

PLAYS(services_wait_for_their_dependencies, "dependencies.txt")
PLAYS(services_wait_for_states_of_the_machine, "states.txt")
PLAYS(restarts_are_passed_on, "propagation.txt")
PLAYS(processes_that_end_are_restarted_as_their_policy_says, "policy.txt")
PLAYS(stops_are_graceful_parallel_and_in_order, "stop.txt")
PLAYS(hooks_run_in_order_and_fail_as_documented, "hooks.txt")
PLAYS(health_checks_change_the_status, "health.txt")
PLAYS(readiness_and_quiescence_are_seen, "readiness.txt")
PLAYS(every_change_names_its_cause, "why.txt")
PLAYS(evaluations_take_their_time, "evaluation.txt")
