/*
 * record - what is known of the services of a config, as a file: state.json.
 *
 * Written whole and renamed into place, so that a daemon that is killed at any moment
 * leaves the old or the new. Read by the next daemon, and for configs that are not
 * loaded. Keys and meaning are those of the original.
 *
 *     { "services": { NAME: { "status": "running", "pid": 12, ... } },
 *       "config_initialized": true, "snapshot_time": 0, "owner_uid": 0, "owner_gid": 0 }
 *
 * Memory: the arena. Threads: any.
 */
#ifndef DAEMON_RECORD_H
#define DAEMON_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "data/value.h"
#include "engine/service.h"

struct err;

#define RECORD_FILE     "state.json"
#define RECORD_FILE_MAX ((size_t)64 << 20)

struct record_service {
    const char *name;
    struct service_record record;
    const char *reason;
};

struct record {
    VEC(struct record_service) services;
    bool config_initialized;
    int64_t snapshot_time; /* seconds; 0: none */
    uid_t owner_uid;
    gid_t owner_gid;
};

/* What `ps --json` and `inspect` show of a service. */
struct value record_service_value(struct arena *arena, const struct service_record *record,
                                  const char *reason);
/* The same from a record: what was active counts as stopped, since nobody looks after it. */
void record_settle(struct record_service *service);

int record_print(struct buf *out, const struct record *record, struct err *err);
/* Fails with ERR_INVALID; unknown keys are passed over. */
int record_parse(struct arena *arena, struct str text, struct record *ret_record, struct err *err);

/* In `folder`. One that is not there is NULL. */
int record_save(const char *folder, const struct record *record, struct err *err);
int record_load(struct arena *arena, const char *folder, const struct record **ret_record,
                struct err *err);

/* NULL when there is none of that name. */
const struct record_service *record_find(const struct record *record, const char *name);

#endif
