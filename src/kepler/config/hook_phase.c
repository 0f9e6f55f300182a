#include "kepler/config/hook_phase.h"

#include "core/base/mem.h"

static const char *const names[] = {
    [HOOK_PRE_START] = "pre_start",
    [HOOK_POST_START] = "post_start",
    [HOOK_PRE_STOP] = "pre_stop",
    [HOOK_POST_STOP] = "post_stop",
    [HOOK_PRE_RESTART] = "pre_restart",
    [HOOK_POST_RESTART] = "post_restart",
    [HOOK_POST_EXIT] = "post_exit",
    [HOOK_PRE_CLEANUP] = "pre_cleanup",
    [HOOK_POST_HEALTHCHECK_SUCCESS] = "post_healthcheck_success",
    [HOOK_POST_HEALTHCHECK_FAIL] = "post_healthcheck_fail",
};
_Static_assert(ARRAY_LEN(names) == HOOK_PHASES, "every phase has a name");

const char *hook_phase_name(enum hook_phase phase)
{
    return names[phase];
}

int hook_phase_parse(struct str word, enum hook_phase *ret)
{
    for (size_t i = 0; i < HOOK_PHASES; i++)
        if (str_is(word, names[i])) {
            *ret = (enum hook_phase)i;
            return 0;
        }
    return -1;
}
