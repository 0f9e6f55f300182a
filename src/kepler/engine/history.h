/*
 * history - the latest status changes of a service, with their causes.
 *
 * A ring of fixed size: it never allocates, and drops the oldest. Changes are numbered from 0, so
 * that a change can name the change of another service that caused it.
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
    char cause[HISTORY_CAUSE_SIZE]; /* longer ones are cut and end in "..." */
};

struct history {
    struct history_entry entries[HISTORY_LENGTH];
    uint64_t count; /* total number of changes */
    uint64_t first; /* earlier ones are unknown */
};

/* Histories of several services, which refer to each other by place. */
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
/* Adds an entry of an earlier daemon, with its number: higher than all known ones. */
void history_put(struct history *history, const struct history_entry *entry, const char *cause);
/* The entry `back` changes ago, 0 being the latest; NULL when it was dropped or never existed. */
const struct history_entry *history_find(const struct history *history, size_t back);
/* The entry with this number; NULL when it was dropped or never existed. */
const struct history_entry *history_get(const struct history *history, uint64_t number);
/* NULL when there is no such service. */
const struct history_page *history_page(const struct history_book *book, const char *name);

#endif
