#include "commands/cli/shared/report/fold.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/map.h"
#include "core/base/sha256.h"
#include "states/run/lastrun.h"

/* --- texts -------------------------------------------------------------------------- */

static bool is_word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static bool is_word_alone(struct str text, size_t at, size_t n)
{
    return (at == 0 || !is_word_character(text.p[at - 1])) &&
           (at + n == text.n || !is_word_character(text.p[at + n]));
}

const char *report_fold_text(struct arena *arena, const char *text, const char *machine)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct str all = str_from(text), name = str_from(machine);
    size_t from = 0, at = name.n > 0 ? str_find(all, name, 0) : STR_NONE;

    if (at == STR_NONE)
        return text;
    for (; at != STR_NONE; at = str_find(all, name, at + name.n)) {
        if (!is_word_alone(all, at, name.n))
            continue;
        buf_add_str(&out, str_slice(all, from, at - from));
        buf_add_char(&out, '*');
        from = at + name.n;
    }
    buf_add_str(&out, str_from_offset(all, from));
    return buf_copy(&out, arena).p;
}

/* --- failures ----------------------------------------------------------------------- */

struct folding {
    struct arena *arena;
    struct map by_key;
    struct report_causes *causes;
};

static struct report_cause *find_cause(struct folding *folding, const char *state,
                                       const char *error)
{
    const char *key = arena_printf(folding->arena, "%s\n%s", state, error);
    struct report_cause *cause = map_find(&folding->by_key, str_from(key));

    if (cause)
        return cause;
    cause = ARENA_NEW(folding->arena, struct report_cause);
    cause->state = state;
    cause->error = error;
    (void)map_set(&folding->by_key, str_from(key), cause);
    VEC_PUSH_IN(folding->arena, &folding->causes->list, cause);
    return cause;
}

static void add_folded_failure(struct folding *folding, const struct report_machine *machine,
                               const char *state, const char *error)
{
    struct report_cause *cause =
        find_cause(folding, report_fold_text(folding->arena, state, machine->name),
                   report_fold_text(folding->arena, error, machine->name));

    if (cause->machines.n > 0 && cause->machines.p[cause->machines.n - 1] == machine)
        return;
    VEC_PUSH_IN(folding->arena, &cause->machines, machine);
    VEC_EACH (&machine->states, other)
        cause->skipped += other->outcome == OUTCOME_SKIPPED;
}

static void fold_machine(struct folding *folding, const struct report_machine *machine)
{
    size_t failed = 0;

    VEC_EACH (&machine->states, state)
        if (state->outcome == OUTCOME_FAILED) {
            add_folded_failure(folding, machine, state->name, state->error);
            failed++;
        }
    if (failed == 0 && machine->run && !machine->run->success)
        add_folded_failure(folding, machine, machine->run->function, machine->run->error);
}

static int compare_causes(const void *a, const void *b)
{
    const struct report_cause *left = *(const struct report_cause *const *)a;
    const struct report_cause *right = *(const struct report_cause *const *)b;

    if (left->machines.n != right->machines.n)
        return left->machines.n < right->machines.n ? 1 : -1;
    return strcmp(left->state, right->state);
}

void report_fold_causes(struct arena *arena, const struct report_machine *machines, size_t count,
                        struct report_causes *ret)
{
    struct folding folding = { .arena = arena, .by_key = MAP_INIT_IN(arena), .causes = ret };

    *ret = (struct report_causes){ 0 };
    for (size_t i = 0; i < count; i++)
        fold_machine(&folding, &machines[i]);
    if (ret->list.n > 1)
        qsort(ret->list.p, ret->list.n, sizeof(ret->list.p[0]), compare_causes);
}

/* --- slow states -------------------------------------------------------------------- */

static int compare_slow(const void *a, const void *b)
{
    const struct report_slow *left = *(const struct report_slow *const *)a;
    const struct report_slow *right = *(const struct report_slow *const *)b;

    if (left->longest != right->longest)
        return left->longest < right->longest ? 1 : -1;
    return strcmp(left->state, right->state);
}

static void add_slow_state(struct arena *arena, struct map *by_name, struct report_slows *slows,
                           const struct report_machine *machine, const struct report_state *state)
{
    const char *name = report_fold_text(arena, state->name, machine->name);
    struct report_slow *slow = map_find(by_name, str_from(name));

    if (!slow) {
        slow = ARENA_NEW(arena, struct report_slow);
        slow->state = name;
        (void)map_set(by_name, str_from(name), slow);
        VEC_PUSH_IN(arena, &slows->list, slow);
    }
    slow->count++;
    slow->total += (double)state->duration; /* no sum of hostile numbers overflows */
    if (!slow->machine || state->duration > slow->longest) {
        slow->longest = state->duration;
        slow->machine = machine;
    }
}

void report_fold_slow(struct arena *arena, const struct report_machine *machines, size_t count,
                      struct report_slows *ret)
{
    struct map by_name = MAP_INIT_IN(arena);

    *ret = (struct report_slows){ 0 };
    for (size_t i = 0; i < count; i++)
        VEC_EACH (&machines[i].states, state)
            if (state->outcome != OUTCOME_SKIPPED)
                add_slow_state(arena, &by_name, ret, &machines[i], state);
    if (ret->list.n > 1)
        qsort(ret->list.p, ret->list.n, sizeof(ret->list.p[0]), compare_slow);
}

/* --- plans -------------------------------------------------------------------------- */

static const char *plan_key(struct arena *arena, const struct report_machine *machine)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    char *key = arena_alloc(arena, SHA256_HEX_SIZE);

    VEC_EACH (&machine->states, state) {
        buf_printf(&text, "%s\n%u", report_fold_text(arena, state->name, machine->name),
                   state->level);
        for (size_t i = 0; i < state->need_count; i++)
            buf_printf(&text, " %u", state->needs[i]);
        buf_add_char(&text, '\n');
    }
    sha256_hex(buf_text(&text), text.n, key);
    return key;
}

static void join_plan(struct arena *arena, struct report_plan *plan,
                      const struct report_machine *machine)
{
    VEC_PUSH_IN(arena, &plan->machines, machine);
    for (size_t i = 0; i < machine->states.n; i++)
        plan->outcomes[i] = outcome_merge(plan->outcomes[i], machine->states.p[i].outcome);
}

static struct report_plan *add_run_plan(struct arena *arena, const struct report_machine *machine)
{
    struct report_plan *plan = ARENA_NEW(arena, struct report_plan);

    plan->outcomes = ARENA_ARRAY(arena, enum state_outcome, machine->states.n);
    for (size_t i = 0; i < machine->states.n; i++)
        plan->outcomes[i] = machine->states.p[i].outcome;
    return plan;
}

static int compare_plans(const void *a, const void *b)
{
    const struct report_plan *left = *(const struct report_plan *const *)a;
    const struct report_plan *right = *(const struct report_plan *const *)b;

    if (left->machines.n != right->machines.n)
        return left->machines.n < right->machines.n ? 1 : -1;
    return strcmp(left->machines.p[0]->name, right->machines.p[0]->name);
}

void report_fold_plans(struct arena *arena, const struct report_machine *machines, size_t count,
                       struct report_plans *ret)
{
    struct map by_key = MAP_INIT_IN(arena);

    *ret = (struct report_plans){ 0 };
    for (size_t i = 0; i < count; i++) {
        struct report_plan *plan;
        const char *key;

        if (machines[i].states.n == 0)
            continue;
        key = plan_key(arena, &machines[i]);
        plan = map_find(&by_key, str_from(key));
        if (!plan) {
            plan = add_run_plan(arena, &machines[i]);
            (void)map_set(&by_key, str_from(key), plan);
            VEC_PUSH_IN(arena, &ret->list, plan);
        }
        join_plan(arena, plan, &machines[i]);
    }
    if (ret->list.n > 1)
        qsort(ret->list.p, ret->list.n, sizeof(ret->list.p[0]), compare_plans);
}
