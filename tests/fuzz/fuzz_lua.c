/* Any text as a block under small limits comes back, with a value or one mistake. */
#include <assert.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "language/lua/expr.h"
#include "language/lua/sandbox.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct value context(struct arena *arena)
{
    struct value_map *map = value_map_new(arena, 2);
    struct value_list *list = value_list_new(arena, 2);

    value_list_push(arena, list, value_int(1));
    value_list_push(arena, list, value_text("two"));
    value_map_set(arena, map, value_text("list"), value_list(list));
    value_map_set(arena, map, value_text("name"), value_text("x"));
    return value_map(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct sandbox_options options = { .memory_max = 1 << 20, .steps_max = 20000 };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct sandbox *sandbox = sandbox_new(&options);
    struct diags diags = DIAGS_INIT(&arena);
    struct value deps = context(&arena), got;
    struct value_source source = { .file = "fuzz", .tag = "!lua" };
    struct value code;
    struct err err;
    int result;

    source.text = arena_str(&arena, (struct str){ (const char *)data, size });
    code = value_str(source.text);
    code.source = &source;
    code.line = code.column = 1;
    result = sandbox_set(sandbox, "deps", &deps, &err);
    assert(result == 0);
    if (expr_eval_value(sandbox, &code, &arena, &got, &diags) < 0) {
        assert(diags_count(&diags) == 1);
        diags_print(&diags, &out);
    } else {
        assert(!expr_is_dynamic(&got) || got.kind != VALUE_NULL);
    }
    sandbox_free(sandbox);
    return 0;
}
