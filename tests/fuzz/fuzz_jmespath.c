/* Any bytes are a JMESPath expression or an error; the same expression finds a value of the same
 * kind again, in as many steps. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "language/jmespath/jmespath.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char document[] =
    "{\"a\": 1, \"s\": \"text\", \"l\": [3, 1, 2], \"t\": [\"b\", \"a\"], \"f\": -1.5, \"n\": null,"
    " \"d\": {\"a\": {\"b\": [true, null, [1, [2]]]}, \"c\": {\"b\": []}},"
    " \"u\": [{\"name\": \"ann\", \"age\": 3}, {\"name\": \"bob\", \"age\": 2}, {\"name\": "
    "\"eve\"}]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct jmespath first = { .arena = &arena }, second = { .arena = &arena };
    struct str expression = str_bytes(data, size);
    struct value document_value, one, two;
    struct err err;

    if (json_decode(&arena, str_from(document), &document_value, &err) < 0)
        __builtin_trap();
    if (jmespath_search(&first, expression, &document_value, &one, &err) < 0) {
        assert(err.code == ERR_LIMIT || err.code == ERR_INVALID);
        return 0;
    }
    if (jmespath_search(&second, expression, &document_value, &two, &err) < 0)
        __builtin_trap();
    assert(first.steps == second.steps);
    assert(one.kind == two.kind);
    return 0;
}
