#include "fleet/view/job.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/data/value.h"
#include "core/sys/clock.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"

#define NODE_GRACE_NS (30 * CLOCK_SECOND)

int fleet_read_batch(const char *text, size_t targets, size_t *ret_size, struct err *err)
{
    struct str digits = str_from(text);
    const bool percent = str_ends(digits, STR("%"));
    uint64_t number;

    if (percent)
        digits.n--;
    if (number_parse_uint(digits, &number, err) < 0 || number == 0 || (percent && number > 100))
        return err_set(
            err, ERR_INVALID,
            "invalid batch size '%s': expected a number of peels (5) or a percentage (20%%)", text);
    *ret_size = percent            ? (size_t)((targets * number + 99) / 100)
                : number < targets ? (size_t)number
                                   : targets;
    return 0;
}

void fleet_job_note(struct arena *arena, struct job *job, const char *key, const char *text)
{
    if (job->metadata.kind != VALUE_MAP)
        job->metadata = value_map(value_map_new(arena, 2));
    value_map_set(arena, job->metadata.map, value_text(key), value_text(text));
}

void fleet_note_limits(struct arena *arena, struct job *job, const struct fleet_limits *limits)
{
    const long long ms = (long long)(limits->node_timeout / CLOCK_MS);

    if (limits->force_window)
        fleet_job_note(arena, job, JOB_WINDOW, EXEC_WINDOW_FORCE);
    if (limits->node_timeout > 0)
        fleet_job_note(arena, job, JOB_NODE_TIMEOUT, arena_printf(arena, "%lldms", ms));
}

int64_t fleet_limits_timeout(const struct fleet_limits *limits)
{
    return clock_after(NODE_GRACE_NS, limits->node_timeout);
}

int64_t fleet_note_batch(struct arena *arena, struct job *job, size_t size, int64_t max_failures)
{
    fleet_job_note(arena, job, JOB_BATCH, arena_printf(arena, "%zu", size));
    fleet_job_note(arena, job, JOB_BATCH_FAILURES,
                   arena_printf(arena, "%lld", (long long)max_failures));
    return (int64_t)((job->targets.n + size - 1) / size);
}

void fleet_note_rollout(struct arena *arena, struct job *job, const struct fleet_rollout *rollout)
{
    const long long seconds = (long long)((rollout->pause + CLOCK_SECOND - 1) / CLOCK_SECOND);

    if (rollout->pause > 0)
        fleet_job_note(arena, job, JOB_PAUSE, arena_printf(arena, "%lld", seconds));
    if (rollout->gate)
        fleet_job_note(arena, job, JOB_GATE, rollout->gate);
    if (rollout->revert == FLEET_REVERT_WAVE || rollout->revert == FLEET_REVERT_ALL)
        fleet_job_note(arena, job, JOB_REVERT,
                       rollout->revert == FLEET_REVERT_WAVE ? "wave" : "all");
    if (rollout->revert == FLEET_REVERT_NONE || value_get(&job->args, "revert_on_failure"))
        return;
    if (job->args.kind != VALUE_MAP)
        job->args = value_map(value_map_new(arena, 1));
    value_map_set(arena, job->args.map, value_text("revert_on_failure"), value_bool(true));
}

void fleet_note_queue(struct arena *arena, struct job *job, int64_t ns)
{
    fleet_job_note(arena, job, JOB_QUEUE,
                   arena_printf(arena, "%lld", (long long)(ns / CLOCK_SECOND)));
}
