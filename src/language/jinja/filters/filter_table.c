/* Filters for tables that programs print. */
#include "language/jinja/filters/filter.h"

#include "core/base/err.h"
#include "core/base/number.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"

/* The cells of "| a | b |", between the bars. */
static struct value_list *split_row(struct render *render, struct str line)
{
    struct value_list *cells = container_new_list(render, 4);
    struct str rest = line;

    (void)str_cut(&rest, '|');
    while (rest.p) {
        const struct str cell = str_trim(str_cut(&rest, '|'));

        if (rest.p)
            value_list_push(render->arena, cells, op_new_str(render, cell));
    }
    return cells;
}

static struct value read_table_cell(const struct value *cell)
{
    struct err ignored; /* then it is a text */
    int64_t whole;
    double number;

    if (number_parse_int(cell->s, &whole, &ignored) == 0)
        return value_int(whole);
    if (number_parse_double(cell->s, &number, &ignored) == 0)
        return value_double(number);
    return *cell;
}

/* One row as a map, under the value of its key. */
static int add_table_row(struct render *render, const struct bound_args *bound,
                         const struct value_list *names, const struct value_list *cells,
                         struct value_map *rows)
{
    struct value_map *row = container_new_map(render, names->count);
    const struct value *key;

    for (size_t i = 0; i < names->count && i < cells->count; i++)
        value_map_set(render->arena, row, names->items[i], read_table_cell(&cells->items[i]));
    key = value_map_find(row, &bound->args[1]);
    if (!key)
        return render_fail(render, RENDER_TYPE, "mysql_to_dict: the table has no such column");
    value_map_set(render->arena, rows, *key, value_map(row));
    return 0;
}

/* Lines of the mysql client: a heading and rows between bars, and lines of dashes. */
static int filter_mysql_to_dict(struct render *render, const struct bound_args *bound,
                                struct value *ret)
{
    struct value_map *rows = container_new_map(render, 4);
    const struct value_list *lines, *names = NULL;

    if (op_list(render, &bound->args[0], &lines) < 0)
        return -1;
    for (size_t i = 0; i < lines->count; i++) {
        const struct value *line = &lines->items[i];
        const struct value_list *cells;

        if (line->kind != VALUE_STR || line->s.n == 0 || line->s.p[0] == '+')
            continue;
        cells = split_row(render, line->s);
        if (!names)
            names = cells;
        else if (add_table_row(render, bound, names, cells, rows) < 0)
            return -1;
    }
    *ret = value_map(rows);
    return 0;
}

/* clang-format off */
const struct function filter_table_functions[] = {
    { "mysql_to_dict", "value, key", filter_mysql_to_dict, "rows that the mysql client prints, by the value of one column" },
    { 0 },
};
/* clang-format on */
