/*
 * fleet_list - a list of records: all of each as JSON or YAML, the columns of a table as text.
 *
 *     static const struct fleet_column columns[] = {
 *         FLEET_COLUMN("PEEL ID", "peel_id"),
 *         FLEET_COLUMN("LAST-SEEN", "last_seen", .empty = "-"),
 *         FLEET_COLUMN("DRIFT", NULL, .cell = print_drift),
 *     };
 *     struct fleet_list list = FLEET_LIST_INIT(arena, columns);
 *     fleet_list_add(&list, fleet_peel_value(arena, peel, now), peel);
 *     return fleet_list_print(cli, format, &list);
 *
 * Memory: the arena. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_LIST_H
#define COMMANDS_CLI_FLEET_LIST_H

#include "commands/cli/fleet/link.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "core/data/value.h"

/* Makes the text of a cell from a record, or from its value if it was added without the record. */
typedef const char *fleet_cell_fn(struct arena *arena, const void *record);

struct fleet_column {
    const char *head;
    const char *key;     /* of the value; "config.version" is inside a map */
    const char *empty;   /* shown for null, "" and an empty list; NULL: "" */
    bool is_peel;        /* the id of a peel: its name is shown */
    fleet_cell_fn *cell; /* instead of the key; or NULL */
};
#define FLEET_COLUMN(head_, key_, ...)                                                             \
    {                                                                                              \
        .head = (head_), .key = (key_), ##__VA_ARGS__                                              \
    }

struct fleet_list {
    struct arena *arena;
    const struct fleet_column *columns;
    size_t width; /* how many */
    VEC(struct value) values;
    VEC(const void *) records;
};
#define FLEET_LIST_INIT(in, table)                                                                 \
    {                                                                                              \
        .arena = (in), .columns = (table), .width = ARRAY_LEN(table)                               \
    }

void fleet_list_add(struct fleet_list *list, struct value value, const void *record);
/* A record that is the texts of its columns. */
void fleet_list_add_texts(struct fleet_list *list, const char *const *texts);
/* A list of the values. */
struct value fleet_list_value(const struct fleet_list *list);
/* Both return the exit status. */
int fleet_list_print(struct cli *cli, enum fleet_format format, const struct fleet_list *list);
int fleet_list_print_table(const struct fleet_list *list);
/* "a b c" */
const char *fleet_list_join(struct arena *arena, const struct value *texts);

#endif
