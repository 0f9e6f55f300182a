#include "states/run/drift.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "states/run/lastrun.h"

/* How many states a line names. */
#define NAMES_SHOWN 2

enum drift drift_find(const struct lastrun *run)
{
    if (!run)
        return DRIFT_UNKNOWN;
    if (!run->success)
        return DRIFT_FAILED;
    if (lastrun_count_differs(run) > 0)
        return DRIFT_FOUND;
    return run->stale || !(run->looked || run->test) ? DRIFT_UNKNOWN : DRIFT_NONE;
}

static const char *const drift_names[] = {
    [DRIFT_UNKNOWN] = "unknown",
    [DRIFT_NONE] = "none",
    [DRIFT_FOUND] = "drifted",
    [DRIFT_FAILED] = "failed",
};
_Static_assert(ARRAY_LEN(drift_names) == DRIFTS, "every kind has a name");

const char *drift_name(enum drift drift)
{
    return drift_names[drift];
}

static void add_differences(struct buf *out, const struct lastrun *run)
{
    const uint32_t count = lastrun_count_differs(run);

    buf_printf(out, "%u %s", count,
               run->failed > 0  ? "failed"
               : run->again > 0 ? "would change again"
               : count == 1     ? "differs"
                                : "differ");
    for (size_t i = 0; i < run->differs.n && i < NAMES_SHOWN; i++)
        buf_printf(out, "%s %s", i == 0 ? ":" : ",", run->differs.p[i]);
    if (count > NAMES_SHOWN)
        buf_add_text(out, ", ...");
}

/* One line: what a failure says begins with its first. */
static void add_failure(struct buf *out, const char *error)
{
    buf_add_text(out, "failed");
    if (error[0])
        buf_add_text(out, ": ");
    buf_add_str(out, str_line_at(str_from(error), 0));
}

const char *drift_describe(struct arena *arena, const struct lastrun *run)
{
    AUTO_BUF struct buf out = BUF_INIT(LASTRUN_MAX);
    const enum drift drift = drift_find(run);

    if (drift == DRIFT_NONE || !run)
        return drift_name(drift);
    if (drift == DRIFT_UNKNOWN)
        return run->stale ? "unknown: changed since the last run"
                          : "unknown: the last run was not checked";
    if (lastrun_count_differs(run) > 0)
        add_differences(&out, run);
    else
        add_failure(&out, run->error);
    return buf_copy(&out, arena).p;
}
