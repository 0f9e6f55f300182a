/* kepler config, validate, graph: look at a file, without a daemon. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/diag.h"
#include "base/err.h"
#include "cli/kepler.h"
#include "data/json.h"
#include "data/yaml_print.h"
#include "supervise/config.h"
#include "supervise/environment.h"
#include "sys/fs.h"

#define OUTPUT_MAX ((size_t)64 << 20)

struct config_args {
    struct kepler_globals globals;
    bool json, dot;
    struct param_strs flags;
};

#define ARGS struct config_args
#define DEFINE                                                                                     \
    PARAM("define", STRS, ARGS, flags, "K=V for expressions (kepler.flags); may be given again",   \
          .aliases = "D")

static const struct param config_options[] = {
    PARAM("json", BOOL, ARGS, json, "as JSON instead of YAML"),
    DEFINE,
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};

static const struct param validate_options[] = { DEFINE, KEPLER_GLOBALS(ARGS, globals), { 0 } };

static const struct param graph_options[] = {
    PARAM("dot", BOOL, ARGS, dot, "for graphviz"),
    DEFINE,
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};

static const struct environment *own_environment(struct arena *arena)
{
    struct environment *env = ARENA_NEW(arena, struct environment);

    environment_init(env, arena);
    environment_merge_array(env, (const char *const *)environ);
    return env;
}

static const struct value *read_flags(struct arena *arena, struct param_strs given)
{
    struct param_strs pairs = kepler_pairs(arena, "-D", given);
    struct value *flags = ARENA_NEW(arena, struct value);

    *flags = value_map(value_map_new(arena, pairs.n));
    for (size_t i = 0; i < pairs.n; i++) {
        struct str rest = str_from(pairs.p[i]), key = str_cut(&rest, '=');

        value_map_set(arena, flags->map, value_text(arena_strndup(arena, key.p, key.n)),
                      value_text(rest.p));
    }
    return flags;
}

/* Returns 0, or an exit status; everything that is wrong has been told. */
static int load(struct cli *cli, const struct config_args *args, const struct config **ret)
{
    struct diags diags = DIAGS_INIT(cli->arena);
    struct config_source source = { .cli_env = own_environment(cli->arena),
                                    .flags = read_flags(cli->arena, args->flags),
                                    .owner = { getuid(), getgid() } };
    AUTO_BUF struct buf text = BUF_INIT(OUTPUT_MAX);
    struct err err;

    if (kepler_config_path(cli->arena, &args->globals, &source.path, &err) < 0 ||
        fs_read(cli->arena, source.path, CONFIG_FILE_MAX, &source.text, &err) < 0)
        return kepler_err(&err);
    if (!source.text.p)
        return kepler_error("'%s' is not there", source.path);
    if (config_load(cli->arena, &source, ret, &diags) < 0) {
        diags_print(&diags, &text);
        return kepler_error("the config is not valid\n%s", buf_text(&text));
    }
    VEC_EACH (&(*ret)->warnings, warning)
        kepler_warn("%s", *warning);
    return 0;
}

/* --- config ---------------------------------------------------------------------------------- */

static struct value dump(struct arena *arena, const struct config *config)
{
    struct value_map *map = value_map_new(arena, 2), *services = value_map_new(arena, 0);

    for (uint32_t i = 0; i < config->service_count; i++)
        value_map_set(arena, services, value_text(config->services[i].name),
                      config_dump_service(arena, config, &config->services[i]));
    value_map_set(arena, map, value_text("kepler"), config_dump_kepler(arena, config));
    value_map_set(arena, map, value_text("services"), value_map(services));
    return value_map(map);
}

static int run_config(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct config_args *args = raw;
    AUTO_BUF struct buf out = BUF_INIT(OUTPUT_MAX);
    const struct config *config;
    struct value whole;
    struct err err;
    int status = load(cli, args, &config);

    (void)operands;
    if (status != 0)
        return status;
    whole = dump(cli->arena, config);
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
    .options = config_options,
    .args_size = sizeof(struct config_args),
    .least = 0,
    .most = 0,
    .run = run_config,
};

/* --- validate -------------------------------------------------------------------------------- */

static int run_validate(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct config_args *args = raw;
    const struct config *config;
    int status = load(cli, args, &config);

    (void)operands;
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
    .summary = "check the config, and tell every mistake with its place; needs no daemon",
    .options = validate_options,
    .args_size = sizeof(struct config_args),
    .least = 0,
    .most = 0,
    .run = run_validate,
};

/* --- graph ----------------------------------------------------------------------------------- */

static void print_edges(const struct config *config, const struct config_service *service,
                        struct buf *out)
{
    for (size_t i = 0; i < service->edge_count; i++) {
        const struct config_edge *edge = &service->edges[i];

        buf_printf(out, "%s%s (%s%s)", i == 0 ? " <- " : ", ", config->services[edge->service].name,
                   condition_name(edge->condition), edge->restart ? ", restart" : "");
    }
}

static void print_levels(const struct config *config, struct buf *out)
{
    uint32_t level = UINT32_MAX;

    for (uint32_t i = 0; i < config->service_count; i++) {
        const struct config_service *service = &config->services[config->order[i]];

        if (config->levels[config->order[i]] != level) {
            level = config->levels[config->order[i]];
            buf_printf(out, "Level %u:\n", level);
        }
        buf_printf(out, "  %s", service->name);
        print_edges(config, service, out);
        buf_add_char(out, '\n');
    }
}

static void print_dot(const struct config *config, struct buf *out)
{
    buf_add_text(out, "digraph services {\n    rankdir=LR;\n");
    for (uint32_t i = 0; i < config->service_count; i++) {
        const struct config_service *service = &config->services[i];

        buf_printf(out, "    \"%s\";\n", service->name);
        for (size_t j = 0; j < service->edge_count; j++)
            buf_printf(out, "    \"%s\" -> \"%s\" [label=\"%s\"%s];\n",
                       config->services[service->edges[j].service].name, service->name,
                       condition_name(service->edges[j].condition),
                       service->edges[j].restart ? ", style=bold" : "");
    }
    buf_add_text(out, "}\n");
}

static int run_graph(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct config_args *args = raw;
    AUTO_BUF struct buf out = BUF_INIT(OUTPUT_MAX);
    const struct config *config;
    int status = load(cli, args, &config);

    (void)operands;
    if (status != 0)
        return status;
    if (args->dot)
        print_dot(config, &out);
    else
        print_levels(config, &out);
    (void)fputs(buf_text(&out), stdout);
    return KEPLER_OK;
}

const struct command kepler_command_graph = {
    .name = "graph",
    .operands = "",
    .summary = "show who waits for whom; needs no daemon",
    .examples = "  kepler graph\n  kepler graph --dot | dot -Tsvg > services.svg\n",
    .options = graph_options,
    .args_size = sizeof(struct config_args),
    .least = 0,
    .most = 0,
    .run = run_graph,
};
