/*
 * undo - what a run changed and what was there before, on disk before it changes.
 *
 * Each run that applies something has a folder <data_dir>/undo/<run id> with a
 * journal that only grows, and copies of large files. A record of the journal is
 *
 *     | length 4 | first 8 bytes of SHA-256 | MessagePack map |   little-endian
 *
 * and is one of: run (what was asked for), begin (a state is about to be applied),
 * image (a path before the change, and the mark it will have after it), left (the
 * mark after another change of the same path), note (for the module's revert), end,
 * restored (a state was reverted), reverted (all of them were). A torn tail, from a
 * machine that stopped, is passed over.
 *
 * Writing:   undo_new -> { undo_begin, undo_keep..., undo_sync, undo_end }... -> undo_free
 * Reading:   undo_list -> undo_read
 *
 * Nothing is created for states that begin and change nothing. Many states that sync at
 * once share one write and one fsync. What holds secrets is readable by the owner only.
 *
 * Threads: any number of writers; readers take no lock (run/runlock.h does).
 */
#ifndef UNDO_UNDO_H
#define UNDO_UNDO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"
#include "data/params.h"
#include "data/value.h"
#include "undo/image.h"
#include "state/outcome.h"
#include "compile/plan.h"

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
/* Runs with less do not count for the limit of bytes until a heavier one comes. */
#define UNDO_HEAVY_BYTES ((uint64_t)1 << 20)

/* --- writing ---------------------------------------------------------------------- */

struct undo_state {
    const char *name, *module, *id;
    const struct value *body; /* for the module's revert; NULL: it has none */
    uint32_t level;
    struct plan_retry retry;
    bool secret;
    bool hidden; /* content is not shown, here nor when it is taken back */
};

struct undo *undo_new(const char *data_dir, const char *run_id, struct param_strs refs);
/* Writes what is still in memory. NULL is fine. */
void undo_free(struct undo *undo);

/* A state is about to be applied; `ret_number` names it in the calls below. `scratch` is used for
 * the time of the call, here and below. */
int undo_begin(struct undo *undo, struct arena *scratch, const struct undo_state *state,
               uint32_t *ret_number, struct err *err);
/* Keep what is at a site; `left` is the mark of what it will be, NULL when that is not known. Safe
 * only after undo_sync. */
int undo_keep(struct undo *undo, struct arena *scratch, uint32_t number, struct site *site,
              enum image_extent extent, const char *left, struct err *err);
/* The path has an image already and will have this mark. */
int undo_left(struct undo *undo, struct arena *scratch, uint32_t number, const char *path,
              const char *mark, struct err *err);
int undo_note(struct undo *undo, struct arena *scratch, uint32_t number, const char *key,
              const struct value *v, struct err *err);
int undo_end(struct undo *undo, struct arena *scratch, uint32_t number, enum outcome outcome,
             struct err *err);
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
int undo_prune(const char *data_dir, const char *keep, int64_t now, bool weigh, struct err *err);

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
    bool unchanged;                /* apply ended and found nothing to do */
    VEC(struct undo_image) images; /* in the order of the changes */
    struct value_map *notes;
    uint64_t sequence; /* of its last image, or of its beginning */
};

struct undo_run {
    const char *id;
    const char *folder;
    int64_t time; /* seconds since 1970 */
    struct param_strs refs;
    bool reverted;
    size_t size; /* of the journal without a torn tail */
    VEC(struct undo_entry) states;
};

struct undo_ids {
    VEC(const char *) list; /* newest first */
};
int undo_list(struct arena *arena, const char *data_dir, struct undo_ids *ret_ids, struct err *err);
/* Fails with ERR_NOT_FOUND when there is no such run. */
int undo_read(struct arena *arena, const char *data_dir, const char *run_id,
              struct undo_run *ret_run, struct err *err);
/* The bytes of a journal; never fails: what makes no sense ends it. */
void undo_decode(struct arena *arena, struct str journal, struct undo_run *ret_run);

/* Go on with the journal of a run that was read, to mark what was reverted. */
struct undo *undo_reopen(const char *data_dir, const struct undo_run *run, struct err *err);
int undo_restored(struct undo *undo, struct arena *scratch, uint32_t number, struct err *err);
int undo_reverted(struct undo *undo, struct arena *scratch, struct err *err);

#endif
