/* Any stream, in pieces whose size is its first byte: nothing that is not marked is lost. */
#include <assert.h>
#include <stdint.h>

#include "core/data/value.h"
#include "kepler/supervise/output.h"

#define VALUES_MAX 1000

static void on_pass(void *self, struct str bytes)
{
    *(size_t *)self += bytes.n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = str_bytes(data, size);
    size_t step = size > 0 ? (size_t)data[0] + 1 : 1, passed = 0;
    struct output_capture output;

    output_init(&output, VALUES_MAX);
    for (; rest.n > 0; rest = str_from_offset(rest, step))
        output_feed(&output, str_slice(rest, 0, step), on_pass, &passed);
    output_end(&output, on_pass, &passed);
    assert(passed <= size && output.size <= VALUES_MAX);
    assert(passed == size || str_find(str_bytes(data, size), STR(OUTPUT_MARKER), 0) != STR_NONE);
    output_done(&output);
    return 0;
}
