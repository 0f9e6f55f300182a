/*
 * Each worker that begins puts one more job for the rest into the pool's queue; the
 * pool starts it when a core is free or a worker blocks. So there is always exactly
 * one job waiting while tasks are left, whatever their number.
 */
#include "run/crew.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/pool.h"
#include "sys/quota.h"

struct crew {
    struct crew_options options;
    struct pool *pool; /* made when there is more than one task for the first time */
    struct lanes lanes;
    struct mailbox box;
    bool has_box;
    struct crew_task *const *tasks;
    size_t count;
    atomic_size_t next;
};

struct crew *crew_new(const struct crew_options *options, struct err *err)
{
    struct crew *crew = mem_zalloc(sizeof(*crew));

    crew->options = *options;
    lanes_init(&crew->lanes);
    if (options->tell && mailbox_init(&crew->box, 0, err) < 0) {
        crew_free(crew);
        return NULL;
    }
    crew->has_box = options->tell != NULL;
    return crew;
}

void crew_free(struct crew *crew)
{
    if (!crew)
        return;
    pool_free(crew->pool);
    lanes_done(&crew->lanes);
    if (crew->has_box)
        mailbox_done(&crew->box);
    free(crew);
}

static void post(struct crew *crew, struct crew_mail *mail, struct crew_task *task, bool ended)
{
    mail->task = task;
    mail->ended = ended;
    if (crew->has_box)
        (void)mailbox_post(&crew->box, &mail->mail); /* it has no limit and is open */
}

static void run_task(struct crew *crew, struct crew_task *task)
{
    post(crew, &task->begin, task, false);
    crew->options.run(crew->options.user, task);
    post(crew, &task->end, task, true);
}

/* Run it and those that waited for it in its lane; or leave it to whoever is in there. */
static void take_task(struct crew *crew, struct crew_task *task)
{
    const char *lane = task->lane;
    struct lane_ticket *ticket = &task->ticket;

    if (!lane_enter(&crew->lanes, lane, ticket))
        return;
    for (; ticket; ticket = lane_leave(&crew->lanes, lane))
        run_task(crew, container_of(ticket, struct crew_task, ticket));
}

static void work(void *self)
{
    struct crew *crew = self;
    size_t i = atomic_fetch_add(&crew->next, 1);

    if (i + 1 < crew->count)
        pool_submit(crew->pool, work, crew);
    for (; i < crew->count; i = atomic_fetch_add(&crew->next, 1))
        take_task(crew, crew->tasks[i]);
}

static void tell_until_done(struct crew *crew)
{
    size_t ended = 0;

    while (ended < crew->count) {
        (void)mailbox_wait(&crew->box, CLOCK_NEVER);
        for (struct mail *mail = mailbox_take(&crew->box), *next; mail; mail = next) {
            const struct crew_mail *news = container_of(mail, struct crew_mail, mail);

            next = mail->next;
            crew->options.tell(crew->options.user, news->task, news->ended);
            ended += news->ended;
        }
    }
}

/* With few descriptors tasks wait for each other instead of failing. */
static unsigned find_limit(const struct crew *crew)
{
    const unsigned asked = crew->options.limit ? crew->options.limit : POOL_LIMIT;
    const unsigned most = quota_most();

    return asked < most ? asked : most;
}

static int make_pool(struct crew *crew, struct err *err)
{
    struct pool_options options = { 0 };

    if (crew->pool)
        return 0;
    fd_limit_raise(); /* a thousand commands have thousands of pipes */
    options.limit = find_limit(crew);
    crew->pool = pool_new(&options, err);
    return crew->pool ? 0 : -1;
}

/* No need for a worker. */
static void run_alone(struct crew *crew, struct crew_task *task)
{
    if (crew->options.tell)
        crew->options.tell(crew->options.user, task, false);
    crew->options.run(crew->options.user, task);
    if (crew->options.tell)
        crew->options.tell(crew->options.user, task, true);
}

void crew_run(struct crew *crew, struct crew_task *const *tasks, size_t count)
{
    struct err ignored;

    if (count == 1)
        run_alone(crew, tasks[0]);
    if (count <= 1)
        return;
    if (make_pool(crew, &ignored) < 0) { /* no room for a thread: this one does it all */
        for (size_t i = 0; i < count; i++)
            run_alone(crew, tasks[i]);
        return;
    }
    crew->tasks = tasks;
    crew->count = count;
    atomic_store(&crew->next, 0);
    pool_submit(crew->pool, work, crew);
    if (crew->has_box)
        tell_until_done(crew);
    pool_drain(crew->pool);
}
