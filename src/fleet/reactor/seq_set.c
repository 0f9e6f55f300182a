#include "fleet/reactor/seq_set.h"

#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"

/* Before the bytes of a block: where they begin, high byte first. */
#define OFFSET_BYTES 2

void seq_set_done(struct seq_set *set)
{
    VEC_EACH (&set->blocks, block)
        free(*block);
    vec_done(&set->blocks);
    set->last = NULL;
}

struct seq_block *seq_set_find(const struct seq_set *set, uint64_t block)
{
    if (set->last && set->last->number == block)
        return set->last;
    VEC_EACH (&set->blocks, one)
        if ((*one)->number == block)
            return *one;
    return NULL;
}

static struct seq_block *get_block(struct seq_set *set, uint64_t number)
{
    struct seq_block *block = seq_set_find(set, number);

    if (!block) {
        block = mem_zalloc(sizeof(*block));
        block->number = number;
        VEC_PUSH(&set->blocks, block);
    }
    set->last = block;
    return block;
}

void seq_set_add(struct seq_set *set, uint64_t seq)
{
    struct seq_block *block = get_block(set, seq / SEQ_BLOCK);
    const uint64_t bit = seq % SEQ_BLOCK;

    block->bits[bit / 8] |= (unsigned char)(1U << (bit % 8));
    block->is_dirty = true;
}

bool seq_set_has(const struct seq_set *set, uint64_t seq)
{
    const struct seq_block *block = seq_set_find(set, seq / SEQ_BLOCK);
    const uint64_t bit = seq % SEQ_BLOCK;

    return block && (block->bits[bit / 8] & (1U << (bit % 8)));
}

void seq_block_encode(const struct seq_block *block, struct buf *out)
{
    size_t first = 0, end = SEQ_BLOCK_BYTES;
    char offset[OFFSET_BYTES];

    while (end > 0 && !block->bits[end - 1])
        end--;
    while (first < end && !block->bits[first])
        first++;
    offset[0] = (char)(first >> 8);
    offset[1] = (char)(first & 0xff);
    buf_add(out, offset, sizeof(offset));
    buf_add(out, (const char *)block->bits + first, end - first);
}

int seq_set_merge(struct seq_set *set, uint64_t number, struct str bytes, struct err *err)
{
    const unsigned char *p = (const unsigned char *)bytes.p;
    struct seq_block *block;
    size_t first;

    if (bytes.n < OFFSET_BYTES)
        return err_set(err, ERR_INVALID, "a block of sequences has %zu bytes", bytes.n);
    first = (size_t)p[0] << 8 | p[1];
    if (first + bytes.n - OFFSET_BYTES > SEQ_BLOCK_BYTES)
        return err_set(err, ERR_INVALID, "a block of sequences ends after its end");
    block = get_block(set, number);
    for (size_t i = OFFSET_BYTES; i < bytes.n; i++)
        block->bits[first + i - OFFSET_BYTES] |= p[i];
    return 0;
}

void seq_set_forget(struct seq_set *set, uint64_t seq)
{
    size_t kept = 0;

    for (size_t i = 0; i < set->blocks.n; i++) {
        struct seq_block *block = set->blocks.p[i];

        if ((block->number + 1) * SEQ_BLOCK > seq || block->is_dirty || block->is_writing)
            set->blocks.p[kept++] = block;
        else
            free(block);
    }
    set->blocks.n = kept;
    set->last = NULL;
}
