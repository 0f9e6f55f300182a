/* zester basket: what peels share with each other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/list.h"
#include "core/data/json.h"
#include "core/data/record.h"
#include "fleet/nats/conn.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/question.h"
#include "fleet/wire/subject.h"

#define GET_NS (INT64_C(5) * 1000000000)

struct basket_args {
    struct fleet_options fleet;
};

static const struct param basket_options[] = {
    FLEET_OPTIONS(struct basket_args, fleet),
    { 0 },
};

/* --- get ------------------------------------------------------------------------------ */

static int ask_masters(struct cli *cli, const struct fleet_options *options,
                       struct param_strs operands, struct question_resolved *ret)
{
    const struct question_resolve question = {
        .expr = operands.p[0], .type = "", .basket = operands.p[1], .scope = ""
    };
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct nats_pub pub = { .subject = str_from(subject_template(SUBJECT_RESOLVE)) };
    struct str answer;
    struct err err;

    if (record_encode(&bytes, &question_resolve_type, &question, &err) < 0)
        return cli_err(cli, &err);
    pub.payload = buf_view(&bytes);
    if (fleet_request(cli->fleet, &pub, options->has_timeout ? options->timeout : GET_NS, &answer,
                      &err) < 0)
        return err.code == ERR_NOT_FOUND ? cli_error(cli, "no master is running")
                                         : cli_err(cli, &err);
    if (record_decode(cli->arena, &question_resolved_type, 1, answer, ret, &err) < 0)
        return cli_err(cli, &err);
    return ret->err[0] ? cli_error(cli, "%s", ret->err) : CLI_OK;
}

static const char *print_shared(struct arena *arena, const void *record)
{
    const struct value *v = value_get(record, "value");
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    if (!v)
        return "(no data)";
    if (v->kind == VALUE_STR)
        return arena_str(arena, v->s).p;
    return json_print(&text, v, JSON_STYLE_TEXT, &err) < 0 ? "?" : buf_copy(&text, arena).p;
}

static const struct fleet_column get_columns[] = {
    FLEET_COLUMN("PEEL", "peel_id"),
    FLEET_COLUMN("VALUE", NULL, .cell = print_shared),
};

/* No `value`: the peel shares nothing under that name. */
static int print_baskets(struct cli *cli, enum fleet_format format,
                         const struct question_resolved *answer)
{
    struct fleet_list list = FLEET_LIST_INIT(cli->arena, get_columns);

    for (size_t i = 0; i < answer->peels.n; i++) {
        const struct value *v = value_get(&answer->basket, answer->peels.p[i]);
        struct value_map *map = value_map_new(cli->arena, 2);

        value_map_set(cli->arena, map, value_text("peel_id"),
                      value_text(peel_id_name(cli->arena, answer->peels.p[i])));
        if (v)
            value_map_set(cli->arena, map, value_text("value"), *v);
        fleet_list_add(&list, value_map(map), NULL);
    }
    return fleet_list_print(cli, format, &list);
}

static int run_get(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct basket_args *want = args;
    struct question_resolved answer = { 0 };
    const int status = ask_masters(cli, &want->fleet, operands, &answer);

    if (status != CLI_OK)
        return status;
    if (answer.peels.n == 0) {
        (void)fprintf(stderr, "No peels matched the target expression.\n");
        return FLEET_NO_TARGET;
    }
    return print_baskets(cli, want->fleet.format, &answer);
}

/* --- list ----------------------------------------------------------------------------- */

struct basket_names {
    struct arena *arena;
    size_t prefix;
    VEC(const char *) list;
};

static void add_basket_name(void *self, const struct nats_kv_entry *entry)
{
    struct basket_names *names = self;

    VEC_PUSH_IN(names->arena, &names->list,
                arena_str(names->arena, str_from_offset(entry->key, names->prefix)).p);
}

static int compare_basket_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int print_basket_names(struct cli *cli, enum fleet_format format,
                              const struct basket_names *names, const char *peel)
{
    struct value_list *list = value_list_new(cli->arena, names->list.n);
    const struct value all = value_list(list);

    VEC_EACH (&names->list, name)
        value_list_push(cli->arena, list, value_text(*name));
    if (format != FLEET_TEXT)
        return fleet_print(cli, format, &all);
    if (names->list.n == 0)
        (void)printf("No basket data found for peel %s.\n", peel);
    else
        (void)printf("FUNCTION\n");
    VEC_EACH (&names->list, name)
        (void)printf("%s\n", *name);
    return CLI_OK;
}

static int run_basket_list(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct basket_args *want = args;
    struct basket_names names = { .arena = cli->arena };
    char id[PEEL_ID_SIZE];
    struct err err;

    if (peel_id_read(operands.p[0], id, &err) < 0)
        return cli_err(cli, &err);
    names.prefix = strlen(id) + 1;
    if (fleet_attach(cli, &want->fleet) != CLI_OK)
        return CLI_ERROR;
    if (fleet_bucket_each(cli->fleet, STORE_BASKET, arena_printf(cli->arena, "%s.>", id),
                          add_basket_name, &names, &err) < 0)
        return cli_err(cli, &err);
    if (names.list.n > 1)
        qsort(names.list.p, names.list.n, sizeof(names.list.p[0]), compare_basket_names);
    return print_basket_names(cli, want->fleet.format, &names, operands.p[0]);
}

static const struct command basket_commands[] = {
    { .name = "get",
      .operands = "TARGET NAME",
      .summary = "what peels share under a name",
      .examples = "  zester basket get 'db*' network.ipv4\n",
      .options = basket_options,
      .args_size = sizeof(struct basket_args),
      .least = 2,
      .most = 2,
      FLEET_CONNECT(struct basket_args, fleet),
      .run = run_get },
    { .name = "list",
      .operands = "PEEL",
      .summary = "list the names under which a peel shares data",
      .examples = "  zester basket list web-01\n",
      .options = basket_options,
      .args_size = sizeof(struct basket_args),
      .least = 1,
      .most = 1,
      .run = run_basket_list },
    { 0 },
};

const struct command command_basket = {
    .name = "basket",
    .operands = "",
    .summary = "what peels share with each other",
    .examples = "  zester basket get '*' network.ipv4\n",
    .commands = basket_commands,
};
