/*
 * history - the last few changes of a service's status, with their causes.
 *
 * A ring of fixed size: it never allocates, and forgets the oldest.
 */
#ifndef SUPERVISE_HISTORY_H
#define SUPERVISE_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "supervise/status.h"

enum { HISTORY_LENGTH = 8, HISTORY_CAUSE_SIZE = 160 };

struct history_entry {
    enum status from, to;
    int64_t wall;
    char cause[HISTORY_CAUSE_SIZE]; /* cut when longer */
};

struct history {
    struct history_entry entries[HISTORY_LENGTH];
    uint64_t count; /* of all that ever happened */
};

void history_add(struct history *history, enum status from, enum status to, int64_t wall,
                 const char *cause);
/* Entry `back` changes ago, 0 being the latest; NULL when it is forgotten or never was. */
const struct history_entry *history_find(const struct history *history, size_t back);

#endif
