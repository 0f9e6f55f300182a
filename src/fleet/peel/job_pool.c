#include "fleet/peel/job_pool.h"

#include "fleet/peel/job.h"

void job_pool_init(struct job_pool *job_pool, size_t limit)
{
    *job_pool = (struct job_pool){ .last = &job_pool->first, .limit = limit };
}

void job_pool_add(struct job_pool *job_pool, struct peel_job *job)
{
    job->next = NULL;
    *job_pool->last = job;
    job_pool->last = &job->next;
    job_pool->waiting++;
}

static struct peel_job *unlink_waiting_job(struct job_pool *job_pool, struct peel_job **at)
{
    struct peel_job *job = *at;

    *at = job->next;
    if (job_pool->last == &job->next)
        job_pool->last = at;
    job_pool->waiting--;
    return job;
}

struct peel_job *job_pool_take_first(struct job_pool *job_pool)
{
    return job_pool->first ? unlink_waiting_job(job_pool, &job_pool->first) : NULL;
}

struct peel_job *job_pool_take(struct job_pool *job_pool, struct str jid)
{
    for (struct peel_job **at = &job_pool->first; *at; at = &(*at)->next)
        if ((*at)->is_job && str_eq_text(jid, (*at)->request.jid))
            return unlink_waiting_job(job_pool, at);
    return NULL;
}

bool job_pool_drop(struct job_pool *job_pool, const struct peel_job *job)
{
    struct peel_job **at = &job_pool->first;

    while (*at && *at != job)
        at = &(*at)->next;
    return *at && unlink_waiting_job(job_pool, at);
}

struct peel_job *job_pool_start(struct job_pool *job_pool)
{
    struct peel_job *job = job_pool->busy < job_pool->limit ? job_pool_take_first(job_pool) : NULL;

    if (!job)
        return NULL;
    job->next = job_pool->running;
    job_pool->running = job;
    job_pool->busy++;
    return job;
}

void job_pool_finish(struct job_pool *job_pool, struct peel_job *job)
{
    struct peel_job **at = &job_pool->running;

    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    job_pool->busy--;
}

bool job_pool_is_idle(const struct job_pool *job_pool)
{
    return job_pool->busy == 0 && job_pool->waiting == 0;
}
