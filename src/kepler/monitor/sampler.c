#include "kepler/monitor/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/child_registry.h"
#include "core/sys/cgroup.h"
#include "core/sys/clock.h"
#include "core/sys/descendants.h"

/* CPU time is counted in ticks: shorter periods are meaningless. */
#define ELAPSED_MIN (10 * CLOCK_MS)

/* One sample. */
struct usage_sample {
    struct sampler *sampler;
    struct arena *arena;
    int64_t now, boot, tick; /* clock_real; nanoseconds since boot; nanoseconds of a tick */
    struct sampler next;
};

void sampler_done(struct sampler *sampler)
{
    vec_done(&sampler->seen);
    *sampler = (struct sampler){ 0 };
}

static int compare_processes(const void *a, const void *b)
{
    const struct sampler_process *x = a, *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* The same process in the last sample; NULL: it is new. */
static const struct sampler_process *find_seen_process(const struct sampler *sampler,
                                                       const struct sampler_process *process)
{
    const struct sampler_process *found =
        sampler->seen.n ? bsearch(process, sampler->seen.p, sampler->seen.n,
                                  sizeof(sampler->seen.p[0]), compare_processes)
                        : NULL;

    return found && found->start == process->start ? found : NULL;
}

static double find_cpu(const struct usage_sample *sample, const struct sampler_process *process)
{
    const struct sampler_process *before = find_seen_process(sample->sampler, process);
    const uint64_t since = before && before->ticks <= process->ticks ? before->ticks : 0;
    int64_t elapsed = before ? sample->now - sample->sampler->looked
                             : sample->boot - (int64_t)process->start * sample->tick;

    if (elapsed < ELAPSED_MIN)
        elapsed = ELAPSED_MIN;
    return 100.0 * (double)(process->ticks - since) * (double)sample->tick / (double)elapsed;
}

/* --- the processes of a service ------------------------------------------------------------- */

static void add_process_usage(struct usage_sample *sample, pid_t pid, struct usage_metric *metric)
{
    struct sampler_process process;
    struct child_registry_stat stat;

    if (!child_registry_read_stat(pid, &stat) || stat.state == 'Z' || stat.state == 'X')
        return; /* it has ended */
    process = (struct sampler_process){ pid, stat.start, stat.ticks };
    metric->cpu_percent += find_cpu(sample, &process);
    metric->memory_rss += (int64_t)stat.resident_pages * sysconf(_SC_PAGESIZE);
    metric->memory_vss += (int64_t)stat.virtual_bytes;
    if (metric->pids.list->count < METRIC_PIDS_MAX)
        value_list_push(sample->arena, metric->pids.list, value_int(pid));
    VEC_PUSH(&sample->next.seen, process);
}

static void add_group_usage(struct usage_sample *sample, const char *path,
                            struct usage_metric *metric)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct cgroup group = { (char *)(uintptr_t)path, -1, -1 };
    struct cgroup_pids pids;
    struct err ignored; /* it has just ended */

    if (cgroup_list(&group, &arena, &pids, &ignored) < 0)
        return;
    VEC_EACH (&pids.list, pid)
        add_process_usage(sample, *pid, metric);
}

static void add_tree_usage(struct usage_sample *sample, pid_t main, struct usage_metric *metric)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct descendants_pids pids;

    if (main == 0)
        return;
    add_process_usage(sample, main, metric);
    descendants_list(main, &arena, &pids);
    VEC_EACH (&pids.list, pid)
        add_process_usage(sample, *pid, metric);
}

/* --- all services --------------------------------------------------------------------------- */

static int64_t read_boottime(void)
{
    struct timespec now = { 0 };

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * CLOCK_SECOND + now.tv_nsec;
}

void sampler_take(struct sampler *sampler, const struct sampler_target *targets, size_t count,
                  struct arena *arena, struct usage_metrics *ret_metrics)
{
    struct usage_sample sample = { .sampler = sampler,
                                   .arena = arena,
                                   .now = clock_real(),
                                   .boot = read_boottime(),
                                   .tick = CLOCK_SECOND / sysconf(_SC_CLK_TCK) };
    const int64_t wall = clock_wall() / CLOCK_MS;

    *ret_metrics = (struct usage_metrics){ VEC_INIT };
    for (size_t i = 0; i < count; i++) {
        struct usage_metric metric = { .service = arena_strdup(arena, targets[i].service),
                                       .timestamp = wall,
                                       .pids = value_list(value_list_new(arena, 4)) };

        if (targets[i].cgroup)
            add_group_usage(&sample, targets[i].cgroup, &metric);
        else
            add_tree_usage(&sample, targets[i].pid, &metric);
        metric.cpu_percent = round(metric.cpu_percent * 100.0) / 100.0;
        if (metric.pids.list->count > 0)
            VEC_PUSH_IN(arena, &ret_metrics->list, metric);
    }
    if (sample.next.seen.n > 1)
        qsort(sample.next.seen.p, sample.next.seen.n, sizeof(sample.next.seen.p[0]),
              compare_processes);
    sampler_done(sampler);
    *sampler = sample.next;
    sampler->looked = sample.now;
}
