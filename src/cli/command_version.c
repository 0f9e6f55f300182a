/* zester version: for scripts that expect a command instead of an option. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/fleet/link.h"
#include "data/value.h"

struct version_args {
    enum fleet_format format;
};

static const struct param options[] = {
    PARAM("format", CHOICE, struct version_args, format, "output format",
          .choices = "text|json|yaml", .default_text = "text"),
    { 0 },
};

static int run_version(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct version_args *how = args;
    const struct value v = value_map(value_map_new(cli->arena, 1));

    (void)operands;
    value_map_set(cli->arena, v.map, value_text("version"), value_text(cli->program->version));
    if (how->format != FLEET_TEXT)
        return fleet_print(cli, how->format, &v);
    (void)printf("%s %s\n", cli->program->name, cli->program->version);
    return CLI_OK;
}

const struct command command_version = {
    .name = "version",
    .operands = "",
    .summary = "print the version, as --version does",
    .examples = "  zester version\n"
                "  zester version --format json\n",
    .statuses = "0 done; 1 wrong usage",
    .options = options,
    .args_size = sizeof(struct version_args),
    .run = run_version,
};
