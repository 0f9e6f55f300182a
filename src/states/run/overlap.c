#include "states/run/overlap.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/sys/fs.h"
#include "states/run/path_history.h"
#include "states/run/recorded.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "states/state/secrets.h"
#include "states/undo/undo.h"

/* So many are named. */
#define NAMED_MAX 3

/* Families whose states change one thing of the machine, whatever the states are called. The
 * primary parameter names it. */
static const char *const thing_families[] = { "user", "group", "service", "sysctl" };

/* "user:bob", "pkg:nginx"; of other families, the name of the state. */
struct things {
    VEC(const char *) list;
};

/* Runs that stay and changed the owner or mode of a path, the oldest first. */
struct attribute_change {
    const struct undo_run *run;
    const struct fs_info *found;
    const struct attribute_change *newer;
};

struct overlap {
    struct arena *arena;
    const struct state_host *host;
    const struct recorded *recorded;
    const struct undo_run *run; /* the one to revert */
    struct path_history history;
    struct map paths, things; /* what runs that stay changed, and the newest of them */
    struct map attributes;    /* of paths: struct attribute_change */
    struct map marks;         /* of paths, once newer runs are reverted */
    struct map reported;      /* paths and things */
    struct buf words;
    size_t count;
};

static void report_overlap(struct overlap *overlap, const char *what, const struct undo_run *later)
{
    const struct str shown = secrets_masked(overlap->host->secrets, overlap->arena, str_from(what));

    if (map_has(&overlap->reported, str_from(what)))
        return;
    map_set(&overlap->reported, str_from(what), overlap);
    if (overlap->count++ < NAMED_MAX)
        buf_printf(&overlap->words, "%s'%.*s' was changed again by run %s%s%s%s",
                   overlap->words.n > 0 ? ", " : "", STR_ARG(shown), later->place.id,
                   later->refs.n > 0 ? " of '" : "", later->refs.n > 0 ? later->refs.p[0] : "",
                   later->refs.n > 0 ? "'" : "");
}

/* A change of something that is not a file: an account, a package, a service. */
static bool is_noted(const struct undo_entry *entry)
{
    const struct module *module = module_find(str_from(entry->module));

    return !entry->restored && entry->notes->count > 0 && module && module->revert;
}

/* --- things -------------------------------------------------------------------------------- */

static const char *find_primary_text(struct arena *arena, const struct undo_entry *entry)
{
    const struct param *primary = params_find_primary(module_find(str_from(entry->module))->params);

    for (size_t i = 0; primary && entry->body.kind == VALUE_MAP && i < entry->body.map->count;
         i++) {
        const struct value_pair *pair = &entry->body.map->pairs[i];

        if (value_is(&pair->value, VALUE_STR) && param_is_called(primary, pair->key.s))
            return arena_str(arena, pair->value.s).p;
    }
    return entry->id;
}

/* What the package manager changed; of a killed run, what it was asked for. */
static void add_packages(struct arena *arena, const struct undo_entry *entry, struct things *things)
{
    const struct value notes = value_map(entry->notes);
    const struct value *noted = value_get(&notes, "changed");

    if (!noted)
        noted = value_get(&notes, "before");
    for (size_t i = 0; value_is(noted, VALUE_MAP) && i < noted->map->count; i++)
        VEC_PUSH_IN(arena, &things->list,
                    arena_printf(arena, "pkg:%.*s", STR_ARG(noted->map->pairs[i].key.s)));
}

static struct things find_things(struct arena *arena, const struct undo_entry *entry)
{
    struct str rest = str_from(entry->module);
    const struct str family = str_cut(&rest, '.');
    struct things things = { 0 };
    const char *name = entry->name;

    if (!is_noted(entry))
        return things;
    if (str_is(family, "pkg")) {
        add_packages(arena, entry, &things);
        return things;
    }
    for (size_t i = 0; i < ARRAY_LEN(thing_families); i++)
        if (str_is(family, thing_families[i]))
            name = arena_printf(arena, "%s:%s", thing_families[i], find_primary_text(arena, entry));
    VEC_PUSH_IN(arena, &things.list, name);
    return things;
}

/* --- paths --------------------------------------------------------------------------------- */

static void learn_attributes(struct overlap *overlap, const struct undo_run *later,
                             const struct image *image)
{
    void **place = map_place(&overlap->attributes, str_from(image->path));
    const struct attribute_change *newer = *place;
    struct attribute_change *change;

    if (newer && newer->run == later)
        return;
    *place = change = ARENA_NEW(overlap->arena, struct attribute_change);
    *change = (struct attribute_change){ later, &image->info, newer };
}

static void learn_image(struct overlap *overlap, const struct undo_run *later,
                        const struct image *image)
{
    if (!image->whole)
        learn_attributes(overlap, later, image);
    else if (!map_has(&overlap->paths, str_from(image->path)))
        map_set(&overlap->paths, str_from(image->path), (void *)(uintptr_t)later);
}

/* The newest run that stays; it tells for all of them. */
static void learn_run(struct overlap *overlap, const struct undo_run *later)
{
    VEC_EACH (&later->states, entry) {
        const struct things things = find_things(overlap->arena, entry);

        VEC_EACH (&things.list, thing)
            if (!map_has(&overlap->things, str_from(*thing)))
                map_set(&overlap->things, str_from(*thing), (void *)(uintptr_t)later);
        VEC_EACH (&entry->images, image)
            if (!entry->restored)
                learn_image(overlap, later, &image->image);
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

/* The next run found the owner and mode that this one left. */
static void check_attributes(struct overlap *overlap, const char *path)
{
    const struct attribute_change *next = map_find(&overlap->attributes, str_from(path));
    struct fs_info now;
    struct err ignored;

    while (next && !undo_place_is_later(&next->run->place, &overlap->run->place))
        next = next->newer;
    if (!next || fs_lstat(path, &now, &ignored) < 0 || now.kind != next->found->kind)
        return;
    if (now.uid != next->found->uid || now.gid != next->found->gid || now.mode != next->found->mode)
        report_overlap(overlap, path, next->run);
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

static void check_things(struct overlap *overlap, const struct undo_entry *entry)
{
    const struct things things = find_things(overlap->arena, entry);

    VEC_EACH (&things.list, thing) {
        const struct undo_run *later = find_later_run(overlap, &overlap->things, *thing);

        if (later)
            report_overlap(overlap, *thing, later);
    }
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

    overlap->run = run;
    path_history_init(&overlap->history, &scratch, run);
    VEC_EACH (&run->states, entry) {
        if (entry->restored)
            continue;
        recorded_hide_secrets(overlap->host->secrets, entry);
        check_things(overlap, entry);
        VEC_EACH (&entry->images, image) {
            check_attributes(overlap, image->image.path);
            check_image(overlap, image);
        }
    }
    foresee_marks(overlap);
}

int overlap_check(struct arena *arena, const struct state_host *host,
                  const struct recorded *recorded, struct err *err)
{
    struct overlap overlap = { .arena = arena,
                               .host = host,
                               .recorded = recorded,
                               .paths = MAP_INIT_IN(arena),
                               .things = MAP_INIT_IN(arena),
                               .attributes = MAP_INIT_IN(arena),
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
