/* Both kinds of formats: any text as format, values of every kind to put in. */
#include <stddef.h>
#include <stdint.h>

#include "language/jinja/filters/builtins.h"
#include "language/jinja/container.h"
#include "language/jinja/format.h"
#include "language/jinja/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fill(struct render *render, struct value_list *args, struct value_map *named)
{
    const struct value values[] = { value_text("a\xc3\xa9"), value_int(-1234567),
                                    value_double(0.1),       value_null(),
                                    value_bool(true),        value_map(named) };
    static const char *const names[] = { "a", "b", "c", "d", "e", "f" };

    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        value_list_push(render->arena, args, values[i]);
        value_map_set(render->arena, named, value_text(names[i]), values[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct jinja_options options = { .builtins = &filter_builtins, .lenient = true };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct render render;
    struct value format = value_str(arena_str(&arena, (struct str){ (const char *)data, size }));
    struct value_map *named;
    struct value_list *args;
    struct value tuple, map, ret;

    render_init(&render, NULL, &options, &arena);
    args = container_new_list(&render, 0);
    named = container_new_map(&render, 0);
    fill(&render, args, named);
    tuple = value_list(args);
    tuple.flags = VALUE_TUPLE;
    map = value_map(named);
    format.flags = size > 0 && data[0] == '<' ? VALUE_SAFE : 0;
    (void)format_braces(&render, &format, args, named, &ret);
    (void)format_percent(&render, &format, &tuple, &ret);
    (void)format_percent(&render, &format, &map, &ret);
    for (size_t i = 0; i < args->count; i++)
        (void)format_percent(&render, &format, &args->items[i], &ret);
    return 0;
}
