/*
 * top_feed - reads the streams and buckets of a fleet into a model.
 *
 *     top_feed_new -> { top_feed_ready, top_feed_failure }... -> top_feed_free
 *
 * Machines are all there are. Of the rest, what is older than a day (jobs) or ten minutes (events,
 * reactions) is not asked for. Everything arrives in the loop of the fleet; `changed` is called
 * after each piece. Connections that break are made again by the client underneath.
 *
 * Memory: top_feed_free, before the fleet is closed. Threads: the loop's.
 */
#ifndef COMMANDS_CLI_FLEET_TOP_FEED_H
#define COMMANDS_CLI_FLEET_TOP_FEED_H

#include <stdbool.h>

struct err;
struct fleet;
struct top_feed;
struct top_model;

/* Keeps model and fleet. */
struct top_feed *top_feed_new(struct fleet *fleet, struct top_model *model,
                              void (*changed)(void *self), void *self, struct err *err);
/* NULL is fine. */
void top_feed_free(struct top_feed *feed);

/* Has everything come that was there at the beginning? It is set once. */
const bool *top_feed_ready(const struct top_feed *feed);
/* Why it cannot go on: a right that is missing. NULL: it can. */
const struct err *top_feed_failure(const struct top_feed *feed);

#endif
