#include "fleet/peel/job_lane.h"

#include "fleet/peel/job.h"

void job_lane_init(struct job_lane *job_lane, size_t limit)
{
    *job_lane = (struct job_lane){ .last = &job_lane->first, .limit = limit };
}

void job_lane_add(struct job_lane *job_lane, struct peel_job *job)
{
    job->next = NULL;
    *job_lane->last = job;
    job_lane->last = &job->next;
    job_lane->waiting++;
}

static struct peel_job *unlink_waiting_job(struct job_lane *job_lane, struct peel_job **at)
{
    struct peel_job *job = *at;

    *at = job->next;
    if (job_lane->last == &job->next)
        job_lane->last = at;
    job_lane->waiting--;
    return job;
}

struct peel_job *job_lane_take_first(struct job_lane *job_lane)
{
    return job_lane->first ? unlink_waiting_job(job_lane, &job_lane->first) : NULL;
}

struct peel_job *job_lane_take(struct job_lane *job_lane, struct str jid)
{
    for (struct peel_job **at = &job_lane->first; *at; at = &(*at)->next)
        if ((*at)->is_job && str_eq_text(jid, (*at)->request.jid))
            return unlink_waiting_job(job_lane, at);
    return NULL;
}

bool job_lane_drop(struct job_lane *job_lane, const struct peel_job *job)
{
    struct peel_job **at = &job_lane->first;

    while (*at && *at != job)
        at = &(*at)->next;
    return *at && unlink_waiting_job(job_lane, at);
}

struct peel_job *job_lane_start(struct job_lane *job_lane)
{
    struct peel_job *job = job_lane->busy < job_lane->limit ? job_lane_take_first(job_lane) : NULL;

    if (!job)
        return NULL;
    job->next = job_lane->running;
    job_lane->running = job;
    job_lane->busy++;
    return job;
}

void job_lane_finish(struct job_lane *job_lane, struct peel_job *job)
{
    struct peel_job **at = &job_lane->running;

    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    job_lane->busy--;
}

bool job_lane_is_idle(const struct job_lane *job_lane)
{
    return job_lane->busy == 0 && job_lane->waiting == 0;
}
