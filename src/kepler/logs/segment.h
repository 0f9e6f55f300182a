/*
 * segment - the file format of stored lines. Pure: opens no files.
 *
 * A segment is only written at its end, one whole block at a time. It is made of frames
 * (core/data/frame.h) with its own salt:
 *
 *     file    | salt, twice | header | header | block | block | ...
 *     header  a record: the number of the first line, when the file was made
 *     block   | info | entries |
 *     info    a record: bytes of the entries, lines, numbers, times and services
 *     entries | entry | entry | ...
 *
 *     entry   | kind 1 | flags 1 | source 2 | length 4 | lines 4 | zero 4 |
 *             | seq 8 | time 8 | bytes                       little-endian
 *
 * The info has its own frame so that damage to the entries can be reported with it. An entry never
 * begins with a byte that begins a map: entries cannot pass for an info.
 *
 * A block is self-contained: an entry of kind "source" numbers a service, hook and stream before
 * the first lines that use it, "service\0hook\0". An entry of kind "lines" is the result of one
 * read from a pipe: lines that each end in '\n', the last one perhaps not, with one time for all.
 * Its first line has the number `seq`, the next one `seq` + 1. Numbers grow over all segments of a
 * store; there may be gaps. An entry of kind "lost" is one line that reports missing lines.
 *
 * Segments in the previous format, without frames, are read and never written.
 *
 * Memory: views into the given bytes. Threads: any.
 */
#ifndef KEPLER_LOGS_SEGMENT_H
#define KEPLER_LOGS_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/data/frame.h"

enum {
    SEGMENT_HEADER_SIZE = 200, /* for newly written files; others keep theirs */
    SEGMENT_BLOCK_HEAD = 168,
    SEGMENT_ENTRY_HEAD = 32,
    SEGMENT_MASK_WORDS = 3,
    SEGMENT_MASK_SIZE = 8 * SEGMENT_MASK_WORDS,
};

/* Maximum bytes of a block's entries. */
#define SEGMENT_BLOCK_MAX ((size_t)512 << 10)
/* Maximum numbered sources of one block. */
#define SEGMENT_SOURCES_MAX 65535
/* Maximum bytes of a service or hook name. */
#define SEGMENT_NAME_MAX 255

/* Bytes needed to recognize a header, and the length of a block's head. */
#define SEGMENT_HEADER_MAX 1024
#define SEGMENT_PEEK       FRAME_HEAD

enum segment_format { SEGMENT_FRAMES, SEGMENT_OLD };

enum segment_stream {
    SEGMENT_STDOUT,
    SEGMENT_STDERR,
    SEGMENT_WARNINGS, /* the supervisor, not the service */
    SEGMENT_STREAMS,
};

enum segment_kind {
    SEGMENT_SOURCE = 1,
    SEGMENT_LINES,
    SEGMENT_LOST,
};

enum segment_flag {
    SEGMENT_CONTINUES = 1, /* the first line continues an open one */
    SEGMENT_OPEN = 2,      /* the last line is unfinished, or was cut at the limit */
};

struct segment_header {
    uint64_t salt, first;
    int64_t created;            /* wall time */
    enum segment_format format; /* the rest is set by decoding */
    uint32_t size;              /* where the first block begins */
};

/* A set of services, each one bit by the hash of its name: "not in it" is certain. */
struct segment_mask {
    uint64_t words[SEGMENT_MASK_WORDS];
};

struct segment_block {
    uint32_t length, lines;
    uint64_t first, end; /* numbers of its lines; `end` is after the last */
    int64_t time_min, time_max;
    struct segment_mask services;
    uint32_t head; /* bytes before the entries; this and the rest are set by decoding */
    uint64_t body_check;
    bool has_check; /* false: the data of the damaged block is unknown */
};

struct segment_entry {
    enum segment_kind kind;
    uint8_t flags; /* enum segment_flag; for a source: enum segment_stream */
    uint16_t source;
    uint32_t lines;
    uint64_t seq;
    int64_t time; /* wall time, nanoseconds */
    struct str bytes;
};

/* The content of a source entry; both end in NUL, `hook` is "" for the service itself. */
struct segment_source {
    const char *service, *hook;
    enum segment_stream stream;
};

void segment_header_encode(const struct segment_header *header,
                           unsigned char out[static SEGMENT_HEADER_SIZE]);
/* Decodes the beginning of a file, SEGMENT_HEADER_MAX bytes if it has them. False: not a segment.
 */
bool segment_header_decode(struct str bytes, struct segment_header *ret_header);

/* Writes the head of a block whose `block->length` bytes of entries are `body`. */
void segment_block_encode(const struct segment_block *block, uint64_t salt, const void *body,
                          unsigned char out[static SEGMENT_BLOCK_HEAD]);
/* The bytes that begin every block of this file. */
struct str segment_block_magic(const struct segment_header *header);
/* Size of the info of the block that begins with these SEGMENT_PEEK bytes; 0: not a block. */
size_t segment_info_size(const unsigned char *bytes, const struct segment_header *header);
/* Decodes the info, of the size that segment_info_size returned. False: not a block of this file.
 */
bool segment_info_decode(struct str bytes, const struct segment_header *header,
                         struct segment_block *ret_block);
/* Decodes the rest of the head, up to `block->head`: the checksum of the entries. */
void segment_check_decode(struct str head, const struct segment_header *header,
                          struct segment_block *block);
/* Size of the whole block. */
uint64_t segment_block_size(const struct segment_block *block);
/* Does the checksum of the entries match? */
bool segment_block_is_whole(const struct segment_block *block, uint64_t salt, const void *body);

/* Encodes the head of an entry with `entry->bytes.n` bytes. */
void segment_entry_encode(const struct segment_entry *entry,
                          unsigned char out[static SEGMENT_ENTRY_HEAD]);
/* Takes the next entry from `rest`. False at the end, and for invalid data. */
bool segment_entry_next(struct str *rest, struct segment_entry *ret_entry);
/* False when the bytes of a source entry are not two names. */
bool segment_source_decode(const struct segment_entry *entry, struct segment_source *ret_source);

/* As in records: a view of 24 bytes in `bytes`, and back. */
struct str segment_mask_encode(const struct segment_mask *mask,
                               unsigned char bytes[static SEGMENT_MASK_SIZE]);
bool segment_mask_decode(struct str bytes, struct segment_mask *ret_mask);

void segment_mask_add(struct segment_mask *mask, const char *service);
void segment_mask_join(struct segment_mask *mask, const struct segment_mask *other);
bool segment_mask_meets(const struct segment_mask *a, const struct segment_mask *b);

#endif
