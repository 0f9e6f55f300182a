/* zester peel: which machines there are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "cli/columns.h"
#include "cli/commands.h"
#include "cli/fleet_bucket.h"
#include "data/msgpack.h"
#include "data/time_text.h"
#include "data/value.h"
#include "sys/clock.h"
#include "wire/liveness.h"
#include "wire/peel_id.h"

/* A heartbeat that is older is not a sign of life. */
#define ONLINE_NS (60 * CLOCK_SECOND)

struct peel_args {
    struct fleet_options fleet;
};

#define ARGS struct peel_args

static const struct param peel_options[] = {
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

struct row {
    const char *id; /* as on the wire */
    const char *os, *arch;
    struct value_time seen; /* 0: never */
};

struct table {
    struct arena *arena;
    struct map by_id; /* struct row */
    VEC(struct row *) rows;
};

static const char *text_at(struct arena *arena, const struct value *facts, const char *map,
                           const char *key)
{
    const struct value *inner = value_get(facts, map);
    const char *text = inner ? value_get_text(inner, key) : NULL;

    return text ? arena_strdup(arena, text) : "-";
}

static void add_facts(void *self, const struct nats_kv_entry *entry)
{
    struct table *table = self;
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct row *row = ARENA_NEW(table->arena, struct row);
    struct value facts;
    struct err err;

    if (!peel_id_is_valid(entry->key) ||
        msgpack_decode_front(&scratch, entry->value, &facts, &err) < 0)
        return;
    row->id = arena_str(table->arena, entry->key).p;
    row->os = text_at(table->arena, &facts, "os", "name");
    row->arch = text_at(table->arena, &facts, "os", "arch");
    (void)map_set(&table->by_id, str_from(row->id), row);
    VEC_PUSH_IN(table->arena, &table->rows, row);
}

static void add_beat(void *self, const struct nats_kv_entry *entry)
{
    struct table *table = self;
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct row *row = map_find(&table->by_id, entry->key);
    struct liveness_peel beat;
    struct err err;

    if (row && record_decode(&scratch, &liveness_peel_type, 1, entry->value, &beat, &err) == 0)
        row->seen = (struct value_time){ entry->time / CLOCK_SECOND, 0 };
}

static int compare_rows(const void *a, const void *b)
{
    return strcmp((*(const struct row *const *)a)->id, (*(const struct row *const *)b)->id);
}

static bool is_online(const struct row *row)
{
    return row->seen.seconds && clock_wall() - row->seen.seconds * CLOCK_SECOND < ONLINE_NS;
}

static const char *seen_text(struct arena *arena, const struct row *row)
{
    AUTO_BUF struct buf text = BUF_INIT(64);

    if (!row->seen.seconds)
        return "-";
    time_print(&text, row->seen);
    return buf_copy(&text, arena).p;
}

static const char *shown_id(struct arena *arena, const struct row *row)
{
    char name[PEEL_ID_SIZE];

    peel_id_decode(str_from(row->id), name);
    return arena_strdup(arena, name);
}

static void print_text(struct cli *cli, const struct table *table)
{
    enum { COLUMNS = 5 };
    static const char *const heads[COLUMNS] = { "PEEL ID", "OS", "ARCH", "ONLINE", "LAST-SEEN" };
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const char **cells = ARENA_ARRAY(cli->arena, const char *, (table->rows.n + 1) * COLUMNS);
    size_t rows = 1;

    memcpy(cells, heads, sizeof(heads));
    VEC_EACH (&table->rows, row) {
        const char **cell = &cells[rows++ * COLUMNS];

        cell[0] = shown_id(cli->arena, *row);
        cell[1] = (*row)->os;
        cell[2] = (*row)->arch;
        cell[3] = is_online(*row) ? "yes" : "no";
        cell[4] = seen_text(cli->arena, *row);
    }
    columns_print(&out, cells, COLUMNS, rows);
    (void)fwrite(buf_text(&out), 1, out.n, stdout);
}

static int print_value(struct cli *cli, enum fleet_format format, const struct table *table)
{
    struct arena *arena = cli->arena;
    struct value_list *list = value_list_new(arena, table->rows.n);
    struct value all = value_list(list);

    VEC_EACH (&table->rows, row) {
        struct value_map *map = value_map_new(arena, 5);
        const char *seen = seen_text(arena, *row);

        value_map_set(arena, map, value_text("peel_id"), value_text(shown_id(arena, *row)));
        value_map_set(arena, map, value_text("os"), value_text((*row)->os));
        value_map_set(arena, map, value_text("arch"), value_text((*row)->arch));
        value_map_set(arena, map, value_text("online"), value_bool(is_online(*row)));
        value_map_set(arena, map, value_text("last_seen"),
                      (*row)->seen.seconds ? value_text(seen) : value_null());
        value_list_push(arena, list, value_map(map));
    }
    return fleet_print(cli, format, &all);
}

static int run_list(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct peel_args *want = args;
    struct table table = { .arena = cli->arena, .by_id = MAP_INIT_IN(cli->arena) };
    struct fleet *fleet;
    struct err err;
    int result;

    (void)operands;
    if (fleet_open(cli->arena, &want->fleet, &fleet, &err) < 0)
        return cli_err(cli, &err);
    result = fleet_bucket_each(fleet, STORE_FACTS, NULL, add_facts, &table, &err);
    if (result == 0)
        result = fleet_bucket_each(fleet, STORE_PEEL_HEARTBEAT, NULL, add_beat, &table, &err);
    fleet_close(fleet);
    if (result < 0)
        return cli_err(cli, &err);
    if (table.rows.n > 1)
        qsort(table.rows.p, table.rows.n, sizeof(table.rows.p[0]), compare_rows);
    if (want->fleet.format != FLEET_TEXT)
        return print_value(cli, want->fleet.format, &table);
    print_text(cli, &table);
    return CLI_OK;
}

static const struct command peel_commands[] = {
    { .name = "list",
      .operands = "",
      .summary = "all peels that have published facts, and whether they are connected",
      .examples = "  zester peel list --format json\n",
      .options = peel_options,
      .args_size = sizeof(ARGS),
      .run = run_list },
    { 0 },
};

const struct command command_peel = {
    .name = "peel",
    .operands = "",
    .summary = "list the machines of the fleet",
    .examples = "  zester peel list\n",
    .commands = peel_commands,
};

/* --- kv fact get -------------------------------------------------------------------- */

static int print_fact(struct cli *cli, const struct value *facts, const char *peel,
                      const char *path)
{
    const struct value *v = facts;
    struct str rest = path ? str_from(path) : (struct str){ 0 };

    while (rest.p) {
        struct str part = str_cut(&rest, '.');

        v = value_get(v, arena_str(cli->arena, part).p);
        if (!v)
            return cli_error(cli, "'%s' has no fact '%s'", peel, path);
    }
    return fleet_print(cli, FLEET_JSON, v);
}

static int run_fact_get(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct peel_args *want = args;
    char id[PEEL_ID_SIZE];
    struct fleet *fleet;
    struct str bytes;
    struct value facts;
    struct err err;
    int result;

    if (strcmp(operands.p[0], "get") != 0)
        return cli_usage(cli, "unknown word '%s' (the command is 'zester kv fact get PEEL [KEY]')",
                         operands.p[0]);
    if (peel_id_is_valid(str_from(operands.p[1])))
        (void)snprintf(id, sizeof(id), "%s", operands.p[1]);
    else if (peel_id_encode(str_from(operands.p[1]), id, &err) < 0)
        return cli_err(cli, &err);
    if (fleet_open(cli->arena, &want->fleet, &fleet, &err) < 0)
        return cli_err(cli, &err);
    result = fleet_bucket_get(fleet, STORE_FACTS, id, &bytes, &err);
    fleet_close(fleet);
    if (result < 0 && err.code == ERR_NOT_FOUND)
        return cli_error(cli, "'%s' has published no facts", operands.p[1]);
    if (result < 0 || msgpack_decode_front(cli->arena, bytes, &facts, &err) < 0)
        return cli_err(cli, &err);
    return print_fact(cli, &facts, operands.p[1], operands.n > 2 ? operands.p[2] : NULL);
}

static const struct command kv_commands[] = {
    { .name = "fact",
      .operands = "get PEEL [KEY]",
      .summary = "the facts that a peel has published, as JSON",
      .examples = "  zester kv fact get web-01 os.family\n",
      .options = peel_options,
      .args_size = sizeof(ARGS),
      .least = 2,
      .most = 3,
      .run = run_fact_get },
    { 0 },
};

const struct command command_kv = {
    .name = "kv",
    .operands = "",
    .summary = "show what the fleet stores about a peel",
    .examples = "  zester kv fact get web-01\n",
    .commands = kv_commands,
};
