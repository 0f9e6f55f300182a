#include "fleet/peel/lane.h"

#include "fleet/peel/job.h"

void lane_init(struct lane *lane, size_t limit)
{
    *lane = (struct lane){ .last = &lane->first, .limit = limit };
}

void lane_add(struct lane *lane, struct job *job)
{
    job->next = NULL;
    *lane->last = job;
    lane->last = &job->next;
    lane->waiting++;
}

static struct job *unlink_waiting(struct lane *lane, struct job **at)
{
    struct job *job = *at;

    *at = job->next;
    if (lane->last == &job->next)
        lane->last = at;
    lane->waiting--;
    return job;
}

struct job *lane_take_first(struct lane *lane)
{
    return lane->first ? unlink_waiting(lane, &lane->first) : NULL;
}

struct job *lane_take(struct lane *lane, struct str jid)
{
    for (struct job **at = &lane->first; *at; at = &(*at)->next)
        if ((*at)->is_job && str_eq_text(jid, (*at)->request.jid))
            return unlink_waiting(lane, at);
    return NULL;
}

bool lane_drop(struct lane *lane, const struct job *job)
{
    struct job **at = &lane->first;

    while (*at && *at != job)
        at = &(*at)->next;
    return *at && unlink_waiting(lane, at);
}

struct job *lane_start(struct lane *lane)
{
    struct job *job = lane->busy < lane->limit ? lane_take_first(lane) : NULL;

    if (!job)
        return NULL;
    job->next = lane->running;
    lane->running = job;
    lane->busy++;
    return job;
}

void lane_finish(struct lane *lane, struct job *job)
{
    struct job **at = &lane->running;

    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    lane->busy--;
}

bool lane_is_idle(const struct lane *lane)
{
    return lane->busy == 0 && lane->waiting == 0;
}
