#include "states/state/accumulators.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/mem.h"
#include "core/base/vec.h"

struct accumulated {
    const char *file, *name;
    struct str text;
};

struct accumulators {
    pthread_mutex_t lock;
    struct arena arena;
    VEC(struct accumulated) list;
};

struct accumulators *accumulators_new(void)
{
    struct accumulators *accumulators = mem_alloc(sizeof(*accumulators));

    *accumulators = (struct accumulators){ .arena = ARENA_INIT };
    (void)pthread_mutex_init(&accumulators->lock, NULL);
    return accumulators;
}

void accumulators_free(struct accumulators *accumulators)
{
    if (!accumulators)
        return;
    (void)pthread_mutex_destroy(&accumulators->lock);
    arena_done(&accumulators->arena);
    free(accumulators);
}

static bool has_accumulated_text(const struct accumulators *accumulators,
                                 const struct accumulated *text)
{
    VEC_EACH (&accumulators->list, one)
        if (strcmp(one->file, text->file) == 0 && strcmp(one->name, text->name) == 0 &&
            str_eq(one->text, text->text))
            return true;
    return false;
}

void accumulators_add(struct accumulators *accumulators, const char *file, const char *name,
                      struct str text)
{
    struct accumulated fresh = { file, name, text };

    if (!accumulators)
        return;
    (void)pthread_mutex_lock(&accumulators->lock);
    if (!has_accumulated_text(accumulators, &fresh)) {
        fresh.file = arena_strdup(&accumulators->arena, file);
        fresh.name = arena_strdup(&accumulators->arena, name);
        fresh.text = arena_str(&accumulators->arena, text);
        VEC_PUSH_IN(&accumulators->arena, &accumulators->list, fresh);
    }
    (void)pthread_mutex_unlock(&accumulators->lock);
}

static void add_accumulated_text(struct arena *arena, struct value_map *all,
                                 const struct accumulated *one)
{
    const struct value key = value_str(arena_str(arena, str_from(one->name)));
    const struct value *known = value_map_find(all, &key);
    struct value_list *list = known ? known->list : value_list_new(arena, 4);

    value_list_push(arena, list, value_str(arena_str(arena, one->text)));
    value_map_set(arena, all, key, value_list(list));
}

struct value_map *accumulators_get(struct accumulators *accumulators, struct arena *arena,
                                   const char *file)
{
    struct value_map *all = NULL;

    if (!accumulators)
        return NULL;
    (void)pthread_mutex_lock(&accumulators->lock);
    VEC_EACH (&accumulators->list, one) {
        if (strcmp(one->file, file) != 0)
            continue;
        if (!all)
            all = value_map_new(arena, 2);
        add_accumulated_text(arena, all, one);
    }
    (void)pthread_mutex_unlock(&accumulators->lock);
    return all;
}
