/*
 * undo_record - the records of an undo journal and their tables.
 *
 *     journal    file of frames: run, then begin, image, left, note, end in order
 *     seal       one frame: the run and the number of its records; written last
 *     marks      file of frames: restored, reverted; what later reverts undid
 *     copy-N     large files as they were; the mark of their image is their checksum
 *
 * The oldest version had its own frames, no seal, no state number in `begin`, and the marks after
 * the records: undo_record_next_old().
 *
 * Only the files of the journal use this. Threads: any.
 */
#ifndef STATES_UNDO_UNDO_RECORD_H
#define STATES_UNDO_UNDO_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "states/compile/plan.h"
#include "core/data/params.h"
#include "core/data/record.h"
#include "core/data/value.h"
#include "states/state/outcome.h"
#include "states/undo/image.h"

struct arena;
struct buf;
struct err;

#define UNDO_VERSION     1
#define UNDO_VERSION_OLD 0

#define UNDO_JOURNAL_NAME    "journal"
#define UNDO_JOURNAL_PURPOSE "zester undo journal"
#define UNDO_MARKS_NAME      "marks"
#define UNDO_MARKS_PURPOSE   "zester undo marks"
#define UNDO_SEAL_NAME       "seal"

/* A higher state number means damage. */
#define UNDO_STATES_MAX 2000000

enum undo_kind {
    UNDO_RUN,
    UNDO_BEGIN,
    UNDO_IMAGE,
    UNDO_LEFT,
    UNDO_NOTE,
    UNDO_END,
    UNDO_RESTORED,
    UNDO_REVERTED,
    UNDO_SEAL,
    UNDO_KINDS,
};

/* Unused members are zero. */
struct undo_record {
    uint32_t state;   /* all but run, reverted and seal */
    uint64_t records; /* end, seal: records of the state or journal, without this one; 0: unknown */
    /* run, seal: */
    const char *run;
    int64_t time; /* seconds since 1970 */
    struct param_strs refs;
    const char *function, *by; /* "": unknown */
    /* begin: */
    const char *name, *module, *id;
    const char *shown; /* "": the name */
    uint32_t level;
    bool secret, hidden;
    struct plan_retry retry;
    struct value body; /* null: none */
    /* image, left: */
    struct image image;
    const char *path, *mark; /* image: the mark after the change; NULL: unknown */
    /* note: */
    const char *key;
    struct value value;
    /* end: */
    enum state_outcome outcome;
};

/* Append a record in a frame. */
int undo_record_encode(struct buf *out, enum undo_kind kind, const struct undo_record *record,
                       uint64_t salt, struct err *err);
/* Parse the payload of a frame written by `version`. Fails with ERR_INVALID, also for unknown
 * kinds. */
int undo_record_decode(struct arena *arena, struct str payload, unsigned version,
                       enum undo_kind *ret_kind, struct undo_record *ret_record, struct err *err);

/* Cut the next payload off an old journal. False at the end and at the first torn or damaged
 * record; `journal` is then unchanged. */
bool undo_record_next_old(struct str *journal, struct str *ret_payload);

#endif
