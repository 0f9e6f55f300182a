/*
 * breaker - stops a rule that fires too often: a loop that the depth limit cannot detect.
 *
 * Counts the completed fires of each rule in the last minute. More than `rate` open the rule's
 * breaker for the cooldown; then it starts afresh. Like throttle.h it has two phases: reserve
 * before, confirm after. Reserved fires count as completed for others, so at most rate + 1 fire in
 * a minute, however many run at once.
 *
 *     breaker_reserve(rule) -> breaker_confirm | breaker_cancel
 *
 * Pure: time is handed in. Memory: breaker_done frees. Threads: one.
 */
#ifndef FLEET_REACTOR_BREAKER_H
#define FLEET_REACTOR_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/lru.h"

#define BREAKER_RULES_MAX 4096
#define BREAKER_RATE_MAX  10000

struct breaker {
    int64_t rate; /* fires a minute, at most BREAKER_RATE_MAX; 0: no limit */
    int64_t cooldown;
    struct lru rules;
    size_t open; /* how many are open */
};

void breaker_init(struct breaker *breaker, int64_t rate, int64_t cooldown);
void breaker_done(struct breaker *breaker);

/* False: it is open. */
bool breaker_reserve(struct breaker *breaker, const char *rule, int64_t now);
/* It has fired. True: that was one too many and opened the breaker. */
bool breaker_confirm(struct breaker *breaker, const char *rule, int64_t now);
/* It has not fired. */
void breaker_cancel(struct breaker *breaker, const char *rule);

/* Closes breakers after their cooldown, even without events. True: closed one. */
bool breaker_sweep(struct breaker *breaker, int64_t now);
/* Calls `fn` for each rule that has fired or was open. */
void breaker_each(const struct breaker *breaker,
                  void (*fn)(void *user, struct str rule, bool is_open), void *user);

#endif
