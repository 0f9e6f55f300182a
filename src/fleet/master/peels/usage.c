#include "fleet/master/peels/usage.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

static int64_t clamp_bytes(int64_t bytes, int64_t min)
{
    return bytes > min ? bytes : min;
}

static void forget_peel_usage(struct usage *usage)
{
    MAP_EACH (&usage->peels, entry)
        free(entry->value);
    map_done(&usage->peels);
    usage->peels = (struct map){ 0 };
}

void usage_done(struct usage *usage)
{
    forget_peel_usage(usage);
}

void usage_set_room(struct usage *usage, enum usage_place place, int64_t max_bytes)
{
    usage->room[place] = max_bytes;
}

static struct usage_peel *get_peel(struct usage *usage, struct str id, int64_t now)
{
    struct usage_peel *peel;

    if (now - usage->since > USAGE_WINDOW_NS) {
        forget_peel_usage(usage);
        usage->since = now;
    }
    peel = map_find(&usage->peels, id);
    if (peel)
        return peel;
    peel = mem_zalloc(sizeof(*peel) + id.n + 1);
    memcpy(peel->id, id.p, id.n);
    (void)map_set(&usage->peels, (struct str){ peel->id, id.n }, peel);
    return peel;
}

void usage_add(struct usage *usage, enum usage_place place, struct str peel, int64_t bytes,
               int64_t now)
{
    struct usage_peel *writer = get_peel(usage, peel, now);

    writer->bytes[place] += bytes;
    writer->is_new[place] = true;
}

void usage_exceed(struct usage *usage, enum usage_place place, struct str peel, int64_t now)
{
    struct usage_peel *writer = get_peel(usage, peel, now);

    writer->bytes[place] = clamp_bytes(
        writer->bytes[place], clamp_bytes(usage->room[place] / USAGE_SHARES, USAGE_SHARE_MIN));
    writer->is_new[place] = true;
}

static enum usage_verdict judge_bytes(int64_t bytes, int64_t room)
{
    if (room <= 0)
        return USAGE_FINE;
    if (bytes >= clamp_bytes(room / USAGE_FLOODS, USAGE_FLOOD_MIN))
        return USAGE_FLOOD;
    return bytes >= clamp_bytes(room / USAGE_SHARES, USAGE_SHARE_MIN) ? USAGE_OVER : USAGE_FINE;
}

void usage_each(struct usage *usage, enum usage_place place, usage_fn *fn, void *self)
{
    MAP_EACH (&usage->peels, entry) {
        struct usage_peel *peel = entry->value;
        const enum usage_verdict verdict = judge_bytes(peel->bytes[place], usage->room[place]);
        const bool is_first = verdict > peel->reported[place];

        if (!peel->is_new[place] || verdict == USAGE_FINE)
            continue;
        peel->is_new[place] = false;
        peel->reported[place] = verdict;
        fn(self, peel, verdict, is_first);
    }
}
