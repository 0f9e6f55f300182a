/*
 * segment - the file format of stored lines. Bytes only: nothing here opens a file.
 *
 * A segment is written at its end only, one whole block at a time. All numbers are
 * little-endian.
 *
 *     file    | header | block | block | ...
 *
 *     header  | magic 8 | salt 8 | first seq 8 | created 8 | zero 24 | check 8 |   twice
 *
 *     block   | magic 8 | head check 8 | body check 8 | length 4 | lines 4 |
 *             | first seq 8 | end seq 8 | time min 8 | time max 8 | services 24 |
 *             | entry | entry | ...                          `length` bytes
 *
 *     entry   | kind 1 | flags 1 | source 2 | length 4 | lines 4 | zero 4 |
 *             | seq 8 | time 8 | bytes                       `length` bytes
 *
 * A block stands alone: an entry of kind "source" gives a number to a service, hook
 * and stream before the first lines that use it, "service\0hook\0". An entry of
 * kind "lines" is what one read from a pipe brought: lines that each end in '\n',
 * the last one perhaps not, one time for all of them. Its first line has the number
 * `seq`, the next one `seq` + 1. Numbers grow over all segments of a store; there
 * may be gaps. An entry of kind "lost" is one line that says what is missing.
 *
 * The head check covers the head behind itself, the body check the entries. Both
 * are seeded with the salt of the file, a random number, so that what a service
 * writes can never pass for a block when a damaged file is searched for the next.
 *
 * Memory: views into the bytes that were given. Threads: any.
 */
#ifndef LOGS_SEGMENT_H
#define LOGS_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum {
    SEGMENT_HEADER_SIZE = 128, /* two copies: without its salt nothing of a file can be read */
    SEGMENT_BLOCK_HEAD = 88,
    SEGMENT_ENTRY_HEAD = 32,
    SEGMENT_MAGIC_SIZE = 8,
    SEGMENT_MASK_WORDS = 3,
};

/* Bytes of the entries of a block. */
#define SEGMENT_BLOCK_MAX ((size_t)512 << 10)
/* Sources that one block can number. */
#define SEGMENT_SOURCES_MAX 65535
/* Bytes of the name of a service or hook. */
#define SEGMENT_NAME_MAX 255

extern const char segment_block_magic[SEGMENT_MAGIC_SIZE];

enum segment_stream {
    SEGMENT_STDOUT,
    SEGMENT_STDERR,
    SEGMENT_WARNINGS, /* of whoever looks after the service */
    SEGMENT_STREAMS,
};

enum segment_kind {
    SEGMENT_SOURCE = 1,
    SEGMENT_LINES,
    SEGMENT_LOST,
};

enum segment_flag {
    SEGMENT_CONTINUES = 1, /* the first line goes on where an open one ended */
    SEGMENT_OPEN = 2,      /* the last line has no end yet, or was cut at the limit */
};

struct segment_header {
    uint64_t salt, first;
    int64_t created; /* wall time */
};

/* A set of services, each one bit by the hash of its name: "not in it" is certain. */
struct segment_mask {
    uint64_t words[SEGMENT_MASK_WORDS];
};

struct segment_block {
    uint32_t length, lines;
    uint64_t first, end; /* numbers of its lines; `end` is behind the last */
    int64_t time_min, time_max;
    struct segment_mask services;
    uint64_t body_check;
};

struct segment_entry {
    enum segment_kind kind;
    uint8_t flags; /* enum segment_flag; of a source: enum segment_stream */
    uint16_t source;
    uint32_t lines;
    uint64_t seq;
    int64_t time; /* wall time, nanoseconds */
    struct str bytes;
};

/* What a source entry says; both end in NUL, `hook` is "" for the service itself. */
struct segment_source {
    const char *service, *hook;
    enum segment_stream stream;
};

void segment_header_encode(const struct segment_header *header,
                           unsigned char out[static SEGMENT_HEADER_SIZE]);
/* False when it is none. */
bool segment_header_decode(const unsigned char *bytes, struct segment_header *ret_header);

/* Writes the head of a block whose `block->length` bytes of entries are `body`. */
void segment_block_encode(const struct segment_block *block, uint64_t salt, const void *body,
                          unsigned char out[static SEGMENT_BLOCK_HEAD]);
/* False when these SEGMENT_BLOCK_HEAD bytes are no head of a block of this file. */
bool segment_block_decode(const unsigned char *bytes, uint64_t salt,
                          struct segment_block *ret_block);
/* The entries are as they were written. */
bool segment_block_is_whole(const struct segment_block *block, uint64_t salt, const void *body);

/* The head of an entry with `entry->bytes.n` bytes. */
void segment_entry_encode(const struct segment_entry *entry,
                          unsigned char out[static SEGMENT_ENTRY_HEAD]);
/* Takes the next entry from `rest`. False at the end, and when the rest makes no sense. */
bool segment_entry_next(struct str *rest, struct segment_entry *ret_entry);
/* False when the bytes of a source entry are not two names. */
bool segment_source_decode(const struct segment_entry *entry, struct segment_source *ret_source);

void segment_mask_add(struct segment_mask *mask, const char *service);
void segment_mask_join(struct segment_mask *mask, const struct segment_mask *other);
bool segment_mask_meets(const struct segment_mask *a, const struct segment_mask *b);

#endif
