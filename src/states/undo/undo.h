/*
 * undo - the undo journal: the before-images of a run, on disk before each change.
 *
 * Each run that applies something has a folder <data_dir>/undo/<number>-<run id> with an
 * append-only journal and copies of large files. Runs are ordered by number, independent of the
 * clock. Folders of an older version are named <run id> and come first. states/undo/undo_record.h
 * describes the files and records.
 *
 * A record is in a frame with checksums (core/data/frame.h). Damaged parts are skipped and
 * reported as `gaps`. A finished run writes a seal with its record count, which tells a truncated
 * journal from the journal of a killed run.
 *
 * Writing:   undo_new -> { undo_begin, undo_keep..., undo_sync, undo_end }... -> undo_free
 * Reading:   undo_list -> undo_load
 * Marking:   undo_reopen -> { undo_restored }... -> [undo_reverted] -> undo_free
 *
 * States that change nothing create no files. Concurrent syncs share one write and one fsync.
 * Files with secrets are readable by the owner only.
 *
 * Threads: any number of writers; readers take no lock. The run lock (states/run/runlock.h) keeps
 * run numbers unique.
 */
#ifndef STATES_UNDO_UNDO_H
#define STATES_UNDO_UNDO_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "states/undo/image.h"
#include "states/state/outcome.h"
#include "states/compile/plan.h"

struct arena;
struct err;
struct site;
struct undo;

/* Longer journals or records are not read. */
#define UNDO_JOURNAL_MAX ((size_t)1 << 30)
#define UNDO_RECORD_MAX  ((size_t)64 << 20)
/* Limits for older runs; the first one reached applies. */
#define UNDO_KEEP_RUNS  200
#define UNDO_KEEP_BYTES ((uint64_t)1 << 30)
#define UNDO_KEEP_DAYS  90
/* The newest runs never expire, and the age of the others counts from the oldest of those: a clock
 * jump does not expire everything at once. */
#define UNDO_KEEP_LEAST 10
/* Smaller runs are not weighed until a larger one comes. */
#define UNDO_HEAVY_BYTES ((uint64_t)1 << 20)

/* --- writing ---------------------------------------------------------------------- */

struct undo_state {
    const char *name, *module, *id;
    const char *shown;        /* the name with its secrets masked; NULL: it has none */
    const struct value *body; /* for the module's revert, or NULL */
    uint32_t level;
    struct plan_retry retry;
    bool secret;
    bool hidden; /* never show its content, in a revert either */
};

/* A run as a list shows it. All borrowed. */
struct undo_head {
    const char *run_id;
    struct param_strs refs;
    const char *function, *by; /* who asked for it: "user root", "operator ada"; NULL: unknown */
};
struct undo *undo_new(const char *data_dir, const struct undo_head *head);
/* Flushes and frees. NULL is fine. */
void undo_free(struct undo *undo);

/* Begin a state; `ret_number` identifies it in the calls below. */
int undo_begin(struct undo *undo, const struct undo_state *state, uint32_t *ret_number,
               struct err *err);
/* Keep the image of a site. `left` is its mark after the change; NULL: unknown. Safe only after
 * undo_sync. `scratch` is used during the call only. */
int undo_keep(struct undo *undo, struct arena *scratch, uint32_t number, struct site *site,
              enum image_extent extent, const char *left, struct err *err);
/* The mark after a further change of a path that already has an image. */
int undo_left(struct undo *undo, uint32_t number, const char *path, const char *mark,
              struct err *err);
int undo_note(struct undo *undo, uint32_t number, const char *key, const struct value *v,
              struct err *err);
int undo_end(struct undo *undo, uint32_t number, enum state_outcome outcome, struct err *err);
/* Sync all records to disk. */
int undo_sync(struct undo *undo, struct err *err);
/* Write all records, so that they survive the end of this process. */
int undo_flush(struct undo *undo, struct err *err);

/* Has the journal been created? */
bool undo_is_open(const struct undo *undo);
/* Is it large enough that undo_prune should weigh all runs? */
bool undo_is_heavy(const struct undo *undo);

/* Remove runs beyond the limits, except `keep`. The size limit is checked only with `weigh`, which
 * walks every kept run. */
int undo_prune(const char *data_dir, const char *keep, bool weigh, struct err *err);

/* --- reading ---------------------------------------------------------------------- */

struct undo_image {
    struct image image;
    VEC(const char *) left; /* marks left by the state; none: any */
    uint64_t sequence;
};

struct undo_entry {
    const char *name, *module, *id;
    const char *shown; /* the name as it may be shown */
    struct value body; /* null: none */
    uint32_t level;
    struct plan_retry retry;
    bool secret, hidden, restored;
    bool lost;                     /* its begin record is damaged: only the images are known */
    bool ended, unchanged;         /* apply finished; it found nothing to do */
    enum state_outcome outcome;    /* once it has ended */
    uint64_t records, missing;     /* records read, and counted by the end record but missing */
    VEC(struct undo_image) images; /* in the order of changes */
    struct value_map *notes;
    uint64_t sequence; /* offset of its last image, or its begin record */
};

/* The folder of a run. */
struct undo_place {
    const char *id, *folder;
    uint64_t number; /* 0: written by a version without numbers */
};

/* An unreadable part of the journal. */
struct undo_gap {
    size_t offset, size;
    const char *why;
};

struct undo_run {
    struct undo_place place;
    int64_t time; /* seconds since 1970 */
    struct param_strs refs;
    const char *function, *by; /* "": unknown */
    bool named;                /* `refs` and `time` are set */
    bool reverted;             /* all of it */
    bool sealed; /* it finished; otherwise it was killed and its journal may end in a torn record */
    uint64_t records, missing; /* records read, and counted by the seal but missing */
    size_t marks_size;         /* size of the revert marks without a torn tail; 0: none */
    uint64_t marks_salt;
    VEC(struct undo_gap) gaps;
    VEC(struct undo_entry) states;
};

struct undo_places {
    VEC(struct undo_place) list; /* newest first */
};
/* Was the run of `a` made after that of `b`, whatever the clock said? */
bool undo_place_is_later(const struct undo_place *a, const struct undo_place *b);
int undo_list(struct arena *arena, const char *data_dir, struct undo_places *ret_places,
              struct err *err);
/* Fails with ERR_NOT_FOUND when the folder has no journal and no seal. */
int undo_load(struct arena *arena, const struct undo_place *place, struct undo_run *ret_run,
              struct err *err);
/* The same for a run id. Fails with ERR_NOT_FOUND when there is no such run. */
int undo_read(struct arena *arena, const char *data_dir, const char *run_id,
              struct undo_run *ret_run, struct err *err);
/* Parse a journal of this or the older version. Never fails: invalid parts become gaps. `ret_run`
 * must have its place. */
void undo_decode(struct arena *arena, struct str journal, struct undo_run *ret_run);
void undo_decode_old(struct arena *arena, struct str journal, struct undo_run *ret_run);

/* May the state have changed something? A command that ran counts. */
bool undo_entry_acted(const struct undo_entry *entry);
/* The same for any state of the run; true also if a part cannot be read. */
bool undo_acted(const struct undo_run *run);
bool undo_is_damaged(const struct undo_run *run);
/* Describe the missing parts of a state in a damaged run; NULL: complete. */
const char *undo_describe_loss(struct arena *arena, const struct undo_run *run,
                               const struct undo_entry *entry);
/* "57 bytes at offset 812 cannot be read (...); 2 of 14 records are lost". */
const char *undo_describe_damage(struct arena *arena, const struct undo_run *run);

/* Reopen a loaded run to mark what was reverted. */
struct undo *undo_reopen(const struct undo_run *run);
int undo_restored(struct undo *undo, uint32_t number, struct err *err);
int undo_reverted(struct undo *undo, struct err *err);

/* --- folders ---------------------------------------------------------------------- */

/* The folder of the next run, not created yet. */
int undo_next_folder(struct arena *arena, const char *data_dir, const char *run_id,
                     const char **ret_folder, struct err *err);

#endif
