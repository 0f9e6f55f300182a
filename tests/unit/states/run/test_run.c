#include "scene.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "core/sys/clock.h"
#include "wait.h"

/* --- requisites ------------------------------------------------------------------------- */

/* Every case: states, then "name=outcome" for each of them. */
static const struct {
    const char *name, *states, *outcomes;
} cases[] = {
    { "require waits for success",
      "a: {cmd.run: [{command: 'true'}]}\n"
      "b: {cmd.run: [{command: 'true'}, {require: [{cmd: a}]}]}\n",
      "a=changed b=changed" },
    { "a failure skips those that require it, and those behind them",
      "a: {cmd.run: [{command: 'false'}]}\n"
      "b: {cmd.run: [{command: 'true'}, {require: [{cmd: a}]}]}\n"
      "c: {cmd.run: [{command: 'true'}, {require: [{cmd: b}]}]}\n"
      "d: {cmd.run: [{command: 'true'}, {onchanges: [{cmd: c}]}]}\n"
      "e: {cmd.run: [{command: 'true'}]}\n",
      "a=failed b=require_failed c=require_failed d=require_failed e=changed" },
    { "a condition that is not met lets dependents run",
      "a: {cmd.run: [{command: 'true'}, {creates: /}]}\n"
      "b: {cmd.run: [{command: 'true'}, {onchanges: [{cmd: a}]}]}\n"
      "c: {cmd.run: [{command: 'true'}, {require: [{cmd: b}]}]}\n",
      "a=ok b=onchanges_not_met c=changed" },
    { "onfail runs on failure only, and not on a skip",
      "a: {cmd.run: [{command: 'false'}]}\n"
      "b: {cmd.run: [{command: 'true'}, {require: [{cmd: a}]}]}\n"
      "c: {cmd.run: [{command: 'true'}, {onfail: [{cmd: a}]}]}\n"
      "d: {cmd.run: [{command: 'true'}, {onfail: [{cmd: b}]}]}\n",
      "a=failed b=require_failed c=changed d=onfail_not_met" },
    { "several kinds must all agree",
      "a: {cmd.run: [{command: 'false'}]}\n"
      "p: {cmd.run: [{command: 'true'}]}\n"
      "q: {cmd.run: [{command: 'true'}]}\n"
      "n: {cmd.run: [{command: 'true'}, {creates: /}]}\n"
      "b: {cmd.run: [{command: 'true'}, {onfail: [{cmd: a}]}, {require: [{cmd: p}]}]}\n"
      "c: {cmd.run: [{command: 'true'}, {onfail: [{cmd: p}]}, {onchanges: [{cmd: q}]}]}\n"
      "d: {cmd.run: [{command: 'true'}, {watch: [{cmd: p}]}, {onchanges: [{cmd: n}]}]}\n",
      "b=changed c=onfail_not_met d=onchanges_not_met" },
    { "any forms want one, onfail_all wants all",
      "f: {cmd.run: [{command: 'false'}]}\n"
      "g: {cmd.run: [{command: 'false'}]}\n"
      "t: {cmd.run: [{command: 'true'}]}\n"
      "a: {cmd.run: [{command: 'true'}, {require_any: [{cmd: f}, {cmd: t}]}]}\n"
      "b: {cmd.run: [{command: 'true'}, {require_any: [{cmd: f}, {cmd: g}]}]}\n"
      "c: {cmd.run: [{command: 'true'}, {watch_any: [{cmd: f}, {cmd: g}]}]}\n"
      "d: {cmd.run: [{command: 'true'}, {creates: /}, {watch_any: [{cmd: f}, {cmd: t}]}]}\n"
      "e: {cmd.run: [{command: 'true'}, {onfail_all: [{cmd: f}, {cmd: t}]}]}\n"
      "h: {cmd.run: [{command: 'true'}, {onfail_all: [{cmd: f}, {cmd: g}]}]}\n",
      "a=changed b=require_failed c=require_failed d=changed e=onfail_not_met h=changed" },
    { "watch forces past creates, but not past guards",
      "s: {cmd.run: [{command: 'true'}]}\n"
      "a: {cmd.run: [{command: 'true'}, {creates: /}, {watch: [{cmd: s}]}]}\n"
      "b: {cmd.run: [{command: 'true'}, {unless: 'true'}, {watch: [{cmd: s}]}]}\n",
      "a=changed b=ok" },
    { "prereq runs before a change only",
      "d: {cmd.run: [{command: 'true'}, {prereq: [{cmd: t}]}]}\n"
      "t: {cmd.run: [{command: 'true'}]}\n"
      "e: {cmd.run: [{command: 'true'}, {prereq: [{cmd: u}]}]}\n"
      "u: {cmd.run: [{command: 'true'}, {creates: /}]}\n"
      "f: {cmd.run: [{command: 'true'}, {creates: /}, {prereq: [{cmd: u}, {cmd: t}]}]}\n"
      "g: {cmd.run: [{command: 'true'}, {prereq: [{cmd: v}]}]}\n"
      "v: {cmd.run: [{command: 'true'}, {onlyif: 'false'}]}\n",
      "d=changed t=changed e=prereq_not_met u=ok f=changed g=prereq_not_met v=ok" },
    { "a target that cannot be checked fails its prereq",
      "d: {cmd.run: [{command: 'true'}, {prereq: [{file: t}]}]}\n"
      "t: {file.managed: [{path: ROOT/t}, {content: x}, {fails: true}]}\n",
      "d=failed" },
    { "failhard ends the run behind its level",
      "a: {cmd.run: [{command: 'false'}, {failhard: true}]}\n"
      "b: {cmd.run: [{command: 'true'}]}\n"
      "c: {cmd.run: [{command: 'true'}, {require: [{cmd: b}]}]}\n"
      "d: {cmd.run: [{command: 'true'}, {onfail: [{cmd: a}]}]}\n",
      "a=failed b=changed c=failhard_abort d=failhard_abort" },
    { "guards",
      "a: {cmd.run: [{command: 'false'}, {onlyif: ['true', 'exit 3']}]}\n"
      "b: {cmd.run: [{command: 'true'}, {onlyif: ['true', 'true']}]}\n"
      "c: {cmd.run: [{command: 'false'}, {unless: ['false', 'true']}]}\n"
      "d: {cmd.run: [{command: 'true'}, {unless: ['false', 'exit 9']}]}\n",
      "a=ok b=changed c=ok d=changed" },
    { "check_cmd decides after apply",
      "a: {cmd.run: [{command: 'touch ROOT/x'}, {check_cmd: 'test -e ROOT/x'}]}\n"
      "b: {cmd.run: [{command: 'true'}, {check_cmd: 'echo bad >&2; exit 4'}]}\n",
      "a=changed b=failed" },
};

static void check_outcomes(const struct scene *scene, const char *name, const char *outcomes)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str rest = str_from(outcomes);

    while (rest.p) {
        struct str pair = str_cut(&rest, ' ');
        struct str id = str_cut(&pair, '=');
        const char *got = NULL;

        VEC_EACH (&scene->result.states, state) {
            struct str full = str_from(state->name);

            if (str_eq(str_from_offset(full, str_find_char(full, ':', 0) + 1), id))
                got = scene_outcome(scene, state->name);
        }
        CHECK_STR(arena_printf(&arena, "%s: %.*s=%s", name, STR_ARG(id), got ? got : "missing"),
                  arena_printf(&arena, "%s: %.*s=%.*s", name, STR_ARG(id), STR_ARG(pair)));
    }
}

TEST(requisites_guards_and_failhard_decide_as_documented)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scene scene;

        scene_init(&scene);
        scene_apply(&scene, cases[i].states);
        check_outcomes(&scene, cases[i].name, cases[i].outcomes);
        scene_done(&scene);
    }
}

TEST(causes_are_given_in_words)
{
    struct scene scene;

    scene_init(&scene);
    scene_apply(&scene, "a: {cmd.run: [{command: 'exit 7'}]}\n"
                        "n: {cmd.run: [{command: 'true'}, {creates: /}]}\n"
                        "s: {cmd.run: [{command: 'true'}]}\n"
                        "b: {cmd.run: [{command: 'true'}, {require: [{cmd: a}]}]}\n"
                        "c: {cmd.run: [{command: 'true'}, {onchanges: [{cmd: n}]}]}\n"
                        "d: {cmd.run: [{command: 'true'}, {watch: [{cmd: s}]}]}\n"
                        "e: {cmd.run: [{command: 'true'}, {prereq: [{cmd: n}]}]}\n"
                        "f: {cmd.run: [{command: 'true'}, {onfail: [{cmd: s}]}]}\n"
                        "g: {cmd.run: [{command: 'true'}, {require: [{cmd: b}]}]}\n");
    CHECK_STR(scene_result(&scene, "cmd.run:b")->cause, "cmd.run:a failed: exit status 7");
    CHECK_STR(scene_result(&scene, "cmd.run:c")->cause, "no change in cmd.run:n");
    CHECK_STR(scene_result(&scene, "cmd.run:d")->cause, "cmd.run:s changed");
    CHECK_STR(scene_result(&scene, "cmd.run:e")->cause, "cmd.run:n would not change");
    CHECK_STR(scene_result(&scene, "cmd.run:f")->cause, "no failure of cmd.run:s");
    CHECK_STR(scene_result(&scene, "cmd.run:g")->cause,
              "cmd.run:b was skipped: cmd.run:a failed: exit status 7");
    CHECK(!scene_result(&scene, "cmd.run:a")->cause);
    CHECK_INT(scene.result.failed, 1);
    CHECK_INT(scene.result.skipped, 5);
    CHECK(!run_result_is_success(&scene.result));
    scene_done(&scene);
}

TEST(an_unmet_guard_is_reported_and_not_a_change)
{
    struct scene scene;

    scene_init(&scene);
    scene_apply(&scene, "a: {cmd.run: [{command: 'true'}, {onlyif: 'false'}]}\n");
    CHECK_STR(scene_result(&scene, "cmd.run:a")->diff.p, "skipped: guard condition not met");
    CHECK_STR(scene_outcome(&scene, "cmd.run:a"), "ok");
    scene_run(&scene, RUN_TEST);
    CHECK_STR(scene_result(&scene, "cmd.run:a")->diff.p, "skipped: guard condition not met");
    scene_done(&scene);
}

TEST(a_failed_state_keeps_its_details)
{
    struct scene scene;
    const struct value key = value_text("stdout");

    scene_init(&scene);
    scene_apply(&scene, "a: {cmd.run: [{command: 'echo out; exit 1'}]}\n"
                        "b: {cmd.run: [{command: 'true'}, {check_cmd: 'echo bad >&2; exit 4'}]}\n");
    CHECK_STR(scene_result(&scene, "cmd.run:a")->error, "exit status 1");
    CHECK_STR(value_map_find(scene_result(&scene, "cmd.run:a")->details, &key)->s.p, "out");
    CHECK_STR(scene_result(&scene, "cmd.run:b")->error,
              "check_cmd \"echo bad >&2; exit 4\": exit status 4: bad");
    scene_done(&scene);
}

TEST(results_are_sorted_by_level_order_and_name)
{
    struct scene scene;
    const char *const names[] = { "cmd.run:z", "cmd.run:a", "cmd.run:m", "cmd.run:b" };

    scene_init(&scene);
    scene_apply(&scene, "b: {cmd.run: [{command: 'true'}, {require: [{cmd: a}]}]}\n"
                        "a: {cmd.run: [{command: 'true'}]}\n"
                        "z: {cmd.run: [{command: 'true'}, {order: first}]}\n"
                        "m: {cmd.run: [{command: 'true'}, {order: last}]}\n");
    CHECK_INT(scene.result.states.n, 4);
    for (size_t i = 0; i < 4; i++)
        CHECK_STR(scene.result.states.p[i].name, names[i]);
    CHECK_INT(scene.result.states.p[3].level, 1);
    scene_done(&scene);
}

/* --- dry run ---------------------------------------------------------------------------- */

TEST(a_dry_run_predicts_the_run_and_changes_nothing)
{
    struct scene scene;

    scene_init(&scene);
    scene_load(&scene,
               "f: {file.managed: [{path: ROOT/f}, {content: 'hello\n'}]}\n"
               "w: {cmd.run: [{command: 'touch ROOT/w'}, {creates: /}, "
               "{watch: [{file: f}]}]}\n"
               "o: {cmd.run: [{command: 'touch ROOT/o'}, {onchanges: [{file: f}]}]}\n"
               "p: {cmd.run: [{command: 'touch ROOT/p'}, {prereq: [{file: f}]}]}\n"
               "r: {cmd.run: [{command: 'exit 1'}, {retry: {attempts: 5, interval: 0.01}}]}\n");
    scene_run(&scene, RUN_TEST);
    CHECK_STR(scene_outcome(&scene, "file.managed:f"), "changed");
    CHECK_HAS(scene_result(&scene, "file.managed:f")->diff.p, "+hello");
    CHECK_STR(scene_outcome(&scene, "cmd.run:w"), "changed");
    CHECK_STR(scene_outcome(&scene, "cmd.run:o"), "changed");
    CHECK_STR(scene_outcome(&scene, "cmd.run:p"), "changed");
    CHECK_STR(scene_outcome(&scene, "cmd.run:r"), "changed");
    CHECK_STR(scene_read(&scene, "f"), "(none)");
    CHECK(access(scene_path(&scene, "w"), F_OK) < 0 && access(scene_path(&scene, "o"), F_OK) < 0);
    CHECK(access(scene_path(&scene, "data"), F_OK) < 0);
    CHECK(scene.result.test);
    scene_run(&scene, RUN_APPLY);
    scene_run(&scene, RUN_TEST);
    CHECK_STR(scene_outcome(&scene, "file.managed:f"), "ok");
    CHECK_STR(scene_outcome(&scene, "cmd.run:w"), "ok");
    CHECK_STR(scene_outcome(&scene, "cmd.run:o"), "onchanges_not_met");
    CHECK_STR(scene_outcome(&scene, "cmd.run:p"), "prereq_not_met");
    scene_done(&scene);
}

/* --- outputs ---------------------------------------------------------------------------- */

TEST(a_later_state_can_use_the_output_of_an_earlier_one)
{
    struct scene scene;

    scene_init(&scene);
    scene_load(&scene, "build: {cmd.run: [{command: 'echo v42'}]}\n"
                       "f:\n"
                       "  file.managed:\n"
                       "    - path: ROOT/f\n"
                       "    - content: \"version {{ outputs('cmd.run:build').stdout }}\"\n");
    scene_run(&scene, RUN_TEST);
    CHECK_HAS(scene_result(&scene, "file.managed:f")->diff.p,
              "+version (known after cmd.run:build)");
    scene_run(&scene, RUN_APPLY);
    CHECK_STR(scene_outcome(&scene, "file.managed:f"), "changed");
    CHECK_STR(scene_read(&scene, "f"), "version v42");
    scene_done(&scene);
}

/* --- time ---------------------------------------------------------------------------------- */

TEST(retry_counts_additional_attempts_and_the_last_result)
{
    struct scene scene;

    scene_init(&scene);
    scene_apply(&scene,
                "a: {cmd.run: [{command: 'echo a >> ROOT/a; exit 1'}, "
                "{retry: {attempts: 2, interval: 0.01}}]}\n"
                "b: {cmd.run: [{command: 'echo b >> ROOT/b; test $(wc -l < ROOT/b) -ge 3'}, "
                "{retry: {attempts: 9, interval: 0.01}}]}\n"
                "c: {cmd.run: [{command: 'echo c >> ROOT/c'}, {retry: 5}]}\n");
    CHECK_STR(scene_read(&scene, "a"), "a\na\na\n");
    CHECK_STR(scene_outcome(&scene, "cmd.run:a"), "failed");
    CHECK_STR(scene_read(&scene, "b"), "b\nb\nb\n");
    CHECK_STR(scene_outcome(&scene, "cmd.run:b"), "changed");
    CHECK_STR(scene_read(&scene, "c"), "c\n");
    scene_done(&scene);
}

TEST(states_of_a_level_run_concurrently)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct scene scene;

    /* each waits until all have begun: one after the other they would never end */
    for (int i = 0; i < 100; i++)
        buf_printf(&text,
                   "s%d: {cmd.run: [{command: 'touch ROOT/s%d; "
                   "while test $(ls ROOT | grep -c ^s) -lt 100; do sleep 0.02; done'}]}\n",
                   i, i);
    scene_init(&scene);
    scene_apply(&scene, buf_text(&text));
    CHECK_INT(scene.result.changed, 100);
    scene_done(&scene);
}

/* The first state of a lock makes its lane while others write down what they have to say. */
TEST(locks_are_created_while_other_states_end)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    for (int i = 0; i < 80; i++)
        buf_printf(&text,
                   i % 5 ? "s%d: {file.managed: [{path: ROOT/f%d}, {content: 'x'}]}\n"
                         : "s%d: {lane.%c: [{command: 'true'}]}\n",
                   i, i % 5 ? i : 'a' + i / 5 % 8);
    for (int round = 0; round < 100; round++) {
        struct scene scene;

        scene_init(&scene);
        scene_load(&scene, buf_text(&text));
        scene_run(&scene, RUN_TEST);
        CHECK_INT(scene.result.states.n, 80);
        VEC_EACH (&scene.result.states, state)
            CHECK_HAS(state->diff.p, state->name[0] == 'f' ? "+x\n" : "would run true");
        scene_done(&scene);
    }
}

TEST(states_that_share_a_lock_run_one_at_a_time)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct scene scene;

    for (int i = 0; i < 20; i++)
        buf_printf(&text, "s%d: {slow.run: [{command: 'mkdir ROOT/lock && rmdir ROOT/lock'}]}\n",
                   i);
    scene_init(&scene);
    scene_apply(&scene, buf_text(&text));
    CHECK_INT(scene.result.changed, 20);
    CHECK_INT(scene.result.failed, 0);
    scene_done(&scene);
}

TEST(the_limit_of_concurrent_states_is_kept)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct scene scene;

    for (int i = 0; i < 12; i++)
        buf_printf(&text,
                   "s%d: {cmd.run: [{command: 'touch ROOT/in.%d; n=$(ls ROOT | grep -c ^in); "
                   "rm ROOT/in.%d; test $n -le 3'}]}\n",
                   i, i, i);
    scene_init(&scene);
    scene.host.parallel = 3;
    scene_apply(&scene, buf_text(&text));
    CHECK_INT(scene.result.changed, 12);
    scene_done(&scene);
}

/* --- cancel ------------------------------------------------------------------------------- */

/* Does any process have this word in its command line? */
static bool somebody_runs(const char *word)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *self = arena_printf(&arena, "%d", getpid());
    DIR *dir = opendir("/proc");
    bool found = false;

    for (const struct dirent *e; !found && (e = readdir(dir));) {
        struct str line = { NULL, 0 };
        struct err err;

        if (e->d_name[0] < '0' || e->d_name[0] > '9' || strcmp(e->d_name, self) == 0)
            continue;
        if (fs_read(&arena, arena_printf(&arena, "/proc/%s/cmdline", e->d_name), 1 << 20, &line,
                    &err) == 0 &&
            line.p)
            found = str_find(line, str_from(word), 0) != STR_NONE;
    }
    (void)closedir(dir);
    return found;
}

struct canceler {
    struct scene *scene;
    const char *path;
};

static void *cancel_when_begun(void *arg)
{
    const struct canceler *canceler = arg;

    WAIT_FOR(access(canceler->path, F_OK) == 0);
    cancel_raise(&canceler->scene->cancel);
    return NULL;
}

TEST(a_cancel_kills_process_trees_and_skips_the_rest)
{
    struct scene scene;
    struct canceler canceler;
    pthread_t thread;
    const char *word;

    scene_init(&scene);
    word = arena_printf(&scene.arena, "%d.25", 100000 + getpid());
    scene_load(&scene, arena_printf(&scene.arena,
                                    "a: {cmd.run: [{command: '(setsid sleep %s & sleep %s) & "
                                    "sleep 0.05; touch ROOT/begun; sleep %s'}]}\n"
                                    "r: {cmd.run: [{command: 'exit 1'}, "
                                    "{retry: {attempts: 9, interval: 1000}}]}\n"
                                    "b: {cmd.run: [{command: 'true'}, {onfail: [{cmd: a}]}]}\n",
                                    word, word, word));
    canceler = (struct canceler){ &scene, scene_path(&scene, "begun") };
    CHECK_INT(pthread_create(&thread, NULL, cancel_when_begun, &canceler), 0);
    scene_run(&scene, RUN_APPLY);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK(!somebody_runs(word));
    CHECK(scene.result.canceled);
    CHECK(!run_result_is_success(&scene.result));
    CHECK_STR(scene_outcome(&scene, "cmd.run:a"), "failed");
    CHECK_HAS(scene_result(&scene, "cmd.run:a")->error, "canceled");
    CHECK_STR(scene_outcome(&scene, "cmd.run:r"), "failed");
    CHECK_STR(scene_outcome(&scene, "cmd.run:b"), "canceled");
    CHECK_STR(skip_reason_text(scene_result(&scene, "cmd.run:b")->skip_reason), "");
    scene_done(&scene);
}

/* --- events and secrets ------------------------------------------------------------------- */

struct recorder {
    pthread_t thread;
    struct buf text;
};

static void on_event(void *self, const struct run_event *event)
{
    static const char *const words[] = {
        [RUN_WAITING] = "waiting",     [RUN_STARTED] = "started",    [RUN_LEVEL_STARTED] = "level",
        [RUN_STATE_STARTED] = "begin", [RUN_STATE_FINISHED] = "end", [RUN_FINISHED] = "finished",
    };
    struct recorder *recorder = self;

    CHECK(pthread_equal(recorder->thread, pthread_self()));
    buf_printf(&recorder->text, "%s%s%s\n", words[event->kind], event->name ? " " : "",
               event->name ? event->name : "");
}

TEST(events_are_emitted_on_the_calling_thread)
{
    struct recorder recorder = { pthread_self(), BUF_INIT(BUF_NO_LIMIT) };
    const struct run_sink sink = { .emit = on_event, .self = &recorder };
    struct scene scene;

    scene_init(&scene);
    scene.sink = &sink;
    scene_apply(&scene, "a: {cmd.run: [{command: 'true'}]}\n"
                        "b: {cmd.run: [{command: 'true'}, {require: [{cmd: a}]}]}\n"
                        "c: {cmd.run: [{command: 'true'}, {onfail: [{cmd: a}]}]}\n");
    CHECK_STR(buf_text(&recorder.text), "started\nlevel\nbegin cmd.run:a\nend cmd.run:a\nlevel\n"
                                        "end cmd.run:c\nbegin cmd.run:b\nend cmd.run:b\n"
                                        "finished\n");
    buf_clear(&recorder.text);
    scene_apply(&scene, "a: {cmd.run: [{command: 'true'}]}\n"
                        "b: {cmd.run: [{command: 'true'}]}\n");
    CHECK_HAS(buf_text(&recorder.text), "end cmd.run:a\n");
    CHECK_HAS(buf_text(&recorder.text), "end cmd.run:b\n");
    buf_done(&recorder.text);
    scene_done(&scene);
}

TEST(a_brief_sink_gets_no_state_events)
{
    struct recorder recorder = { pthread_self(), BUF_INIT(BUF_NO_LIMIT) };
    const struct run_sink sink = { .emit = on_event, .self = &recorder, .brief = true };
    struct scene scene;

    scene_init(&scene);
    scene.sink = &sink;
    scene_apply(&scene, "a: {cmd.run: [{command: 'true'}]}\n"
                        "b: {cmd.run: [{command: 'true'}]}\n"
                        "c: {cmd.run: [{command: 'true'}, {onfail: [{cmd: a}]}]}\n");
    CHECK_STR(buf_text(&recorder.text), "started\nlevel\nlevel\nfinished\n");
    buf_done(&recorder.text);
    scene_done(&scene);
}

struct tally {
    pthread_t caller;
    atomic_int begun, ended, elsewhere;
};

static void count_event(void *self, const struct run_event *event)
{
    struct tally *tally = self;

    tally->begun += event->kind == RUN_STATE_STARTED;
    tally->ended += event->kind == RUN_STATE_FINISHED && event->state->outcome == OUTCOME_CHANGED;
    tally->elsewhere += !pthread_equal(pthread_self(), tally->caller);
}

TEST(a_sink_for_any_thread_is_called_in_the_worker_of_the_state)
{
    struct tally tally = { .caller = pthread_self() };
    const struct run_sink sink = { .emit = count_event, .self = &tally, .any_thread = true };
    struct scene scene;

    scene_init(&scene);
    scene.sink = &sink;
    /* the first one waits for the second */
    scene_apply(&scene, "a: {cmd.run: [{command: 'until [ -e ROOT/made ]; do sleep 0.01; done'}]}\n"
                        "b: {cmd.run: [{command: 'touch ROOT/made'}]}\n");
    CHECK_INT(tally.begun, 2);
    CHECK_INT(tally.ended, 2);
    CHECK_INT(tally.elsewhere, 2);
    scene_done(&scene);
}

TEST(a_secret_of_a_state_file_is_masked_in_each_run_of_its_plan)
{
    struct scene scene;

    scene_init(&scene);
    scene_apply(&scene,
                "a: {cmd.run: [{command: 'true'}, {check_cmd: !secret 'exit 3 # hunter22'}]}\n");
    CHECK(strstr(scene_result(&scene, "cmd.run:a")->error, "********") != NULL);
    secrets_free(scene.host.secrets);
    scene.host.secrets = secrets_new(); /* as the next job has it */
    scene_run(&scene, RUN_APPLY);
    CHECK(strstr(scene_result(&scene, "cmd.run:a")->error, "********") != NULL);
    CHECK(strstr(scene_result(&scene, "cmd.run:a")->error, "hunter22") == NULL);
    scene_done(&scene);
}

TEST(secrets_are_masked_in_diff_details_and_error)
{
    const struct value key = value_text("stdout");
    struct scene scene;

    scene_init(&scene);
    secrets_add(scene.host.secrets, STR("hunter22"));
    scene_apply(&scene, "a: {cmd.run: [{command: 'echo hunter22'}]}\n"
                        "f: {file.managed: [{path: ROOT/f}, {content: \"x\\nhunter22 y\\n\"}]}\n"
                        "b: {file.managed: [{path: ROOT/hunter22}, {fails: true}]}\n");
    CHECK_STR(value_map_find(scene_result(&scene, "cmd.run:a")->details, &key)->s.p, "********");
    CHECK_HAS(scene_result(&scene, "file.managed:f")->diff.p, "+******** y");
    CHECK(!strstr(scene_result(&scene, "file.managed:b")->error, "hunter22"));
    CHECK_STR(scene_read(&scene, "f"), "x\nhunter22 y\n");
    scene_done(&scene);
}

TEST(a_secret_parameter_hides_contents_and_itself_but_nothing_else)
{
    struct scene scene;
    const char *diff;

    scene_init(&scene);
    scene_write(&scene, "f", "old key\n");
    scene_apply(&scene, "f: {file.managed: [{path: ROOT/f}, {content: 'new key'}, "
                        "{password: correcthorse}]}\n"
                        "g: {cmd.run: [{command: 'echo correcthorse ROOT'}]}\n");
    diff = scene_result(&scene, "file.managed:f")->diff.p;
    CHECK(!strstr(diff, "old key") && !strstr(diff, "new key"));
    CHECK_STR(diff, arena_printf(&scene.arena, "secret content of %s/f changed: 8 -> 7 bytes",
                                 scene.root));
    diff = scene_result(&scene, "cmd.run:g")->diff.p;
    CHECK_STR(diff, arena_printf(&scene.arena, "would run echo ******** %s", scene.root));
    scene_done(&scene);
}

/* Facts that are learned when they are asked for. */
struct learner {
    struct scene scene;
    struct host_facts facts;
    int times;
    bool too_late; /* something had changed already */
};

static const struct host_facts *learn(void *user)
{
    struct learner *learner = user;
    struct fs_info info;
    struct err err;

    learner->times++;
    if (learner->times == 1 && fs_stat(scene_path(&learner->scene, "made"), &info, &err) == 0 &&
        info.kind != FS_NONE)
        learner->too_late = true;
    learner->facts.facts = &learner->scene.facts;
    return &learner->facts;
}

TEST(facts_are_collected_only_before_the_first_change)
{
    static const char *const states = "a: {file.managed: [{path: ROOT/made}, {content: x}]}\n";
    struct learner learner = { 0 };
    struct scene *scene = &learner.scene;

    scene_init(scene);
    scene->host.facts = NULL;
    scene->host.learn_facts = learn;
    scene->host.facts_user = &learner;
    scene_apply(scene, states);
    CHECK_STR(scene_outcome(scene, "file.managed:a"), "changed");
    CHECK(learner.times > 0 && !learner.too_late);
    learner.times = 0;
    scene_apply(scene, states);
    CHECK_STR(scene_outcome(scene, "file.managed:a"), "ok");
    CHECK_INT(learner.times, 0);
    scene_done(scene);
}

TEST(a_thousand_states_without_a_change_need_few_workers_and_little_time)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct scene scene;

    for (int i = 0; i < 1000; i++)
        buf_printf(&text, "ROOT/f%d: {file.managed: [{content: 'x%d'}]}\n", i, i);
    scene_init(&scene);
    scene_apply(&scene, buf_text(&text));
    CHECK_INT(scene.result.changed, 1000);
    scene_run(&scene, RUN_APPLY);
    CHECK_INT(scene.result.changed, 0);
    CHECK(run_result_is_success(&scene.result));
    scene_done(&scene);
}
