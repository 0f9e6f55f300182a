/* zester render: renders a template. */
#include "commands/cli/local/commands.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "language/jinja/filters/builtins.h"
#include "language/jinja/jinja.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/chance.h"

#define TEMPLATE_MAX ((size_t)4 << 20)
#define OUTPUT_MAX   ((size_t)64 << 20)

struct render_args {
    const char *context;
    struct param_strs search;
    int undefined;
    bool trim_blocks, lstrip_blocks, drop_trailing_newline, autoescape;
};

#define ARGS struct render_args

/* clang-format off */
static const struct param options[] = {
    PARAM("context",               STR,    ARGS, context, "variables, as a JSON file (or YAML: .yaml, .yml)", .kind_text = "FILE"),
    PARAM("search",                STRS,   ARGS, search, "where includes and imports are searched; may be repeated", .kind_text = "DIR"),
    PARAM("undefined",             CHOICE, ARGS, undefined, "a missing variable is an error, or empty", .choices = "strict|lenient", .default_text = "strict"),
    PARAM("trim-blocks",           BOOL,   ARGS, trim_blocks, "drop the newline after a block"),
    PARAM("lstrip-blocks",         BOOL,   ARGS, lstrip_blocks, "drop blanks before a block at the start of a line"),
    PARAM("drop-trailing-newline", BOOL,   ARGS, drop_trailing_newline, "drop the last newline of the template"),
    PARAM("autoescape",            BOOL,   ARGS, autoescape, "escape values for HTML"),
    { 0 },
};
/* clang-format on */

struct loader {
    const struct render_args *args;
    const char *folder; /* of the template itself, searched by default */
};

static int load_from(const char *folder, struct str name, struct arena *arena, struct str *ret_text,
                     struct err *err)
{
    const char *path = arena_strndup(arena, name.p, name.n);

    if (path_escapes(path))
        return 0; /* not found, like any other name that is not a template */
    return fs_read(arena, path_join(arena, folder, path), TEMPLATE_MAX, ret_text, err);
}

static int load_rendered_file(void *user, struct str name, struct arena *arena,
                              struct str *ret_text, struct err *err)
{
    const struct loader *loader = user;
    const struct param_strs *search = &loader->args->search;

    if (search->n == 0)
        return load_from(loader->folder, name, arena, ret_text, err);
    for (size_t i = 0; i < search->n && !ret_text->p; i++)
        if (load_from(search->p[i], name, arena, ret_text, err) < 0)
            return -1;
    return 0;
}

static int64_t read_render_clock(void *user)
{
    (void)user;
    return clock_now();
}

static uint64_t pick_render_random(void *user)
{
    (void)user;
    return chance_number();
}

/* A file that must exist, or standard input for "-". */
static int read_input(struct arena *arena, const char *path, struct str *ret, struct err *err)
{
    if (path[0] == '-' && !path[1])
        return fs_read_fd(arena, STDIN_FILENO, "standard input", TEMPLATE_MAX, ret, err);
    if (fs_read(arena, path, TEMPLATE_MAX, ret, err) < 0)
        return -1;
    if (!ret->p)
        return err_set(err, ERR_NOT_FOUND, "'%s' does not exist", path);
    return 0;
}

static int read_context(struct cli *cli, const struct render_args *args, struct value *ret,
                        struct diags *diags)
{
    const char *path = args->context;
    struct str text;
    struct err err;
    bool yaml;

    *ret = value_map(value_map_new(cli->arena, 0));
    if (!path)
        return 0;
    if (read_input(cli->arena, path, &text, &err) < 0)
        return diag_err(diags, (struct place){ 0 }, &err);
    yaml = str_ends(str_from(path), STR(".yaml")) || str_ends(str_from(path), STR(".yml"));
    if ((yaml ? yaml_parse(cli->arena, path, text, NULL, ret, diags)
              : json_parse(cli->arena, path, text, ret, diags)) < 0)
        return -1;
    if (ret->kind != VALUE_MAP)
        return diag_add(diags, (struct place){ path, 1, 1 }, "the context must be a map, got %s",
                        value_describe(ret));
    return 0;
}

static int render_file(struct cli *cli, const struct render_args *args, const char *path,
                       struct diags *diags, struct buf *out)
{
    struct loader loader = { args, path_dirname(cli->arena, path) };
    const struct jinja_options how = {
        .lenient = args->undefined == 1,
        .autoescape = args->autoescape,
        .trim_blocks = args->trim_blocks,
        .lstrip_blocks = args->lstrip_blocks,
        .drop_trailing_newline = args->drop_trailing_newline,
        .builtins = &filter_builtins,
        .load = load_rendered_file,
        .now = read_render_clock,
        .random = pick_render_random,
        .user = &loader,
    };
    struct value context;
    struct jinja *jinja;
    struct str text;
    struct err err;
    int result;

    if (read_input(cli->arena, path, &text, &err) < 0)
        return diag_err(diags, (struct place){ 0 }, &err);
    if (read_context(cli, args, &context, diags) < 0)
        return -1;
    jinja = jinja_new(&how);
    result = jinja_render(jinja, path, text, &context, out, diags);
    jinja_free(jinja);
    return result;
}

static int run_local_render(struct cli *cli, const void *args, struct param_strs operands)
{
    AUTO_BUF struct buf out = BUF_INIT(OUTPUT_MAX);
    struct diags diags = DIAGS_INIT(cli->arena);

    if (render_file(cli, args, operands.p[0], &diags, &out) < 0)
        return cli_diags(cli, &diags);
    (void)fwrite(buf_text(&out), 1, out.n,
                 stdout); /* a failure is reported when stdout is flushed */
    return CLI_OK;
}

const struct command command_render = {
    .name = "render",
    .operands = "FILE",
    .summary = "render a Jinja template and print the result",
    .details = "FILE is the template, or - for standard input. Includes and imports are searched\n"
               "in the folders of --search, else in the folder of FILE. The last newline of the\n"
               "template is kept, as in Salt. Errors show the place, the line and the chain of "
               "includes.\n",
    .examples = "  zester render web.zy\n"
                "  zester render nginx.conf.j2 --context vars.json --search templates\n"
                "  echo '{{ [3, 1]|sort }}' | zester render -\n",
    .options = options,
    .args_size = sizeof(struct render_args),
    .least = 1,
    .most = 1,
    .run = run_local_render,
};
