#include "commands/cli/shared/catalog.h"

#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/shared/command.h"
#include "core/data/json.h"
#include "core/data/options.h"
#include "core/data/value.h"

static void set_catalog_text(struct arena *arena, struct value_map *map, const char *key,
                             const char *text)
{
    if (text && text[0])
        value_map_set(arena, map, value_text(key), value_text(text));
}

static void set_catalog_options(struct arena *arena, struct value_map *map, const char *key,
                                const struct param *options)
{
    if (options)
        value_map_set(arena, map, value_text(key), options_describe(arena, options));
}

/* Describes a command, without the commands below it. */
static struct value describe_command(struct arena *arena, const struct command *command,
                                     const char *name)
{
    struct value_map *map = value_map_new(arena, 8);

    set_catalog_text(arena, map, "name", name);
    set_catalog_text(arena, map, "operands", command->operands);
    set_catalog_text(arena, map, "summary", command->summary);
    set_catalog_text(arena, map, "details", command->details);
    set_catalog_text(arena, map, "examples", command->examples);
    set_catalog_text(arena, map, "statuses", command->statuses);
    value_map_set(arena, map, value_text("runs"), value_bool(command->run != NULL));
    set_catalog_options(arena, map, "options", command->options);
    return value_map(map);
}

/* A group has those of its table below "commands"; groups are not nested. */
static struct value describe_table(struct arena *arena, const struct command *table)
{
    struct value_list *list = value_list_new(arena, 0);

    for (const struct command *command = table; command->name; command++) {
        struct value found = describe_command(arena, command, command->name);

        if (command->commands) {
            struct value_list *below = value_list_new(arena, 0);

            for (const struct command *c = command->commands; c->name; c++)
                value_list_push(arena, below, describe_command(arena, c, c->name));
            value_map_set(arena, found.map, value_text("commands"), value_list(below));
        }
        value_list_push(arena, list, found);
    }
    return value_list(list);
}

static struct value describe_program(struct arena *arena, const struct program *program)
{
    struct value_map *map = value_map_new(arena, 8);

    set_catalog_text(arena, map, "name", program->name);
    set_catalog_text(arena, map, "summary", program->summary);
    set_catalog_text(arena, map, "statuses", program->statuses);
    set_catalog_options(arena, map, "globals", program->globals);
    if (program->other)
        value_map_set(arena, map, value_text("other"),
                      describe_command(arena, program->other, program->other_word));
    if (program->fallback)
        value_map_set(arena, map, value_text("fallback"),
                      describe_command(arena, program->fallback, NULL));
    value_map_set(arena, map, value_text("commands"), describe_table(arena, program->commands));
    return value_map(map);
}

int catalog_print(struct cli *cli)
{
    const struct value catalog = describe_program(cli->arena, cli->program);
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    if (json_print(&out, &catalog, JSON_STYLE_PRETTY, &err) < 0)
        return cli_err(cli, &err);
    (void)puts(buf_text(&out));
    return CLI_OK;
}
