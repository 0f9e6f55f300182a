/* kepler config, validate: check and show a config, without a daemon. */
#include <stdio.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/kepler/kepler.h"
#include "commands/cli/kepler/file.h"
#include "core/data/json.h"
#include "core/data/yaml_print.h"
#include "kepler/config/config.h"
#include "kepler/config/config_dump.h"

struct kepler_config_args {
    struct kepler_globals globals;
    bool json;
    struct param_strs flags;
};

#define ARGS struct kepler_config_args
static const struct param config_options[] = {
    PARAM("json", BOOL, ARGS, json, "print JSON instead of YAML"),
    KEPLER_FLAGS(ARGS, flags),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};

static const struct param validate_options[] = { KEPLER_FLAGS(ARGS, flags),
                                                 KEPLER_GLOBALS(ARGS, globals),
                                                 { 0 } };

/* --- config ---------------------------------------------------------------------------------- */

static struct value dump_config(struct arena *arena, const struct config *config)
{
    struct value_map *map = value_map_new(arena, 2), *services = value_map_new(arena, 0);

    for (uint32_t i = 0; i < config->service_count; i++)
        value_map_set(arena, services, value_text(config->services[i].name),
                      config_dump_service(arena, config, &config->services[i]));
    value_map_set(arena, map, value_text("kepler"), config_dump_kepler(arena, config));
    value_map_set(arena, map, value_text("services"), value_map(services));
    return value_map(map);
}

static int run_kepler_config(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct kepler_config_args *args = raw;
    AUTO_BUF struct buf out = BUF_INIT(KEPLER_OUTPUT_MAX);
    const struct config *config;
    struct value whole;
    struct err err;
    int status = kepler_file_load(cli, &args->globals, args->flags, &config);

    (void)operands;
    if (status != 0)
        return status;
    whole = dump_config(cli->arena, config);
    if ((args->json ? json_print(&out, &whole, JSON_STYLE_PRETTY, &err)
                    : yaml_print(&out, &whole, &err)) < 0)
        return kepler_err(&err);
    (void)fputs(buf_text(&out), stdout);
    if (args->json)
        puts("");
    return KEPLER_OK;
}

const struct command kepler_command_config = {
    .name = "config",
    .operands = "",
    .summary = "show the config with all defaults filled in; needs no daemon",
    .examples = "  kepler config\n  kepler -f web.yaml config --json | jq .services.db\n",
    .options = config_options,
    .args_size = sizeof(struct kepler_config_args),
    .least = 0,
    .most = 0,
    .run = run_kepler_config,
};

/* --- validate -------------------------------------------------------------------------------- */

static int run_validate(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct kepler_config_args *args = raw;
    const struct config *config;
    int status = kepler_file_load(cli, &args->globals, args->flags, &config);

    (void)operands;
    if (status == 0)
        status = kepler_file_check(cli, config);
    if (status != 0)
        return status;
    if (!args->globals.quiet)
        printf("%s: valid, %u service%s\n", config->path, config->service_count,
               config->service_count == 1 ? "" : "s");
    return KEPLER_OK;
}

const struct command kepler_command_validate = {
    .name = "validate",
    .operands = "",
    .summary = "check the config and report every mistake with its place; needs no daemon",
    .examples = "  kepler validate\n  kepler -f web.yaml validate -D port=8080\n",
    .options = validate_options,
    .args_size = sizeof(struct kepler_config_args),
    .least = 0,
    .most = 0,
    .run = run_validate,
};
