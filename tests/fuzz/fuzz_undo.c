/* A journal of any bytes is read without harm; what was read is sound. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "data/msgpack.h"
#include "undo/undo.h"
#include "undo/undo_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checksums keep random bytes out, so the second half of the runs gets framed ones. */
static void decode_framed(struct arena *arena, struct str bytes)
{
    AUTO_BUF struct buf journal = BUF_INIT(UNDO_RECORD_MAX);
    struct undo_run run = { 0 };
    struct str rest = bytes;

    while (rest.p) {
        struct str part = str_cut(&rest, '\n');
        struct value v;
        struct err err;

        if (msgpack_decode(arena, part, &v, &err) == 0)
            (void)undo_record_encode(&journal, &v, &err);
    }
    undo_decode(arena, buf_view(&journal), &run);
    assert(run.size <= journal.n);
    VEC_EACH (&run.states, state)
        VEC_EACH (&state->images, image)
            assert(image->image.path[0] == '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct undo_run run = { 0 };

    undo_decode(&arena, str_bytes(data, size), &run);
    assert(run.size <= size);
    decode_framed(&arena, str_bytes(data, size));
    return 0;
}
