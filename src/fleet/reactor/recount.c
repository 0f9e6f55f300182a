#include "fleet/reactor/recount.h"

#include <stdio.h>
#include <string.h>

/* Another server leads. False while it is not known who does. */
static bool note_leaders(struct recount *recount, const struct recount_look *look, bool *ret_is_new)
{
    char leaders[RECOUNT_LEADERS_MAX];
    bool has_changed;

    *ret_is_new = false;
    if (!look->stream_leader || !look->consumer_leader)
        return false;
    (void)snprintf(leaders, sizeof(leaders), "%s/%s", look->stream_leader, look->consumer_leader);
    has_changed = recount->leaders[0] && strcmp(recount->leaders, leaders) != 0;
    *ret_is_new = strcmp(recount->leaders, leaders) != 0;
    memcpy(recount->leaders, leaders, sizeof(leaders));
    return has_changed;
}

static uint64_t find_from(const struct recount *recount, uint64_t checked)
{
    const uint64_t from = checked > RECOUNT_MARGIN ? checked - RECOUNT_MARGIN : 1;

    return from > recount->begin ? from : recount->begin + 1;
}

bool recount_note(struct recount *recount, const struct recount_look *look, uint64_t checked)
{
    const uint64_t before = recount->last_seq;
    const bool is_behind = look->reach < before && before > recount->ended;
    bool is_new;
    const bool has_changed = note_leaders(recount, look, &is_new);

    recount->last_seq = look->last_seq;
    if ((!has_changed && !is_behind) || look->last_seq == 0)
        return is_new;
    if (recount->until == 0)
        recount->from = find_from(recount, checked);
    recount->until = look->last_seq;
    return true;
}

bool recount_is_ready(const struct recount *recount, const struct recount_look *look)
{
    return recount->until > 0 && (look->floor >= recount->until || look->is_idle);
}

void recount_end(struct recount *recount)
{
    recount->ended = recount->until;
    recount->from = recount->until = 0;
}
