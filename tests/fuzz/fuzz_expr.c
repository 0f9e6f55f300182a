/* Any YAML with expressions evaluates to a value that prints, or to mistakes with places. */
#include <assert.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "language/lua/expr.h"
#include "language/lua/sandbox.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct sandbox_options options = { .memory_max = 1 << 20, .steps_max = 20000 };
    static const struct yaml_options dialect = { .dialect = YAML_DIALECT_1_2,
                                                 .tags = yaml_all_tags };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct str text = { (const char *)data, size };
    struct diags diags = DIAGS_INIT(&arena);
    struct sandbox *sandbox;
    struct value v, got;
    struct err err;
    int result;

    if (yaml_parse(&arena, "fuzz", text, &dialect, &v, &diags) < 0)
        return 0;
    sandbox = sandbox_new(&options);
    result = sandbox_set(sandbox, "deps", &v, &err);
    assert(result == 0);
    if (expr_eval_value(sandbox, &v, &arena, &got, &diags) < 0) {
        assert(diags_count(&diags) > 0);
        diags_print(&diags, &out);
    } else {
        result = json_print(&out, &got, JSON_STYLE_NAN, &err);
        assert(result == 0);
    }
    sandbox_free(sandbox);
    return 0;
}
