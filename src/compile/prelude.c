#include "compile/prelude.h"

#include "base/arena.h"
#include "compile/requisite.h"

/* Who waits for whom, the other way round: for each state those that wait for it. */
struct waiting {
    struct arena *arena;
    struct numbers {
        VEC(uint32_t) list;
    } * by;
    uint32_t *seen; /* the last look that came by */
    uint32_t look;
    struct numbers path;
};

/* What must succeed before a target runs. */
static const enum requisite needed[] = { REQUISITE_REQUIRE, REQUISITE_WATCH, REQUISITE_ONCHANGES };

static bool has_prereqs(const struct requisites *requisites, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (requisites->sets[i].targets[REQUISITE_PREREQ].n > 0)
            return true;
    return false;
}

static struct waiting collect(const struct requisites *requisites, uint32_t count)
{
    struct waiting w = {
        .arena = requisites->arena,
        .by = ARENA_ARRAY(requisites->arena, struct numbers, count),
        .seen = ARENA_ARRAY(requisites->arena, uint32_t, count),
        .path = { VEC_INIT },
    };

    for (uint32_t i = 0; i < count; i++)
        for (unsigned kind = 0; kind < REQUISITES; kind++) {
            if (kind == REQUISITE_PREREQ) /* its target requires it, which is the edge */
                continue;
            VEC_EACH (&requisites->sets[i].targets[kind], target)
                VEC_PUSH_IN(w.arena, &w.by[*target].list, i);
        }
    return w;
}

/* Mark the state and all that wait for it, however far. */
static void mark_waiting(struct waiting *w, uint32_t state)
{
    w->look++;
    w->path.list.n = 0;
    VEC_PUSH_IN(w->arena, &w->path.list, state);
    w->seen[state] = w->look;
    while (w->path.list.n > 0) {
        const uint32_t last = w->path.list.p[--w->path.list.n];

        VEC_EACH (&w->by[last].list, next)
            if (w->seen[*next] != w->look) {
                w->seen[*next] = w->look;
                VEC_PUSH_IN(w->arena, &w->path.list, *next);
            }
    }
}

static bool is_prereq_of(const struct requisites *requisites, uint32_t state, uint32_t target)
{
    VEC_EACH (&requisites->sets[state].targets[REQUISITE_PREREQ], number)
        if (*number == target)
            return true;
    return false;
}

/* The state requires what `target` needs and what does not wait for the state. */
static int follow_target(struct requisites *requisites, struct waiting *w, uint32_t state,
                         uint32_t target)
{
    for (size_t k = 0; k < ARRAY_LEN(needed); k++)
        VEC_EACH (&requisites->sets[target].targets[needed[k]], before) {
            if (w->seen[*before] == w->look || is_prereq_of(requisites, *before, target))
                continue;
            if (requisite_add(requisites, state, REQUISITE_REQUIRE, *before) < 0)
                return -1;
            VEC_PUSH_IN(w->arena, &w->by[*before].list, state);
        }
    return 0;
}

int prelude_order(struct requisites *requisites, uint32_t count)
{
    struct waiting w;

    if (!has_prereqs(requisites, count))
        return 0;
    w = collect(requisites, count);
    for (uint32_t i = 0; i < count; i++) {
        if (requisites->sets[i].targets[REQUISITE_PREREQ].n == 0)
            continue;
        mark_waiting(&w, i);
        VEC_EACH (&requisites->sets[i].targets[REQUISITE_PREREQ], target)
            if (*target != i && follow_target(requisites, &w, i, *target) < 0)
                return -1;
    }
    return 0;
}
