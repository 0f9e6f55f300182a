/*
 * why_chain - a thing, its cause, the cause of that, and so on.
 *
 *     why_add... -> why_end -> why_chain_print or why_chain_value
 *
 * Texts may come from other machines: printing shows control characters as '?'.
 *
 * Memory: texts are borrowed; the list is in the arena. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_WHY_CHAIN_H
#define COMMANDS_CLI_FLEET_WHY_CHAIN_H

#include <stdbool.h>

#include "core/base/vec.h"
#include "core/data/value.h"

struct buf;

/* A longer chain is cut. */
#define WHY_CHAIN_MAX 64

struct why_link {
    const char *kind; /* "job" */
    const char *id;
    const char *what;       /* in a line */
    struct value_time time; /* all zero: not known */
};

struct why_chain {
    struct arena *arena;
    VEC(struct why_link) list;
    const char *first_cause; /* where the chain ends; NULL: not known yet */
    struct value details;    /* more about the thing, for programs; null: none */
    const char *text;        /* the same for people, whole lines below the first link; NULL: none */
};

/* False when it is there already, or the chain is full: the walk ends. */
bool why_add(struct why_chain *chain, const struct why_link *link);
void why_end(struct why_chain *chain, const char *fmt, ...) PRINTF_LIKE(2, 3);

void why_chain_print(const struct why_chain *chain, struct buf *out);
struct value why_chain_value(const struct why_chain *chain);

#endif
