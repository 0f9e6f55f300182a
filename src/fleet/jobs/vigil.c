#include "fleet/jobs/vigil.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

struct vigil_other {
    uint64_t beats; /* that we had heard of ourselves then */
    int64_t seen;
    int64_t stored; /* by the clock of the log */
    bool has_parted;
    char id[];
};

void vigil_init(struct vigil *vigil, const char *self_id)
{
    *vigil = (struct vigil){ .self_id = self_id };
}

void vigil_done(struct vigil *vigil)
{
    MAP_EACH (&vigil->others, entry)
        free(entry->value);
    map_done(&vigil->others);
}

static struct vigil_other *get_other(struct vigil *vigil, struct str id)
{
    struct vigil_other *other = map_find(&vigil->others, id);

    if (other)
        return other;
    other = mem_zalloc(sizeof(*other) + id.n + 1);
    memcpy(other->id, id.p, id.n);
    (void)map_set(&vigil->others, str_from(other->id), other);
    return other;
}

/* One at a time: each start of a master adds one, and each beat looks. */
static void forget_one(struct vigil *vigil, int64_t now)
{
    struct vigil_other *old = NULL;

    MAP_EACH (&vigil->others, entry) {
        struct vigil_other *other = entry->value;

        if (now - other->seen > VIGIL_MEMORY_NS && vigil_is_gone(vigil, entry->key))
            old = other;
    }
    if (!old)
        return;
    (void)map_remove(&vigil->others, str_from(old->id));
    free(old);
}

static void note_self(struct vigil *vigil, int64_t now)
{
    const bool is_first = vigil->beats == 0;

    if (!is_first && now - vigil->heard > VIGIL_DOUBT_NS)
        vigil->doubts++;
    vigil->heard = now;
    if (!is_first && now - vigil->last < VIGIL_APART_NS)
        return;
    if (is_first)
        vigil->first = now;
    vigil->beats++;
    vigil->last = now;
    forget_one(vigil, now);
}

static struct vigil_other *note_other(struct vigil *vigil, struct str id, int64_t now)
{
    struct vigil_other *other = get_other(vigil, id);

    other->beats = vigil->beats;
    other->seen = now;
    other->has_parted = false;
    return other;
}

static void note_log(struct vigil *vigil, const struct vigil_sign *sign)
{
    const bool goes_on = vigil->log_heard && sign->stored - vigil->log_last <= VIGIL_GAP_NS;
    const int64_t since = sign->since ? sign->since : sign->stored;

    if (!goes_on || since < vigil->log_since)
        vigil->log_since = since;
    vigil->log_last = sign->stored;
    vigil->log_heard = sign->now;
}

void vigil_note(struct vigil *vigil, const struct vigil_sign *sign)
{
    note_log(vigil, sign);
    if (str_is(sign->id, vigil->self_id))
        note_self(vigil, sign->now);
    else
        note_other(vigil, sign->id, sign->now)->stored = sign->stored;
}

int64_t vigil_since(const struct vigil *vigil, int64_t now)
{
    return vigil->log_heard && now - vigil->log_heard <= VIGIL_GAP_NS ? vigil->log_since : 0;
}

void vigil_part(struct vigil *vigil, struct str id, int64_t now)
{
    if (!str_is(id, vigil->self_id))
        note_other(vigil, id, now)->has_parted = true;
}

/* Our own heartbeats since then. */
static bool is_silent_for_us(const struct vigil *vigil, const struct vigil_other *other)
{
    const uint64_t beats = vigil->beats - (other ? other->beats : 0);
    const int64_t seen = other ? other->seen : vigil->first;

    return beats >= VIGIL_BEATS && vigil->last - seen >= VIGIL_SILENCE_NS;
}

/* All stored heartbeats since then. The log forgets silent masters: a missing one was silent. */
static bool is_silent_in_log(const struct vigil *vigil, const struct vigil_other *other)
{
    return vigil->log_last - vigil->log_since >= VIGIL_STEADY_NS &&
           (!other || vigil->log_last - other->stored >= VIGIL_SILENCE_NS);
}

bool vigil_is_gone(const struct vigil *vigil, struct str id)
{
    const struct vigil_other *other = map_find(&vigil->others, id);

    if (str_is(id, vigil->self_id))
        return false;
    return (other && other->has_parted) || is_silent_for_us(vigil, other) ||
           is_silent_in_log(vigil, other);
}
