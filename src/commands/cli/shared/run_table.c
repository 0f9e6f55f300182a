#include "commands/cli/shared/run_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/str.h"
#include "commands/cli/shared/columns.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/shared/table.h"
#include "core/data/time_text.h"
#include "states/run/run_list.h"

/* --- collecting ------------------------------------------------------------------------------ */

static void report_damaged_run(struct run_table *table, const char *peel,
                               const struct run_list_item *item)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (!item->damage[0])
        return;
    table->damaged++;
    columns_print_text(&text, arena_printf(table->arena, "%s%srun %s: its record is damaged: %s",
                                           peel, peel[0] ? ": " : "", item->id, item->damage));
    (void)fprintf(stderr, "%s\n", buf_text(&text));
}

static struct run_table_row *find_row(struct run_table *table, const char *peel,
                                      const struct run_list_item *item)
{
    const struct run_table_row fresh = { .item = item, .peel = peel };
    size_t at = (size_t)map_find(&table->by_id, str_from(item->id));

    if (at == 0) {
        VEC_PUSH_IN(table->arena, &table->list, fresh);
        at = table->list.n;
        map_set(&table->by_id, str_from(item->id), (void *)at); /* a number, not a pointer */
    }
    return &table->list.p[at - 1];
}

void run_table_add(struct run_table *table, const char *peel, const struct run_list *runs)
{
    table->peels += peel[0] != '\0';
    VEC_EACH (&runs->list, item) {
        struct run_table_row *row;

        report_damaged_run(table, peel, item);
        if (item->damage[0] && item->refs.n == 0 && item->states.n == 0)
            continue;
        row = find_row(table, peel, item);
        row->peels++;
        row->reverted += item->reverted;
        row->changed += item->changed;
    }
}

/* --- printing -------------------------------------------------------------------------------- */

static int compare_run_rows(const void *a, const void *b)
{
    const struct run_table_row *left = a, *right = b;

    if (left->item->time.seconds != right->item->time.seconds)
        return left->item->time.seconds < right->item->time.seconds ? 1 : -1;
    return strcmp(right->item->id, left->item->id);
}

static size_t find_id_length(const struct run_table *table)
{
    const char **ids = ARENA_ARRAY(table->arena, const char *, table->list.n + 1);

    for (size_t i = 0; i < table->list.n; i++)
        ids[i] = table->list.p[i].item->id;
    return run_list_id_length(ids, table->list.n);
}

static const char *print_reverted(struct arena *arena, const struct run_table_row *row)
{
    if (row->reverted > 0 && row->reverted < row->peels)
        return arena_printf(arena, "%zu of %zu", row->reverted, row->peels);
    return row->peels > 1 ? row->reverted > 0 ? "yes" : "" : run_list_reverted(row->item);
}

static const char *print_row_peels(struct arena *arena, const struct run_table_row *row)
{
    return row->peels == 1 ? row->peel : arena_printf(arena, "%zu peels", row->peels);
}

int run_table_print(struct run_table *table)
{
    static const char *const heads[] = { "RUN", "TIME", "CHANGED", "REVERTED", "BY", "WHAT" };
    static const char *const fleet_heads[] = { "RUN",      "TIME", "PEEL", "CHANGED",
                                               "REVERTED", "BY",   "WHAT" };
    struct table own = TABLE_INIT(table->arena, heads),
                 fleet = TABLE_INIT(table->arena, fleet_heads);
    struct table *rows = table->peels > 0 ? &fleet : &own;
    const size_t length = find_id_length(table);

    if (table->peels > 0 && table->list.n > 1) /* one machine has them in the order of its runs */
        qsort(table->list.p, table->list.n, sizeof(*table->list.p), compare_run_rows);
    VEC_EACH (&table->list, row) {
        const char **cells = table_add(rows);
        size_t i = 0;

        cells[i++] = arena_printf(table->arena, "%.*s", (int)length, row->item->id);
        cells[i++] = time_text(table->arena, row->item->time);
        if (table->peels > 0)
            cells[i++] = print_row_peels(table->arena, row);
        cells[i++] = arena_printf(table->arena, "%llu", (unsigned long long)row->changed);
        cells[i++] = print_reverted(table->arena, row);
        cells[i++] = row->item->by[0] ? row->item->by : "-";
        cells[i++] = run_list_describe(table->arena, row->item);
    }
    if (table->list.n > 0)
        (void)table_print(rows);
    return table->damaged > 0 ? CLI_FAILED : CLI_OK;
}
