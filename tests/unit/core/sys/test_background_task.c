#include "core/sys/background_task.h"

#include <semaphore.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/pool.h"
#include "test.h"

#define COUNT 20

struct scene {
    struct background_tasks background_tasks;
    struct loop *loop;
    pthread_t loop_thread;
    int left;
};

struct job {
    struct background_task background_task;
    struct scene *scene;
    sem_t *wait; /* for this, or NULL */
    int worked, done;
};

static void scene_begin(struct scene *scene)
{
    struct err err;

    *scene = (struct scene){ .loop = loop_new(&err), .loop_thread = pthread_self() };
    CHECK(scene->loop);
    CHECK_INT(background_tasks_open(&scene->background_tasks, scene->loop, &err), 0);
}

static void scene_end(struct scene *scene)
{
    background_tasks_close(&scene->background_tasks);
    loop_free(scene->loop);
}

static void work(struct background_task *background_task)
{
    struct job *job = container_of(background_task, struct job, background_task);

    CHECK(!pthread_equal(pthread_self(), job->scene->loop_thread));
    if (job->wait)
        (void)sem_wait(job->wait);
    job->worked++;
}

static void done(struct background_task *background_task)
{
    struct job *job = container_of(background_task, struct job, background_task);

    CHECK(pthread_equal(pthread_self(), job->scene->loop_thread));
    CHECK_INT(job->worked, 1);
    job->done++;
    if (--job->scene->left == 0)
        loop_stop(job->scene->loop);
}

TEST(work_is_done_by_workers_and_announced_in_the_loop)
{
    struct job jobs[COUNT];
    struct scene scene;

    scene_begin(&scene);
    scene.left = COUNT;
    for (int i = 0; i < COUNT; i++) {
        jobs[i] = (struct job){ .scene = &scene };
        background_task_begin(&scene.background_tasks, &jobs[i].background_task, work, done);
    }
    loop_run(scene.loop);
    for (int i = 0; i < COUNT; i++)
        CHECK_INT(jobs[i].done, 1);
    scene_end(&scene);
}

TEST(a_chore_that_waits_does_not_hold_up_the_others)
{
    struct scene scene;
    struct job slow, quick;
    sem_t gate;

    scene_begin(&scene);
    CHECK_INT(sem_init(&gate, 0, 0), 0);
    slow = (struct job){ .scene = &scene, .wait = &gate };
    quick = (struct job){ .scene = &scene };
    scene.left = 1;
    background_task_begin(&scene.background_tasks, &slow.background_task, work, done);
    background_task_begin(&scene.background_tasks, &quick.background_task, work, done);
    loop_run(scene.loop);
    CHECK_INT(quick.done, 1);
    CHECK_INT(slow.done, 0);
    scene.left = 1;
    CHECK_INT(sem_post(&gate), 0);
    loop_run(scene.loop);
    CHECK_INT(slow.done, 1);
    CHECK_INT(sem_destroy(&gate), 0);
    scene_end(&scene);
}

TEST(waiting_for_a_task_shows_its_result_and_done_still_runs)
{
    struct scene scene;
    struct job job;

    scene_begin(&scene);
    job = (struct job){ .scene = &scene };
    scene.left = 1;
    background_task_begin(&scene.background_tasks, &job.background_task, work, done);
    background_task_wait(&job.background_task);
    CHECK_INT(job.worked, 1);
    CHECK_INT(job.done, 0);
    loop_run(scene.loop);
    CHECK_INT(job.done, 1);
    scene_end(&scene);
}

TEST(begun_tasks_are_done_before_the_end)
{
    struct scene scene;
    struct job job;

    scene_begin(&scene);
    job = (struct job){ .scene = &scene };
    scene.left = 2;
    background_task_begin(&scene.background_tasks, &job.background_task, work, done);
    scene_end(&scene);
    CHECK_INT(job.done, 1);
}

TEST(homes_that_share_workers_end_one_by_one)
{
    const struct pool_options two = { .limit = 2, .active = 2, .lazy = true };
    struct scene scene;
    struct background_tasks other;
    struct job slow, quick;
    struct pool *pool;
    struct err err;
    sem_t gate;

    scene_begin(&scene);
    pool = pool_new(&two, &err);
    CHECK(pool);
    CHECK_INT(sem_init(&gate, 0, 0), 0);
    background_tasks_close(&scene.background_tasks);
    CHECK_INT(background_tasks_open_shared(&scene.background_tasks, scene.loop, pool, &err), 0);
    CHECK_INT(background_tasks_open_shared(&other, scene.loop, pool, &err), 0);
    scene.left = 3;
    slow = (struct job){ .scene = &scene, .wait = &gate };
    quick = (struct job){ .scene = &scene };
    background_task_begin(&scene.background_tasks, &slow.background_task, work, done);
    background_task_begin(&other, &quick.background_task, work, done);
    background_tasks_close(&other); /* waits for its own work alone */
    CHECK_INT(quick.done, 1);
    CHECK_INT(slow.done, 0);
    CHECK_INT(sem_post(&gate), 0);
    scene_end(&scene);
    CHECK_INT(slow.done, 1);
    CHECK_INT(sem_destroy(&gate), 0);
    pool_free(pool);
}

TEST(a_bounded_wait_returns_whether_the_work_is_finished)
{
    struct scene scene;
    struct job job = { .scene = &scene };
    sem_t gate;

    CHECK_INT(sem_init(&gate, 0, 0), 0);
    scene_begin(&scene);
    scene.left = 1;
    job.wait = &gate;
    background_task_begin(&scene.background_tasks, &job.background_task, work, done);
    CHECK(!background_task_wait_for(&job.background_task, 1000000));
    CHECK_INT(sem_post(&gate), 0);
    CHECK(background_task_wait_for(&job.background_task, INT64_C(60) * 1000000000));
    CHECK_INT(job.worked, 1);
    loop_run(scene.loop);
    CHECK_INT(job.done, 1);
    scene_end(&scene);
    CHECK_INT(sem_destroy(&gate), 0);
}
