/*
 * registry - enrollment on the buckets of the fleet: reads the entries that
 * fleet/enroll/admission.h needs, and writes its changes by compare-and-set.
 *
 *     struct registry registry = { .js = js, .policy = { .ca_pin = pin, .issuer = issuer } };
 *     registry_submit(&registry, body, &sender, on_answer, self);
 *
 * Every call calls back exactly once. The answer is ADMISSION_BROKEN if the buckets are unreachable
 * or the connection is freed. Any number of masters may do this at once.
 *
 * Memory: a registry is a value with borrowed texts; it must outlive its calls. Arguments are
 * copied; answers are valid during their callback. Threads: the loop's.
 */
#ifndef FLEET_ENROLL_REGISTRY_H
#define FLEET_ENROLL_REGISTRY_H

#include "fleet/enroll/admission.h"
#include "fleet/nats/js.h"

struct registry {
    struct nats_js js;
    struct admission_policy policy;
};

typedef void registry_fn(void *self, const struct admission_answer *answer);

void registry_nonce(const struct registry *registry, struct str peel_id, struct str public_key,
                    registry_fn *fn, void *self);
/* The sender of a request. */
struct registry_sender {
    const char *remote_addr;
    const char *sponsor; /* as in fleet/enroll/admission.h: "" or "token:<id>" */
    const char *crowd;   /* the same; or NULL */
};
void registry_submit(const struct registry *registry, struct str body,
                     const struct registry_sender *sender, registry_fn *fn, void *self);
void registry_status(const struct registry *registry, const char *id, registry_fn *fn, void *self);
void registry_creds(const struct registry *registry, const char *id, struct str authorization,
                    registry_fn *fn, void *self);

/* Result of a decision. */
struct registry_verdict {
    const struct enrollment *record; /* the record after it; NULL: nothing decided */
    const char *error;               /* the error; NULL: success */
    enum admission_status status;    /* of an error: unknown, refused, broken */
};
typedef void registry_decided_fn(void *self, const struct registry_verdict *verdict);
/* `request->id` is an enrollment's id, or a peel id for its current enrollment. */
void registry_decide(const struct registry *registry, enum admission_decision decision,
                     const struct enrollment_request *request, registry_decided_fn *fn, void *self);

#endif
