/*
 * state_file - the state of a config's services, as a file: state.json.
 *
 * Replaced by a rename, so that a killed daemon leaves the old or the new file. Read by the next
 * daemon, and for configs that are not loaded. Keys and meaning match the original.
 *
 *     { "services": { NAME: { "status": "running", "goal": "up", "pid": 12, ... } },
 *       "config_initialized": true, "snapshot_time": 0, "owner_uid": 0, "owner_gid": 0 }
 *
 * Memory: the arena. Threads: any.
 */
#ifndef KEPLER_DAEMON_STATE_FILE_H
#define KEPLER_DAEMON_STATE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/vec.h"
#include "core/data/value.h"
#include "kepler/engine/service.h"

struct err;

#define STATE_FILE     "state.json"
#define STATE_FILE_MAX ((size_t)64 << 20)

struct state_file_service {
    const char *name;
    struct service_record record;
    const char *reason;
    enum service_goal goal; /* for the next daemon */
};

struct state_file {
    VEC(struct state_file_service) services;
    bool config_initialized;
    int64_t snapshot_time; /* seconds; 0: none */
    uid_t owner_uid;
    gid_t owner_gid;
};

/* A service as shown by `ps --json` and `inspect`. */
struct value state_file_service_value(struct arena *arena, const struct service_record *record,
                                      const char *reason);
/* The same from a record: an active service counts as stopped, since it is not supervised, or as
 * ended, if it had. */
void state_file_settle(struct state_file_service *service);

int state_file_print(struct buf *out, const struct state_file *record, struct err *err);
/* Fails with ERR_INVALID; unknown keys are ignored. */
int state_file_parse(struct arena *arena, struct str text, struct state_file *ret_record,
                     struct err *err);

/* Loads from `folder`. NULL when there is no file. */
int state_file_save(const char *folder, const struct state_file *record, struct err *err);
int state_file_load(struct arena *arena, const char *folder, const struct state_file **ret_record,
                    struct err *err);

/* NULL when there is no such service. */
const struct state_file_service *state_file_find(const struct state_file *record, const char *name);

#endif
