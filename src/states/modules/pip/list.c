/* pip.list - lists installed Python packages and their versions. */
#include "core/base/err.h"
#include "core/edit/lines.h"
#include "states/modules/cmd/run_tool.h"
#include "states/state/module.h"

#define ARGS struct list_args

struct list_args {
    const char *bin, *user;
};

/* clang-format off */
static const struct param list_params[] = {
    PARAM("bin", STR, ARGS, bin, "the pip program", .flags = PARAM_PRIMARY | PARAM_FILLED, .default_text = "pip3", .aliases = "bin_env"),
    PARAM("user", STR, ARGS, user, "the user that runs pip"),
    { 0 },
};
/* clang-format on */

static int list_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct list_args *want = args;
    const struct tool tool = run_tool(run);
    const struct tool_options options = { .runas = want->user };
    struct str text;
    struct line line;

    if (tool_run(&tool, TOOL(want->bin, "--disable-pip-version-check", "list", "--format=freeze"),
                 &options, &text, err) < 0)
        return -1;
    *ret = value_map(value_map_new(run->arena, 16));
    while (lines_next(&text, &line)) {
        const size_t at = str_find(line.text, STR("=="), 0);

        if (at != STR_NONE)
            value_map_set(run->arena, ret->map,
                          value_str(arena_str(run->arena, str_slice(line.text, 0, at))),
                          value_str(arena_str(run->arena, str_from_offset(line.text, at + 2))));
    }
    return 0;
}

const struct module module_pip_list = {
    .name = "pip.list",
    .summary = "list installed Python packages and their versions",
    .params = list_params,
    .args_size = sizeof(struct list_args),
    .call = list_call,
};
