#include "kepler/daemon/log_thread.h"

#include <errno.h>
#include <semaphore.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/thread.h"

#define STACK_SIZE ((size_t)256 << 10)

static void *run_log_thread(void *self)
{
    struct log_thread *log_thread = self;

    loop_run(log_thread->loop);
    return NULL;
}

int log_thread_start(struct log_thread *log_thread, struct loop *loop, struct err *err)
{
    int errnum;

    *log_thread = (struct log_thread){ .loop = loop_new(err) };
    if (!log_thread->loop)
        return -1;
    if (loop_messages_open(&log_thread->in, log_thread->loop, err) < 0)
        goto no_loop;
    if (loop_messages_open(&log_thread->out, loop, err) < 0)
        goto no_in;
    errnum = thread_start(&log_thread->thread, STACK_SIZE, run_log_thread, log_thread);
    if (errnum != 0) {
        err_sys(err, errnum, "start the log thread");
        goto no_out;
    }
    log_thread->running = true;
    return 0;

no_out:
    loop_messages_close(&log_thread->out);
no_in:
    loop_messages_close(&log_thread->in);
no_loop:
    loop_free(log_thread->loop);
    log_thread->loop = NULL;
    return -1;
}

/* A message whose sender waits. */
struct waited {
    struct loop_message loop_message;
    loop_message_fn *fn;
    void *self;
    sem_t done;
};

static void do_waited(struct loop_message *loop_message)
{
    struct waited *waited = container_of(loop_message, struct waited, loop_message);

    waited->fn(loop_message);
    (void)sem_post(&waited->done);
}

void *log_thread_self(struct loop_message *loop_message)
{
    return container_of(loop_message, struct waited, loop_message)->self;
}

void log_thread_send_wait(struct log_thread *log_thread, loop_message_fn *fn, void *self)
{
    struct waited waited = { .fn = fn, .self = self };

    (void)sem_init(&waited.done, 0, 0);
    log_thread_send(log_thread, &waited.loop_message, do_waited);
    while (sem_wait(&waited.done) < 0 && errno == EINTR)
        continue;
    (void)sem_destroy(&waited.done);
    loop_messages_run(&log_thread->out);
}

static void end_synchronous_call(struct loop_message *loop_message)
{
    loop_stop(log_thread_self(loop_message));
}

void log_thread_stop(struct log_thread *log_thread)
{
    if (!log_thread->running)
        return;
    log_thread_send_wait(log_thread, end_synchronous_call, log_thread->loop);
    (void)pthread_join(log_thread->thread, NULL);
    loop_messages_close(&log_thread->in);
    loop_messages_close(&log_thread->out);
    loop_free(log_thread->loop);
    *log_thread = (struct log_thread){ 0 };
}

void log_thread_send(struct log_thread *log_thread, struct loop_message *loop_message,
                     loop_message_fn *fn)
{
    loop_message_send(&log_thread->in, loop_message, fn);
}

void log_thread_reply(struct log_thread *log_thread, struct loop_message *loop_message,
                      loop_message_fn *fn)
{
    loop_message_send(&log_thread->out, loop_message, fn);
}
