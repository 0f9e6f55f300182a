#include "core/data/yaml_dump.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/scalar.h"
#include "core/data/value.h"
#include "core/data/words.h"
#include "core/data/yaml.h"

#define WIDTH  80
#define INDENT 2

struct dumper {
    yaml_emitter_t emitter;
    struct arena *arena;
    struct err *err;
    unsigned depth;
    bool keeps_order;
    struct yaml_dump_style style;
};

static const struct yaml_dump_style plain = { .indent = INDENT, .width = WIDTH };

static int append_dump_bytes(void *user, unsigned char *bytes, size_t n)
{
    struct buf *out = user;

    buf_add_str(out, (struct str){ (const char *)bytes, n });
    return out->full ? 0 : 1;
}

static int emit_dump_event(struct dumper *dumper, yaml_event_t *event)
{
    if (yaml_emitter_emit(&dumper->emitter, event))
        return 0;
    return err_set(dumper->err, ERR_LIMIT, "write YAML: %s",
                   dumper->emitter.problem ? dumper->emitter.problem : "out of space");
}

static int dump_value(struct dumper *dumper, const struct value *v);

/* Would a reader read the word, without quotes, as this text? */
static bool is_plain_text(struct str text)
{
    struct value again;
    struct err ignored; /* a number that is too long is not text */

    return scalar_parse(text, YAML_DIALECT_1_1, &again, &ignored) == 0 && again.kind == VALUE_STR;
}

static int dump_scalar(struct dumper *dumper, const struct value *v)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const bool is_text = v->kind == VALUE_STR;
    yaml_event_t event;

    if (is_text)
        buf_add_str(&text, v->s);
    else if (v->kind == VALUE_TIME)
        (void)words_print(&text, v);
    else
        scalar_print(&text, v);
    if (!yaml_scalar_event_initialize(&event, NULL, (const yaml_char_t *)YAML_STR_TAG,
                                      (const yaml_char_t *)buf_text(&text), (int)text.n,
                                      !is_text || is_plain_text(v->s), is_text,
                                      is_text ? YAML_ANY_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE))
        return err_set(dumper->err, ERR_INVALID, "a text that is not UTF-8 cannot be YAML");
    return emit_dump_event(dumper, &event);
}

static int dump_list(struct dumper *dumper, const struct value_list *list)
{
    yaml_event_t event;

    (void)yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
                                               dumper->style.flow ? YAML_FLOW_SEQUENCE_STYLE
                                                                  : YAML_BLOCK_SEQUENCE_STYLE);
    if (emit_dump_event(dumper, &event) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++)
        if (dump_value(dumper, &list->items[i]) < 0)
            return -1;
    (void)yaml_sequence_end_event_initialize(&event);
    return emit_dump_event(dumper, &event);
}

/* Texts by their bytes; other keys keep their place around them. */
static int compare_dump_keys(const void *a, const void *b)
{
    const struct value *x = &(*(const struct value_pair *const *)a)->key;
    const struct value *y = &(*(const struct value_pair *const *)b)->key;

    if (x->kind == VALUE_STR && y->kind == VALUE_STR)
        return str_compare(x->s, y->s);
    if (x->kind == VALUE_INT && y->kind == VALUE_INT)
        return x->i < y->i ? -1 : x->i > y->i;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static int dump_map(struct dumper *dumper, const struct value_map *map)
{
    const struct value_pair **sorted =
        ARENA_ARRAY(dumper->arena, const struct value_pair *, map->count + 1);
    yaml_event_t event;

    for (size_t i = 0; i < map->count; i++)
        sorted[i] = &map->pairs[i];
    if (map->count > 1 && !dumper->style.unsorted && !(dumper->keeps_order && map->ordered))
        qsort(sorted, map->count, sizeof(*sorted), compare_dump_keys);
    (void)yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
                                              dumper->style.flow ? YAML_FLOW_MAPPING_STYLE
                                                                 : YAML_BLOCK_MAPPING_STYLE);
    if (emit_dump_event(dumper, &event) < 0)
        return -1;
    for (size_t i = 0; i < map->count; i++)
        if (dump_value(dumper, &sorted[i]->key) < 0 || dump_value(dumper, &sorted[i]->value) < 0)
            return -1;
    (void)yaml_mapping_end_event_initialize(&event);
    return emit_dump_event(dumper, &event);
}

static int dump_value(struct dumper *dumper, const struct value *v)
{
    int result;

    if (dumper->depth >= YAML_DEPTH_MAX)
        return err_set(dumper->err, ERR_LIMIT, "YAML of more than %d levels", YAML_DEPTH_MAX);
    if (v->kind == VALUE_OBJECT || v->kind == VALUE_BYTES)
        return err_set(dumper->err, ERR_UNSUPPORTED, "%s cannot be YAML", value_describe(v));
    dumper->depth++;
    result = v->kind == VALUE_LIST  ? dump_list(dumper, v->list)
             : v->kind == VALUE_MAP ? dump_map(dumper, v->map)
                                    : dump_scalar(dumper, v);
    dumper->depth--;
    return result;
}

static int dump_document(struct dumper *dumper, const struct value *v)
{
    yaml_event_t event;

    (void)yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    if (emit_dump_event(dumper, &event) < 0)
        return -1;
    (void)yaml_document_start_event_initialize(&event, NULL, NULL, NULL, !dumper->style.start);
    if (emit_dump_event(dumper, &event) < 0 || dump_value(dumper, v) < 0)
        return -1;
    (void)yaml_document_end_event_initialize(&event, 1);
    if (emit_dump_event(dumper, &event) < 0)
        return -1;
    (void)yaml_stream_end_event_initialize(&event);
    return emit_dump_event(dumper, &event);
}

static int dump_tree(struct dumper *dumper, struct buf *out, const struct value *v)
{
    int result;

    if (!yaml_emitter_initialize(&dumper->emitter))
        return err_set(dumper->err, ERR_LIMIT, "write YAML: out of memory");
    yaml_emitter_set_output(&dumper->emitter, append_dump_bytes, out);
    yaml_emitter_set_unicode(&dumper->emitter, !dumper->style.ascii);
    yaml_emitter_set_width(&dumper->emitter, dumper->style.width);
    yaml_emitter_set_indent(&dumper->emitter, dumper->style.indent);
    result = dump_document(dumper, v);
    yaml_emitter_delete(&dumper->emitter);
    return result;
}

int yaml_dump(struct arena *arena, struct buf *out, const struct value *v, struct err *err)
{
    return yaml_dump_styled(arena, out, v, &plain, err);
}

int yaml_dump_styled(struct arena *arena, struct buf *out, const struct value *v,
                     const struct yaml_dump_style *style, struct err *err)
{
    struct dumper dumper = { .arena = arena, .err = err, .style = *style };

    return dump_tree(&dumper, out, v);
}

int yaml_dump_ordered(struct arena *arena, struct buf *out, const struct value *v, bool flow,
                      struct err *err)
{
    struct dumper dumper = { .arena = arena, .err = err, .keeps_order = true, .style = plain };

    dumper.style.flow = flow;
    return dump_tree(&dumper, out, v);
}
