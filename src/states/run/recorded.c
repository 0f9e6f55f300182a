#include "states/run/recorded.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "core/base/suggest.h"
#include "states/compile/tree.h"
#include "states/run/run_id.h"
#include "states/state/host.h"

/* "a,b" means the runs of either reference, as in state.apply. */
static bool has_ref(const struct undo_run *run, const char *refs)
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

static void offer_refs(struct suggest *near, const struct undo_run *run)
{
    for (size_t i = 0; i < run->refs.n; i++)
        suggest_offer(near, str_from(run->refs.p[i]));
}

static int find_by_ref(struct recorded *recorded, const struct recorded_want *wanted,
                       struct suggest *near, struct err *err)
{
    struct undo_places places;

    if (undo_list(recorded->arena, wanted->host->data_dir, &places, err) < 0)
        return -1;
    VEC_EACH (&places.list, place) {
        struct undo_run run;

        if (undo_load(recorded->arena, place, &run, err) < 0) {
            if (err->code == ERR_NOT_FOUND) /* it was killed before its journal began */
                continue;
            return -1;
        }
        if (!run.named && !run.reverted && undo_is_damaged(&run))
            VEC_PUSH_IN(recorded->arena, &recorded->nameless, run);
        if (!has_ref(&run, wanted->target)) {
            offer_refs(near, &run);
            continue;
        }
        VEC_PUSH_IN(recorded->arena, &recorded->known, run);
        if (!run.reverted)
            VEC_PUSH_IN(recorded->arena, &recorded->list, run);
    }
    return 0;
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

static int report_missing_record(const struct recorded_want *wanted, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "run '%s' has no record: it changed nothing, or is too old",
                   wanted->target);
}

/* A missing record: the run changed nothing, or its record was removed as too old. */
static int explain_missing_record(struct arena *arena, const struct recorded_want *wanted,
                                  int64_t seconds, struct err *err)
{
    struct undo_places places;
    struct ksuid oldest;
    struct err ignored;

    if (!wanted->has_run)
        return -1;
    if (undo_list(arena, wanted->host->data_dir, &places, err) < 0)
        return -1;
    if (places.list.n < UNDO_KEEP_LEAST ||
        (ksuid_parse(str_from(places.list.p[places.list.n - 1].id), &oldest, &ignored) == 0 &&
         oldest.seconds < seconds))
        return 0;
    return report_missing_record(wanted, err);
}

/* Find the run of a job whose ID is not the run's. */
static int find_by_job(struct recorded *recorded, const struct recorded_want *wanted,
                       struct err *err)
{
    struct undo_places places;
    struct undo_run run;

    if (undo_list(recorded->arena, wanted->host->data_dir, &places, err) < 0)
        return -1;
    VEC_EACH (&places.list, place) {
        if (!run_id_is_of(place->id, wanted->target))
            continue;
        if (undo_load(recorded->arena, place, &run, err) < 0)
            return -1;
        if (!run.reverted)
            VEC_PUSH_IN(recorded->arena, &recorded->list, run);
        return 0;
    }
    return places.list.n < UNDO_KEEP_LEAST ? 0 : report_missing_record(wanted, err);
}

int recorded_find(struct recorded *recorded, const struct recorded_want *wanted, struct err *err)
{
    struct undo_run run;
    struct suggest near;
    struct ksuid ksuid;
    struct err ignored;

    if (ksuid_parse(str_from(wanted->target), &ksuid, &ignored) < 0) {
        if (wanted->has_run)
            return find_by_job(recorded, wanted, err);
        suggest_init(&near, str_from(wanted->target));
        if (find_by_ref(recorded, wanted, &near, err) < 0)
            return -1;
        return recorded->known.n > 0 || recorded->nameless.n > 0
                   ? 0
                   : explain_unknown_name(recorded->arena, wanted, &near, err);
    }
    if (undo_read(recorded->arena, wanted->host->data_dir, wanted->target, &run, err) < 0)
        return err->code == ERR_NOT_FOUND
                   ? explain_missing_record(recorded->arena, wanted, ksuid.seconds, err)
                   : -1;
    if (!run.reverted)
        VEC_PUSH_IN(recorded->arena, &recorded->list, run);
    return 0;
}
