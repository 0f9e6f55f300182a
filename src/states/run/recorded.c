#include "states/run/recorded.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "core/base/suggest.h"
#include "states/compile/tree.h"
#include "states/run/run_id.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "states/state/secrets.h"

bool recorded_has_ref(const struct undo_run *run, const char *refs)
{
    struct str rest = str_from(refs);

    while (rest.p) {
        const struct str ref = str_trim(str_cut(&rest, ','));

        for (size_t i = 0; i < run->refs.n; i++)
            if (str_is(ref, run->refs.p[i]))
                return true;
    }
    return false;
}

struct all_runs {
    VEC(struct undo_run) list;
};

static bool has_image(const struct undo_run *run, const char *path, const char *mark)
{
    VEC_EACH (&run->states, entry)
        VEC_EACH (&entry->images, image)
            if (image->image.whole && strcmp(image->image.path, path) == 0 &&
                strcmp(image->image.mark, mark) == 0)
                return true;
    return false;
}

const struct undo_run *recorded_find_newer(const struct recorded *recorded,
                                           const struct undo_run *run, const char *path,
                                           const char *mark)
{
    const struct undo_run *found = NULL;

    VEC_EACH (&recorded->known, newer) {
        if (strcmp(newer->place.id, run->place.id) == 0)
            break;
        if (has_image(newer, path, mark))
            found = newer;
    }
    return found;
}

void recorded_hide_secrets(struct secrets *secrets, const struct undo_entry *entry)
{
    const struct module *module = module_find(str_from(entry->module));

    if (entry->secret && module && entry->body.kind == VALUE_MAP &&
        !secrets_add_body(secrets, module->params, &entry->body))
        secrets_add_value(secrets, &entry->body);
}

static void offer_refs(struct suggest *near, const struct undo_run *run)
{
    for (size_t i = 0; i < run->refs.n; i++)
        suggest_offer(near, str_from(run->refs.p[i]));
}

/* No run is kept of it. That is fine for a state file that never changed anything, and a
 * mistake for an unknown name. */
static int explain_unknown_name(struct arena *arena, const struct recorded_want *wanted,
                                struct suggest *near, struct err *err)
{
    const struct str ref = str_from(wanted->target);
    const char *found = NULL, *nearest = NULL;
    struct err ignored;

    if (wanted->host->tree && tree_find(wanted->host->tree, arena, ref, &found, &ignored) == 0 &&
        found)
        return 0;
    if (wanted->host->tree)
        nearest = tree_suggest(wanted->host->tree, arena, ref);
    if (nearest)
        suggest_offer(near, str_from(nearest));
    if (suggest_best(near).p)
        return err_set(
            err, ERR_NOT_FOUND,
            "no run of '%s' is recorded, and there is no such state file; did you mean '%.*s'?",
            ref.p, STR_ARG(suggest_best(near)));
    return err_set(err, ERR_NOT_FOUND,
                   "no run of '%s' is recorded, and there is no such state file; expected a "
                   "reference, 'highstate' or a run ID",
                   ref.p);
}

/* A missing record: the run changed nothing, or its record was removed as too old. */
static int explain_missing_record(const struct recorded_want *wanted,
                                  const struct undo_places *places, struct err *err)
{
    struct ksuid oldest, ksuid;
    struct err ignored;

    if (!wanted->has_run)
        return err_set(err, ERR_NOT_FOUND, "no run '%s' is recorded", wanted->target);
    if (places->list.n < UNDO_KEEP_LEAST)
        return 0;
    if (ksuid_parse(str_from(wanted->target), &ksuid, &ignored) == 0 &&
        ksuid_parse(str_from(places->list.p[places->list.n - 1].id), &oldest, &ignored) == 0 &&
        oldest.seconds < ksuid.seconds)
        return 0;
    return err_set(err, ERR_NOT_FOUND, "run '%s' has no record: it changed nothing, or is too old",
                   wanted->target);
}

/* --- all runs ------------------------------------------------------------------------------ */

/* The newest first, down to the place `last` of `places`. */
static int load_runs(struct recorded *recorded, const struct undo_places *places, size_t last,
                     struct all_runs *ret, struct err *err)
{
    *ret = (struct all_runs){ 0 };
    for (size_t i = 0; i < places->list.n && i <= last; i++) {
        struct undo_run run;

        if (undo_load(recorded->arena, &places->list.p[i], &run, err) == 0) {
            VEC_PUSH_IN(recorded->arena, &ret->list, run);
            continue;
        }
        if (err->code != ERR_NOT_FOUND) /* it was killed before its journal began */
            return -1;
    }
    return 0;
}

static bool is_listed(const struct recorded *recorded, const struct undo_run *run)
{
    VEC_EACH (&recorded->list, one)
        if (strcmp(one->place.id, run->place.id) == 0)
            return true;
    return false;
}

/* Those that were not asked for, but may depend on what is reverted. */
static void find_later(struct recorded *recorded, const struct all_runs *all)
{
    const struct undo_run *oldest =
        recorded->list.n > 0 ? &recorded->list.p[recorded->list.n - 1] : NULL;

    VEC_EACH (&all->list, run) {
        if (!oldest || strcmp(run->place.id, oldest->place.id) == 0)
            return;
        if (!run->reverted && !is_listed(recorded, run))
            VEC_PUSH_IN(recorded->arena, &recorded->later, *run);
    }
}

/* --- by reference -------------------------------------------------------------------------- */

static void find_known(struct recorded *recorded, const char *refs, const struct all_runs *all,
                       struct suggest *near)
{
    VEC_EACH (&all->list, run) {
        if (!run->named && !run->reverted && undo_is_damaged(run))
            VEC_PUSH_IN(recorded->arena, &recorded->nameless, *run);
        else if (!refs[0] || recorded_has_ref(run, refs))
            VEC_PUSH_IN(recorded->arena, &recorded->known, *run);
        else
            offer_refs(near, run);
    }
}

int64_t recorded_time(const struct undo_run *run)
{
    struct ksuid ksuid;
    struct err ignored;

    if (!run->named && ksuid_parse(str_from(run->place.id), &ksuid, &ignored) == 0)
        return ksuid.seconds;
    return run->time;
}

/* False: this run and all older ones are not wanted. */
static bool is_in_scope(const struct recorded *recorded, const struct recorded_want *wanted,
                        const struct undo_run *run, const struct undo_place *to)
{
    switch (wanted->scope) {
    case RECORDED_LAST: return recorded->list.n == 0;
    case RECORDED_SINCE: return recorded_time(run) >= wanted->since;
    case RECORDED_TO: return undo_place_is_later(&run->place, to);
    default: return true;
    }
}

/* Runs are in the order of their numbers, whatever the clock said. */
static void choose_runs(struct recorded *recorded, const struct recorded_want *wanted,
                        const struct undo_place *to)
{
    VEC_EACH (&recorded->known, run) {
        if (!is_in_scope(recorded, wanted, run, to))
            return;
        if (!run->reverted && (wanted->scope != RECORDED_LAST || undo_acted(run)))
            VEC_PUSH_IN(recorded->arena, &recorded->list, *run);
    }
}

/* --- by ID --------------------------------------------------------------------------------- */

static bool is_cut_id(const char *text)
{
    const size_t n = strlen(text);

    return n >= RECORDED_ID_LEAST && n < KSUID_LENGTH &&
           strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == n;
}

static int refuse_ambiguous(const char *text, const struct undo_place *a,
                            const struct undo_place *b, struct err *err)
{
    return err_set(err, ERR_INVALID,
                   "the IDs of several runs begin with '%s', such as %s and %s: write more of it",
                   text, a->id, b->id);
}

/* NULL: there is no such run. */
static int find_place(const struct undo_places *places, const char *text,
                      const struct undo_place **ret, struct err *err)
{
    const bool is_cut = is_cut_id(text);

    *ret = NULL;
    VEC_EACH (&places->list, place) {
        if (run_id_is_of(place->id, text)) {
            *ret = place;
            return 0;
        }
        if (!is_cut || strncmp(place->id, text, strlen(text)) != 0)
            continue;
        if (*ret)
            return refuse_ambiguous(text, *ret, place, err);
        *ret = place;
    }
    return 0;
}

static int find_run(struct recorded *recorded, const struct undo_places *places,
                    const struct undo_place *place, struct err *err)
{
    struct all_runs all;

    if (load_runs(recorded, places, (size_t)(place - places->list.p), &all, err) < 0)
        return -1;
    VEC_EACH (&all.list, run)
        if (strcmp(run->place.id, place->id) == 0 && !run->reverted)
            VEC_PUSH_IN(recorded->arena, &recorded->list, *run);
    find_later(recorded, &all);
    return 0;
}

static int find_goal(const struct undo_places *places, const char *text,
                     const struct undo_place **ret, struct err *err)
{
    if (find_place(places, text, ret, err) < 0)
        return -1;
    if (*ret)
        return 0;
    (void)err_set(err, ERR_NOT_FOUND,
                  "run '%s' has no record here: it changed nothing, or is too old", text);
    return -1;
}

static bool is_run_id(const char *text)
{
    struct ksuid ksuid;
    struct err ignored;

    return ksuid_parse(str_from(text), &ksuid, &ignored) == 0;
}

static int check_goal(const struct recorded *recorded, const struct undo_place *to, struct err *err)
{
    struct undo_run run;

    if (undo_load(recorded->arena, to, &run, err) < 0)
        return -1;
    if (run.reverted)
        return err_set(err, ERR_INVALID,
                       "run %s is reverted: there is no state after it to go back to", to->id);
    return 0;
}

static int find_by_ref(struct recorded *recorded, const struct recorded_want *wanted,
                       const struct undo_places *places, struct err *err)
{
    const struct undo_place *to = NULL, *cut;
    struct all_runs all;
    struct suggest near;

    if (wanted->scope == RECORDED_TO &&
        (find_goal(places, wanted->to, &to, err) < 0 || check_goal(recorded, to, err) < 0))
        return -1;
    if (load_runs(recorded, places, SIZE_MAX, &all, err) < 0)
        return -1;
    suggest_init(&near, str_from(wanted->target));
    find_known(recorded, wanted->target, &all, &near);
    choose_runs(recorded, wanted, to);
    find_later(recorded, &all);
    if (recorded->known.n > 0 || !wanted->target[0])
        return 0;
    if (find_place(places, wanted->target, &cut, err) < 0)
        return -1;
    if (cut && wanted->scope == RECORDED_LAST)
        return find_run(recorded, places, cut, err);
    return recorded->nameless.n > 0 ? 0 : explain_unknown_name(recorded->arena, wanted, &near, err);
}

/* A run that is recorded, or that this machine has run as a job. */
static int find_by_id(struct recorded *recorded, const struct recorded_want *wanted,
                      const struct undo_places *places, struct err *err)
{
    const struct undo_place *place;

    if (wanted->scope != RECORDED_LAST)
        return err_set(err, ERR_INVALID,
                       "'%s' is one run: 'all', 'since' and 'to' are for references",
                       wanted->target);
    if (find_place(places, wanted->target, &place, err) < 0)
        return -1;
    return place ? find_run(recorded, places, place, err)
                 : explain_missing_record(wanted, places, err);
}

int recorded_find(struct recorded *recorded, const struct recorded_want *wanted, struct err *err)
{
    struct undo_places *places = ARENA_NEW(recorded->arena, struct undo_places);

    if (undo_list(recorded->arena, wanted->host->data_dir, places, err) < 0)
        return -1;
    return wanted->has_run || is_run_id(wanted->target)
               ? find_by_id(recorded, wanted, places, err)
               : find_by_ref(recorded, wanted, places, err);
}
