/* kepler graph: the dependency graph, without a daemon. */
#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "commands/cli/shared/drawing.h"
#include "commands/cli/kepler/file.h"
#include "kepler/config/config.h"

enum graph_format { FORMAT_TEXT, FORMAT_DOT, FORMAT_SVG };

struct graph_args {
    struct kepler_globals globals;
    enum graph_format format;
    bool dot;
    struct param_strs flags;
};

#define ARGS struct graph_args
static const struct param options[] = {
    PARAM("format", CHOICE, ARGS, format, "output format", .choices = "text|dot|svg",
          .default_text = "text", .aliases = "output,o"),
    PARAM("dot", BOOL, ARGS, dot, "the same as --format dot"),
    KEPLER_FLAGS(ARGS, flags),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};

static void print_edges(const struct config *config, const struct config_service *service,
                        struct buf *out)
{
    for (size_t i = 0; i < service->edge_count; i++) {
        const struct config_edge *edge = &service->edges[i];

        buf_printf(out, "%s%s (%s%s%s)", i == 0 ? " <- " : ", ",
                   config->services[edge->service].name, condition_name(edge->condition),
                   edge->restart ? ", restart" : "", edge->optional ? ", not required" : "");
    }
    for (size_t i = 0; i < service->state_count; i++)
        buf_printf(out, "%sstate %s%s", i + service->edge_count == 0 ? " <- " : ", ",
                   service->states[i].name, service->states[i].restart ? " (restart)" : "");
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

static void draw_graph(const struct config *config, struct drawing *drawing)
{
    uint32_t *box_of = ARENA_ARRAY(drawing->arena, uint32_t, config->service_count);

    for (uint32_t i = 0; i < config->service_count; i++) {
        uint32_t service = config->order[i];

        box_of[service] = i;
        drawing_add_box(drawing, config->services[service].name, config->levels[service]);
    }
    for (uint32_t i = 0; i < config->service_count; i++)
        for (size_t k = 0; k < config->services[i].edge_count; k++) {
            const struct config_edge *edge = &config->services[i].edges[k];

            drawing_add_arrow(drawing, box_of[edge->service], box_of[i],
                              condition_name(edge->condition), condition_style(edge->condition));
        }
}

static int run_graph(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct graph_args *args = raw;
    AUTO_BUF struct buf out = BUF_INIT(KEPLER_OUTPUT_MAX);
    struct drawing drawing = DRAWING_INIT(cli->arena);
    const struct config *config;
    int status = kepler_file_load(cli, &args->globals, args->flags, &config);

    (void)operands;
    if (status != 0)
        return status;
    draw_graph(config, &drawing);
    if (args->format == FORMAT_SVG)
        drawing_print_svg(&drawing, &out);
    else if (args->format == FORMAT_DOT || args->dot)
        drawing_print_dot(&drawing, &out);
    else
        print_levels(config, &out);
    (void)fputs(buf_text(&out), stdout);
    return KEPLER_OK;
}

const struct command kepler_command_graph = {
    .name = "graph",
    .operands = "",
    .summary = "show the dependency graph; needs no daemon",
    .examples = "  kepler graph\n  kepler graph --format svg > services.svg\n",
    .options = options,
    .args_size = sizeof(struct graph_args),
    .least = 0,
    .most = 0,
    .run = run_graph,
};
