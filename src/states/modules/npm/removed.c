/* npm.removed - a Node.js package is not installed. */
#include "core/base/err.h"
#include "states/modules/npm/nodes.h"
#include "states/state/module.h"

#define ARGS struct nodes_args

/* clang-format off */
static const struct param removed_params[] = {
    PARAM("name", STR, ARGS, name, "the package", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("dir", PATH, ARGS, dir, "the folder of the project that has it (default: everybody)"),
    PARAM("user", STR, ARGS, user, "user that runs npm", .aliases = "runas", .flags = PARAM_FILLED),
    PARAM("registry", STR, ARGS, registry, "where a revert gets it from", .flags = PARAM_FILLED),
    { 0 },
};
/* clang-format on */

static int find_removed_npm_package(struct state_run *run, const struct nodes_args *want,
                                    struct value *ret_all, bool *ret_found, struct err *err)
{
    struct str name, version;

    nodes_split(want->name, &name, &version);
    if (nodes_list(run, want, NULL, ret_all, err) < 0)
        return -1;
    *ret_found = value_get_str(ret_all, name) != NULL;
    return 0;
}

static int removed_check(struct state_run *run, const void *args, struct err *err)
{
    const struct nodes_args *want = args;
    bool found = false;
    struct value all;

    if (!nodes_is_missing(run) && find_removed_npm_package(run, want, &all, &found, err) < 0)
        return -1;
    if (!found) {
        state_say(run, "package '%s' is not installed", want->name);
        return 0;
    }
    state_differs(run, "package '%s' is installed", want->name);
    state_made(run, "removed package '%s'", want->name);
    return 0;
}

static int removed_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct nodes_args *want = args;
    struct str name, version;
    struct value before, after;
    bool found;
    int rc;

    nodes_split(want->name, &name, &version);
    if (find_removed_npm_package(run, want, &before, &found, err) < 0)
        return -1;
    if (!found) {
        state_unchanged(run);
        return 0;
    }
    after = value_map(value_map_new(run->arena, before.map->count));
    for (size_t i = 0; i < before.map->count; i++)
        if (!str_eq(before.map->pairs[i].key.s, name))
            value_map_set(run->arena, after.map, before.map->pairs[i].key,
                          before.map->pairs[i].value);
    if (state_note(run, "before", before, err) < 0 || state_note(run, "after", after, err) < 0)
        return -1;
    state_detail(run, "package", "%s", want->name);
    rc = nodes_run(run, want, TOOL("uninstall", arena_str(run->arena, name).p, "--loglevel=error"),
                   err);
    return run_tool_note_after(run, want, nodes_look, rc, err);
}

const struct module module_npm_removed = {
    .name = "npm.removed",
    .summary = "a Node.js package is not installed",
    .details = "A revert installs the version that it was again.",
    .example = "name: express\ndir: /srv/app\n",
    .params = removed_params,
    .args_size = sizeof(struct nodes_args),
    .lock = NODES_LOCK,
    .validate = nodes_validate,
    .check = removed_check,
    .apply = removed_apply,
    .revert = nodes_revert,
};
