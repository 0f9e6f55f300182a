/* Any bytes as YAML, in both dialects; what is a tree must print and read back as the same tree.
 * What is read without libyaml must be the tree that libyaml gives, with the same places. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "core/data/yaml_block.h"
#include "core/data/yaml_print.h"
#include "core/data/yaml_text.h"

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
        bool ok = yaml_parse(arena, "printed", text,
                             &(struct yaml_options){ .dialect = d, .tags = yaml_all_tags }, &again,
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

static bool same_place(const struct value *a, const struct value *b, uint32_t lines)
{
    if (a->line + lines != b->line || a->column != b->column || a->flags != b->flags)
        return false;
    if (a->kind == VALUE_LIST)
        for (size_t i = 0; i < a->list->count; i++)
            if (!same_place(&a->list->items[i], &b->list->items[i], lines))
                return false;
    if (a->kind == VALUE_MAP)
        for (size_t i = 0; i < a->map->count; i++)
            if (!same_place(&a->map->pairs[i].key, &b->map->pairs[i].key, lines) ||
                !same_place(&a->map->pairs[i].value, &b->map->pairs[i].value, lines))
                return false;
    return true;
}

static bool is_plainly_written(struct arena *arena, struct str text)
{
    struct diags diags = DIAGS_INIT(arena);
    struct yaml_block block;
    yaml_event_t event = { .type = YAML_NO_EVENT };
    bool kept, odd;

    text = arena_str(arena, text);
    if (str_starts(text, STR("\xef\xbb\xbf")) || yaml_text_check("fuzz", text, &odd, &diags) < 0 ||
        odd || (text.n > 0 && memchr(text.p, '\r', text.n)))
        return false;
    yaml_block_init(&block, arena, text);
    while (event.type != YAML_STREAM_END_EVENT)
        if (!yaml_block_next(&block, &event, &kept))
            return false;
    return true;
}

/* A directive before it is for libyaml only. */
static bool is_same_with(struct arena *arena, const struct value *v, struct str text,
                         const char *head, uint32_t lines, const struct yaml_options *options)
{
    const char *all = arena_printf(arena, "%s%.*s", head, STR_ARG(text));
    struct diags diags = DIAGS_INIT(arena);
    struct value theirs;

    return yaml_parse(arena, "fuzz", str_from(all), options, &theirs, &diags) == 0 &&
           same(v, &theirs) && same_place(v, &theirs, lines);
}

static void check_with_libyaml(struct arena *arena, const struct value *v, struct str text,
                               const struct yaml_options *options)
{
    if (!is_plainly_written(arena, text) ||
        is_same_with(arena, v, text, "%YAML 1.1\n---\n", 2, options) ||
        is_same_with(arena, v, text, "%YAML 1.1\n", 1, options))
        return;
    (void)fprintf(stderr, "libyaml reads it in another way:\n%.*s\n", STR_ARG(text));
    abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    const struct str text = { (const char *)data, size };

    for (enum yaml_dialect d = YAML_DIALECT_1_1; d <= YAML_DIALECT_1_2; d++) {
        const struct yaml_options options = { .dialect = d,
                                              .nodes_max = 10000,
                                              .tags = yaml_all_tags };
        AUTO_ARENA struct arena arena = ARENA_INIT;
        AUTO_BUF struct buf shown = BUF_INIT(BUF_NO_LIMIT);
        struct diags diags = DIAGS_INIT(&arena);
        struct value v;

        if (yaml_parse(&arena, "fuzz", text, &options, &v, &diags) == 0) {
            check_with_libyaml(&arena, &v, text, &options);
            print_again(&arena, &v);
        } else if (diags_count(&diags) == 0) {
            abort();
        }
        diags_print(&diags, &shown);
    }
    return 0;
}
