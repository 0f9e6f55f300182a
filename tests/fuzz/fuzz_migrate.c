/* Any text as a file of reactions of Salt: what comes of it is a template that the same reader
 * takes apart again, or nothing. */
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "commands/migrate/salt_reaction.h"
#include "commands/migrate/salt_tag.h"
#include "commands/migrate/salt_template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags remarks = DIAGS_INIT(&arena);
    const struct str text = arena_str(&arena, str_bytes(data, size));
    struct salt_template tmpl = { .arena = &arena,
                                  .file = "t.sls",
                                  .id = "event.peel",
                                  .enrolls = size % 2 == 1,
                                  .remarks = &remarks };

    salt_reaction_convert(&tmpl, text, &out);
    (void)salt_tag_read(&arena, text);
    return 0;
}
