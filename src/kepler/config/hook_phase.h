/*
 * hook_phase - the points in a service's life at which hooks run, by name. Pure.
 */
#ifndef KEPLER_CONFIG_HOOK_PHASE_H
#define KEPLER_CONFIG_HOOK_PHASE_H

#include "core/base/str.h"

enum hook_phase {
    HOOK_PRE_START,
    HOOK_POST_START,
    HOOK_PRE_STOP,
    HOOK_POST_STOP,
    HOOK_PRE_RESTART,
    HOOK_POST_RESTART,
    HOOK_POST_EXIT,
    HOOK_PRE_CLEANUP,
    HOOK_POST_HEALTHCHECK_SUCCESS,
    HOOK_POST_HEALTHCHECK_FAIL,
};
#define HOOK_PHASES (HOOK_POST_HEALTHCHECK_FAIL + 1)

/* "pre_start" */
const char *hook_phase_name(enum hook_phase phase);
/* -1 for an unknown word. */
int hook_phase_parse(struct str word, enum hook_phase *ret);

#endif
