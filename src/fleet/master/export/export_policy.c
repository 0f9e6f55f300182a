#include "fleet/master/export/export_policy.h"

static bool is_temporary_failure(const struct export_attempt *attempt)
{
    return !attempt->has_answer || attempt->status >= 500 || attempt->status == 408 ||
           attempt->status == 425 || attempt->status == 429;
}

/* A doubling pause with jitter (half to all), so that masters and exporters spread out. */
static int64_t find_pause(const struct export_attempt *attempt)
{
    int64_t pause = EXPORT_PAUSE_MIN, asked = attempt->has_answer ? attempt->retry_after : 0;

    for (unsigned i = 1; i < attempt->tries && pause < EXPORT_PAUSE_MAX; i++)
        pause *= 2;
    if (pause > EXPORT_PAUSE_MAX)
        pause = EXPORT_PAUSE_MAX;
    pause = pause / 2 + (int64_t)(attempt->chance % (uint64_t)(pause / 2 + 1));
    if (asked > EXPORT_RETRY_AFTER_MAX)
        asked = EXPORT_RETRY_AFTER_MAX;
    return asked > pause ? asked : pause;
}

enum export_verdict export_judge(const struct export_attempt *attempt, int64_t *ret_pause)
{
    if (attempt->has_answer && attempt->status >= 200 && attempt->status <= 299)
        return EXPORT_SENT;
    if (!is_temporary_failure(attempt) && attempt->count > 1)
        return EXPORT_SPLIT;
    if (!is_temporary_failure(attempt) && attempt->tries >= EXPORT_TRIES)
        return EXPORT_GIVE_UP;
    *ret_pause = find_pause(attempt);
    return EXPORT_AGAIN;
}
