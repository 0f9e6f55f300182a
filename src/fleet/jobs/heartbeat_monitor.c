#include "fleet/jobs/heartbeat_monitor.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

struct heartbeat_monitor_other {
    uint64_t beats; /* that we had heard of ourselves then */
    int64_t seen;
    int64_t stored; /* by the clock of the log */
    bool has_parted;
    char id[];
};

void heartbeat_monitor_init(struct heartbeat_monitor *monitor, const char *self_id)
{
    *monitor = (struct heartbeat_monitor){ .self_id = self_id };
}

void heartbeat_monitor_done(struct heartbeat_monitor *monitor)
{
    MAP_EACH (&monitor->others, entry)
        free(entry->value);
    map_done(&monitor->others);
}

static struct heartbeat_monitor_other *get_other(struct heartbeat_monitor *monitor, struct str id)
{
    struct heartbeat_monitor_other *other = map_find(&monitor->others, id);

    if (other)
        return other;
    other = mem_zalloc(sizeof(*other) + id.n + 1);
    memcpy(other->id, id.p, id.n);
    (void)map_set(&monitor->others, str_from(other->id), other);
    return other;
}

/* One at a time: each start of a master adds one, and each beat looks. */
static void forget_one(struct heartbeat_monitor *monitor, int64_t now)
{
    struct heartbeat_monitor_other *old = NULL;

    MAP_EACH (&monitor->others, entry) {
        struct heartbeat_monitor_other *other = entry->value;

        if (now - other->seen > HEARTBEAT_MONITOR_MEMORY_NS &&
            heartbeat_monitor_is_gone(monitor, entry->key))
            old = other;
    }
    if (!old)
        return;
    (void)map_remove(&monitor->others, str_from(old->id));
    free(old);
}

static void note_self(struct heartbeat_monitor *monitor, int64_t now)
{
    const bool is_first = monitor->beats == 0;

    if (!is_first && now - monitor->heard > HEARTBEAT_MONITOR_DOUBT_NS)
        monitor->doubts++;
    monitor->heard = now;
    if (!is_first && now - monitor->last < HEARTBEAT_MONITOR_APART_NS)
        return;
    if (is_first)
        monitor->first = now;
    monitor->beats++;
    monitor->last = now;
    forget_one(monitor, now);
}

static struct heartbeat_monitor_other *note_other(struct heartbeat_monitor *monitor, struct str id,
                                                  int64_t now)
{
    struct heartbeat_monitor_other *other = get_other(monitor, id);

    other->beats = monitor->beats;
    other->seen = now;
    other->has_parted = false;
    return other;
}

static void note_log(struct heartbeat_monitor *monitor, const struct heartbeat_monitor_sign *sign)
{
    const bool goes_on =
        monitor->log_heard && sign->stored - monitor->log_last <= HEARTBEAT_MONITOR_GAP_NS;
    const int64_t since = sign->since ? sign->since : sign->stored;

    if (!goes_on || since < monitor->log_since)
        monitor->log_since = since;
    monitor->log_last = sign->stored;
    monitor->log_heard = sign->now;
}

void heartbeat_monitor_note(struct heartbeat_monitor *monitor,
                            const struct heartbeat_monitor_sign *sign)
{
    note_log(monitor, sign);
    if (str_is(sign->id, monitor->self_id))
        note_self(monitor, sign->now);
    else
        note_other(monitor, sign->id, sign->now)->stored = sign->stored;
}

int64_t heartbeat_monitor_since(const struct heartbeat_monitor *monitor, int64_t now)
{
    return monitor->log_heard && now - monitor->log_heard <= HEARTBEAT_MONITOR_GAP_NS
               ? monitor->log_since
               : 0;
}

void heartbeat_monitor_part(struct heartbeat_monitor *monitor, struct str id, int64_t now)
{
    if (!str_is(id, monitor->self_id))
        note_other(monitor, id, now)->has_parted = true;
}

/* Our own heartbeats since then. */
static bool is_silent_for_us(const struct heartbeat_monitor *monitor,
                             const struct heartbeat_monitor_other *other)
{
    const uint64_t beats = monitor->beats - (other ? other->beats : 0);
    const int64_t seen = other ? other->seen : monitor->first;

    return beats >= HEARTBEAT_MONITOR_BEATS && monitor->last - seen >= HEARTBEAT_MONITOR_SILENCE_NS;
}

/* All stored heartbeats since then. The log forgets silent masters: a missing one was silent. */
static bool is_silent_in_log(const struct heartbeat_monitor *monitor,
                             const struct heartbeat_monitor_other *other)
{
    return monitor->log_last - monitor->log_since >= HEARTBEAT_MONITOR_STEADY_NS &&
           (!other || monitor->log_last - other->stored >= HEARTBEAT_MONITOR_SILENCE_NS);
}

bool heartbeat_monitor_is_gone(const struct heartbeat_monitor *monitor, struct str id)
{
    const struct heartbeat_monitor_other *other = map_find(&monitor->others, id);

    if (str_is(id, monitor->self_id))
        return false;
    return (other && other->has_parted) || is_silent_for_us(monitor, other) ||
           is_silent_in_log(monitor, other);
}
