/* zester settings: what a machine gets from the tree of settings, asked without asking it. */

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/link.h"
#include "core/data/record.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/question.h"
#include "fleet/wire/subject.h"

#define SHOW_NS (INT64_C(30) * 1000000000)

struct settings_args {
    struct fleet_options fleet;
};

static const struct param show_options[] = {
    FLEET_OPTIONS(struct settings_args, fleet),
    { 0 },
};

static int print_settings(struct cli *cli, enum fleet_format format, const struct value *settings,
                          struct param_strs operands)
{
    const struct value *v = settings;

    if (operands.n > 1) {
        v = value_path(settings, str_from(operands.p[1]), ':');
        v = v ? v : value_path(settings, str_from(operands.p[1]), '.');
    }
    if (!v)
        return cli_error(cli, "'%s' has no setting '%s'", operands.p[0], operands.p[1]);
    return fleet_print(cli, format == FLEET_TEXT ? FLEET_YAML : format, v);
}

static int run_settings_show(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct settings_args *want = args;
    AUTO_BUF struct buf bytes = BUF_INIT(4096);
    struct question_settings question = { .by = fleet_user(cli->arena) };
    struct question_shown shown;
    char id[PEEL_ID_SIZE];
    struct str answer;
    struct err err;
    int status;

    if (peel_id_read(operands.p[0], id, &err) < 0)
        return cli_err(cli, &err);
    question.peel = id;
    if (record_encode(&bytes, &question_settings_type, &question, &err) < 0)
        return cli_err(cli, &err);
    status = fleet_ask_publisher(cli, &want->fleet, SUBJECT_SETTINGS_SHOW, buf_view(&bytes),
                                 SHOW_NS, &answer);
    if (status != CLI_OK)
        return status;
    if (record_decode(cli->arena, &question_shown_type, 1, answer, &shown, &err) < 0)
        return cli_err(cli, &err);
    if (shown.err[0])
        return cli_error(cli, "%s: %s", operands.p[0], shown.err);
    return print_settings(cli, want->fleet.format, &shown.settings, operands);
}

static const struct command settings_commands[] = {
    { .name = "show",
      .operands = "PEEL [KEY]",
      .summary = "show the settings of a peel, secrets masked; it need not be connected",
      .examples = "  zester settings show web-01\n  zester settings show web-01 ports:http\n",
      .options = show_options,
      .args_size = sizeof(struct settings_args),
      .least = 1,
      .most = 2,
      .run = run_settings_show },
    { 0 },
};

const struct command command_settings = {
    .name = "settings",
    .operands = "",
    .summary = "the settings of the fleet",
    .examples = "  zester settings show web-01\n",
    .commands = settings_commands,
};
