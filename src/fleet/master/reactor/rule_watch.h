/*
 * rule_watch - loads the published rules of the fleet: at the start, and for each new revision. The
 * first revision of a fleet is loaded at once.
 *
 * A failure is reported, and tried again after RULE_WATCH_RETRY_NS; the current rules stay in use.
 *
 * Memory: rule_watch_free, before its connection. Threads: the loop's.
 */
#ifndef FLEET_MASTER_REACTOR_RULE_WATCH_H
#define FLEET_MASTER_REACTOR_RULE_WATCH_H

#include <stdint.h>

#include "core/base/str.h"
#include "fleet/bus/tree_trust.h"
#include "fleet/nats/js.h"

struct diags;
struct err;
struct loop;
struct rule_set;
struct rule_watch;

/* After a new revision: a burst of revisions is loaded once, and masters do not all load at the
 * same time. */
#define RULE_WATCH_DEBOUNCE_NS (INT64_C(2) * 1000000000)
#define RULE_WATCH_JITTER_NS   (INT64_C(5) * 1000000000)
int64_t rule_watch_pause(void);
/* In a fleet without rules: another master may be about to publish the first ones, and no event may
 * be taken before. */
#define RULE_WATCH_FIRST_NS (INT64_C(3) * 1000000000)
#define RULE_WATCH_RETRY_NS (INT64_C(60) * 1000000000)

struct rule_watch_options {
    struct nats_js js;
    struct loop *loop;
    struct tree_trust trust; /* its texts must outlive it */
    /* The owner takes the reference. `lints` are warnings. */
    void (*loaded)(void *self, struct rule_set *rules, const struct diags *lints);
    void (*failed)(void *self, const char *text);
    void *self;
};

struct rule_watch *rule_watch_new(const struct rule_watch_options *options, struct err *err);
/* The publisher has no rules: do not wait for a first revision. NULL is fine. */
void rule_watch_expect_none(struct rule_watch *watch);
/* The manifest of the published rules; a NULL view: none. */
struct str rule_watch_manifest(const struct rule_watch *watch);
/* NULL is fine. */
void rule_watch_free(struct rule_watch *watch);

#endif
