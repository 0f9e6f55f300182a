/*
 * condition - when a dependency counts as met; pure.
 *
 * The documented behaviour of depends_on is decided here, from the condition of an edge and the
 * status of the dependency alone: whether the condition holds, whether an exit is only transient,
 * whether the condition can never hold again, and how that is reported.
 *
 * A dependency that could not be started (failed) or was stopped by hand is not started again by
 * its policy: policies apply to processes that end. A service that was never started counts as
 * stopped too, but is awaited if its policy keeps it up.
 */
#ifndef KEPLER_CONFIG_CONDITION_H
#define KEPLER_CONFIG_CONDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "kepler/config/policy.h"
#include "kepler/config/status.h"

struct buf;

enum condition {
    CONDITION_STARTED,
    CONDITION_HEALTHY,
    CONDITION_COMPLETED_SUCCESSFULLY,
    CONDITION_UNHEALTHY,
    CONDITION_FAILED,
    CONDITION_STOPPED,
};
#define CONDITIONS (CONDITION_STOPPED + 1)

/* The default condition. */
#define CONDITION_DEFAULT "service_started"

/* "service_healthy", and "ServiceHealthy" as the timeout reason spells it. */
const char *condition_name(enum condition condition);
/* Does it wait for a service to end? */
bool condition_is_end(enum condition condition);
const char *condition_title(enum condition condition);
/* Arrow style in drawings; NULL: plain. */
const char *condition_style(enum condition condition);
/* Texts about all conditions: one line each; "a, b and c"; those that look at exit codes. */
void condition_print_list(struct buf *out);
void condition_print_names(struct buf *out);
void condition_print_names_with_codes(struct buf *out);
/* -1 for an unknown word. */
int condition_parse(struct str word, enum condition *ret);

/* The value a filter sees when there is no exit code, and the largest exit code. */
#define CONDITION_NO_CODE  (-1)
#define CONDITION_CODE_MAX 255

/* Inclusive ranges; none: any code matches. */
struct condition_range {
    int64_t first, last;
};
struct condition_codes {
    const struct condition_range *ranges;
    size_t count;
};
bool condition_codes_match(const struct condition_codes *codes, int64_t code);

/* The known state of an edge's dependency. */
struct condition_facts {
    enum status status;
    bool has_exit_code;
    int exit_code; /* as the process reported it */
    int signal;    /* 0: none */
    bool was_healthy;
    bool unchecked; /* no health check, and no timeout to wait for one */
    bool untouched; /* stopped because it was never started */
    bool limited;   /* a start limit ends its restarts in failed */
    const struct policy *policy;
    const char *name;
};

enum condition_verdict {
    CONDITION_WAIT,  /* not yet */
    CONDITION_HOLDS, /* holds */
    CONDITION_SKIP,  /* never: the dependent is skipped, with a reason */
};

/* The rules in order: holds; transient exits do not count; a skipped dependency cascades unless the
 * edge allows it; permanently unsatisfied; structurally unreachable; health of a service without a
 * check (an addition of ours). With CONDITION_SKIP the documented reason is appended to `reason`.
 */
enum condition_verdict condition_judge(enum condition condition,
                                       const struct condition_codes *codes, bool allow_skipped,
                                       const struct condition_facts *facts, struct buf *reason);

/* Does the condition hold now, transient or not? */
bool condition_holds(enum condition condition, const struct condition_codes *codes,
                     const struct condition_facts *facts);
/* Has the service ended in a way that its policy restarts? */
bool condition_will_restart(const struct condition_facts *facts);
/* Never started, although its policy keeps it up? */
bool condition_may_come(const struct condition_facts *facts);
/* Can the policy of the dependency permanently prevent the condition? A start limit ends even
 * unconditional restarts. */
bool condition_is_unreachable(enum condition condition, const struct policy *policy, bool limited);
/* "`redis` has restart policy `always` — it will always restart, so ..." */
void condition_print_unreachable(enum condition condition, const struct policy *policy,
                                 const char *name, struct buf *out);
/* "`db` has no healthcheck, so `service_healthy` can never be met" */
void condition_print_unchecked(enum condition condition, const char *name, struct buf *out);
/* "Dependency timeout: app timed out waiting for db to satisfy condition ServiceHealthy" */
void condition_print_timeout(enum condition condition, const char *service, const char *dependency,
                             struct buf *out);
/* Is the condition about health, so that the dependency needs a check? */
bool condition_needs_health(enum condition condition);
/* Does the condition look at exit codes? */
bool condition_has_codes(enum condition condition);
/* Does it wait for something that no successful start brings, perhaps forever? */
bool condition_waits_for_trouble(enum condition condition);

#endif
