#include "states/compile/contest.h"

#include "core/base/arena.h"
#include "core/base/map.h"
#include "states/compile/plan.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "states/state/module.h"
#include "core/sys/path.h"

/* How many are reported: a loop in a template may create thousands. */
#define TOLD_MAX 20

/* States of the current level that have this path. */
struct rivals {
    const struct plan_state *whole, *other; /* the first of each kind; NULL */
};

/* The normalised path of a state of the family `file`; NULL: none, or not known yet. */
static const char *find_claimed_path(struct arena *arena, const struct plan_state *state)
{
    const struct param *primary = params_find_primary(state->module->params);
    const char *path;

    if (!state->args || !primary || primary->kind != PARAM_PATH || !state->module->apply ||
        !str_starts(str_from(state->module->name), STR("file.")))
        return NULL;
    path = *(const char *const *)(const void *)((const char *)state->args + primary->offset);
    return path && path[0] == '/' ? path_normalise(arena, path) : NULL;
}

/* Without content, file.managed leaves the content to others. */
bool contest_claims_whole(const struct plan_state *state)
{
    static const char *const contents[] = { "content",         "contents",
                                            "contents_pillar", "contents_settings",
                                            "contents_grains", "contents_facts",
                                            "source" };

    if (!(state->module->flags & MODULE_WHOLE))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(contents); i++)
        if (value_get(&state->body, contents[i]))
            return true;
    return !params_find(state->module->params, STR("contents"));
}

static void report_contest(const struct plan_state *one, const struct plan_state *other,
                           const char *path, struct diags *warnings)
{
    (void)diag_add(warnings, other->at,
                   "warning: \"%s\" and \"%s\" change %s at the same time, in no defined order",
                   other->name, one->name, path);
    diag_note(warnings, one->at, "\"%s\" is here", one->name);
    diag_hint(warnings, "make one of them require the other");
}

/* Two identical declarations do no harm. */
static bool is_same_claim(const struct plan_state *one, const struct plan_state *other)
{
    return one->module == other->module && value_equal(&one->body, &other->body);
}

static void compare_path_claims(struct arena *arena, struct map *paths,
                                const struct plan_state *state, struct diags *warnings)
{
    const char *path = find_claimed_path(arena, state);
    const bool whole = path && contest_claims_whole(state);
    const struct plan_state *rival;
    struct rivals *rivals;
    void **place;

    if (!path)
        return;
    place = map_place(paths, str_from(path));
    if (!*place)
        *place = ARENA_NEW(arena, struct rivals);
    rivals = *place;
    rival = rivals->whole ? rivals->whole : whole ? rivals->other : NULL;
    if (rival && !is_same_claim(rival, state) && diags_count(warnings) < TOLD_MAX)
        report_contest(rival, state, path, warnings);
    if (whole && !rivals->whole)
        rivals->whole = state;
    if (!whole && !rivals->other)
        rivals->other = state;
}

void contest_tell(const struct plan *plan, struct diags *warnings)
{
    for (uint32_t level = 0; level < plan->level_count; level++) {
        AUTO_ARENA struct arena scratch = ARENA_INIT;
        struct map paths = MAP_INIT_IN(&scratch);

        for (uint32_t i = plan->level_start[level]; i < plan->level_start[level + 1]; i++)
            compare_path_claims(&scratch, &paths, &plan->states[plan->order[i]], warnings);
    }
}
