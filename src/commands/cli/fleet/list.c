#include "commands/cli/fleet/list.h"

#include <inttypes.h>

#include "commands/cli/shared/table.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/data/time_text.h"
#include "fleet/wire/peel_id.h"

const char *fleet_list_join(struct arena *arena, const struct value *texts)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; value_is(texts, VALUE_LIST) && i < texts->list->count; i++)
        buf_printf(&out, "%s%s", i > 0 ? " " : "", texts->list->items[i].s.p);
    return buf_copy(&out, arena).p;
}

static const char *print_cell_value(struct arena *arena, const struct value *v)
{
    switch (v ? v->kind : VALUE_NULL) {
    case VALUE_BOOL: return v->b ? "yes" : "no";
    case VALUE_INT: return arena_printf(arena, "%" PRId64, v->i);
    case VALUE_STR: return v->s.p;
    case VALUE_LIST: return fleet_list_join(arena, v);
    case VALUE_TIME:
        return v->t.seconds > 0 ? time_text(arena, (struct value_time){ v->t.seconds, 0 }) : "";
    default: return "";
    }
}

static const char *print_list_cell(const struct fleet_list *list, const struct fleet_column *column,
                                   size_t i)
{
    const struct value *value = &list->values.p[i];
    const void *record = list->records.p[i];
    const char *text;

    if (column->cell)
        text = column->cell(list->arena, record ? record : value);
    else
        text = print_cell_value(list->arena, value_path(value, str_from(column->key), '.'));
    if (column->is_peel)
        text = peel_id_name(list->arena, text);
    return text[0] || !column->empty ? text : column->empty;
}

void fleet_list_add(struct fleet_list *list, struct value value, const void *record)
{
    VEC_PUSH_IN(list->arena, &list->values, value);
    VEC_PUSH_IN(list->arena, &list->records, record);
}

void fleet_list_add_texts(struct fleet_list *list, const char *const *texts)
{
    struct value_map *map = value_map_new(list->arena, 8);

    for (size_t i = 0; i < list->width; i++)
        value_map_set(list->arena, map, value_text(list->columns[i].key), value_text(texts[i]));
    fleet_list_add(list, value_map(map), NULL);
}

struct value fleet_list_value(const struct fleet_list *list)
{
    struct value_list *values = value_list_new(list->arena, list->values.n);

    VEC_EACH (&list->values, value)
        value_list_push(list->arena, values, *value);
    return value_list(values);
}

int fleet_list_print_table(const struct fleet_list *list)
{
    const char **heads = ARENA_ARRAY(list->arena, const char *, list->width);
    struct table table = { .arena = list->arena, .heads = heads, .columns = list->width };

    for (size_t i = 0; i < list->width; i++)
        heads[i] = list->columns[i].head;
    for (size_t i = 0; i < list->values.n; i++) {
        const char **row = table_add(&table);

        for (size_t j = 0; j < list->width; j++)
            row[j] = print_list_cell(list, &list->columns[j], i);
    }
    return table_print(&table);
}

int fleet_list_print(struct cli *cli, enum fleet_format format, const struct fleet_list *list)
{
    const struct value all = fleet_list_value(list);

    return format == FLEET_TEXT ? fleet_list_print_table(list) : fleet_print(cli, format, &all);
}
