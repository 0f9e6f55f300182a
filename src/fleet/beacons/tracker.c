#include "fleet/beacons/tracker.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/mem.h"

struct item {
    char *key, *state;
    char *pending; /* a state that does not count yet; or NULL */
    int64_t since; /* when it was first seen */
    bool is_seen;
};

/* Context of one call. */
struct feeding {
    struct tracker *tracker;
    const struct tracker_rule *rule;
    int64_t now;
    struct arena *arena;
    struct tracker_changes *changes;
    bool is_settled;
};

static void free_tracked_item(struct item *item)
{
    free(item->key);
    free(item->state);
    free(item->pending);
    free(item);
}

static void replace_tracked_text(char **at, const char *text)
{
    char *copy = text ? mem_strdup(text) : NULL;

    free(*at);
    *at = copy;
}

static void report_tracked_change(struct feeding *feeding, const char *key,
                                  const struct beacon_reading *reading, const char *state,
                                  const char *previous)
{
    const struct beacon_change change = {
        .key = arena_strdup(feeding->arena, key),
        .reading = reading,
        .state = state ? arena_strdup(feeding->arena, state) : NULL,
        .previous = previous ? arena_strdup(feeding->arena, previous) : NULL,
    };

    VEC_PUSH_IN(feeding->arena, &feeding->changes->list, change);
}

static const char *judge_level(const struct item *item, const struct beacon_reading *reading)
{
    const bool was_over = strcmp(item->state, TRACKER_OVER) == 0;

    return reading->amount > (was_over ? reading->clear : reading->over) ? TRACKER_OVER
                                                                         : TRACKER_OK;
}

static struct item *add_tracked_item(struct feeding *feeding, const struct beacon_reading *reading)
{
    struct item *item = mem_zalloc(sizeof(*item));

    item->key = mem_strdup(reading->key);
    item->state = mem_strdup(reading->is_level ? TRACKER_OK : reading->state);
    (void)map_set(&feeding->tracker->items, str_from(item->key), item);
    return item;
}

/* Has the state lasted long enough to count? */
static bool has_lasted(const struct feeding *feeding, struct item *item, const char *state)
{
    if (feeding->rule->hold <= 0)
        return true;
    if (!item->pending || strcmp(item->pending, state) != 0) {
        replace_tracked_text(&item->pending, state);
        item->since = feeding->now;
    }
    return feeding->now - item->since >= feeding->rule->hold;
}

static void update_tracked_item(struct feeding *feeding, struct item *item,
                                const struct beacon_reading *reading)
{
    const char *state = reading->is_level ? judge_level(item, reading) : reading->state;

    if (strcmp(state, item->state) == 0) {
        replace_tracked_text(&item->pending, NULL);
        if (feeding->rule->every)
            report_tracked_change(feeding, item->key, reading, state, state);
    } else if (has_lasted(feeding, item, state)) {
        report_tracked_change(feeding, item->key, reading, state, item->state);
        replace_tracked_text(&item->state, state);
        replace_tracked_text(&item->pending, NULL);
    } else {
        feeding->is_settled = false;
        if (feeding->rule->every)
            report_tracked_change(feeding, item->key, reading, item->state, item->state);
    }
}

static void take_reading(struct feeding *feeding, const struct beacon_reading *reading)
{
    struct item *item = map_find(&feeding->tracker->items, str_from(reading->key));

    if (reading->is_moving)
        feeding->is_settled = false;
    if (reading->happened) {
        report_tracked_change(feeding, reading->key, reading, NULL, NULL);
        return;
    }
    if (!reading->is_level && !reading->state) {
        if (item)
            item->is_seen = true;
        return;
    }
    if (item || reading->is_level) {
        item = item ? item : add_tracked_item(feeding, reading);
        update_tracked_item(feeding, item, reading);
    } else {
        item = add_tracked_item(feeding, reading);
        if (feeding->rule->every ||
            (feeding->rule->tells_absence && feeding->tracker->has_baseline))
            report_tracked_change(feeding, item->key, reading, item->state, NULL);
    }
    item->is_seen = true;
}

/* Items without a reading are gone. */
static void drop_unseen(struct feeding *feeding)
{
    MAP_EACH (&feeding->tracker->items, entry) {
        struct item *item = entry->value;

        if (item->is_seen) {
            item->is_seen = false;
            continue;
        }
        if (feeding->rule->tells_absence)
            report_tracked_change(feeding, item->key, NULL, NULL, item->state);
        (void)map_remove(&feeding->tracker->items, entry->key);
        free_tracked_item(item);
    }
}

bool tracker_feed(struct tracker *tracker, const struct tracker_rule *rule,
                  const struct beacon_readings *readings, int64_t now, struct arena *arena,
                  struct tracker_changes *ret_changes)
{
    struct feeding feeding = { tracker, rule, now, arena, ret_changes, true };

    VEC_EACH (&readings->list, reading)
        take_reading(&feeding, reading);
    drop_unseen(&feeding);
    tracker->has_baseline = true;
    return feeding.is_settled;
}

void tracker_done(struct tracker *tracker)
{
    MAP_EACH (&tracker->items, entry)
        free_tracked_item(entry->value);
    map_done(&tracker->items);
}
