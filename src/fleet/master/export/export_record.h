/*
 * export_record - what is sent away of a message: an event, a return, the record of a job.
 *
 * Each has an `export_id` by which a receiver knows it again, since it may come twice: origin and
 * id of the event; job, peel and revision of the return; job and revision of the record. A return
 * or a record that was corrected is another one.
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

/* Of a record as JSON. */
#define EXPORT_RECORD_MAX ((size_t)32 << 20)

struct export_message {
    struct str subject, payload;
    uint64_t seq;
};

struct export_record {
    const char *id;
    struct str json;
};

/* False: it is not sent, because it does not match, cannot be read, or is not the end of a job. */
bool export_record_make(struct arena *arena, enum export_kind kind, const struct export_conf *conf,
                        const struct export_message *message, struct export_record *ret);

#endif
