/*
 * seq_set - the acknowledged messages of a stream: a bit for each number, in blocks.
 *
 * A master adds the messages it acknowledges and stores changed blocks; the merged blocks of all
 * masters show which messages were never acknowledged.
 *
 *     seq_set_add... -> seq_block_encode -> ... -> seq_set_merge -> seq_set_has
 *
 * Pure. Memory: on the heap, SEQ_BLOCK_BYTES for each block that has a number. Threads: one at a
 * time.
 */
#ifndef FLEET_REACTOR_SEQ_SET_H
#define FLEET_REACTOR_SEQ_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"

struct buf;
struct err;

#define SEQ_BLOCK_BYTES 4096
#define SEQ_BLOCK       (SEQ_BLOCK_BYTES * 8) /* numbers of a block */

struct seq_block {
    uint64_t number;
    bool is_dirty;   /* changed since it was stored */
    bool is_writing; /* for the code that stores it */
    unsigned char bits[SEQ_BLOCK_BYTES];
};

struct seq_set {
    VEC(struct seq_block *) blocks; /* in no order */
    struct seq_block *last;         /* used last; NULL: none */
};

void seq_set_done(struct seq_set *set);

/* Marks its block dirty. */
void seq_set_add(struct seq_set *set, uint64_t seq);
bool seq_set_has(const struct seq_set *set, uint64_t seq);
/* NULL: none of its numbers is in the set. */
struct seq_block *seq_set_find(const struct seq_set *set, uint64_t block);

/* Encodes only the bytes between the first and the last nonzero one. */
void seq_block_encode(const struct seq_block *block, struct buf *out);
/* Adds an encoded block. Fails with ERR_INVALID. */
int seq_set_merge(struct seq_set *set, uint64_t number, struct str bytes, struct err *err);

/* Nothing up to this number will change: frees the blocks below it, unless they must be stored. */
void seq_set_forget(struct seq_set *set, uint64_t seq);

#endif
