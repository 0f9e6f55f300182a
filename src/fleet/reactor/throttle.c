#include "fleet/reactor/throttle.h"

#include "core/base/buf.h"

struct pause {
    struct lru_item item;
    int64_t until;
    bool reserved;
};

void throttle_init(struct throttle *throttle)
{
    lru_init(&throttle->pauses, THROTTLE_MAX, sizeof(struct pause));
}

void throttle_done(struct throttle *throttle)
{
    lru_done(&throttle->pauses);
}

/* Neither a ref nor an origin has a slash. */
static struct pause *get_pause(struct throttle *throttle, const char *rule, const char *source)
{
    AUTO_BUF struct buf key = BUF_INIT(BUF_NO_LIMIT);

    buf_printf(&key, "%s/%s", rule, source);
    return lru_get(&throttle->pauses, buf_view(&key));
}

bool throttle_reserve(struct throttle *throttle, const char *rule, const char *source, int64_t now)
{
    struct pause *pause = get_pause(throttle, rule, source);

    if (pause->reserved || pause->until > now)
        return false;
    pause->reserved = true;
    return true;
}

void throttle_confirm(struct throttle *throttle, const char *rule, const char *source,
                      int64_t period, int64_t now)
{
    struct pause *pause = get_pause(throttle, rule, source);

    pause->reserved = false;
    if (__builtin_add_overflow(now, period, &pause->until))
        pause->until = INT64_MAX;
}

void throttle_cancel(struct throttle *throttle, const char *rule, const char *source)
{
    get_pause(throttle, rule, source)->reserved = false;
}
