#include "fleet/reactor/breaker.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/number.h"

#define WINDOW (60 * NUMBER_NS_PER_S)

struct breaker_window {
    struct lru_item item;
    int64_t *fires; /* rate + 1 of them: a ring, oldest first from `first` on */
    size_t first, count;
    int64_t pending; /* reserved and not yet confirmed */
    int64_t open_until;
    bool is_open;
};

void breaker_init(struct breaker *breaker, int64_t rate, int64_t cooldown)
{
    *breaker = (struct breaker){
        .rate = rate > BREAKER_RATE_MAX ? BREAKER_RATE_MAX : rate,
        .cooldown = cooldown,
    };
    lru_init(&breaker->rules, BREAKER_RULES_MAX, sizeof(struct breaker_window));
}

static struct breaker_window *window_of(struct lru_item *item)
{
    return container_of(item, struct breaker_window, item);
}

static void forget_window(struct breaker *breaker, struct breaker_window *window)
{
    breaker->open -= window->is_open ? 1 : 0;
    free(window->fires);
    lru_remove(&breaker->rules, window);
}

void breaker_done(struct breaker *breaker)
{
    while (breaker->rules.oldest)
        forget_window(breaker, window_of(breaker->rules.oldest));
    lru_done(&breaker->rules);
}

static void close_window(struct breaker *breaker, struct breaker_window *window)
{
    window->is_open = false;
    window->count = window->first = 0;
    breaker->open--;
}

/* The window of a rule as it is now: without fires that are too old, closed when it is time. */
static struct breaker_window *get_window(struct breaker *breaker, const char *rule, int64_t now)
{
    struct breaker_window *window = lru_find(&breaker->rules, str_from(rule));

    if (!window) {
        if (lru_count(&breaker->rules) >= BREAKER_RULES_MAX)
            forget_window(breaker, window_of(breaker->rules.oldest));
        window = lru_get(&breaker->rules, str_from(rule));
    }
    if (window->is_open && window->open_until <= now)
        close_window(breaker, window);
    while (window->count > 0 && window->fires[window->first] <= now - WINDOW) {
        window->first = (window->first + 1) % ((size_t)breaker->rate + 1);
        window->count--;
    }
    return window;
}

bool breaker_reserve(struct breaker *breaker, const char *rule, int64_t now)
{
    struct breaker_window *window;

    if (breaker->rate <= 0)
        return true;
    window = get_window(breaker, rule, now);
    if (window->is_open || (int64_t)window->count + window->pending > breaker->rate)
        return false;
    window->pending++;
    return true;
}

static void end_reservation(struct breaker_window *window)
{
    if (window->pending > 0) /* else it was forgotten meanwhile */
        window->pending--;
}

bool breaker_confirm(struct breaker *breaker, const char *rule, int64_t now)
{
    const size_t size = (size_t)breaker->rate + 1;
    struct breaker_window *window;

    if (breaker->rate <= 0)
        return false;
    window = get_window(breaker, rule, now);
    end_reservation(window);
    if (window->is_open)
        return false;
    if (!window->fires)
        window->fires = mem_alloc(mem_product(size, sizeof(*window->fires)));
    window->fires[(window->first + window->count) % size] = now;
    window->count++;
    if ((int64_t)window->count <= breaker->rate)
        return false;
    window->is_open = true;
    window->open_until = now + breaker->cooldown;
    breaker->open++;
    return true;
}

void breaker_cancel(struct breaker *breaker, const char *rule)
{
    struct breaker_window *window = lru_find(&breaker->rules, str_from(rule));

    if (window)
        end_reservation(window);
}

bool breaker_sweep(struct breaker *breaker, int64_t now)
{
    const size_t before = breaker->open;

    for (struct lru_item *item = breaker->rules.oldest; item; item = item->newer)
        if (window_of(item)->is_open && window_of(item)->open_until <= now)
            close_window(breaker, window_of(item));
    return breaker->open < before;
}

void breaker_each(const struct breaker *breaker,
                  void (*fn)(void *user, struct str rule, bool is_open), void *user)
{
    for (struct lru_item *item = breaker->rules.oldest; item; item = item->newer)
        fn(user, item->key, window_of(item)->is_open);
}
