#include "states/run/overlap.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "states/run/path_history.h"
#include "states/run/recorded.h"
#include "states/state/module.h"
#include "states/undo/undo.h"

/* So many are named. */
#define NAMED_MAX 3

struct overlap {
    struct arena *arena;
    const struct recorded *recorded;
    const struct undo_run *run; /* the one to revert */
    struct path_history history;
    struct map paths, states; /* what runs that stay changed, and the newest of them */
    struct map marks;         /* of paths, once newer runs are reverted */
    struct map reported;      /* paths and states */
    struct buf words;
    size_t count;
};

static void report_overlap(struct overlap *overlap, const char *what, const struct undo_run *later)
{
    if (map_has(&overlap->reported, str_from(what)))
        return;
    map_set(&overlap->reported, str_from(what), overlap);
    if (overlap->count++ < NAMED_MAX)
        buf_printf(&overlap->words, "%s'%s' was changed again by run %s%s%s%s",
                   overlap->words.n > 0 ? ", " : "", what, later->place.id,
                   later->refs.n > 0 ? " of '" : "", later->refs.n > 0 ? later->refs.p[0] : "",
                   later->refs.n > 0 ? "'" : "");
}

/* A change of something that is not a file: an account, a package, a service. */
static bool is_noted(const struct undo_entry *entry)
{
    const struct module *module = module_find(str_from(entry->module));

    return !entry->restored && entry->notes->count > 0 && module && module->revert;
}

/* --- paths --------------------------------------------------------------------------------- */

/* The newest run that stays; it tells for all of them. */
static void learn_run(struct overlap *overlap, const struct undo_run *later)
{
    VEC_EACH (&later->states, entry) {
        if (is_noted(entry) && !map_has(&overlap->states, str_from(entry->name)))
            map_set(&overlap->states, str_from(entry->name), (void *)(uintptr_t)later);
        VEC_EACH (&entry->images, image)
            if (!entry->restored && image->image.whole &&
                !map_has(&overlap->paths, str_from(image->image.path)))
                map_set(&overlap->paths, str_from(image->image.path), (void *)(uintptr_t)later);
    }
}

static const struct undo_run *find_later_run(const struct overlap *overlap,
                                             const struct map *changes, const char *what)
{
    const struct undo_run *later = map_find(changes, str_from(what));

    return later && undo_place_is_later(&later->place, &overlap->run->place) ? later : NULL;
}

/* The mark that the path has when this run's turn comes; NULL: not known. */
static const char *find_mark(struct overlap *overlap, const char *path)
{
    const char *mark = map_find(&overlap->marks, str_from(path));
    struct err ignored;

    if (!mark && image_mark_path(overlap->arena, path, &mark, &ignored) < 0)
        return NULL;
    return mark;
}

static void check_image(struct overlap *overlap, const struct undo_image *image)
{
    const char *path = image->image.path, *mark;
    const struct undo_run *later;

    if (!image->image.whole || image->left.n == 0)
        return;
    later = find_later_run(overlap, &overlap->paths, path);
    mark = later ? find_mark(overlap, path) : NULL;
    if (mark && !path_history_knows(&overlap->history, path, mark))
        report_overlap(overlap, path, later);
}

/* The oldest image of a path comes first in the run. */
static void foresee_marks(struct overlap *overlap)
{
    struct map seen = MAP_INIT_IN(overlap->arena);

    VEC_EACH (&overlap->run->states, entry)
        VEC_EACH (&entry->images, image) {
            const struct str path = str_from(image->image.path);

            if (entry->restored || !image->image.whole || map_has(&seen, path))
                continue;
            map_set(&seen, path, overlap);
            map_set(&overlap->marks, path, (void *)(uintptr_t)image->image.mark);
        }
}

/* --- the check ----------------------------------------------------------------------------- */

static void check_run(struct overlap *overlap, const struct undo_run *run)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    const struct undo_run *later;

    overlap->run = run;
    path_history_init(&overlap->history, &scratch, run);
    VEC_EACH (&run->states, entry) {
        if (entry->restored)
            continue;
        later = is_noted(entry) ? find_later_run(overlap, &overlap->states, entry->name) : NULL;
        if (later)
            report_overlap(overlap, entry->name, later);
        VEC_EACH (&entry->images, image)
            check_image(overlap, image);
    }
    foresee_marks(overlap);
}

int overlap_check(struct arena *arena, const struct recorded *recorded, struct err *err)
{
    struct overlap overlap = { .arena = arena,
                               .recorded = recorded,
                               .paths = MAP_INIT_IN(arena),
                               .states = MAP_INIT_IN(arena),
                               .marks = MAP_INIT_IN(arena),
                               .reported = MAP_INIT_IN(arena),
                               .words = BUF_INIT(BUF_NO_LIMIT) };

    if (recorded->later.n == 0)
        return 0;
    VEC_EACH (&recorded->later, later)
        learn_run(&overlap, later);
    VEC_EACH (&recorded->list, run)
        check_run(&overlap, run);
    if (overlap.count > NAMED_MAX)
        buf_printf(&overlap.words, ", and %zu more", overlap.count - NAMED_MAX);
    if (overlap.count > 0)
        (void)err_set(err, ERR_BUSY,
                      "%s; nothing was reverted: revert later runs first, or use --force",
                      buf_text(&overlap.words));
    buf_done(&overlap.words);
    return overlap.count > 0 ? -1 : 0;
}
