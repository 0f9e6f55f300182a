/* A journal of any bytes is read without harm; what was read is sound. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/frame.h"
#include "states/undo/undo.h"
#include "states/undo/undo_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_run(const struct undo_run *run, size_t size)
{
    VEC_EACH (&run->gaps, gap)
        assert(gap->offset <= size && gap->size <= size - gap->offset);
    VEC_EACH (&run->states, state)
        VEC_EACH (&state->images, image)
            assert(image->image.path[0] == '/' && image->image.mark);
}

/* Checksums keep random bytes out, so lines of the input are framed; every second one is damaged
 * when the first byte is odd. */
static void decode_framed(struct arena *arena, struct str bytes)
{
    AUTO_BUF struct buf journal = BUF_INIT(UNDO_RECORD_MAX);
    struct undo_run run = { .place = { .id = "x" } };
    struct str rest = bytes;

    frame_file_begin(&journal, UNDO_JOURNAL_PURPOSE, 7);
    for (size_t line = 0; rest.p; line++) {
        struct str part = str_cut(&rest, '\n');
        size_t start = frame_begin(&journal);
        struct err err;

        buf_add_str(&journal, part);
        if (frame_end(&journal, start, UNDO_VERSION, 7, &err) == 0 && line % 2 == 1 &&
            bytes.p[0] % 2 == 1)
            journal.p[journal.n - 1] ^= 1;
    }
    undo_decode(arena, buf_view(&journal), &run);
    check_run(&run, journal.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct undo_run run = { .place = { .id = "x" } }, old = run;

    undo_decode(&arena, str_bytes(data, size), &run);
    check_run(&run, size);
    undo_decode_old(&arena, str_bytes(data, size), &old);
    check_run(&old, size);
    if (size > 0)
        decode_framed(&arena, str_bytes(data, size));
    return 0;
}
