#include "states/local/verb.h"

#include <string.h>

#include "core/base/suggest.h"
#include "states/state/module.h"

#define RUN_OPTIONS  "exclude=none, pillar=none, test=false"
#define SHOW_OPTIONS "exclude=none, pillar=none"

/* clang-format off */
const struct verb verb_table[] = {
    { "state.apply",          VERB_APPLY,          PERFORM_STATES,  "mods=none, " RUN_OPTIONS,  "apply the states of references, or of the top file" },
    { "state.sls",            VERB_APPLY,          PERFORM_STATES,  "mods, " RUN_OPTIONS,       "apply the states of references" },
    { "state.highstate",      VERB_HIGHSTATE,      PERFORM_STATES,  RUN_OPTIONS,                "apply the states of the top file" },
    { "state.sls_id",         VERB_SLS_ID,         PERFORM_STATES,  "id_, mods, " RUN_OPTIONS,  "apply one ID of references, with its requisites" },
    { "state.template_str",   VERB_TEMPLATE_STR,   PERFORM_STATES,  "tem, pillar=none, test=false", "apply the states of a text: a template, as in a Salt file" },
    { "state.test",           VERB_TEST,           PERFORM_STATES,  "mods=none, " SHOW_OPTIONS, "what state.apply would change" },
    { "state.single",         VERB_SINGLE,         PERFORM_ACT,     "fun, name=none, test=false, **kwargs", "apply one state" },
    { "state.event",          VERB_EVENT,          PERFORM_UNKNOWN, "",                         "watch events: 'zester event watch' does, in a fleet" },
    { "state.revert",         VERB_REVERT,         PERFORM_ACT,     "target, all=false, since=none, to=none, force=false, yes=false, test=false", "revert the changes of runs" },
    { "state.show",           VERB_SHOW,           PERFORM_SHOW,    "mods=none, " SHOW_OPTIONS, "the compiled states of references, or of the top file" },
    { "state.show_sls",       VERB_SHOW,           PERFORM_SHOW,    "mods, " SHOW_OPTIONS,      "the compiled states of references" },
    { "state.show_low_sls",   VERB_SHOW,           PERFORM_SHOW,    "mods, " SHOW_OPTIONS,      "the compiled states of references" },
    { "state.show_highstate", VERB_SHOW_HIGHSTATE, PERFORM_SHOW,    SHOW_OPTIONS,               "the compiled states of the top file" },
    { "state.show_lowstate",  VERB_SHOW_HIGHSTATE, PERFORM_SHOW,    SHOW_OPTIONS,               "the compiled states of the top file" },
    { "state.show_top",       VERB_SHOW_TOP,       PERFORM_SHOW,    "pillar=none",              "what the top file assigns to this machine" },
    { "state.graph",          VERB_GRAPH,          PERFORM_SHOW,    "mods=none, " SHOW_OPTIONS, "the levels of a run" },
    { "state.check",          VERB_CHECK,          PERFORM_SHOW,    "mods=none, " SHOW_OPTIONS, "check for mistakes, and count states" },
    { "state.sls_exists",     VERB_SLS_EXISTS,     PERFORM_SHOW,    "mods, pillar=none",        "whether references exist and have no mistakes" },
    { "state.id_exists",      VERB_ID_EXISTS,      PERFORM_SHOW,    "ids, mods, pillar=none",   "whether states of references have these IDs" },
    { "state.last",           VERB_LAST,           PERFORM_READ,    "",                         "the last run and its states" },
    { "state.owed",           VERB_OWED,           PERFORM_READ,    "",                         "reactions that are still due" },
    { "state.waive",          VERB_WAIVE,          PERFORM_ACT,     "state",                    "drop a reaction owed by a state" },
    { "state.runs",           VERB_RUNS,           PERFORM_READ,    "ref=none",                 "the runs that changed something, newest first" },
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

bool verb_runs_states(const char *name)
{
    const struct verb *verb = verb_find(name);

    return verb && (verb->kind == VERB_APPLY || verb->kind == VERB_HIGHSTATE ||
                    verb->kind == VERB_SLS_ID || verb->kind == VERB_TEST);
}

bool verb_applies(const char *function)
{
    const struct verb *verb = verb_find(function);
    const struct module *module = verb ? NULL : module_find(str_from(function));

    if (verb)
        return verb->class == PERFORM_STATES || verb->kind == VERB_SINGLE ||
               verb->kind == VERB_REVERT;
    return module && module_applies(module) && !(module->call && (module->flags & MODULE_IDLE));
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
