/*
 * admission - the rules of enrollment: takes a request and stored records, gives an answer and
 * changes to store.
 *
 *     nonce    a challenge that only the holder of a key can answer, once, for five minutes
 *     submit   the answer, signed: makes a record that an operator decides about
 *     status   its state
 *     creds    the credentials, once, for the holder of the key
 *
 * The caller reads the entries that a call needs from the buckets, calls, applies the changes in
 * order, and sends the answer if all succeeded. A change carries the revision it is based on; if
 * another master was faster, admission_conflict has the answer. The index peel.<id> holds the id of
 * the current record and is written last: a record without an index was never admitted.
 *
 *     no record, or a final one        a new record takes its place
 *     pending, same key                the answer is that record (200)
 *     approved or later, same key      a new record takes its place: credentials were lost
 *     the same, `renew`, while its     the same, and it is approved: nothing is new but the end
 *     credentials are good             and who has signed them
 *     `only_renew`, otherwise          403: no record is made
 *     not final, another key           409, also for a pending one: nobody takes a name by being
 *                                      second
 *     pending, another key without a   a new record takes its place, and the other is rejected:
 *     join token, and this one has one nobody keeps a name from who was invited
 *     a new pending record, too many   429: those that come with a join token never wait
 *     of which wait
 *     a new record during a pause      503: the machine asks again later
 *
 * Pure: clock, addresses and random bytes are handed in. Memory: the arena. Threads: any.
 */
#ifndef FLEET_ENROLL_ADMISSION_H
#define FLEET_ENROLL_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/ksuid.h"
#include "fleet/bus/identity.h"
#include "fleet/bus/store.h"
#include "core/data/value.h"
#include "fleet/wire/enrollment.h"

struct arena;
struct err;
struct nats_nkey;

/* Bytes of a request. */
#define ADMISSION_BODY_MAX     4096
#define ADMISSION_HOSTNAME_MAX 255
#define ADMISSION_METADATA_MAX 32 /* pairs */
#define ADMISSION_REASON_MAX   ENROLLMENT_REASON_MAX

#define ADMISSION_CHALLENGE_SIZE    32
#define ADMISSION_CHALLENGE_SECONDS 300

#define ADMISSION_ID           "enr-"
#define ADMISSION_CHALLENGE_ID "chl-"
#define ADMISSION_INDEX        "peel."
/* Rejection reason: a machine with a join token took its place. */
#define ADMISSION_REPLACED "a machine with a join token has the name now"
/* Decided by renewal: the key was approved before and asked in time. */
#define ADMISSION_RENEWAL "renewal"

enum admission_status {
    ADMISSION_OK = 200,
    ADMISSION_CREATED = 201,
    ADMISSION_MALFORMED = 400,
    ADMISSION_UNSIGNED = 401, /* signature or challenge */
    ADMISSION_REFUSED = 403,
    ADMISSION_UNKNOWN = 404,
    ADMISSION_TAKEN = 409,
    ADMISSION_LIMITED = 429,
    ADMISSION_BROKEN = 500,
    ADMISSION_PAUSED = 503,
};

/* The same for all requests. */
struct admission_policy {
    const char *ca_pin;            /* of our own root; NULL: none to compare with */
    struct identity_issuer issuer; /* of credentials */
    const char *pause;             /* why no new machine is admitted now; NULL: open */
};

/* Different for each request. */
struct admission_moment {
    int64_t now; /* nanoseconds since 1970 */
    const char *remote_addr;
    const char *sponsor; /* "token:<id>" of a join token valid for this machine; "": none */
    const char *crowd;   /* why no more machines may wait for a decision; NULL: open */
    char ksuid[KSUID_SIZE];
    unsigned char bytes[ADMISSION_CHALLENGE_SIZE]; /* random */
};

/* A stored entry; revision 0: missing. */
struct admission_entry {
    uint64_t revision;
    struct str value;
};

/* A write that requires the entry's revision to be unchanged; revision 0: to be missing. */
struct admission_change {
    enum store_bucket bucket;
    const char *key;
    struct str value;
    uint64_t revision;
};

#define ADMISSION_CHANGES_MAX 4

struct admission_answer {
    enum admission_status status;
    struct value body; /* a map; `error` has the problem */
    struct admission_change changes[ADMISSION_CHANGES_MAX];
    size_t change_count;
    const struct enrollment *created;  /* a new pending record, to be announced; or NULL */
    const struct enrollment *replaced; /* the record of another key that it replaces; or NULL */
};

/* --- the four calls ----------------------------------------------------------------- */

void admission_nonce(struct arena *arena, struct str peel_id, struct str public_key,
                     const struct admission_moment *moment, struct admission_answer *ret);

/* A parsed body. */
struct admission_request {
    const char *peel_id, *public_key, *curve_public_key, *hostname, *challenge_id;
    const char *signature, *trusted_ca_spki, *trust_signature;
    struct value metadata;
    bool renew;      /* the credentials of this key will expire */
    bool only_renew; /* fail if they cannot be renewed, without a new request */
};
/* False: `ret` is the answer (400). */
bool admission_read(struct arena *arena, struct str body, struct admission_request *ret_request,
                    struct admission_answer *ret);
/* "peel.<id>" and "chl-...": the entries that admission_submit needs, beside the record that the
 * index names. */
const char *admission_index_key(struct arena *arena, const char *peel_id);
struct admission_stored {
    struct admission_entry challenge, index, record;
};
void admission_submit(struct arena *arena, const struct admission_request *request,
                      const struct admission_stored *stored, const struct admission_policy *policy,
                      const struct admission_moment *moment, struct admission_answer *ret);

void admission_status(struct arena *arena, const struct admission_entry *entry,
                      struct admission_answer *ret);

struct admission_claim {
    const char *id;                       /* in the path */
    struct str authorization;             /* the header */
    struct admission_entry record, index; /* the index of the record's peel */
};
void admission_creds(struct arena *arena, const struct admission_claim *claim,
                     const struct admission_policy *policy, const struct admission_moment *moment,
                     struct admission_answer *ret);

/* Change `number` of `answer` failed on another revision. */
void admission_conflict(struct arena *arena, const struct admission_answer *answer, size_t number,
                        struct admission_answer *ret);
/* An answer without changes. */
void admission_fail(struct arena *arena, enum admission_status status, const char *text,
                    struct admission_answer *ret);

/* --- decisions ---------------------------------------------------------------------- */

/* The last one is not an operator's: the peel was seen working. */
enum admission_decision {
    ADMISSION_APPROVE,
    ADMISSION_REJECT,
    ADMISSION_REVOKE,
    ADMISSION_ACTIVATE,
};

/* The record's trust in our CA: "ok", "unverified", "MISMATCH!", "-". */
const char *admission_trust(const struct enrollment *record);

/* The record after an operator's decision. Revoking twice is fine. Fails with ERR_INVALID for an
 * impossible transition, or if the machine's trust does not allow it without force. */
int admission_decide(enum admission_decision decision, const struct enrollment *record,
                     const struct enrollment_request *request,
                     const struct admission_policy *policy, int64_t now,
                     struct enrollment *ret_record, struct err *err);

#endif
