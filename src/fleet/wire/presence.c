#include "fleet/wire/presence.h"

static const char *const state_names[PRESENCE_STATES] = {
    [PRESENCE_ONLINE] = "online",
    [PRESENCE_OFFLINE] = "offline",
};

const char *presence_state_name(enum presence_state state)
{
    return state_names[state];
}

bool presence_changes(const struct presence_view *view, enum presence_state *ret)
{
    const int64_t heard = view->seen > view->listening_since ? view->seen : view->listening_since;
    const bool is_there = view->seen > 0 && view->now - view->seen < view->grace;
    const bool is_gone = !is_there && view->now - heard >= view->grace;

    *ret = is_there ? PRESENCE_ONLINE : PRESENCE_OFFLINE;
    return (is_there || is_gone) && (!view->recorded || view->recorded->state != *ret);
}

/* clang-format off */

static const struct record_field presence_fields[] = {
    RECORD("state", WORD, struct presence, state, RECORD_REQUIRED, RECORD_WORDS(state_names)),
    RECORD("since", TIME, struct presence, since, 0),
    RECORD("seen",  TIME, struct presence, seen, RECORD_OMIT),
    RECORD("owed",  BOOL, struct presence, owed, RECORD_OMIT),
    { 0 },
};

const struct record_type presence_type = RECORD_TYPE("presence", struct presence, presence_fields, RECORD_LENIENT);

/* clang-format on */
