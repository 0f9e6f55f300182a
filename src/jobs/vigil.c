#include "jobs/vigil.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct vigil_other {
    uint64_t beats; /* that we had heard of ourselves then */
    int64_t seen;
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

static void note_other(struct vigil *vigil, struct str id, int64_t now, bool has_parted)
{
    struct vigil_other *other = get_other(vigil, id);

    other->beats = vigil->beats;
    other->seen = now;
    other->has_parted = has_parted;
}

void vigil_note(struct vigil *vigil, struct str id, int64_t now)
{
    if (str_is(id, vigil->self_id))
        note_self(vigil, now);
    else
        note_other(vigil, id, now, false);
}

void vigil_part(struct vigil *vigil, struct str id, int64_t now)
{
    if (!str_is(id, vigil->self_id))
        note_other(vigil, id, now, true);
}

bool vigil_is_gone(const struct vigil *vigil, struct str id)
{
    const struct vigil_other *other = map_find(&vigil->others, id);
    const uint64_t beats = vigil->beats - (other ? other->beats : 0);
    const int64_t seen = other ? other->seen : vigil->first;

    if (str_is(id, vigil->self_id))
        return false;
    return (other && other->has_parted) ||
           (beats >= VIGIL_BEATS && vigil->last - seen >= VIGIL_SILENCE_NS);
}
