#include "fleet/peel/messenger.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "states/state/outcome.h"
#include "core/sys/loop.h"
#include "test.h"
#include "fleet/wire/exec.h"

#define SIZE_MAX_USUAL ((size_t)1 << 20)

/* Without a connection nothing can be published, but it can be seen what would be. */
struct stage {
    struct arena arena;
    struct loop *loop;
    struct messenger messenger;
};

static void begin_stage(struct stage *stage)
{
    struct err err;

    *stage = (struct stage){ .loop = loop_new(&err) };
    CHECK(stage->loop != NULL);
    messenger_init(&stage->messenger, "web-01", NULL);
    CHECK_INT(messenger_open(&stage->messenger, stage->loop, &err), 0);
}

static void end_stage(struct stage *stage)
{
    messenger_close(&stage->messenger);
    CHECK(!stage->messenger.first);
    loop_free(stage->loop);
    arena_done(&stage->arena);
}

static struct messenger_topic make_topic(struct stage *stage, const char *jid)
{
    return messenger_topic(&stage->messenger, &stage->arena, jid, SIZE_MAX_USUAL);
}

static void post(struct stage *stage, struct messenger_topic *topic,
                 const struct state_result *state)
{
    const struct exec_progress progress = { .jid = "J1",
                                            .type = state ? EXEC_STATE : EXEC_STARTED,
                                            .text = "" };

    messenger_post_progress(&stage->messenger, topic, &progress, state);
}

TEST(progress_of_a_run_that_ends_before_any_of_it_has_left_never_leaves)
{
    const struct state_result state = { .name = "file.managed:/a" };
    struct stage stage;
    struct messenger_topic topic;

    begin_stage(&stage);
    topic = make_topic(&stage, "J1");
    post(&stage, &topic, NULL);
    post(&stage, &topic, &state);
    CHECK(stage.messenger.first);
    messenger_settle(&stage.messenger, &topic);
    CHECK(!stage.messenger.first);
    post(&stage, &topic, NULL); /* what comes then is not lost behind it */
    CHECK(stage.messenger.first);
    messenger_settle(&stage.messenger, &topic);
    end_stage(&stage);
}

TEST(the_rest_of_progress_that_has_begun_to_leave_outlives_the_results_of_its_run)
{
    char *name = mem_strdup("file.managed:/a");
    const struct state_result state = { .name = name };
    struct stage stage;
    struct messenger_topic topic;

    begin_stage(&stage);
    topic = make_topic(&stage, "J1");
    post(&stage, &topic, NULL);
    messenger_send_progress(&stage.messenger);
    CHECK(topic.has_left);
    post(&stage, &topic, &state);
    messenger_settle(&stage.messenger, &topic);
    CHECK(stage.messenger.first);
    free(name);
    messenger_send_progress(&stage.messenger);
    CHECK(!stage.messenger.first);
    end_stage(&stage);
}

TEST(a_run_that_ends_leaves_the_progress_of_another_alone)
{
    struct messenger_topic ended, other;
    struct stage stage;

    begin_stage(&stage);
    ended = make_topic(&stage, "J1");
    other = make_topic(&stage, "J2");
    post(&stage, &ended, NULL);
    post(&stage, &other, NULL);
    post(&stage, &ended, NULL);
    messenger_settle(&stage.messenger, &ended);
    CHECK(stage.messenger.first);
    messenger_send_progress(&stage.messenger);
    CHECK(other.has_left);
    CHECK(!ended.has_left);
    end_stage(&stage);
}
