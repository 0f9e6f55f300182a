/*
 * symbols - resolves names to variables by Jinja2's rules.
 *
 * A scope belongs to a template body, block, macro, loop turn, `with`, `filter`,
 * block `set`, `call` or `autoescape`. `if` has none. In a scope a name is
 *
 *   - a parameter: loop targets, macro arguments, `with` variables;
 *   - assigned somewhere in the scope: then it is a variable of the scope from its
 *     beginning on. It starts as the variable of the same name in a scope around
 *     it, else with nothing;
 *   - only read: then it is the variable of a scope around it, else it is looked
 *     up in the context when the scope begins.
 *
 * A name that is assigned in some branches of an `if` only starts from the scope
 * around it or, where there is none, from the context. Whether a name was first
 * read or first assigned matters, so a scope is walked in the order of the text
 * before any of its names is resolved. A branch is a set of symbols on top of the
 * scope's own, joined when the `if` ends.
 *
 * Memory: the arena. Used while a template is compiled, by one thread.
 */
#ifndef LANGUAGE_JINJA_SYMBOLS_H
#define LANGUAGE_JINJA_SYMBOLS_H

#include "core/base/vec.h"
#include "language/jinja/node.h"

struct arena;
struct name;

struct symbol {
    struct name *name;
    struct code *code; /* the owner of the slot */
    uint32_t slot;
    uint8_t load; /* a load_kind: its initial value */
    bool stored;
    struct code *alias_code; /* LOAD_ALIAS: the variable it starts as */
    uint32_t alias_slot;
};

struct symbol_table {
    VEC(struct symbol *) list;
    struct symbol **places; /* hash table once the list is long */
    size_t cap;
};

struct symbols {
    struct arena *arena;
    struct symbols *parent; /* the scope around it */
    struct symbols *base;   /* for a branch: its base */
    struct code *code;
    struct symbol_table table;
    struct symbol_table *slots; /* every name of the scope, in all branches: one slot each */
};

struct symbols *symbols_new(struct arena *arena, struct symbols *parent, struct code *code);

void symbols_load(struct symbols *symbols, struct name *name);
void symbols_store(struct symbols *symbols, struct name *name);
/* A variable that is set when the scope begins. */
const struct symbol *symbols_param(struct symbols *symbols, struct name *name);

struct symbols *symbols_branch(struct symbols *symbols);
/* Join the branches of an `if`, a missing `else` included. */
void symbols_join(struct symbols *symbols, struct symbols *const *branches, size_t count);

/* NULL when neither the scope nor an outer one has it. */
const struct symbol *symbols_find(const struct symbols *symbols, const struct name *name);
/* From an inner function: how far out, and which slot. */
struct slot symbols_slot(const struct code *from, const struct code *code, uint32_t slot);

/* The loads to do when the scope begins. */
void symbols_loads(const struct symbols *symbols, struct scope *ret);
/* All variables assigned here or in outer scopes. */
void symbols_locals(const struct symbols *symbols, struct locals *ret);

#endif
