/* Answers `zester reactor test`: what rules would do for a key. Rendered in a worker, with the
 * current rules. */

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/master/reactor/reactor_engine.h"
#include "fleet/reactor/reaction.h"
#include "fleet/reactor/rule_set.h"
#include "fleet/reactor/tester.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/subject.h"

/* Maximum concurrent tests; others are refused. */
#define TESTS_MAX  16
#define ANSWER_MAX ((size_t)1 << 20)

struct trial {
    struct background_task background_task;
    struct arena arena; /* the trial is in it */
    struct reactor_engine *engine;
    struct rule_set *rules; /* held; NULL: none */
    const struct value *facts;
    struct question_test question;
    struct question_tested tested;
    const char *reply;
    int64_t wall;
};

static const struct value *find_tested_facts(void *user, struct arena *arena, const char *peel)
{
    const struct trial *trial = user;

    (void)arena;
    (void)peel;
    return trial->facts;
}

static void run_rule_test(struct background_task *background_task)
{
    struct trial *trial = container_of(background_task, struct trial, background_task);
    const struct reaction_options options = {
        .now = reactor_monotonic,
        .is_stopped = reactor_is_stopping,
        .user = trial->engine,
    };
    const struct tester tester = {
        .rules = trial->rules,
        .env = reaction_env_new(&options),
        .enable_chaining = trial->engine->pipeline.options.enable_chaining,
        .max_chain_depth = trial->engine->pipeline.options.event_gate.max_chain_depth,
        .wall = trial->wall,
        .facts = find_tested_facts,
        .user = trial,
    };

    tester_answer(&tester, &trial->arena, &trial->question, &trial->tested);
    reaction_env_free(tester.env);
}

static void send_test_answer(struct reactor_engine *engine, const char *reply,
                             const struct question_tested *tested)
{
    AUTO_BUF struct buf bytes = BUF_INIT(ANSWER_MAX);
    struct err err;

    if (record_encode(&bytes, &question_tested_type, tested, &err) < 0 ||
        nats_publish(engine->master->js.conn,
                     &(struct nats_pub){ .subject = str_from(reply), .payload = buf_view(&bytes) },
                     &err) < 0)
        log_warning("answer to a test of rules: %s", err.text);
}

static void finish_rule_test(struct background_task *background_task)
{
    struct trial *trial = container_of(background_task, struct trial, background_task);
    struct arena arena;

    trial->engine->trials--;
    if (!trial->engine->is_stopping)
        send_test_answer(trial->engine, trial->reply, &trial->tested);
    rule_set_drop(trial->rules);
    arena = trial->arena;
    arena_done(&arena);
}

/* Facts belong to the loop, so copy them before the worker starts. */
static void copy_tested_facts(struct trial *trial)
{
    struct str rest = str_from(trial->question.key ? trial->question.key : "");
    const struct str origin = str_cut(&rest, '/');

    if (peel_id_is_valid(origin))
        trial->facts =
            reactor_facts(trial->engine, &trial->arena, arena_str(&trial->arena, origin).p);
}

static void on_test(void *self, const struct nats_msg *msg)
{
    struct reactor_engine *engine = self;
    struct arena arena = ARENA_INIT;
    struct trial *trial = ARENA_NEW(&arena, struct trial);
    struct question_tested refusal = { 0 };
    struct err err;

    trial->engine = engine;
    trial->wall = reactor_wall(engine);
    trial->reply = arena_str(&arena, msg->reply).p;
    if (record_decode(&arena, &question_test_type, 0, msg->payload, &trial->question, &err) < 0)
        refusal.err = err.text;
    else if (engine->trials >= TESTS_MAX)
        refusal.err = "too many tests at once; try again in a moment";
    if (msg->reply.n == 0 || refusal.err) {
        if (msg->reply.n > 0)
            send_test_answer(engine, trial->reply, &refusal);
        arena_done(&arena);
        return;
    }
    trial->arena = arena;
    copy_tested_facts(trial);
    trial->rules = engine->pipeline.rules ? rule_set_hold(engine->pipeline.rules) : NULL;
    engine->trials++;
    background_task_begin(&engine->background_tasks, &trial->background_task, run_rule_test,
                          finish_rule_test);
}

int reactor_serve_tests(struct reactor_engine *engine, struct err *err)
{
    const struct nats_sub_options options = {
        .subject = subject_template(SUBJECT_REACTOR_TEST),
        .queue = subject_queue(SUBJECT_REACTOR_TEST),
        .message = on_test,
        .self = engine,
    };

    engine->tests = nats_sub_new(engine->master->js.conn, &options, err);
    return engine->tests ? 0 : -1;
}
