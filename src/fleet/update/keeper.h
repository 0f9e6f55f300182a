/*
 * keeper - the state machine of a watched daemon and its updates; pure, with all effects handed in.
 *
 *                  prepare             apply              ready for the soak time, confirm
 *     idle --> preparing --> staged --> applying --> soaking --> confirmed --> preparing ...
 *      ^           |            |                       |            |
 *      +-----------+------------+      rolling_back <---+------------+  rollback
 *      +--------------------------------------+
 *
 * Three slots: current is running, prev ran before it, staging is next. The record is on disk
 * before the step that it describes. Whichever step a crash or a power failure interrupts,
 * keeper_recover finds from the record and the slots' hashes what was done: there is always a
 * current slot.
 *
 * A soaking version is rolled back automatically if the daemon exits, or is not ready, `retries`
 * times in a row; if it is not ready within `start_within`; and if it is not confirmed within
 * `confirm_within`. While the watchdog cannot reach the bus either, a daemon that answers but is
 * not ready counts as neither ready nor failed.
 *
 * A daemon that exits is restarted after 1, 2, 4, ... seconds, up to `backoff_max`. After
 * `degraded_after` consecutive exits the node is degraded and retries every `degraded_retry`.
 * Running for `stable_after` resets the count.
 *
 *     keeper_init -> keeper_recover -> keeper_begin
 *                 -> { command, fetched, exited, probed, tick }...
 *
 * Memory: in its owner's struct. Threads: one.
 */
#ifndef FLEET_UPDATE_KEEPER_H
#define FLEET_UPDATE_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/sha256.h"
#include "core/data/record.h"
#include "fleet/wire/update.h"

struct err;
struct keeper;

#define KEEPER_NOTE_SIZE 256

/* Content of a slot; "" and "": empty. */
struct keeper_slot {
    char version[UPDATE_VERSION_MAX + 1];
    char sha256[SHA256_HEX_SIZE];
};

enum keeper_place { KEEPER_CURRENT, KEEPER_PREV, KEEPER_STAGING };
#define KEEPER_PLACES (KEEPER_STAGING + 1)

/* The state on disk. */
struct keeper_record {
    enum update_state state;
    struct keeper_slot slots[KEEPER_PLACES];
    int64_t soak;                        /* nanoseconds, of the staged or soaking version */
    int32_t soak_starts;                 /* starts of the watchdog during the soak */
    char note[KEEPER_NOTE_SIZE];         /* why the last update failed; "": success */
    char failed[UPDATE_VERSION_MAX + 1]; /* the version of that update */
};

/* Times are nanoseconds. */
struct keeper_times {
    int64_t soak;           /* unless in the command */
    int64_t confirm_within; /* 0: KEEPER_SOAKS soak times, at least KEEPER_CONFIRM_MIN */
    int64_t start_within;
    int64_t probe_interval;
    int64_t backoff_min, backoff_max;
    int64_t degraded_retry, stable_after;
    int32_t degraded_after, retries;
};
#define KEEPER_SOAKS       3
#define KEEPER_CONFIRM_MIN (INT64_C(300) * 1000000000)
/* Watchdog starts during a soak that roll the version back. */
#define KEEPER_SOAK_STARTS 3

enum keeper_probe { KEEPER_READY, KEEPER_NOT_READY, KEEPER_SILENT };

struct keeper_world {
    /* Saves the record durably. */
    int (*save)(void *self, const struct keeper_record *record, struct err *err);
    /* Fetch and verify into staging; keeper_fetched follows. */
    void (*fetch)(void *self, const struct update_command *command);
    /* keeper_fetched does not follow. */
    void (*cancel_fetch)(void *self);
    /* Staging becomes current, current becomes prev; or prev becomes current. Durably. */
    int (*swap_in)(void *self, struct err *err);
    int (*swap_back)(void *self, struct err *err);
    void (*discard)(void *self); /* removes the staged version */
    /* keeper_exited follows, from the loop. */
    int (*start)(void *self, struct err *err);
    void (*stop)(void *self);
    void (*probe)(void *self); /* keeper_probed follows, unless another state comes first */
    bool (*has_bus)(void *self);
    void (*wake)(void *self,
                 int64_t at); /* keeper_tick at that time; replaces an earlier request */
    int64_t (*now)(void *self);
    /* The status has changed; `words` for the log. */
    void (*changed)(void *self, const char *words);
};

enum keeper_child { KEEPER_DOWN, KEEPER_UP, KEEPER_STOPPING };

struct keeper {
    const struct keeper_world *world;
    void *self;
    struct keeper_times times;
    struct keeper_record record;
    enum keeper_child child;
    int64_t started;    /* last start of the daemon */
    int64_t restart_at; /* while it is down */
    int32_t failures;   /* consecutive exits */
    bool degraded;
    /* of a soak */
    int64_t ready_since; /* 0: is not ready */
    int64_t probe_at, confirm_by;
    int32_t misses;
    bool was_ready, soak_passed, is_probing;
    bool is_ending;              /* the watchdog stops */
    char said[KEEPER_NOTE_SIZE]; /* in the last response */
};

void keeper_init(struct keeper *keeper, const struct keeper_world *world, void *self,
                 const struct keeper_times *times);

/* Takes the stored record, and the current hashes of the slots ("": empty). Decides how to
 * continue, without effects. Fails with ERR_NOT_FOUND if there is nothing to run. */
int keeper_recover(struct keeper *keeper, const struct keeper_record *record,
                   const char *const seen[static KEEPER_PLACES], struct err *err);
/* Starts the daemon, and continues an interrupted step. */
void keeper_begin(struct keeper *keeper);

/* Executes or refuses a command; `ret` is the response, with borrowed texts. */
void keeper_command(struct keeper *keeper, const struct update_command *command,
                    struct update_response *ret);
/* `error` NULL: success. */
void keeper_fetched(struct keeper *keeper, const char *error);
void keeper_exited(struct keeper *keeper, const char *how);
void keeper_probed(struct keeper *keeper, enum keeper_probe result);
void keeper_tick(struct keeper *keeper);
/* Stops the daemon for good. True: already down; else keeper_is_over after its exit. */
bool keeper_end(struct keeper *keeper);
bool keeper_is_over(const struct keeper *keeper);

/* Uptime of the daemon. */
int64_t keeper_uptime(const struct keeper *keeper);

#endif
