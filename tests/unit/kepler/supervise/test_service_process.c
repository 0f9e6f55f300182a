#include "kepler/supervise/service_process.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/data/value.h"
#include "core/sys/fd.h"
#include "test.h"

struct seen {
    struct loop *loop;
    struct proctree_home home;
    struct service_process service_process;
    struct buf streams[SERVICE_PROCESS_STREAMS];
    int ended[SERVICE_PROCESS_STREAMS], taken;
    bool takes, done;
    struct process_status status;
};

static void on_add(void *self, const void *tag, enum service_process_stream stream,
                   struct str bytes)
{
    struct seen *seen = self;

    CHECK_STR(tag, "tag");
    CHECK(!seen->done);
    if (bytes.n == 0)
        seen->ended[stream]++;
    buf_add_str(&seen->streams[stream], bytes);
}

static bool on_take(void *self, const void *tag, enum service_process_stream stream, int fd)
{
    struct seen *seen = self;

    (void)tag;
    if (!seen->takes || stream != SERVICE_PROCESS_STDOUT)
        return false;
    seen->taken = fd;
    return true;
}

static void on_exited(struct service_process *service_process, struct process_status status)
{
    container_of(service_process, struct seen, service_process)->status = status;
}

static void on_done(struct service_process *service_process)
{
    struct seen *seen = container_of(service_process, struct seen, service_process);

    seen->done = true;
    loop_stop(seen->loop);
}

static struct service_process_sink sink = { .take = on_take, .add = on_add };

static void begin(struct seen *seen)
{
    struct err err;

    *seen = (struct seen){ .loop = loop_new(&err), .taken = -1 };
    CHECK(seen->loop != NULL);
    sink.self = seen;
    for (int i = 0; i < SERVICE_PROCESS_STREAMS; i++)
        seen->streams[i].max = BUF_NO_LIMIT;
    CHECK(proctree_home_init(&seen->home, seen->loop, NULL, &err) == 0);
    service_process_init(&seen->service_process, &seen->home, &sink, on_exited, on_done);
}

static void run(struct seen *seen, const char *command, size_t capture)
{
    const char *const argv[] = { "sh", "-c", command, NULL };
    const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
    const struct launch_program program = { .argv = argv, .env = env, .cwd = "/" };
    struct err err;

    seen->done = false;
    CHECK(service_process_start(&seen->service_process, "name", "tag", &program, capture, &err) ==
          0);
    loop_run(seen->loop);
    CHECK(seen->done);
}

static void done(struct seen *seen)
{
    service_process_done(&seen->service_process);
    loop_free(seen->loop);
    for (int i = 0; i < SERVICE_PROCESS_STREAMS; i++)
        buf_done(&seen->streams[i]);
}

TEST(all_output_is_delivered_before_the_end)
{
    struct seen seen;

    begin(&seen);
    run(&seen, "head -c 3000000 /dev/zero; printf 'no end' >&2; exit 4", 0);
    CHECK_INT(seen.streams[SERVICE_PROCESS_STDOUT].n, 3000000);
    CHECK_STR(buf_text(&seen.streams[SERVICE_PROCESS_STDERR]), "no end");
    CHECK_INT(seen.ended[SERVICE_PROCESS_STDOUT], 1);
    CHECK_INT(seen.ended[SERVICE_PROCESS_STDERR], 1);
    CHECK_INT(seen.status.code, 4);
    done(&seen);
}

static struct service_process_waiter *waiters;
static int refused;

/* No room at every second look, for a moment. */
static bool on_ask(void *self, struct service_process_waiter *waiter)
{
    (void)self;
    if (refused++ % 2 == 1)
        return true;
    service_process_waiter_join(waiter, &waiters);
    return false;
}

static void make_room(void *self)
{
    (void)self;
    while (waiters) {
        struct service_process_waiter *waiter = waiters;

        service_process_waiter_leave(waiter);
        waiter->fn(waiter);
    }
}

TEST(a_sink_without_room_is_waited_for)
{
    struct seen seen;

    begin(&seen);
    sink.ask = on_ask;
    loop_on_step(seen.loop, make_room, NULL);
    run(&seen, "head -c 3000000 /dev/zero", 1000);
    CHECK_INT(seen.streams[SERVICE_PROCESS_STDOUT].n, 3000000);
    CHECK(refused > 10);
    CHECK(!waiters);
    done(&seen);
}

TEST(a_second_run_drops_the_earlier_outputs)
{
    struct seen seen;
    struct value values;

    begin(&seen);
    run(&seen, "echo ::output::a=1; echo shown", 1000);
    values = output_values(service_process_outputs(&seen.service_process));
    CHECK_STR(value_get(&values, "a")->s.p, "1");
    CHECK_STR(buf_text(&seen.streams[SERVICE_PROCESS_STDOUT]), "shown\n");
    run(&seen, "echo ::output::b=2", 1000);
    values = output_values(service_process_outputs(&seen.service_process));
    CHECK(value_get(&values, "a") == NULL);
    CHECK_STR(value_get(&values, "b")->s.p, "2");
    run(&seen, "echo ::output::c=3", 0);
    CHECK(service_process_outputs(&seen.service_process) == NULL);
    CHECK_STR(buf_text(&seen.streams[SERVICE_PROCESS_STDOUT]), "shown\n::output::c=3\n");
    done(&seen);
}

TEST(a_sink_may_take_the_pipe_unless_outputs_are_captured)
{
    struct seen seen;
    char text[16] = "";

    begin(&seen);
    seen.takes = true;
    run(&seen, "echo taken; echo other >&2", 0);
    CHECK(seen.taken >= 0);
    CHECK_INT(read(seen.taken, text, sizeof(text) - 1), 6);
    CHECK_STR(text, "taken\n");
    CHECK_STR(buf_text(&seen.streams[SERVICE_PROCESS_STDERR]), "other\n");
    fd_close(&seen.taken);
    run(&seen, "echo ours", 1000);
    CHECK_INT(seen.taken, -1);
    CHECK_STR(buf_text(&seen.streams[SERVICE_PROCESS_STDOUT]), "ours\n");
    done(&seen);
}
