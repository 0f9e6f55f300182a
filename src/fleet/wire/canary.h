/*
 * canary - a revision of the states that some machines try before the others.
 *
 * While there is one, the bucket of states has beside its set:
 *
 *     _canary                 the record: for whom, since when, and its phase
 *     _canary.manifest        the manifest of the canary's set
 *     _canary.signature       the account's signature (fleet/wire/signature.h)
 *     _canary.file.<sum>      a file that is not in the other set
 *
 * A canary manifest names each file by its key, which is the key in the other set when both have
 * the file. Changes of both are announced by the bucket's number (fleet/wire/fileset.h).
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_CANARY_H
#define FLEET_WIRE_CANARY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/record.h"
#include "fleet/wire/fileset.h"

#define CANARY_RECORD    "_canary"
#define CANARY_MANIFEST  "_canary.manifest"
#define CANARY_SIGNATURE "_canary.signature"
#define CANARY_FILE      "_canary.file."

/* Fact of a machine that follows the canary: its revision. */
#define CANARY_FACT "states_canary"

/* Bytes of a record. */
#define CANARY_RECORD_MAX ((size_t)256 << 10)

/* Another master continues from this phase when the publishing one stops. */
enum canary_phase {
    CANARY_RUNNING,
    CANARY_PROMOTING, /* its files are being published to all */
    CANARY_ABORTING,  /* the folder is being brought back to the base */
    CANARY_ENDED,     /* all that is left is to remove it */
};
const char *canary_phase_name(enum canary_phase phase);

struct canary {
    const char *target;
    struct value groups; /* groups in the target, by name; nil: none */
    enum canary_phase phase;
    int64_t since_unix;
    const char *operator; /* who began it */
    const char *ended_by; /* who promotes or aborts it; "": not yet */
    uint64_t base;        /* the revision of all other machines */
    const char *manifest; /* the sum of its manifest */
};
extern const struct record_type canary_type;

/* Do its machines follow its set now? */
bool canary_is_followed(const struct canary *canary);

/* --- requests of operators --------------------------------------------------------- */

enum canary_act { CANARY_SHOW, CANARY_BEGIN, CANARY_PROMOTE, CANARY_ABORT };

struct canary_request {
    enum canary_act act;
    const char *target, *operator;
};
extern const struct record_type canary_request_type;

struct canary_reply {
    const char *master;
    bool active;
    const char *phase, *target; /* "": there is none */
    int64_t since_unix;
    const char *operator;
    uint64_t base, revision;   /* of all machines, and of the canary */
    uint64_t peels, following; /* its machines, and those that have its revision */
    uint64_t published;        /* the revision of its promotion */
    uint64_t files;            /* in the folder, changed by an abort */
    const char *err;
    struct value trees; /* what is published now: a map (fleet/wire/liveness.h); null: not known */
};
extern const struct record_type canary_reply_type;

#endif
