/*
 * keeper - the life of a watched daemon and of its next version; pure, on a world that is handed
 * in.
 *
 *                  prepare             apply              ready for the soak time, confirm
 *     idle --> preparing --> staged --> applying --> soaking --> confirmed --> preparing ...
 *      ^           |            |                       |            |
 *      +-----------+------------+      rolling_back <---+------------+  rollback
 *      +--------------------------------------+
 *
 * Three slots: current runs, prev is what ran before it, staging what comes. The record of them is
 * on disk before the step that it describes, and whichever step a crash or a power failure
 * interrupts, keeper_recover finds from the record and the hashes of the slots what was done: there
 * is a current slot at every moment.
 *
 * A version that soaks goes back by itself when the daemon ends, or is not ready, `retries` times
 * in a row; when it is not ready within `start_within`; and when nobody has confirmed it within
 * `confirm_within`. While the bus cannot be reached from here either, a daemon that answers and is
 * not ready for that reason counts as neither ready nor failed.
 *
 * A daemon that ends is started again after 1, 2, 4, ... seconds up to `backoff_max`; after
 * `degraded_after` ends in a row the node is degraded and tries again every `degraded_retry`. One
 * that has run for `stable_after` begins anew.
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

/* What is in a slot; "" and "": nothing. */
struct keeper_slot {
    char version[UPDATE_VERSION_MAX + 1];
    char sha256[SHA256_HEX_SIZE];
};

enum keeper_place { KEEPER_CURRENT, KEEPER_PREV, KEEPER_STAGING };
#define KEEPER_PLACES (KEEPER_STAGING + 1)

/* What is kept on disk. */
struct keeper_record {
    enum update_state state;
    struct keeper_slot slots[KEEPER_PLACES];
    int64_t soak;                        /* nanoseconds, of the version that is staged or soaks */
    int32_t soak_starts;                 /* of the watchdog while that version soaked */
    char note[KEEPER_NOTE_SIZE];         /* why the last update failed; "": it did not */
    char failed[UPDATE_VERSION_MAX + 1]; /* the version of that update */
};

/* Times are nanoseconds. */
struct keeper_times {
    int64_t soak;           /* unless the command says so */
    int64_t confirm_within; /* 0: KEEPER_SOAKS soak times, KEEPER_CONFIRM_MIN at least */
    int64_t start_within;
    int64_t probe_interval;
    int64_t backoff_min, backoff_max;
    int64_t degraded_retry, stable_after;
    int32_t degraded_after, retries;
};
#define KEEPER_SOAKS       3
#define KEEPER_CONFIRM_MIN (INT64_C(300) * 1000000000)
/* A version during whose soak the watchdog was started so often goes back. */
#define KEEPER_SOAK_STARTS 3

enum keeper_probe { KEEPER_READY, KEEPER_NOT_READY, KEEPER_SILENT };

struct keeper_world {
    /* The record, on disk when it returns. */
    int (*save)(void *self, const struct keeper_record *record, struct err *err);
    /* Fetch and verify into staging; keeper_fetched follows. */
    void (*fetch)(void *self, const struct update_command *command);
    /* keeper_fetched does not follow. */
    void (*cancel_fetch)(void *self);
    /* Staging becomes current, current becomes prev; or prev becomes current. On disk. */
    int (*swap_in)(void *self, struct err *err);
    int (*swap_back)(void *self, struct err *err);
    void (*discard)(void *self); /* what is staged */
    /* keeper_exited follows, from the loop. */
    int (*start)(void *self, struct err *err);
    void (*stop)(void *self);
    void (*probe)(void *self); /* keeper_probed follows, unless another state comes first */
    bool (*has_bus)(void *self);
    void (*wake)(void *self, int64_t at); /* keeper_tick then; replaces the one before */
    int64_t (*now)(void *self);
    /* Something in the status has changed; `words` for the log. */
    void (*changed)(void *self, const char *words);
};

enum keeper_child { KEEPER_DOWN, KEEPER_UP, KEEPER_STOPPING };

struct keeper {
    const struct keeper_world *world;
    void *self;
    struct keeper_times times;
    struct keeper_record record;
    enum keeper_child child;
    int64_t started;    /* the daemon, last */
    int64_t restart_at; /* while it is down */
    int32_t failures;   /* ends in a row */
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

/* The record that was read, and the hashes of the slots as they are ("": nothing there). Decides
 * how to go on; nothing is done yet. Fails with ERR_NOT_FOUND when nothing can be run. */
int keeper_recover(struct keeper *keeper, const struct keeper_record *record,
                   const char *const seen[static KEEPER_PLACES], struct err *err);
/* Start the daemon, and go on with what was interrupted. */
void keeper_begin(struct keeper *keeper);

/* Do as told, or refuse; what there is to say is in `ret`, whose texts are borrowed. */
void keeper_command(struct keeper *keeper, const struct update_command *command,
                    struct update_response *ret);
/* Nothing of it failed when `error` is NULL. */
void keeper_fetched(struct keeper *keeper, const char *error);
void keeper_exited(struct keeper *keeper, const char *how);
void keeper_probed(struct keeper *keeper, enum keeper_probe result);
void keeper_tick(struct keeper *keeper);
/* Stop the daemon for good. True: it is down already; else keeper_is_over after its end. */
bool keeper_end(struct keeper *keeper);
bool keeper_is_over(const struct keeper *keeper);

/* How long the daemon has run. */
int64_t keeper_uptime(const struct keeper *keeper);

#endif
