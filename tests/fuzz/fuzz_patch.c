/* Any patch, any text: it is applied or refused, and what is applied already changes nothing. */
#include <assert.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/edit/patch.h"

#define OUTPUT_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The text, a byte of 0, the patch. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(OUTPUT_MAX);
    struct str rest = str_bytes(data, size);
    const struct str text = str_cut(&rest, '\0');
    struct patch patch;
    struct err err;

    if (!rest.p || patch_parse(&arena, rest, &patch, &err) < 0)
        return 0;
    VEC_EACH (&patch.parts, part) {
        enum patch_verdict verdict;
        size_t hunk = 0;

        buf_clear(&out);
        verdict = patch_try(text, part, &out, &hunk);
        assert(verdict != PATCH_APPLIED || str_eq(buf_view(&out), text));
        assert(verdict != PATCH_MISFITS || (hunk < part->hunks.n && out.n == 0));
        (void)patch_name(part, 1);
    }
    return 0;
}
