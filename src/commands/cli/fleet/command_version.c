/* zester version: for scripts that expect a command instead of an option. */
#include <stdio.h>

#include "core/base/build.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/link.h"
#include "core/data/value.h"

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
    const struct value v = value_map(value_map_new(cli->arena, 3));
    char text[BUILD_TEXT_MAX];

    (void)operands;
    value_map_set(cli->arena, v.map, value_text("version"), value_text(build_info.version));
    value_map_set(cli->arena, v.map, value_text("commit"), value_text(build_info.commit));
    value_map_set(cli->arena, v.map, value_text("built"), value_text(build_info.built));
    if (how->format != FLEET_TEXT)
        return fleet_print(cli, how->format, &v);
    build_print(cli->program->name, text);
    (void)fputs(text, stdout);
    return CLI_OK;
}

const struct command command_version = {
    .name = "version",
    .operands = "",
    .summary = "print the version, the commit and the time of the build, as --version does",
    .details =
        "The first line is the name and the version. The commit ends in '-dirty' when files\n"
        "differed from it; the time is that of the commit, or SOURCE_DATE_EPOCH of the build.\n"
        "What the build did not know is 'unknown'.\n",
    .examples = "  zester version\n"
                "  zester version --format json\n",
    .statuses = "0 done; 1 wrong usage",
    .options = options,
    .args_size = sizeof(struct version_args),
    .run = run_version,
};
