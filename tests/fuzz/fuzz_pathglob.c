/* A pattern, a newline, a path. */
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/pathglob.h"

#define INPUT_MAX 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct pathglob_set set = { .arena = &arena };
    struct str path = str_bytes(data, size < INPUT_MAX ? size : INPUT_MAX);
    struct str pattern = str_cut(&path, '\n');
    struct err err;

    if (pathglob_add(&set, "/folder", pattern, &err) == 0 && path.p)
        (void)pathglob_match(&set, path);
    return 0;
}
