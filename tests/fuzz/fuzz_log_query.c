/* Any query is refused or answers for every line, and its opposite answers the opposite. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "kepler/logs/log_line.h"
#include "kepler/logs/log_query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct str lines[] = {
        STR("plain text *"),
        STR("{\"msg\":\"m\",\"level\":\"warn\",\"a\":{\"b\":5},\"c\":\"x\"}")
    };
    const struct log_query *query, *opposite;
    struct err err;

    if (memchr(data, '\0', size) ||
        log_query_parse(&arena, str_bytes(data, size), &query, &err) < 0)
        return 0;
    if (log_query_parse(&arena,
                        str_from(arena_printf(&arena, "-(%.*s)", (int)size, (const char *)data)),
                        &opposite, &err) < 0)
        return 0; /* too long, or too deep */
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        const struct log_line line = { .seq = 1, .service = "s", .hook = "h", .text = lines[i] };

        assert(log_query_match(query, &line) != log_query_match(opposite, &line));
    }
    return 0;
}
