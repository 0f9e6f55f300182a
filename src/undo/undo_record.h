/*
 * undo_record - one record of the undo journal: bytes and back.
 *
 * Only the files of the journal use this; the format is drawn in undo/undo.h.
 * Threads: any.
 */
#ifndef UNDO_UNDO_RECORD_H
#define UNDO_UNDO_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct arena;
struct buf;
struct err;
struct value;
struct value_map;

#define UNDO_JOURNAL_NAME "journal"

enum undo_kind {
    UNDO_RUN,
    UNDO_BEGIN,
    UNDO_IMAGE,
    UNDO_LEFT,
    UNDO_NOTE,
    UNDO_END,
    UNDO_RESTORED,
    UNDO_REVERTED,
    UNDO_KINDS,
};

/* A map that says what it is. */
struct value_map *undo_record_new(struct arena *arena, enum undo_kind kind);
void undo_record_set(struct arena *arena, struct value_map *record, const char *key,
                     struct value v);

/* Append the framed record. */
int undo_record_encode(struct buf *out, const struct value *record, struct err *err);
/* The record at the front of `journal`, which is moved behind it. False at the end, and at the
 * first that is cut, damaged or unknown; `journal` is as it was then. */
bool undo_record_decode(struct arena *arena, struct str *journal, enum undo_kind *ret_kind,
                        struct value *ret_record);

#endif
