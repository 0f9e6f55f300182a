/*
 * backlog - events that wait for a connection: the newest BACKLOG_MAX, in their order.
 *
 * When it is full the oldest goes, since what a machine was like long ago matters least. Pure.
 * Memory: what is in it belongs to it until it is taken. Threads: one.
 */
#ifndef FLEET_BEACONS_BACKLOG_H
#define FLEET_BEACONS_BACKLOG_H

#include <stddef.h>

#define BACKLOG_MAX 256

struct backlog {
    void *entries[BACKLOG_MAX];
    size_t first, count;
};

/* Returns the oldest, which had to go, or NULL. */
void *backlog_push(struct backlog *backlog, void *entry);
/* The oldest; NULL when it is empty. */
void *backlog_first(const struct backlog *backlog);
void *backlog_take(struct backlog *backlog);

#endif
