/*
 * export_record - makes the exported record of a message: an event, a return, or a job.
 *
 * Each has an `export_id`, by which a receiver finds duplicates: origin and id of the event; job,
 * peel and revision of the return; job and revision of the job record. A corrected return or job
 * record has a new one.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_MASTER_EXPORT_EXPORT_RECORD_H
#define FLEET_MASTER_EXPORT_EXPORT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

struct arena;
struct export_conf;

enum export_kind { EXPORT_EVENTS, EXPORT_RETURNS, EXPORT_JOBS };
#define EXPORT_KINDS (EXPORT_JOBS + 1)

/* "event", "return", "job" */
const char *export_kind_name(enum export_kind kind);

/* Maximum size of a record as JSON. */
#define EXPORT_RECORD_MAX ((size_t)32 << 20)

struct export_message {
    struct str subject, payload;
    uint64_t seq;
};

struct export_record {
    const char *id;
    struct str json;
};

/* False: not sent, because it does not match, is malformed, or is a job that has not ended. */
bool export_record_make(struct arena *arena, enum export_kind kind, const struct export_conf *conf,
                        const struct export_message *message, struct export_record *ret);

#endif
