#include "states/run/trail.h"

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

static void add_step(struct trail *trail, uint32_t state, const struct undo_image *image)
{
    const struct str path = str_from(image->image.path);
    struct steps *steps = map_find(&trail->paths, path);

    if (!steps) {
        steps = ARENA_NEW(trail->arena, struct steps);
        map_set(&trail->paths, path, steps);
    }
    VEC_PUSH_IN(trail->arena, &steps->list, ((struct step){ image, state }));
}

void trail_init(struct trail *trail, struct arena *arena, const struct undo_run *run)
{
    *trail = (struct trail){
        .arena = arena,
        .paths = MAP_INIT_IN(arena),
        .restored = ARENA_ARRAY(arena, bool, run->states.n + 1),
    };
    for (uint32_t i = 0; i < run->states.n; i++) {
        trail->restored[i] = run->states.p[i].restored;
        VEC_EACH (&run->states.p[i].images, image)
            add_step(trail, i, image);
    }
}

void trail_restored(struct trail *trail, uint32_t number)
{
    trail->restored[number] = true;
}

static bool knows(const struct undo_image *image, const char *mark)
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

bool trail_knows(const struct trail *trail, const char *path, const char *mark)
{
    const struct steps *steps = map_find(&trail->paths, str_from(path));

    if (!steps)
        return false;
    VEC_EACH (&steps->list, step)
        if (knows(step->image, mark))
            return true;
    return false;
}

/* The oldest image of the same path that is older than this one and was put back. */
static const struct undo_image *find_older(const struct trail *trail,
                                           const struct undo_image *image, bool whole)
{
    const struct steps *steps = map_find(&trail->paths, str_from(image->image.path));
    const struct undo_image *oldest = NULL;

    VEC_EACH (&steps->list, step)
        if (trail->restored[step->state] && step->image->sequence < image->sequence &&
            step->image->image.whole == whole &&
            (!oldest || step->image->sequence < oldest->sequence))
            oldest = step->image;
    return oldest;
}

bool trail_is_past(const struct trail *trail, const struct undo_image *image)
{
    return find_older(trail, image, true) ||
           (!image->image.whole && find_older(trail, image, false));
}

const struct undo_image *trail_attributes(const struct trail *trail, const struct undo_image *image)
{
    return image->image.whole ? find_older(trail, image, false) : NULL;
}
