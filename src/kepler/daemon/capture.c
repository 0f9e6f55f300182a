#include "kepler/daemon/capture.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "kepler/daemon/log_thread.h"
#include "kepler/logs/log_store.h"
#include "kepler/config/config.h"
#include "kepler/engine/hook.h"
#include "kepler/supervise/real_world.h"
#include "core/sys/clock.h"

/* Waiting service processes continue when no more than this is left. */
#define HELD_LOW (CAPTURE_HELD_MAX / 4)

/* --- from the thread -------------------------------------------------------------------- */

/* A task for the daemon's loop. */
struct answer {
    struct loop_message loop_message;
    struct capture *capture;
    uint64_t ticket;
};

static void send_ticket_reply(struct capture *capture, uint64_t ticket, loop_message_fn *fn)
{
    struct answer *answer = mem_zalloc(sizeof(*answer));

    answer->capture = capture;
    answer->ticket = ticket;
    log_thread_reply(capture->log_thread, &answer->loop_message, fn);
}

static void on_lines_written(struct loop_message *loop_message)
{
    struct answer *answer = container_of(loop_message, struct answer, loop_message);
    struct capture *capture = answer->capture;

    free(answer);
    atomic_store(&capture->told, false);
    capture->on_data(capture->self);
}

/* The store was written to. */
static void report_lines_written(void *self)
{
    struct capture *capture = self;

    if (!atomic_exchange(&capture->told, true))
        send_ticket_reply(capture, 0, on_lines_written);
}

static void on_capture_flushed(struct loop_message *loop_message)
{
    struct answer *answer = container_of(loop_message, struct answer, loop_message);
    struct capture *capture = answer->capture;

    capture->flushed = answer->ticket;
    free(answer);
    capture->on_flushed(capture->self);
}

/* Lets the waiters read on; some of them may wait again at once. */
static void wake_waiters(struct capture *capture)
{
    struct service_process_waiter *waiters = capture->waiters;

    capture->waiters = NULL;
    if (waiters)
        waiters->back = &waiters;
    while (waiters) {
        struct service_process_waiter *waiter = waiters;

        service_process_waiter_leave(waiter);
        waiter->fn(waiter);
    }
}

static void on_pipe_room(struct loop_message *loop_message)
{
    struct answer *answer = container_of(loop_message, struct answer, loop_message);
    struct capture *capture = answer->capture;

    free(answer);
    wake_waiters(capture);
}

/* --- in the thread ---------------------------------------------------------------------- */

/* A task for the log thread. */
struct task {
    struct loop_message loop_message;
    struct capture *capture;
    struct feed_origin origin;
    uint64_t ticket;
    int fd;
    size_t n;
    char bytes[];
};

static struct capture *begin_capture(struct loop_message *loop_message, struct task **ret_task)
{
    *ret_task = container_of(loop_message, struct task, loop_message);
    return (*ret_task)->capture;
}

static void do_take(struct loop_message *loop_message)
{
    struct task *task;
    struct capture *capture = begin_capture(loop_message, &task);

    feeds_take(&capture->feeds, &task->origin, task->fd);
    free(task);
}

static void do_add(struct loop_message *loop_message)
{
    struct task *task;
    struct capture *capture = begin_capture(loop_message, &task);

    feeds_add(&capture->feeds, &task->origin, (struct str){ task->bytes, task->n });
    if (atomic_fetch_sub(&capture->held, task->n) - task->n <= HELD_LOW &&
        atomic_exchange(&capture->wants_room, false))
        send_ticket_reply(capture, 0, on_pipe_room);
    free(task);
}

static void do_note(struct loop_message *loop_message)
{
    struct task *task;
    struct capture *capture = begin_capture(loop_message, &task);

    feeds_note(&capture->feeds, &task->origin, (struct str){ task->bytes, task->n });
    free(task);
}

static void do_flush(struct loop_message *loop_message)
{
    struct task *task;
    struct capture *capture = begin_capture(loop_message, &task);
    uint64_t ticket = task->ticket;

    feeds_flush(&capture->feeds);
    free(task);
    send_ticket_reply(capture, ticket, on_capture_flushed);
}

static void do_clear(struct loop_message *loop_message)
{
    struct task *task;
    struct capture *capture = begin_capture(loop_message, &task);

    feeds_clear(&capture->feeds, task->origin.service);
    free(task);
}

static void do_open(struct loop_message *loop_message)
{
    struct task *task;
    struct capture *capture = begin_capture(loop_message, &task);

    feeds_init(&capture->feeds, capture->log_thread->loop);
    free(task);
}

static void do_flush_wait(struct loop_message *loop_message)
{
    feeds_flush(&((struct capture *)log_thread_self(loop_message))->feeds);
}

static void do_close(struct loop_message *loop_message)
{
    feeds_done(&((struct capture *)log_thread_self(loop_message))->feeds);
}

/* --- to the thread ---------------------------------------------------------------------- */

static struct task *task_new(struct capture *capture, const struct feed_origin *origin,
                             struct str bytes)
{
    struct task *task = mem_zalloc(sizeof(*task) + bytes.n);

    task->capture = capture;
    task->origin = *origin;
    task->fd = -1;
    task->n = bytes.n;
    if (bytes.n > 0)
        memcpy(task->bytes, bytes.p, bytes.n);
    return task;
}

static void send_feed_task(struct task *task, loop_message_fn *fn)
{
    log_thread_send(task->capture->log_thread, &task->loop_message, fn);
}

static struct feed_origin find_feed_origin(const struct capture *capture,
                                           const struct real_tag *tag,
                                           enum service_process_stream stream)
{
    return (struct feed_origin){
        .tag = tag,
        .service = tag->name,
        .hook = tag->phase == HOOK_PHASES ? NULL : hook_phase_name(tag->phase),
        .stream = stream == SERVICE_PROCESS_STDOUT ? SEGMENT_STDOUT : SEGMENT_STDERR,
        .keep = capture->keeps(capture->self, tag->service, stream),
    };
}

static bool sink_take(void *self, const void *tag, enum service_process_stream stream, int fd)
{
    struct feed_origin origin = find_feed_origin(self, tag, stream);
    struct task *task = task_new(self, &origin, STR(""));

    task->fd = fd;
    send_feed_task(task, do_take);
    return true;
}

static void sink_add(void *self, const void *tag, enum service_process_stream stream,
                     struct str bytes)
{
    struct capture *capture = self;
    struct feed_origin origin = find_feed_origin(capture, tag, stream);

    (void)atomic_fetch_add(&capture->held, bytes.n);
    send_feed_task(task_new(capture, &origin, bytes), do_add);
}

/* The thread may have made room between the two checks. */
static bool sink_ask(void *self, struct service_process_waiter *waiter)
{
    struct capture *capture = self;

    if (atomic_load(&capture->held) < CAPTURE_HELD_MAX)
        return true;
    service_process_waiter_join(waiter, &capture->waiters);
    atomic_store(&capture->wants_room, true);
    if (atomic_load(&capture->held) > HELD_LOW || !atomic_exchange(&capture->wants_room, false))
        return false;
    service_process_waiter_leave(waiter);
    wake_waiters(capture);
    return true;
}

struct service_process_sink capture_sink(struct capture *capture)
{
    return (struct service_process_sink){
        .self = capture, .take = sink_take, .add = sink_add, .ask = sink_ask
    };
}

void capture_note(void *self, const struct real_tag *tag, enum world_note note, const char *text)
{
    struct feed_origin origin = find_feed_origin(self, tag, SERVICE_PROCESS_STDERR);

    if (note == WORLD_WARNING)
        origin.stream = SEGMENT_WARNINGS;
    send_feed_task(task_new(self, &origin, str_from(text)), do_note);
}

uint64_t capture_flush(struct capture *capture)
{
    struct task *task = task_new(capture, &(struct feed_origin){ 0 }, STR(""));

    task->ticket = ++capture->asked;
    send_feed_task(task, do_flush);
    return capture->asked;
}

void capture_flush_wait(struct capture *capture)
{
    log_thread_send_wait(capture->log_thread, do_flush_wait, capture);
}

bool capture_is_flushed(const struct capture *capture, uint64_t ticket)
{
    return capture->flushed >= ticket;
}

void capture_clear(struct capture *capture, const char *service)
{
    send_feed_task(task_new(capture, &(struct feed_origin){ .service = service }, STR("")),
                   do_clear);
}

struct capture_losses capture_losses(const struct capture *capture)
{
    return (struct capture_losses){ .lines = atomic_load(&capture->feeds.lost),
                                    .errnum = atomic_load(&capture->feeds.errnum) };
}

uint64_t capture_next_line(const struct capture *capture)
{
    return atomic_load(&capture->feeds.next_line);
}

/* --- life ------------------------------------------------------------------------------- */

int capture_open(struct capture *capture, struct log_thread *log_thread,
                 const struct capture_options *options, struct err *err)
{
    const struct config_logs *logs = options->logs;
    const struct log_store_options store = {
        .flush_interval = logs->flush_interval,
        .batch_lines =
            logs->batch_size > 0 && logs->batch_size < UINT32_MAX ? (uint32_t)logs->batch_size : 0,
        .max_size = logs->max_size > 0 ? (uint64_t)logs->max_size : 0,
        .max_age = logs->retention_period,
        .sync = logs->sync,
    };

    *capture = (struct capture){ .keeps = options->keeps,
                                 .on_data = options->on_data,
                                 .on_flushed = options->on_flushed,
                                 .self = options->self };
    if (log_store_open(options->folder, &store, &capture->feeds.store, err) < 0)
        return -1;
    capture->log_thread = log_thread;
    capture->feeds.folder = options->folder;
    capture->feeds.clean_interval =
        logs->cleanup_interval > 0 ? logs->cleanup_interval : 60 * CLOCK_SECOND;
    log_store_on_data(capture->feeds.store, report_lines_written, capture);
    atomic_store(&capture->feeds.next_line, log_store_stats(capture->feeds.store).next_seq);
    send_feed_task(task_new(capture, &(struct feed_origin){ 0 }, STR("")), do_open);
    return 0;
}

void capture_close(struct capture *capture)
{
    if (!capture->log_thread)
        return;
    log_thread_send_wait(capture->log_thread, do_close, capture);
    capture->flushed = capture->asked;
    capture->log_thread = NULL;
}
