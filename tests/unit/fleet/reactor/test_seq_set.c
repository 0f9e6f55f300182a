#include "fleet/reactor/seq_set.h"

#include "core/base/buf.h"
#include "core/base/err.h"
#include "test.h"

static const uint64_t seqs[] = {
    0, 1, 9, SEQ_BLOCK - 1, SEQ_BLOCK, 5 * SEQ_BLOCK + 77, 1ULL << 60
};

static void add_all(struct seq_set *set)
{
    for (size_t i = 0; i < ARRAY_LEN(seqs); i++)
        seq_set_add(set, seqs[i]);
}

static void check_all(const struct seq_set *set)
{
    for (size_t i = 0; i < ARRAY_LEN(seqs); i++)
        CHECK(seq_set_has(set, seqs[i]));
    CHECK(!seq_set_has(set, 2) && !seq_set_has(set, SEQ_BLOCK + 1) && !seq_set_has(set, 1000));
}

TEST(blocks_that_are_stored_and_merged_have_the_same_numbers)
{
    struct seq_set set = { 0 }, other = { 0 };
    struct err err;

    add_all(&set);
    check_all(&set);
    seq_set_add(&other, 3);
    VEC_EACH (&set.blocks, block) {
        AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);

        seq_block_encode(*block, &bytes);
        CHECK(bytes.n <= 2 + SEQ_BLOCK_BYTES);
        CHECK_INT(seq_set_merge(&other, (*block)->number, buf_view(&bytes), &err), 0);
    }
    check_all(&other);
    CHECK(seq_set_has(&other, 3));
    seq_set_done(&set);
    seq_set_done(&other);
}

TEST(a_block_of_few_numbers_is_small)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct seq_set set = { 0 };

    seq_set_add(&set, 20000);
    seq_set_add(&set, 20009);
    seq_block_encode(set.blocks.p[0], &bytes);
    CHECK_INT(bytes.n, 4);
    seq_set_done(&set);
}

TEST(bytes_that_are_not_a_block_are_refused)
{
    static const struct str rows[] = {
        { "", 0 }, { "\x01", 1 }, { "\x10\x00\x01", 3 }, { "\xff\xff", 2 }
    };
    struct seq_set set = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err;

        CHECK_INT(seq_set_merge(&set, 1, rows[i], &err), -1);
        CHECK_INT(err.code, ERR_INVALID);
    }
    seq_set_done(&set);
}

TEST(what_is_stored_and_below_is_forgotten)
{
    struct seq_set set = { 0 };

    seq_set_add(&set, 5);
    seq_set_add(&set, SEQ_BLOCK + 5);
    seq_set_forget(&set, 3 * SEQ_BLOCK);
    CHECK_INT(set.blocks.n, 2); /* they have to be stored */
    VEC_EACH (&set.blocks, block)
        (*block)->is_dirty = false;
    seq_set_forget(&set, SEQ_BLOCK + 6);
    CHECK_INT(set.blocks.n, 1);
    CHECK(seq_set_has(&set, SEQ_BLOCK + 5) && !seq_set_has(&set, 5));
    seq_set_done(&set);
}
