/*
 * undo_record - what is in the files of an undo journal: structs and their tables.
 *
 *     journal    file of frames: run, then begin, image, left, note, end in the order of the deeds
 *     seal       one frame: what the run was, and how many records its journal has; written last
 *     marks      file of frames: restored, reverted; what later reverts undid
 *     copy-N     large files as they were; the mark of their image is their checksum
 *
 * A version before the first of these wrote journals in its own frames, without a seal, a
 * number of the state in `begin`, and with the marks after the records: undo_record_next_old().
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

/* More states than a plan can have is damage. */
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

/* Members that a kind does not have are zero. */
struct undo_record {
    uint32_t state;   /* all but run, reverted and seal */
    uint64_t records; /* end, seal: of the state or the journal, this one not counted; 0: unknown */
    /* run, seal: */
    const char *run;
    int64_t time; /* seconds since 1970 */
    struct param_strs refs;
    /* begin: */
    const char *name, *module, *id;
    uint32_t level;
    bool secret, hidden;
    struct plan_retry retry;
    struct value body; /* null: none */
    /* image, left: */
    struct image image;
    const char *path, *mark; /* of an image: what it will be; NULL: not known */
    /* note: */
    const char *key;
    struct value value;
    /* end: */
    enum state_outcome outcome;
};

/* Append a record in a frame. */
int undo_record_encode(struct buf *out, enum undo_kind kind, const struct undo_record *record,
                       uint64_t salt, struct err *err);
/* The payload of a frame, written by `version`. Fails with ERR_INVALID, also for kinds that are not
 * known. */
int undo_record_decode(struct arena *arena, struct str payload, unsigned version,
                       enum undo_kind *ret_kind, struct undo_record *ret_record, struct err *err);

/* The payload at the front of an old journal, which is advanced past it. False at the end, and at
 * the first record that is cut or damaged; `journal` is then unchanged. */
bool undo_record_next_old(struct str *journal, struct str *ret_payload);

#endif
