#include "states/run/named_lock.h"

struct named_lock {
    bool busy;
    struct named_lock_ticket *first, **last;
};

void named_locks_init(struct named_locks *named_locks)
{
    *named_locks = (struct named_locks){ .arena = ARENA_INIT,
                                         .named_locks = MAP_INIT_IN(&named_locks->arena) };
    (void)pthread_mutex_init(&named_locks->mutex, NULL);
}

void named_locks_done(struct named_locks *named_locks)
{
    (void)pthread_mutex_destroy(&named_locks->mutex);
    arena_done(&named_locks->arena);
}

static struct named_lock *get_lane(struct named_locks *named_locks, const char *name)
{
    struct named_lock *named_lock = map_find(&named_locks->named_locks, str_from(name));

    if (named_lock)
        return named_lock;
    named_lock = ARENA_NEW(&named_locks->arena, struct named_lock);
    named_lock->last = &named_lock->first;
    map_set(&named_locks->named_locks, str_from(name), named_lock);
    return named_lock;
}

bool named_lock_enter(struct named_locks *named_locks, const char *name,
                      struct named_lock_ticket *ticket)
{
    struct named_lock *named_lock;
    bool free;

    if (!name)
        return true;
    (void)pthread_mutex_lock(&named_locks->mutex);
    named_lock = get_lane(named_locks, name);
    free = !named_lock->busy;
    named_lock->busy = true;
    if (!free) {
        ticket->next = NULL;
        *named_lock->last = ticket;
        named_lock->last = &ticket->next;
    }
    (void)pthread_mutex_unlock(&named_locks->mutex);
    return free;
}

struct named_lock_ticket *named_lock_leave(struct named_locks *named_locks, const char *name)
{
    struct named_lock_ticket *next;
    struct named_lock *named_lock;

    if (!name)
        return NULL;
    (void)pthread_mutex_lock(&named_locks->mutex);
    named_lock = get_lane(named_locks, name);
    next = named_lock->first;
    if (next) {
        named_lock->first = next->next;
        if (!named_lock->first)
            named_lock->last = &named_lock->first;
    } else {
        named_lock->busy = false;
    }
    (void)pthread_mutex_unlock(&named_locks->mutex);
    return next;
}
