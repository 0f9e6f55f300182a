#include "states/run/path_history.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/vec.h"
#include "states/undo/undo.h"

struct step {
    const struct undo_image *image;
    uint32_t state;
};

struct steps {
    VEC(struct step) list;
};

static void add_history_step(struct path_history *path_history, uint32_t state,
                             const struct undo_image *image)
{
    const struct str path = str_from(image->image.path);
    struct steps *steps = map_find(&path_history->paths, path);

    if (!steps) {
        steps = ARENA_NEW(path_history->arena, struct steps);
        map_set(&path_history->paths, path, steps);
    }
    VEC_PUSH_IN(path_history->arena, &steps->list, ((struct step){ image, state }));
}

void path_history_init(struct path_history *path_history, struct arena *arena,
                       const struct undo_run *run)
{
    *path_history = (struct path_history){
        .arena = arena,
        .paths = MAP_INIT_IN(arena),
        .restored = ARENA_ARRAY(arena, bool, run->states.n + 1),
    };
    for (uint32_t i = 0; i < run->states.n; i++) {
        path_history->restored[i] = run->states.p[i].restored;
        VEC_EACH (&run->states.p[i].images, image)
            add_history_step(path_history, i, image);
    }
}

void path_history_restored(struct path_history *path_history, uint32_t number)
{
    path_history->restored[number] = true;
}

static bool has_image_mark(const struct undo_image *image, const char *mark)
{
    if (!image->image.whole)
        return false;
    if (image->left.n == 0 || strcmp(image->image.mark, mark) == 0)
        return true;
    VEC_EACH (&image->left, left)
        if (strcmp(*left, mark) == 0)
            return true;
    return false;
}

bool path_history_knows(const struct path_history *path_history, const char *path, const char *mark)
{
    const struct steps *steps = map_find(&path_history->paths, str_from(path));

    if (!steps)
        return false;
    VEC_EACH (&steps->list, step)
        if (has_image_mark(step->image, mark))
            return true;
    return false;
}

/* The oldest restored image of the path that is older than this one. */
static const struct undo_image *find_older(const struct path_history *path_history,
                                           const struct undo_image *image, bool whole)
{
    const struct steps *steps = map_find(&path_history->paths, str_from(image->image.path));
    const struct undo_image *oldest = NULL;

    VEC_EACH (&steps->list, step)
        if (path_history->restored[step->state] && step->image->sequence < image->sequence &&
            step->image->image.whole == whole &&
            (!oldest || step->image->sequence < oldest->sequence))
            oldest = step->image;
    return oldest;
}

bool path_history_is_past(const struct path_history *path_history, const struct undo_image *image)
{
    return find_older(path_history, image, true) ||
           (!image->image.whole && find_older(path_history, image, false));
}

const struct undo_image *path_history_attributes(const struct path_history *path_history,
                                                 const struct undo_image *image)
{
    return image->image.whole ? find_older(path_history, image, false) : NULL;
}
