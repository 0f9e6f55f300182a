#include "fleet/wire/presence.h"

#include "test.h"

enum { UNKNOWN = -1, SAME = -2 };

/* Times in seconds; the grace is 60. */
static const struct {
    const char *name;
    int recorded;
    int64_t seen, listening_since, now;
    int becomes;
} cases[] = {
    { "a new peel that is heard is online", UNKNOWN, 95, 90, 100, PRESENCE_ONLINE },
    { "a peel that is heard stays online", PRESENCE_ONLINE, 95, 1, 100, SAME },
    { "one that was gone and is heard is online", PRESENCE_OFFLINE, 100, 1, 100, PRESENCE_ONLINE },
    { "a short silence means nothing", PRESENCE_ONLINE, 50, 1, 100, SAME },
    { "a long one does", PRESENCE_ONLINE, 50, 1, 110, PRESENCE_OFFLINE },
    { "one that was never heard is gone after the grace", PRESENCE_ONLINE, 0, 50, 110,
      PRESENCE_OFFLINE },
    { "but not before", PRESENCE_ONLINE, 0, 50, 109, SAME },
    { "after a restart, who is silent gets the grace again", PRESENCE_ONLINE, 10, 90, 100, SAME },
    { "until it is over", PRESENCE_ONLINE, 10, 90, 150, PRESENCE_OFFLINE },
    { "one that is gone stays gone", PRESENCE_OFFLINE, 10, 1, 500, SAME },
    { "an old beat does not bring it back", PRESENCE_OFFLINE, 40, 1, 100, SAME },
    { "one without a record that is not heard is gone after the grace", UNKNOWN, 0, 1, 100,
      PRESENCE_OFFLINE },
    { "and is left open before", UNKNOWN, 0, 50, 100, SAME },
};

TEST(a_peel_is_gone_when_it_was_silent_for_the_grace_while_somebody_listened)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct presence recorded = { .state = (enum presence_state)cases[i].recorded };
        const struct presence_view view = { .recorded =
                                                cases[i].recorded == UNKNOWN ? NULL : &recorded,
                                            .seen = cases[i].seen,
                                            .listening_since = cases[i].listening_since,
                                            .now = cases[i].now,
                                            .grace = 60 };
        enum presence_state state;
        const bool changes = presence_changes(&view, &state);

        CHECK_STR(changes ? presence_state_name(state) : "the same",
                  cases[i].becomes == SAME
                      ? "the same"
                      : presence_state_name((enum presence_state)cases[i].becomes));
    }
}
