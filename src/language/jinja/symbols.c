#include "language/jinja/symbols.h"

#include <assert.h>

#include "core/base/arena.h"
#include "language/jinja/name.h"

/* Longer tables are hashed. */
#define FEW_SYMBOLS 8

/* --- tables ------------------------------------------------------------------------ */

static struct symbol **find_symbol_place(const struct symbol_table *table, const struct name *name)
{
    size_t i = ((uintptr_t)name / sizeof(struct name)) & (table->cap - 1);

    while (table->places[i] && table->places[i]->name != name)
        i = (i + 1) & (table->cap - 1);
    return &table->places[i];
}

static struct symbol *find_table_symbol(const struct symbol_table *table, const struct name *name)
{
    if (table->cap > 0)
        return *find_symbol_place(table, name);
    for (size_t i = 0; i < table->list.n; i++)
        if (table->list.p[i]->name == name)
            return table->list.p[i];
    return NULL;
}

static void table_add(struct arena *arena, struct symbol_table *table, struct symbol *symbol)
{
    VEC_PUSH_IN(arena, &table->list, symbol);
    if (table->list.n > FEW_SYMBOLS && table->list.n * 2 > table->cap) {
        table->cap = table->cap > 0 ? table->cap * 2 : (size_t)FEW_SYMBOLS * 4;
        table->places = ARENA_ARRAY(arena, struct symbol *, table->cap);
        for (size_t i = 0; i + 1 < table->list.n; i++)
            *find_symbol_place(table, table->list.p[i]->name) = table->list.p[i];
    }
    if (table->cap > 0)
        *find_symbol_place(table, symbol->name) = symbol;
}

/* --- scopes --------------------------------------------------------------------------- */

struct symbols *symbols_new(struct arena *arena, struct symbols *parent, struct code *code)
{
    struct symbols *symbols = ARENA_NEW(arena, struct symbols);

    symbols->arena = arena;
    symbols->parent = parent;
    symbols->code = code;
    symbols->slots = ARENA_NEW(arena, struct symbol_table);
    return symbols;
}

/* In this scope only, without the base of the branch. */
static struct symbol *find_here(const struct symbols *symbols, const struct name *name)
{
    for (; symbols; symbols = symbols->base) {
        struct symbol *symbol = find_table_symbol(&symbols->table, name);

        if (symbol)
            return symbol;
    }
    return NULL;
}

const struct symbol *symbols_find(const struct symbols *symbols, const struct name *name)
{
    for (; symbols; symbols = symbols->parent) {
        const struct symbol *symbol = find_here(symbols, name);

        if (symbol)
            return symbol;
    }
    return NULL;
}

static struct symbol *define_symbol(struct symbols *symbols, struct name *name, enum load_kind load)
{
    struct symbol *first = find_table_symbol(symbols->slots, name);
    struct symbol *symbol = ARENA_NEW(symbols->arena, struct symbol);

    symbol->name = name;
    symbol->code = symbols->code;
    symbol->load = (uint8_t)load;
    if (first) {
        symbol->slot = first->slot;
    } else {
        symbol->slot = symbols->code->slots++;
        table_add(symbols->arena, symbols->slots, symbol);
    }
    table_add(symbols->arena, &symbols->table, symbol);
    return symbol;
}

/* The symbol in the branch's own table, copied from its base when needed. */
static struct symbol *own_symbol(struct symbols *symbols, struct symbol *symbol)
{
    struct symbol *mine = find_table_symbol(&symbols->table, symbol->name);

    if (mine)
        return mine;
    mine = ARENA_NEW(symbols->arena, struct symbol);
    *mine = *symbol;
    table_add(symbols->arena, &symbols->table, mine);
    return mine;
}

static void start_from_outside(const struct symbols *symbols, struct symbol *symbol,
                               enum load_kind otherwise)
{
    const struct symbol *outer = symbols_find(symbols->parent, symbol->name);

    symbol->load = (uint8_t)(outer ? LOAD_ALIAS : otherwise);
    symbol->alias_code = outer ? outer->code : NULL;
    symbol->alias_slot = outer ? outer->slot : 0;
}

void symbols_load(struct symbols *symbols, struct name *name)
{
    if (!symbols_find(symbols, name))
        define_symbol(symbols, name, LOAD_RESOLVE);
}

void symbols_store(struct symbols *symbols, struct name *name)
{
    struct symbol *symbol = find_here(symbols, name);

    if (symbol) {
        if (!symbol->stored)
            own_symbol(symbols, symbol)->stored = true;
        return;
    }
    symbol = define_symbol(symbols, name, LOAD_MISSING);
    symbol->stored = true;
    start_from_outside(symbols, symbol, LOAD_MISSING);
}

const struct symbol *symbols_param(struct symbols *symbols, struct name *name)
{
    struct symbol *symbol = find_table_symbol(&symbols->table, name);

    if (!symbol)
        symbol = define_symbol(symbols, name, LOAD_PARAM);
    symbol->load = LOAD_PARAM;
    symbol->stored = true;
    return symbol;
}

struct symbols *symbols_branch(struct symbols *symbols)
{
    struct symbols *branch = ARENA_NEW(symbols->arena, struct symbols);

    *branch = (struct symbols){
        .arena = symbols->arena,
        .parent = symbols->parent,
        .base = symbols,
        .code = symbols->code,
        .slots = symbols->slots,
    };
    return branch;
}

/* The number of branches that assign it. */
static size_t count_stores(struct symbols *const *branches, size_t count, const struct name *name)
{
    size_t stores = 0;

    for (size_t i = 0; i < count; i++) {
        const struct symbol *symbol = find_table_symbol(&branches[i]->table, name);

        stores += symbol && symbol->stored;
    }
    return stores;
}

void symbols_join(struct symbols *symbols, struct symbols *const *branches, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < branches[i]->table.list.n; k++) {
            const struct symbol *theirs = branches[i]->table.list.p[k];
            struct symbol *before = find_here(symbols, theirs->name);
            bool was_stored = before && before->stored;
            struct symbol *mine;
            size_t stores;

            if (was_stored)
                continue;
            mine = find_table_symbol(&symbols->table, theirs->name);
            if (!mine) {
                mine = ARENA_NEW(symbols->arena, struct symbol);
                mine->name = theirs->name;
                table_add(symbols->arena, &symbols->table, mine);
            }
            *mine = *theirs;
            mine->stored = false; /* decided below, once all branches are in */
            stores = count_stores(branches, count, theirs->name);
            if (stores > 0 && stores < count)
                start_from_outside(symbols, mine, LOAD_RESOLVE); /* only some assign it */
        }
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < branches[i]->table.list.n; k++) {
            const struct symbol *theirs = branches[i]->table.list.p[k];

            if (theirs->stored)
                find_table_symbol(&symbols->table, theirs->name)->stored = true;
        }
}

struct slot symbols_slot(const struct code *from, const struct code *code, uint32_t slot)
{
    struct slot ret = { 0, slot };

    for (; from && from != code; from = from->outer)
        ret.up++;
    assert(from);
    return ret;
}

/* --- what the evaluator needs -------------------------------------------------------------- */

void symbols_loads(const struct symbols *symbols, struct scope *ret)
{
    struct load_step *loads = ARENA_ARRAY(symbols->arena, struct load_step, symbols->table.list.n);
    uint32_t count = 0;

    for (size_t i = 0; i < symbols->table.list.n; i++) {
        const struct symbol *symbol = symbols->table.list.p[i];
        struct load_step *load = &loads[count];

        if (symbol->load == LOAD_PARAM)
            continue;
        load->kind = symbol->load;
        load->to = symbol->slot;
        load->name = symbol->name;
        if (symbol->load == LOAD_ALIAS)
            load->from = symbols_slot(symbols->code, symbol->alias_code, symbol->alias_slot);
        count++;
    }
    *ret = (struct scope){ .count = count, .loads = loads };
}

void symbols_locals(const struct symbols *symbols, struct locals *ret)
{
    VEC(struct local_variable) list = VEC_INIT;
    struct symbol_table seen = { .list = VEC_INIT }; /* inner ones hide outer ones */
    const struct code *from = symbols->code;

    for (; symbols; symbols = symbols->parent)
        for (const struct symbols *s = symbols; s; s = s->base)
            for (size_t i = 0; i < s->table.list.n; i++) {
                struct symbol *symbol = s->table.list.p[i];

                if (!symbol->stored || find_table_symbol(&seen, symbol->name))
                    continue;
                table_add(symbols->arena, &seen, symbol);
                VEC_PUSH_IN(symbols->arena, &list,
                            (struct local_variable){
                                symbol->name, symbols_slot(from, symbol->code, symbol->slot) });
            }
    *ret = (struct locals){ .count = (uint32_t)list.n, .items = list.p };
}
