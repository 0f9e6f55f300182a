/* Any bytes as YAML, in both dialects; what is a tree must print and read back as the same tree. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "data/value.h"
#include "data/yaml.h"
#include "data/yaml_print.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static bool same(const struct value *a, const struct value *b);

static bool same_tag(const struct value *a, const struct value *b)
{
    const char *x = value_tag(a), *y = value_tag(b);

    return x && y ? str_is(str_from(x), y) : x == y;
}

static bool same_members(const struct value *a, const struct value *b)
{
    if (a->kind == VALUE_LIST) {
        if (a->list->count != b->list->count)
            return false;
        for (size_t i = 0; i < a->list->count; i++)
            if (!same(&a->list->items[i], &b->list->items[i]))
                return false;
        return true;
    }
    if (a->map->count != b->map->count)
        return false;
    for (size_t i = 0; i < a->map->count; i++)
        if (!same(&a->map->pairs[i].key, &b->map->pairs[i].key) ||
            !same(&a->map->pairs[i].value, &b->map->pairs[i].value))
            return false;
    return true;
}

/* Stricter than value_equal: 1 is not true, nan is nan, and tags count. */
static bool same(const struct value *a, const struct value *b)
{
    if (a->kind != b->kind || !same_tag(a, b))
        return false;
    if (a->kind == VALUE_LIST || a->kind == VALUE_MAP)
        return same_members(a, b);
    return value_equal(a, b) || (a->kind == VALUE_DOUBLE && a->d != a->d && b->d != b->d);
}

static void check_read_back(struct arena *arena, const struct value *v, struct str text)
{
    struct diags diags = DIAGS_INIT(arena);

    for (enum yaml_dialect d = YAML_DIALECT_1_1; d <= YAML_DIALECT_1_2; d++) {
        struct value again;
        bool ok = yaml_parse(arena, "printed", text, &(struct yaml_options){ .dialect = d }, &again,
                             &diags) == 0;

        if (ok && same(v, &again))
            continue;
        (void)fprintf(stderr, "dialect %d: does not read back:\n%.*s\n", (int)d, STR_ARG(text));
        abort();
    }
}

static void print_again(struct arena *arena, const struct value *v)
{
    AUTO_BUF struct buf block = BUF_INIT(YAML_SIZE_MAX);
    AUTO_BUF struct buf flow = BUF_INIT(YAML_SIZE_MAX);
    struct err err;

    if (yaml_print(&block, v, &err) == 0)
        check_read_back(arena, v, buf_view(&block));
    if (yaml_print_flow(&flow, v, &err) == 0)
        check_read_back(arena, v, buf_view(&flow));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    const struct str text = { (const char *)data, size };

    for (enum yaml_dialect d = YAML_DIALECT_1_1; d <= YAML_DIALECT_1_2; d++) {
        const struct yaml_options options = { .dialect = d, .nodes_max = 10000 };
        AUTO_ARENA struct arena arena = ARENA_INIT;
        AUTO_BUF struct buf shown = BUF_INIT(BUF_NO_LIMIT);
        struct diags diags = DIAGS_INIT(&arena);
        struct value v;

        if (yaml_parse(&arena, "fuzz", text, &options, &v, &diags) == 0)
            print_again(&arena, &v);
        else if (diags_count(&diags) == 0)
            abort();
        diags_print(&diags, &shown);
    }
    return 0;
}
