#include "fleet/peel/reporter.h"

#include <pthread.h>

#include "core/base/arena.h"
#include "core/base/log.h"
#include "fleet/peel/job.h"
#include "fleet/peel/job_pool.h"
#include "fleet/peel/messenger.h"
#include "states/run/run.h"

struct reporter {
    struct peel_job *job;
    struct messenger *messenger;
    struct messenger_topic topic;
    pthread_mutex_t mutex; /* of what follows: states of a level end at once */
    uint32_t done;
};

static void post_progress(struct reporter *reporter, const struct exec_progress *progress,
                          const struct state_result *state)
{
    messenger_post_progress(reporter->messenger, &reporter->topic, progress, state);
}

static void on_run_event(void *self, const struct run_event *event)
{
    struct reporter *reporter = self;
    struct exec_progress progress = { .jid = reporter->job->request.jid,
                                      .text = "",
                                      .total = event->state_count };

    switch (event->kind) {
    case RUN_WAITING:
        progress.type = EXEC_QUEUED;
        progress.text = event->text;
        post_progress(reporter, &progress, NULL);
        break;
    case RUN_STARTED:
        progress.type = EXEC_STARTED;
        post_progress(reporter, &progress, NULL);
        break;
    case RUN_STATE_FINISHED:
        progress.type = EXEC_STATE;
        (void)pthread_mutex_lock(&reporter->mutex);
        progress.done = ++reporter->done;
        post_progress(reporter, &progress, event->state);
        (void)pthread_mutex_unlock(&reporter->mutex);
        break;
    case RUN_FINISHED: messenger_settle(reporter->messenger, &reporter->topic); break;
    default: break;
    }
}

void reporter_work(struct peel_job *job, struct messenger *messenger)
{
    struct reporter reporter = { .job = job,
                                 .messenger = messenger,
                                 .mutex = PTHREAD_MUTEX_INITIALIZER };
    const struct run_sink sink = { .emit = on_run_event, .self = &reporter, .any_thread = true };

    if (job->is_job)
        reporter.topic = messenger_topic(messenger, &job->arena, job->request.jid, job->reply_max);
    job_work(job, job->is_job ? &sink : NULL);
    messenger_settle(messenger, &reporter.topic);
    (void)pthread_mutex_destroy(&reporter.mutex);
}

void reporter_tell_queued(const struct peel_job *job, const struct job_pool *job_pool,
                          struct messenger *messenger)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct peel_job *first = job_pool->running;
    const struct exec_progress progress = {
        .jid = job->request.jid,
        .type = EXEC_QUEUED,
        .text = arena_printf(&arena, "waiting for %s%s%s%s", first->request.module,
                             first->request.jid[0] ? " of job " : "", first->request.jid,
                             job_pool->waiting > 1
                                 ? arena_printf(&arena, " and %zu more", job_pool->waiting - 1)
                                 : ""),
    };

    log_info("job queued jid=%s function=%s behind=%s behind_jid=%s waiting=%zu", job->request.jid,
             job->request.module, first->request.module, first->request.jid, job_pool->waiting);
    if (job->is_job)
        messenger_progress(messenger, &progress);
}
