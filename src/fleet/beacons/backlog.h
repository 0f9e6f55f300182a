/*
 * backlog - events that wait for a connection: the newest BACKLOG_MAX, in their order.
 *
 * When full, it drops the oldest, since old states matter least. Pure. Memory: it owns its entries
 * until they are taken. Threads: one.
 */
#ifndef FLEET_BEACONS_BACKLOG_H
#define FLEET_BEACONS_BACKLOG_H

#include <stddef.h>

#define BACKLOG_MAX 256

struct backlog {
    void *entries[BACKLOG_MAX];
    size_t first, count;
};

/* Returns the dropped oldest entry, or NULL. */
void *backlog_push(struct backlog *backlog, void *entry);
/* The oldest; NULL: empty. */
void *backlog_first(const struct backlog *backlog);
void *backlog_take(struct backlog *backlog);

#endif
