/*
 * The calling thread begins with the tasks itself. Helpers are called when it waits for
 * something, or when what is left takes longer than starting threads and sharing the table of open
 * files with them: a level of unchanged states needs none. Where begin and end are reported
 * meanwhile, the calling thread does only that.
 *
 * Each worker that begins puts one more job for the rest into the pool's queue; the
 * pool starts it when a core is free or a worker blocks. So there is always exactly
 * one job waiting while tasks are left, whatever their number.
 */
#include "states/run/crew.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/pool.h"
#include "core/sys/quota.h"

/* The calling thread learns for so long what the tasks are like, in nanoseconds. */
#define ALONE_MIN (INT64_C(2) * 1000000)
/* Tasks that would take longer than this alone, judged by those before, get helpers. Two threads
 * save half of it, and a quarter of that is lost to the locks of the kernel. */
#define REST_MAX (INT64_C(4) * 1000000)

struct crew {
    struct crew_options options;
    struct pool *pool; /* made when helpers are needed for the first time */
    struct lanes lanes;
    struct mailbox box;
    bool has_box;
    struct crew_task *const *tasks;
    size_t count;
    atomic_size_t next;
    bool is_helped; /* in this run */
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

/* False when there is no room for a thread. */
static bool make_pool(struct crew *crew, unsigned limit)
{
    const struct pool_options options = { .limit = limit };
    struct err ignored;

    if (!crew->pool)
        crew->pool = pool_new(&options, &ignored);
    return crew->pool;
}

/* The calling thread is one of those that work, unless it tells. */
static bool call_helpers(struct crew *crew)
{
    const unsigned working = crew->options.tell ? 0 : 1;
    unsigned limit;

    crew->is_helped = true;
    fd_limit_raise(); /* a thousand commands have thousands of pipes */
    limit = find_limit(crew);
    if (limit <= working || !make_pool(crew, limit - working))
        return false;
    if (working > 0)
        pool_join(crew->pool);
    pool_submit(crew->pool, work, crew);
    return true;
}

static void on_block(void *self)
{
    struct crew *crew = self;

    if (!crew->is_helped && atomic_load(&crew->next) < crew->count)
        (void)call_helpers(crew);
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

/* Will the tasks that are left take long, at the pace of those that are done? */
static bool is_long(int64_t spent, size_t done, size_t left)
{
    return spent > ALONE_MIN && spent / (int64_t)done * (int64_t)left > REST_MAX;
}

static void work_here(struct crew *crew)
{
    const int64_t began = clock_now();

    pool_watch_blocks(on_block, crew);
    for (size_t i; (i = atomic_fetch_add(&crew->next, 1)) < crew->count;) {
        take_task(crew, crew->tasks[i]);
        if (!crew->is_helped && is_long(clock_now() - began, i + 1, crew->count - i - 1))
            on_block(crew);
    }
    pool_watch_blocks(NULL, NULL);
    pool_leave();
}

static void tell_here(struct crew *crew)
{
    if (call_helpers(crew))
        tell_until_done(crew);
    else /* no room for a thread: this one does it all */
        for (size_t i = 0; i < crew->count; i++)
            run_alone(crew, crew->tasks[i]);
}

void crew_run(struct crew *crew, struct crew_task *const *tasks, size_t count)
{
    if (count == 1)
        run_alone(crew, tasks[0]);
    if (count <= 1)
        return;
    crew->tasks = tasks;
    crew->count = count;
    crew->is_helped = false;
    atomic_store(&crew->next, 0);
    if (crew->has_box)
        tell_here(crew);
    else
        work_here(crew);
    if (crew->pool)
        pool_drain(crew->pool);
}
