#include "language/target/index.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/data/value.h"
#include "language/target/pair.h"
#include "language/target/program.h"

#define WORD_BITS 64
/* The number for "no value at the path", and for a free entry. */
#define NOTHING 0

/* The most frequent paths of targets: ready before the first search. */
static const char *const usual_paths[] = {
    "id",        "os.family", "os.name", "os.platform", "os.arch",
    "os_family", "os",        "roles",   "role",        "environment",
};

/* Ids up to this size are in the row itself: a walk over all rows stays in the cache. */
#define SMALL_ID 40

/* The source of a column. */
enum tree_kind { TREE_FACTS, TREE_SETTINGS };
#define TREE_KINDS (TREE_SETTINGS + 1)

struct machine {
    const struct value *trees[TREE_KINDS]; /* NULL: not known */
    struct str id;                         /* borrowed; a NULL view: the number is free */
    char small[SMALL_ID];
};

/* One of the different values of a column. */
struct cell {
    struct str
        reach; /* reach from pair_reach; the key in `numbers`; a NULL view: the number is free */
    uint32_t users;
};

struct column {
    enum tree_kind kind;
    char *path;
    uint64_t used; /* the time of its last use */
    VEC(struct cell) cells;
    VEC(uint32_t) free_cells;
    struct map numbers;   /* reach -> number of its cell, as a pointer */
    VEC(uint32_t) values; /* by machine */
};

struct target_index {
    VEC(struct machine) machines;
    VEC(uint32_t) free_machines;
    struct map numbers; /* id -> number + 1, as a pointer */
    VEC(struct column *) columns;
    uint64_t clock;
    struct buf reach; /* room */
};

/* --- columns -------------------------------------------------------------------- */

static void *number_to_pointer(uint32_t number)
{
    return (void *)(uintptr_t)number;
}

static uint32_t add_index_cell(struct column *column, struct str reach)
{
    struct cell cell = { .reach = { mem_alloc(reach.n), reach.n } };
    uint32_t number;

    memcpy((char *)(uintptr_t)cell.reach.p, reach.p, reach.n);
    if (column->free_cells.n) {
        number = column->free_cells.p[--column->free_cells.n];
        column->cells.p[number] = cell;
    } else {
        number = (uint32_t)column->cells.n;
        VEC_PUSH(&column->cells, cell);
    }
    (void)map_set(&column->numbers, column->cells.p[number].reach, number_to_pointer(number));
    return number;
}

static void drop_cell(struct column *column, uint32_t number)
{
    struct cell *cell = &column->cells.p[number];

    if (number == NOTHING || --cell->users > 0)
        return;
    (void)map_remove(&column->numbers, cell->reach);
    free((void *)(uintptr_t)cell->reach.p);
    cell->reach = (struct str){ NULL, 0 };
    VEC_PUSH(&column->free_cells, number);
}

/* Set the value of a machine in a column; `tree` NULL: none. */
static void set_column_value(struct target_index *index, struct column *column, uint32_t machine,
                             const struct value *tree)
{
    uint32_t number = NOTHING, before;

    while (column->values.n <= machine)
        VEC_PUSH(&column->values, NOTHING);
    buf_clear(&index->reach);
    if (tree)
        pair_reach(str_from(column->path), tree, &index->reach);
    if (index->reach.n > 0) {
        const struct str reach = buf_view(&index->reach);

        number = (uint32_t)(uintptr_t)map_find(&column->numbers, reach);
        number = number == NOTHING ? add_index_cell(column, reach) : number;
        column->cells.p[number].users++;
    }
    before = column->values.p[machine];
    column->values.p[machine] = number;
    drop_cell(column, before);
}

static void free_column(struct column *column)
{
    VEC_EACH (&column->cells, cell)
        free((void *)(uintptr_t)cell->reach.p);
    vec_done(&column->cells);
    vec_done(&column->free_cells);
    map_done(&column->numbers);
    vec_done(&column->values);
    free(column->path);
    free(column);
}

static void forget_least_used(struct target_index *index)
{
    size_t least = 0;

    for (size_t i = 1; i < index->columns.n; i++)
        if (index->columns.p[i]->used < index->columns.p[least]->used)
            least = i;
    free_column(index->columns.p[least]);
    index->columns.p[least] = index->columns.p[--index->columns.n];
}

static struct column *add_column(struct target_index *index, enum tree_kind kind, struct str path)
{
    struct column *column = mem_zalloc(sizeof(*column));

    if (index->columns.n >= INDEX_COLUMNS_MAX)
        forget_least_used(index);
    column->kind = kind;
    column->path = mem_alloc(path.n + 1);
    memcpy(column->path, path.p, path.n);
    column->path[path.n] = '\0';
    VEC_PUSH(&column->cells, (struct cell){ .users = 1 }); /* NOTHING */
    VEC_PUSH(&index->columns, column);
    for (uint32_t i = 0; i < index->machines.n; i++)
        set_column_value(index, column, i, index->machines.p[i].trees[kind]);
    return column;
}

static struct column *get_column(struct target_index *index, enum tree_kind kind, struct str path)
{
    struct column *column = NULL;

    for (size_t i = 0; i < index->columns.n && !column; i++)
        if (index->columns.p[i]->kind == kind && str_eq_text(path, index->columns.p[i]->path))
            column = index->columns.p[i];
    if (!column)
        column = add_column(index, kind, path);
    column->used = ++index->clock;
    return column;
}

/* --- machines ------------------------------------------------------------------- */

struct target_index *target_index_new(void)
{
    struct target_index *index = mem_zalloc(sizeof(*index));

    index->reach = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    for (size_t i = 0; i < ARRAY_LEN(usual_paths); i++)
        (void)add_column(index, TREE_FACTS, str_from(usual_paths[i]));
    return index;
}

void target_index_free(struct target_index *index)
{
    if (!index)
        return;
    VEC_EACH (&index->columns, column)
        free_column(*column);
    vec_done(&index->columns);
    vec_done(&index->machines);
    vec_done(&index->free_machines);
    map_done(&index->numbers);
    buf_done(&index->reach);
    free(index);
}

/* The id for comparing. */
static struct str near_id(const struct machine *machine)
{
    return (struct str){ machine->id.n > SMALL_ID ? machine->id.p : machine->small, machine->id.n };
}

static uint32_t add_indexed_machine(struct target_index *index, struct str id)
{
    struct machine machine = { .id = id };
    uint32_t number = (uint32_t)index->machines.n;

    memcpy(machine.small, id.p, id.n > SMALL_ID ? 0 : id.n);
    if (index->free_machines.n) {
        number = index->free_machines.p[--index->free_machines.n];
        index->machines.p[number] = machine;
    } else {
        VEC_PUSH(&index->machines, machine);
    }
    (void)map_set(&index->numbers, id, number_to_pointer(number + 1));
    return number;
}

static void set_tree(struct target_index *index, uint32_t number, enum tree_kind kind,
                     const struct value *tree)
{
    index->machines.p[number].trees[kind] = tree;
    VEC_EACH (&index->columns, column)
        if ((*column)->kind == kind)
            set_column_value(index, *column, number, tree);
}

int target_index_put(struct target_index *index, struct str id, const struct value *facts,
                     struct err *err)
{
    uint32_t number = (uint32_t)(uintptr_t)map_find(&index->numbers, id);

    if (id.n > TARGET_ID_MAX)
        return err_set(err, ERR_LIMIT, "an id has at most %d bytes", TARGET_ID_MAX);
    number = number ? number - 1 : add_indexed_machine(index, id);
    set_tree(index, number, TREE_FACTS, facts);
    return 0;
}

void target_index_put_settings(struct target_index *index, struct str id,
                               const struct value *settings)
{
    const uint32_t number = (uint32_t)(uintptr_t)map_find(&index->numbers, id);

    if (number)
        set_tree(index, number - 1, TREE_SETTINGS, settings);
}

void target_index_remove(struct target_index *index, struct str id)
{
    const uint32_t number = (uint32_t)(uintptr_t)map_find(&index->numbers, id);

    if (!number)
        return;
    VEC_EACH (&index->columns, column)
        set_column_value(index, *column, number - 1, NULL);
    (void)map_remove(&index->numbers, id);
    index->machines.p[number - 1] = (struct machine){ 0 };
    VEC_PUSH(&index->free_machines, number - 1);
}

size_t target_index_count(const struct target_index *index)
{
    return map_count(&index->numbers);
}

size_t target_index_bytes(const struct target_index *index)
{
    size_t bytes = index->machines.cap * sizeof(struct machine) +
                   index->numbers.entry_cap * sizeof(struct map_entry) +
                   index->numbers.slot_cap * sizeof(uint32_t);

    VEC_EACH (&index->columns, place) {
        const struct column *column = *place;

        bytes += column->values.cap * sizeof(uint32_t) + column->cells.cap * sizeof(struct cell) +
                 column->numbers.entry_cap * sizeof(struct map_entry) +
                 column->numbers.slot_cap * sizeof(uint32_t);
        VEC_EACH (&column->cells, cell)
            bytes += cell->reach.n;
    }
    return bytes;
}

/* --- questions ------------------------------------------------------------------- */

/* Sets of machines, a bit each. */
struct sets {
    struct arena *arena;
    size_t words;
    uint64_t **in; /* the machines that reach each term; NULL: none do */
    uint64_t *accepted;
    const struct target_limit *limit; /* or NULL */
};

static uint64_t *get_set(struct sets *sets, uint64_t **place)
{
    if (!*place)
        *place = arena_zalloc(sets->arena, sets->words * sizeof(uint64_t));
    return *place;
}

/* Machines of `in` that are also in `hits` continue at `yes`, the others at `no`. */
static void split_set(struct sets *sets, const struct term *term, const uint64_t *in,
                      const uint64_t *hits)
{
    for (int matches = 0; matches < 2; matches++) {
        const uint32_t next = term->next[matches];
        uint64_t *out;

        if (next == TERM_REJECT)
            continue;
        out = next == TERM_ACCEPT ? get_set(sets, &sets->accepted) : get_set(sets, &sets->in[next]);
        for (size_t i = 0; i < sets->words; i++)
            out[i] |= matches ? in[i] & hits[i] : in[i] & ~hits[i];
    }
}

/* Call `match` for each machine of a set that has no hit yet. */
typedef int match_one_fn(void *self, uint32_t machine, bool *ret_matches, struct err *err);

static int match_each(const struct sets *sets, const uint64_t *in, match_one_fn *match, void *self,
                      uint64_t *hits, struct err *err)
{
    for (size_t w = 0; w < sets->words; w++)
        for (uint64_t left = in[w] & ~hits[w]; left; left &= left - 1) {
            const unsigned bit = (unsigned)__builtin_ctzll(left);
            bool matches = false;

            if (sets->limit && sets->limit->is_over(sets->limit->self))
                return err_set(err, ERR_BUSY, "the target takes too long to resolve");
            if (match(self, (uint32_t)(w * WORD_BITS + bit), &matches, err) < 0)
                return -1;
            hits[w] |= (uint64_t)matches << bit;
        }
    return 0;
}

/* One split of a pair, over a column: each value is compared when it is first seen. */
struct column_match {
    const struct column *column;
    const struct pair *pair;
    size_t cut;
    unsigned char *known; /* by cell; 0: not compared yet, else 1 + whether it matches */
};

static int match_value_of(void *self, uint32_t machine, bool *ret_matches, struct err *err)
{
    struct column_match *match = self;
    const uint32_t cell = match->column->values.p[machine];
    bool matches;

    if (!match->known[cell]) {
        if (pair_match_reach(match->pair, match->cut, match->column->cells.p[cell].reach, &matches,
                             err) < 0)
            return -1;
        match->known[cell] = (unsigned char)(1 + matches);
    }
    *ret_matches = match->known[cell] == 2;
    return 0;
}

static int match_tree(struct target_index *index, struct sets *sets, const struct term *term,
                      const uint64_t *in, uint64_t *hits, struct err *err)
{
    const enum tree_kind kind = term_is_about_settings(term) ? TREE_SETTINGS : TREE_FACTS;
    const struct pair *pair = term->pair;

    for (size_t cut = 0; cut < pair_cuts(pair); cut++) {
        const struct column *column = get_column(index, kind, pair_path(pair, cut));
        struct column_match match = { column, pair, cut,
                                      arena_zalloc(sets->arena, column->cells.n) };

        if (match_each(sets, in, match_value_of, &match, hits, err) < 0)
            return -1;
    }
    return 0;
}

/* A machine with unknown settings may or may not match: it must not be found because of that. For
 * it a term below `not` counts as a match, so that the `not` is false. */
static void decide_unknown(const struct target_index *index, uint64_t *hits)
{
    for (size_t i = 0; i < index->machines.n; i++)
        if (!index->machines.p[i].trees[TREE_SETTINGS])
            hits[i / WORD_BITS] |= UINT64_C(1) << (i % WORD_BITS);
}

/* Any other term, machine by machine. */
struct machine_match {
    const struct target_index *index;
    const struct term *term;
};

static int match_indexed_machine(void *self, uint32_t number, bool *ret_matches, struct err *err)
{
    const struct machine_match *match = self;
    const struct machine *machine = &match->index->machines.p[number];
    const struct str id = near_id(machine);
    char room[TARGET_ID_MAX];
    const struct term_subject subject = {
        .id = id,
        .other = program_other_id(id, room),
        .facts = machine->trees[TREE_FACTS],
    };

    return term_match(match->term, &subject, ret_matches, err);
}

static bool is_about_facts(const struct term *term)
{
    return term->type == TARGET_FACT || term->type == TARGET_FACT_PCRE;
}

static int run_term(struct target_index *index, struct sets *sets, const struct term *term,
                    const uint64_t *in, struct err *err)
{
    uint64_t *hits = arena_zalloc(sets->arena, sets->words * sizeof(uint64_t));
    struct machine_match match = { index, term };
    int result;

    if (is_about_facts(term) || term_is_about_settings(term))
        result = match_tree(index, sets, term, in, hits, err);
    else
        result = match_each(sets, in, match_indexed_machine, &match, hits, err);
    if (result < 0)
        return -1;
    if (term_is_about_settings(term) && term->negated)
        decide_unknown(index, hits);
    split_set(sets, term, in, hits);
    return 0;
}

static void list_found(const struct target_index *index, const struct sets *sets,
                       struct arena *arena, struct target_found *ret_found)
{
    for (size_t w = 0; sets->accepted && w < sets->words; w++)
        for (uint64_t left = sets->accepted[w]; left; left &= left - 1) {
            const size_t number = w * WORD_BITS + (size_t)__builtin_ctzll(left);

            VEC_PUSH_IN(arena, &ret_found->ids, index->machines.p[number].id);
        }
}

/* Terms continue at terms before them: go from the last to the first, each once. */
int target_index_find_within(struct target_index *index, const struct target *target,
                             const struct target_limit *limit, struct arena *arena,
                             struct target_found *ret_found, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct sets sets = { .arena = &scratch,
                         .limit = limit,
                         .words = (index->machines.n + WORD_BITS - 1) / WORD_BITS };
    uint64_t *all;

    *ret_found = (struct target_found){ VEC_INIT };
    if (index->machines.n == 0)
        return 0;
    sets.in = ARENA_ARRAY(&scratch, uint64_t *, target->count);
    memset(sets.in, 0, target->count * sizeof(uint64_t *));
    all = get_set(&sets, &sets.in[target->start]);
    for (size_t i = 0; i < index->machines.n; i++)
        all[i / WORD_BITS] |= (uint64_t)(index->machines.p[i].id.p != NULL) << (i % WORD_BITS);
    for (uint32_t i = target->count; i-- > 0;)
        if (sets.in[i] && run_term(index, &sets, &target->terms[i], sets.in[i], err) < 0)
            return -1;
    list_found(index, &sets, arena, ret_found);
    return 0;
}

int target_index_find(struct target_index *index, const struct target *target, struct arena *arena,
                      struct target_found *ret_found, struct err *err)
{
    return target_index_find_within(index, target, NULL, arena, ret_found, err);
}
