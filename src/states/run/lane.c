#include "states/run/lane.h"

struct lane {
    bool busy;
    struct lane_ticket *first, **last;
};

void lanes_init(struct lanes *lanes)
{
    *lanes = (struct lanes){ .arena = ARENA_INIT, .lanes = MAP_INIT_IN(&lanes->arena) };
    (void)pthread_mutex_init(&lanes->mutex, NULL);
}

void lanes_done(struct lanes *lanes)
{
    (void)pthread_mutex_destroy(&lanes->mutex);
    arena_done(&lanes->arena);
}

static struct lane *get_lane(struct lanes *lanes, const char *name)
{
    struct lane *lane = map_find(&lanes->lanes, str_from(name));

    if (lane)
        return lane;
    lane = ARENA_NEW(&lanes->arena, struct lane);
    lane->last = &lane->first;
    map_set(&lanes->lanes, str_from(name), lane);
    return lane;
}

bool lane_enter(struct lanes *lanes, const char *name, struct lane_ticket *ticket)
{
    struct lane *lane;
    bool free;

    if (!name)
        return true;
    (void)pthread_mutex_lock(&lanes->mutex);
    lane = get_lane(lanes, name);
    free = !lane->busy;
    lane->busy = true;
    if (!free) {
        ticket->next = NULL;
        *lane->last = ticket;
        lane->last = &ticket->next;
    }
    (void)pthread_mutex_unlock(&lanes->mutex);
    return free;
}

struct lane_ticket *lane_leave(struct lanes *lanes, const char *name)
{
    struct lane_ticket *next;
    struct lane *lane;

    if (!name)
        return NULL;
    (void)pthread_mutex_lock(&lanes->mutex);
    lane = get_lane(lanes, name);
    next = lane->first;
    if (next) {
        lane->first = next->next;
        if (!lane->first)
            lane->last = &lane->first;
    } else {
        lane->busy = false;
    }
    (void)pthread_mutex_unlock(&lanes->mutex);
    return next;
}
