/*
 * history - the last few changes of a service's status, with their causes.
 *
 * A ring of fixed size: it never allocates, and forgets the oldest. Changes are numbered from 0
 * on, so that a change of one service can name the change of another that brought it about.
 */
#ifndef KEPLER_ENGINE_HISTORY_H
#define KEPLER_ENGINE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kepler/config/status.h"

enum { HISTORY_LENGTH = 16, HISTORY_CAUSE_SIZE = 240 };

/* A change of another service. */
struct history_link {
    bool given;
    uint32_t service;
    uint64_t number;
};

struct history_entry {
    enum status from, to;
    int64_t wall;
    uint64_t number;
    struct history_link by;
    char cause[HISTORY_CAUSE_SIZE]; /* a longer one is cut and ends in "..." */
};

struct history {
    struct history_entry entries[HISTORY_LENGTH];
    uint64_t count; /* of all that ever happened */
    uint64_t first; /* nothing is known of those before */
};

/* The histories of services that know each other by their place. */
struct history_page {
    const char *name;
    uint32_t place;
    struct history *history;
};

struct history_book {
    struct history_page *const *pages; /* by place */
    size_t count;
};

/* `entry` without its number and cause. */
void history_add(struct history *history, const struct history_entry *entry, const char *cause);
/* An entry of an earlier life, with its number: later ones than are known. */
void history_put(struct history *history, const struct history_entry *entry, const char *cause);
/* Entry `back` changes ago, 0 being the latest; NULL when it is forgotten or never was. */
const struct history_entry *history_find(const struct history *history, size_t back);
/* By its number; likewise. */
const struct history_entry *history_get(const struct history *history, uint64_t number);
/* NULL when there is none of that name. */
const struct history_page *history_page(const struct history_book *book, const char *name);

#endif
