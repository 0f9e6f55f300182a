#include "compile/pick.h"

#include "base/arena.h"
#include "base/vec.h"
#include "compile/output.h"
#include "compile/plan.h"

struct picking {
    struct arena *arena;
    struct plan_state *states;
    uint32_t count;
    bool *needed;
    VEC(uint32_t) queue;
};

static void need(struct picking *p, uint32_t state)
{
    if (p->needed[state])
        return;
    p->needed[state] = true;
    VEC_PUSH_IN(p->arena, &p->queue, state);
}

/* Who looks ahead to whom, the other way round: lists in one array, by an offset for each state. */
struct ahead {
    const uint32_t *from, *start;
};

static struct ahead find_ahead(struct arena *arena, const struct plan_state *states, uint32_t count)
{
    uint32_t *start = ARENA_ARRAY(arena, uint32_t, count + 1);
    uint32_t *from, *next = ARENA_ARRAY(arena, uint32_t, count + 1);

    for (uint32_t i = 0; i < count; i++)
        VEC_EACH (&states[i].requisites[REQUISITE_PREREQ], target)
            start[*target + 1]++;
    for (uint32_t i = 0; i < count; i++)
        next[i + 1] = start[i + 1] += start[i];
    from = ARENA_ARRAY(arena, uint32_t, start[count]);
    for (uint32_t i = 0; i < count; i++)
        VEC_EACH (&states[i].requisites[REQUISITE_PREREQ], target)
            from[next[*target]++] = i;
    return (struct ahead){ from, start };
}

static void follow(struct picking *p)
{
    const struct ahead ahead = find_ahead(p->arena, p->states, p->count);

    for (size_t done = 0; done < p->queue.n; done++) {
        const uint32_t state = p->queue.p[done];

        for (size_t kind = 0; kind < REQUISITES; kind++)
            VEC_EACH (&p->states[state].requisites[kind], target)
                need(p, *target);
        for (uint32_t i = ahead.start[state]; i < ahead.start[state + 1]; i++)
            need(p, ahead.from[i]);
    }
}

static struct plan_targets renumber(struct arena *arena, const struct plan_targets *targets,
                                    const uint32_t *numbers)
{
    uint32_t *p = ARENA_ARRAY(arena, uint32_t, targets->n);

    for (size_t i = 0; i < targets->n; i++)
        p[i] = numbers[targets->p[i]];
    return (struct plan_targets){ p, targets->n };
}

uint32_t pick_states(struct arena *arena, struct plan_state *states, uint32_t count,
                     const struct plan_targets *wanted, struct output_list *outputs)
{
    struct picking p = { .arena = arena, .states = states, .count = count };
    uint32_t *numbers = ARENA_ARRAY(arena, uint32_t, count);
    uint32_t kept = 0;

    p.needed = ARENA_ARRAY(arena, bool, count);
    VEC_EACH (wanted, state)
        need(&p, *state);
    follow(&p);
    for (uint32_t i = 0; i < count; i++)
        if (p.needed[i]) {
            numbers[i] = kept;
            states[kept++] = states[i];
        }
    for (uint32_t i = 0; i < kept; i++)
        for (size_t kind = 0; kind < REQUISITES; kind++)
            states[i].requisites[kind] = renumber(arena, &states[i].requisites[kind], numbers);
    VEC_EACH (&outputs->list, output)
        output->state = numbers[output->state];
    return kept;
}
