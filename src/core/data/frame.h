/*
 * frame - the boundaries of records in a file, and whether a record is intact.
 *
 *     | magic 4 | version 2 | zero 2 | length 4 | head check 4 | check 8 | payload | little-endian
 *
 * The head check covers the twelve bytes before it, the other check the payload: so a flipped bit
 * in a payload costs that frame alone, and one in a head costs the bytes between two intact heads.
 * Both are XXH64 with the salt of the file as their seed.
 *
 * A file of many frames begins with two equal frames that hold its salt, a random number. The salt
 * is secret, so stored content (files of users, lines of services) cannot pass for a frame when a
 * damaged file is searched for the next one. A file with one frame, and messages on a socket, have
 * the salt 0.
 *
 * Writing:   [frame_file_begin] -> { start = frame_begin, ... append ..., frame_end }...
 * Reading:   [frame_file_open] -> { frame_next }...
 *
 * Pure. Memory: views of the bytes given. Threads: any.
 */
#ifndef CORE_DATA_FRAME_H
#define CORE_DATA_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct buf;
struct err;

#define FRAME_HEAD 24
/* Maximum payload in bytes. */
#define FRAME_MAX ((size_t)64 << 20)

struct frame {
    size_t offset, size; /* in the scanned bytes: head and payload, or the damage */
    uint16_t version;
    struct str payload;
};

/* --- writing ---------------------------------------------------------------------- */

/* Reserve room for the head; returns the start of the frame. */
size_t frame_begin(struct buf *out);
/* Everything appended since is the payload. Fails with ERR_LIMIT above FRAME_MAX or when `out` is
 * full, and then removes the frame. */
int frame_end(struct buf *out, size_t start, uint16_t version, uint64_t salt, struct err *err);

/* The head alone, for a payload that is somewhere else. */
void frame_head_encode(uint16_t version, uint64_t salt, struct str payload,
                       char out[static FRAME_HEAD]);

/* The beginning of a file of many frames. `purpose` names its format: "undo journal". */
void frame_file_begin(struct buf *out, const char *purpose, uint64_t salt);

/* --- reading ---------------------------------------------------------------------- */

enum frame_step {
    FRAME_WHOLE,
    FRAME_DAMAGE, /* `offset` and `size` are the skipped bytes; the next call continues after them
                   */
    FRAME_TORN,   /* the bytes end inside a frame, or with zeros: more may come, or it was never
                     written */
    FRAME_END,
};

/* Starts as zero, except for the bytes and perhaps the salt. */
struct frame_scan {
    struct str bytes;
    size_t at;
    uint64_t salt;
};

enum frame_step frame_next(struct frame_scan *scan, struct frame *ret_frame);

/* Read the beginning: the scan stands at the first frame. Fails with ERR_INVALID when it is not for
 * this purpose, or when both copies of the salt are damaged. */
int frame_file_open(struct frame_scan *scan, struct str bytes, const char *purpose,
                    struct err *err);

/* For reading a file in windows: the head alone, then the payload. */
struct frame_head {
    uint16_t version;
    uint32_t length;
    uint64_t check;
};

/* The first bytes of every head, to search for one. */
struct str frame_magic(void);
/* False when these FRAME_HEAD bytes are not the head of a frame. */
bool frame_head_decode(const char *bytes, uint64_t salt, struct frame_head *ret_head);
bool frame_head_fits(const struct frame_head *head, uint64_t salt, struct str payload);

#endif
