#include "commands/cli/shared/table.h"

#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "commands/cli/shared/columns.h"
#include "commands/cli/shared/command.h"

const char **table_add(struct table *table)
{
    const char **row = ARENA_ARRAY(table->arena, const char *, table->columns);

    VEC_PUSH_IN(table->arena, &table->rows, row);
    return row;
}

int table_print(const struct table *table)
{
    const size_t width = table->columns * sizeof(table->heads[0]);
    const char **cells =
        ARENA_ARRAY(table->arena, const char *, (table->rows.n + 1) * table->columns);
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    memcpy(cells, table->heads, width);
    for (size_t i = 0; i < table->rows.n; i++)
        memcpy(&cells[(i + 1) * table->columns], table->rows.p[i], width);
    columns_print(&out, cells, table->columns, table->rows.n + 1);
    (void)fwrite(buf_text(&out), 1, out.n, stdout);
    return CLI_OK;
}
