#include "local/verb.h"

#include <string.h>

#include "base/suggest.h"

/* clang-format off */
const struct verb verb_table[] = {
    { "state.apply",          VERB_APPLY,          PERFORM_STATES },
    { "state.sls",            VERB_APPLY,          PERFORM_STATES },
    { "state.highstate",      VERB_HIGHSTATE,      PERFORM_STATES },
    { "state.sls_id",         VERB_SLS_ID,         PERFORM_STATES },
    { "state.test",           VERB_TEST,           PERFORM_STATES },
    { "state.single",         VERB_SINGLE,         PERFORM_ACT },
    { "state.event",          VERB_EVENT,          PERFORM_UNKNOWN },
    { "state.revert",         VERB_REVERT,         PERFORM_ACT },
    { "state.show",           VERB_SHOW,           PERFORM_SHOW },
    { "state.show_sls",       VERB_SHOW,           PERFORM_SHOW },
    { "state.show_low_sls",   VERB_SHOW,           PERFORM_SHOW },
    { "state.show_highstate", VERB_SHOW_HIGHSTATE, PERFORM_SHOW },
    { "state.show_lowstate",  VERB_SHOW_HIGHSTATE, PERFORM_SHOW },
    { "state.show_top",       VERB_SHOW_TOP,       PERFORM_SHOW },
    { "state.graph",          VERB_GRAPH,          PERFORM_SHOW },
    { "state.check",          VERB_CHECK,          PERFORM_SHOW },
    { "state.last",           VERB_LAST,           PERFORM_READ },
    { "state.owed",           VERB_OWED,           PERFORM_READ },
    { "state.waive",          VERB_WAIVE,          PERFORM_ACT },
    { 0 },
};
/* clang-format on */

const struct verb *verb_find(const char *name)
{
    for (const struct verb *verb = verb_table; verb->name; verb++)
        if (strcmp(verb->name, name) == 0)
            return verb;
    return NULL;
}

bool verb_needs_tree(const struct verb *verb)
{
    return verb->class == PERFORM_STATES || verb->class == PERFORM_SHOW;
}

void verb_offer(struct suggest *near)
{
    for (const struct verb *verb = verb_table; verb->name; verb++)
        if (verb->kind != VERB_REVERT && verb->kind != VERB_WAIVE)
            suggest_offer(near, str_from(verb->name));
}
