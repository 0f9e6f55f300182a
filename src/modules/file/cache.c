#include "modules/file/cache.h"

#include <string.h>

#include "base/arena.h"
#include "base/sha256.h"
#include "state/host.h"
#include "state/module.h"

const char *cache_path(struct state_run *run, const char *source)
{
    char hex[SHA256_HEX_SIZE];

    sha256_hex(source, strlen(source), hex);
    return arena_printf(run->arena, "%s/cached/%s", run->host->data_dir, hex);
}
