/*
 * canary - a revision of the states that some machines try before all others get it.
 *
 * While there is one, the bucket of states has beside its set:
 *
 *     _canary                 the record: for whom, since when, and what becomes of it
 *     _canary.manifest        the manifest of the canary's set
 *     _canary.signature       that masters wrote it (fleet/wire/signature.h)
 *     _canary.file.<sum>      a file that the other set does not have
 *
 * A manifest of a canary names each file by the key that has it, which is that of the other set
 * when both have the same file. News of both are the number of the bucket (fleet/wire/fileset.h).
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

/* The fact of a machine that follows it: the revision that it has. */
#define CANARY_FACT "states_canary"

/* Bytes of a record. */
#define CANARY_RECORD_MAX ((size_t)256 << 10)

/* What becomes of it. Whoever publishes goes on where another master was ended. */
enum canary_phase {
    CANARY_RUNNING,
    CANARY_PROMOTING, /* its files are being published to all */
    CANARY_ABORTING,  /* the folder is being brought back to the base */
    CANARY_ENDED,     /* all that is left is to remove it */
};
const char *canary_phase_name(enum canary_phase phase);

struct canary {
    const char *target;
    struct value groups; /* that the target names, by name; nil: none */
    enum canary_phase phase;
    int64_t since_unix;
    const char *operator; /* who began it */
    const char *ended_by; /* who promotes or aborts it; "": nobody */
    uint64_t base;        /* the revision that all others have */
    const char *manifest; /* the sum of its manifest */
};
extern const struct record_type canary_type;

/* Do those that it means follow its set now? */
bool canary_is_followed(const struct canary *canary);

/* --- what operators ask for --------------------------------------------------------- */

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
    uint64_t base, revision;   /* of all, and of those that it means */
    uint64_t peels, following; /* that it means, and those of them that have that revision */
    uint64_t published;        /* as which revision it ended */
    uint64_t files;            /* of the folder that an abort changed */
    const char *err;
};
extern const struct record_type canary_reply_type;

#endif
