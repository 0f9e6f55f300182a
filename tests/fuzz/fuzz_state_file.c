/* Any text is a state file or an error; what is read is written in a form that reads the same. */
#include <assert.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "kepler/daemon/state_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct state_file record, back;
    struct err err;
    int result;

    if (state_file_parse(&arena, (struct str){ (const char *)data, size }, &record, &err) < 0)
        return 0;
    result = state_file_print(&out, &record, &err);
    assert(result == 0);
    result = state_file_parse(&arena, buf_view(&out), &back, &err);
    assert(result == 0 && back.services.n == record.services.n);
    return 0;
}
