/* zester fileserver: publish the trees of a master now, and see which master does. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/columns.h"
#include "cli/commands.h"
#include "cli/fleet/link.h"
#include "data/time_text.h"
#include "nats/conn.h"
#include "wire/fileset.h"
#include "wire/subject.h"

#define UPDATE_NS (INT64_C(35) * 1000000000)
#define STATUS_NS (INT64_C(10) * 1000000000)

struct fileserver_args {
    struct fleet_options fleet;
    bool force;
};

#define ARGS struct fileserver_args

/* clang-format off */
static const struct param update_options[] = {
    PARAM("force", BOOL, ARGS, force, "write every file again, also those that have not changed"),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param status_options[] = {
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};
/* clang-format on */

static int print_outcomes(struct cli *cli, const struct fileset_update_reply *reply)
{
    enum { COLUMNS = 4 };
    static const char *const heads[COLUMNS] = { "SET", "FILES", "CHANGED", "NOTE" };
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const char **cells = ARENA_ARRAY(cli->arena, const char *, (reply->sets.list.n + 1) * COLUMNS);
    int status = CLI_OK;
    size_t rows = 1;

    memcpy(cells, heads, sizeof(heads));
    VEC_EACH (&reply->sets.list, set) {
        const char **row = &cells[rows++ * COLUMNS];

        row[0] = set->name;
        row[1] = arena_printf(cli->arena, "%d", set->files);
        row[2] = set->changed ? "yes" : "no";
        row[3] = set->err[0] ? set->err : set->skipped;
        if (set->err[0])
            status = CLI_ERROR;
    }
    columns_print(&out, cells, COLUMNS, rows);
    (void)fwrite(buf_text(&out), 1, out.n, stdout);
    return status;
}

static int run_update(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct fileserver_args *want = args;
    const struct fileset_update question = { want->force, fleet_user(cli->arena) };
    AUTO_BUF struct buf bytes = BUF_INIT(256);
    struct fileset_update_reply reply;
    struct value v;
    struct str answer;
    struct err err;
    int status;

    (void)operands;
    if (record_encode(&bytes, &fileset_update_type, &question, &err) < 0)
        return cli_err(cli, &err);
    status = fleet_ask_publisher(cli, &want->fleet, SUBJECT_FILES_UPDATE, buf_view(&bytes),
                                 UPDATE_NS, &answer);
    if (status != CLI_OK)
        return status;
    if (record_decode(cli->arena, &fileset_update_reply_type, 1, answer, &reply, &err) < 0)
        return cli_err(cli, &err);
    if (want->fleet.format == FLEET_TEXT)
        return print_outcomes(cli, &reply);
    v = record_value(cli->arena, &fileset_update_reply_type, &reply);
    return fleet_print(cli, want->fleet.format, &v);
}

static int run_status(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct fileserver_args *want = args;
    AUTO_BUF struct buf since = BUF_INIT(64);
    struct fileset_status_reply reply;
    struct value v;
    struct str answer;
    struct err err;
    int status =
        fleet_ask_publisher(cli, &want->fleet, SUBJECT_FILES_STATUS, STR(""), STATUS_NS, &answer);

    (void)operands;
    if (status != CLI_OK)
        return status;
    if (record_decode(cli->arena, &fileset_status_reply_type, 1, answer, &reply, &err) < 0)
        return cli_err(cli, &err);
    v = record_value(cli->arena, &fileset_status_reply_type, &reply);
    if (want->fleet.format != FLEET_TEXT)
        return fleet_print(cli, want->fleet.format, &v);
    time_print(&since, (struct value_time){ reply.since_unix, 0 });
    (void)printf("Hostname:  %s\nMaster ID: %s\nSince:     %s\n", reply.hostname, reply.master,
                 buf_text(&since));
    return CLI_OK;
}

static const struct command fileserver_commands[] = {
    { .name = "update",
      .operands = "",
      .summary = "publish what has changed in the trees of states, settings and rules, now",
      .examples = "  zester fileserver update\n",
      .options = update_options,
      .args_size = sizeof(ARGS),
      .run = run_update },
    { .name = "status",
      .operands = "",
      .summary = "which master publishes the trees",
      .examples = "  zester fileserver status\n",
      .options = status_options,
      .args_size = sizeof(ARGS),
      .run = run_status },
    { 0 },
};

const struct command command_fileserver = {
    .name = "fileserver",
    .operands = "",
    .summary = "show and update the file trees that masters publish",
    .examples = "  zester fileserver update\n",
    .commands = fileserver_commands,
};
