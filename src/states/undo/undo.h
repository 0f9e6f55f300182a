/*
 * undo - what a run changed and what was there before, on disk before it changes.
 *
 * Each run that applies something has a folder <data_dir>/undo/<number>-<run id> with a journal
 * that only grows, and copies of large files. The number counts runs: the order of runs is that
 * of their numbers, whatever the clock did. Folders of an older version are called <run id> and
 * come before all others. The files and records are drawn in states/undo/undo_record.h.
 *
 * A record is in a frame with checksums (core/data/frame.h). What is damaged is skipped and
 * reported: the run that was read has `gaps`. A run that ended writes a seal, which counts its
 * records, so that a journal which was cut is known from one whose run was killed.
 *
 * Writing:   undo_new -> { undo_begin, undo_keep..., undo_sync, undo_end }... -> undo_free
 * Reading:   undo_list -> undo_load
 * Marking:   undo_reopen -> { undo_restored }... -> [undo_reverted] -> undo_free
 *
 * Nothing is created for states that begin and change nothing. Many states that sync at
 * once share one write and one fsync. What holds secrets is readable by the owner only.
 *
 * Threads: any number of writers; readers take no lock (states/run/runlock.h does, also for who
 * makes a new run: it is what keeps numbers unique).
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

/* A longer journal or record is not read. */
#define UNDO_JOURNAL_MAX ((size_t)1 << 30)
#define UNDO_RECORD_MAX  ((size_t)64 << 20)
/* What is kept of older runs: whichever limit is reached first. */
#define UNDO_KEEP_RUNS  200
#define UNDO_KEEP_BYTES ((uint64_t)1 << 30)
#define UNDO_KEEP_DAYS  90
/* So many of the newest never become too old, and the age of the others is counted from the oldest
 * of them: a clock that jumps does not make everything old at once. */
#define UNDO_KEEP_LEAST 10
/* Runs with less do not count for the limit of bytes until a heavier one comes. */
#define UNDO_HEAVY_BYTES ((uint64_t)1 << 20)

/* --- writing ---------------------------------------------------------------------- */

struct undo_state {
    const char *name, *module, *id;
    const struct value *body; /* for the module's revert; NULL: it has none */
    uint32_t level;
    struct plan_retry retry;
    bool secret;
    bool hidden; /* content is not shown, neither here nor in a revert */
};

struct undo *undo_new(const char *data_dir, const char *run_id, struct param_strs refs);
/* Writes what is still in memory. NULL is fine. */
void undo_free(struct undo *undo);

/* A state is about to be applied; `ret_number` names it in the calls below. */
int undo_begin(struct undo *undo, const struct undo_state *state, uint32_t *ret_number,
               struct err *err);
/* Keep what is at a site; `left` is the mark of what it will be, NULL when that is not known. Safe
 * only after undo_sync. `scratch` is used for the time of the call. */
int undo_keep(struct undo *undo, struct arena *scratch, uint32_t number, struct site *site,
              enum image_extent extent, const char *left, struct err *err);
/* The path has an image already and will have this mark. */
int undo_left(struct undo *undo, uint32_t number, const char *path, const char *mark,
              struct err *err);
int undo_note(struct undo *undo, uint32_t number, const char *key, const struct value *v,
              struct err *err);
int undo_end(struct undo *undo, uint32_t number, enum state_outcome outcome, struct err *err);
/* All that was said so far is on disk. */
int undo_sync(struct undo *undo, struct err *err);
/* All that was said so far survives the end of this process. */
int undo_flush(struct undo *undo, struct err *err);

/* Is there a journal now? */
bool undo_is_open(const struct undo *undo);
/* Is it so large that undo_prune should weigh all of them? */
bool undo_is_heavy(const struct undo *undo);

/* Remove what is beyond the limits; the run `keep` stays in any case. The limit of bytes is looked
 * at only to `weigh`, which means to walk through every run that is kept. */
int undo_prune(const char *data_dir, const char *keep, bool weigh, struct err *err);

/* --- reading ---------------------------------------------------------------------- */

struct undo_image {
    struct image image;
    VEC(const char *) left; /* marks that are ours; none: anything is */
    uint64_t sequence;
};

struct undo_entry {
    const char *name, *module, *id;
    struct value body; /* null: none */
    uint32_t level;
    struct plan_retry retry;
    bool secret, hidden, restored;
    bool lost;                     /* its beginning is damaged: only the images are known */
    bool ended, unchanged;         /* apply ended; it found nothing to do */
    uint64_t records, missing;     /* that were read, and that its end counts but are not there */
    VEC(struct undo_image) images; /* in the order of the changes */
    struct value_map *notes;
    uint64_t sequence; /* of its last image, or of its beginning */
};

/* Where a run is kept. */
struct undo_place {
    const char *id, *folder;
    uint64_t number; /* 0: of a version before there were numbers */
};

/* A part of the journal that could not be read. */
struct undo_gap {
    size_t offset, size;
    const char *why;
};

struct undo_run {
    struct undo_place place;
    int64_t time; /* seconds since 1970 */
    struct param_strs refs;
    bool named;    /* `refs` and `time` are known */
    bool reverted; /* all of it */
    bool sealed;   /* it ended; otherwise it was killed, and its journal may end in a torn record */
    uint64_t records, missing; /* that were read, and that the seal counts but are not there */
    size_t marks_size;         /* of the marks of reverts without a torn tail; 0: none */
    uint64_t marks_salt;
    VEC(struct undo_gap) gaps;
    VEC(struct undo_entry) states;
};

struct undo_places {
    VEC(struct undo_place) list; /* newest first */
};
int undo_list(struct arena *arena, const char *data_dir, struct undo_places *ret_places,
              struct err *err);
/* Fails with ERR_NOT_FOUND when the folder has no journal and no seal. */
int undo_load(struct arena *arena, const struct undo_place *place, struct undo_run *ret_run,
              struct err *err);
/* The same for a run id. Fails with ERR_NOT_FOUND when there is no such run. */
int undo_read(struct arena *arena, const char *data_dir, const char *run_id,
              struct undo_run *ret_run, struct err *err);
/* The bytes of a journal, of this version or the older one; never fails: what makes no sense is a
 * gap. `ret_run` knows its place. */
void undo_decode(struct arena *arena, struct str journal, struct undo_run *ret_run);
void undo_decode_old(struct arena *arena, struct str journal, struct undo_run *ret_run);

bool undo_is_damaged(const struct undo_run *run);
/* What is not known of a state of a damaged run, in words; NULL: all of it is there. */
const char *undo_describe_loss(struct arena *arena, const struct undo_run *run,
                               const struct undo_entry *entry);
/* "57 bytes at offset 812 cannot be read (...); 2 of 14 records are lost". */
const char *undo_describe_damage(struct arena *arena, const struct undo_run *run);

/* Go on with a run that was read, to mark what was reverted. */
struct undo *undo_reopen(const struct undo_run *run);
int undo_restored(struct undo *undo, uint32_t number, struct err *err);
int undo_reverted(struct undo *undo, struct err *err);

/* --- folders ---------------------------------------------------------------------- */

/* The folder for the next run, which is not made yet. */
int undo_next_folder(struct arena *arena, const char *data_dir, const char *run_id,
                     const char **ret_folder, struct err *err);

#endif
