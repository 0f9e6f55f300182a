#include "kepler/daemon/scribe.h"

#include <errno.h>
#include <semaphore.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/thread.h"

#define STACK_SIZE ((size_t)256 << 10)

static void *run_scribe(void *self)
{
    struct scribe *scribe = self;

    loop_run(scribe->loop);
    return NULL;
}

int scribe_start(struct scribe *scribe, struct loop *loop, struct err *err)
{
    int errnum;

    *scribe = (struct scribe){ .loop = loop_new(err) };
    if (!scribe->loop)
        return -1;
    if (errands_open(&scribe->in, scribe->loop, err) < 0)
        goto no_loop;
    if (errands_open(&scribe->out, loop, err) < 0)
        goto no_in;
    errnum = thread_start(&scribe->thread, STACK_SIZE, run_scribe, scribe);
    if (errnum != 0) {
        err_sys(err, errnum, "start the thread of logs");
        goto no_out;
    }
    scribe->running = true;
    return 0;

no_out:
    errands_close(&scribe->out);
no_in:
    errands_close(&scribe->in);
no_loop:
    loop_free(scribe->loop);
    scribe->loop = NULL;
    return -1;
}

/* An errand whose sender waits. */
struct waited {
    struct errand errand;
    errand_fn *fn;
    void *self;
    sem_t done;
};

static void do_waited(struct errand *errand)
{
    struct waited *waited = container_of(errand, struct waited, errand);

    waited->fn(errand);
    (void)sem_post(&waited->done);
}

void *scribe_self(struct errand *errand)
{
    return container_of(errand, struct waited, errand)->self;
}

void scribe_send_wait(struct scribe *scribe, errand_fn *fn, void *self)
{
    struct waited waited = { .fn = fn, .self = self };

    (void)sem_init(&waited.done, 0, 0);
    scribe_send(scribe, &waited.errand, do_waited);
    while (sem_wait(&waited.done) < 0 && errno == EINTR)
        continue;
    (void)sem_destroy(&waited.done);
    errands_run(&scribe->out);
}

static void end(struct errand *errand)
{
    loop_stop(scribe_self(errand));
}

void scribe_stop(struct scribe *scribe)
{
    if (!scribe->running)
        return;
    scribe_send_wait(scribe, end, scribe->loop);
    (void)pthread_join(scribe->thread, NULL);
    errands_close(&scribe->in);
    errands_close(&scribe->out);
    loop_free(scribe->loop);
    *scribe = (struct scribe){ 0 };
}

void scribe_send(struct scribe *scribe, struct errand *errand, errand_fn *fn)
{
    errand_send(&scribe->in, errand, fn);
}

void scribe_reply(struct scribe *scribe, struct errand *errand, errand_fn *fn)
{
    errand_send(&scribe->out, errand, fn);
}
