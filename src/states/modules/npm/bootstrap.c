/* npm.bootstrap - a project has the packages that its package.json names. */
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "states/modules/npm/nodes.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/process.h"
#include "states/undo/change.h"

#define ARGS struct nodes_args

/* clang-format off */
static const struct param bootstrap_params[] = {
    PARAM("name", PATH, ARGS, dir, "the folder of the project", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("user", STR, ARGS, user, "user that runs npm", .aliases = "runas", .flags = PARAM_FILLED),
    PARAM("silent", BOOL, ARGS, silent, "npm says nothing of its work, not even in an error", .default_text = "true"),
    PARAM("registry", STR, ARGS, registry, "where packages come from", .flags = PARAM_FILLED),
    { 0 },
};
/* clang-format on */

/* Counts the changes that a dry run of npm reports. */
static int count_changes(struct state_run *run, const struct nodes_args *want, int64_t *ret,
                         struct err *err)
{
    static const char *const keys[] = { "added", "changed", "removed" };
    const char *const *words = TOOL("install", "--dry-run", "--json");
    struct diags diags = DIAGS_INIT(run->arena);
    struct process_result result;
    struct value plan;
    size_t brace;

    *ret = 0;
    if (nodes_try(run, want, words, &result, err) < 0)
        return -1;
    brace = str_find_char(result.out, '{', 0); /* after lines for people */
    if (!process_status_ok(result.status) || brace == STR_NONE ||
        json_parse(run->arena, "npm install", str_from_offset(result.out, brace), &plan, &diags) <
            0)
        return tool_fail(TOOL("npm", "install"), &result, err);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        *ret += value_get_int(&plan, keys[i], 0);
    return 0;
}

static int bootstrap_check(struct state_run *run, const void *args, struct err *err)
{
    const struct nodes_args *want = args;
    int64_t changes = 1;

    if (run->test && nodes_is_missing(run))
        state_say(run, "npm is not installed; an earlier state must install it (apply fails "
                       "otherwise)");
    else if (count_changes(run, want, &changes, err) < 0)
        return -1;
    if (changes == 0) {
        state_say(run, "%s has all its packages", want->dir);
        return 0;
    }
    state_differs(run, "%s does not have its packages", want->dir);
    state_made(run, "installed the packages of %s", want->dir);
    return 0;
}

static const char *make_modules_path(struct state_run *run, const struct nodes_args *want)
{
    return path_join(run->arena, want->dir, "node_modules");
}

/* A folder that is made is noted; one that is there is kept as an image. */
static int keep_files(struct state_run *run, const struct nodes_args *want, struct err *err)
{
    struct fs_info info;

    if (fs_lstat(make_modules_path(run, want), &info, err) < 0 ||
        change_save(run, path_join(run->arena, want->dir, "package-lock.json"), err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        return state_note(run, "made", value_bool(true), err);
    return change_save(run, make_modules_path(run, want), err);
}

static int bootstrap_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct nodes_args *want = args;
    int64_t changes;

    if (count_changes(run, want, &changes, err) < 0)
        return -1;
    if (changes == 0) {
        state_unchanged(run);
        return 0;
    }
    if (keep_files(run, want, err) < 0)
        return -1;
    state_detail(run, "dir", "%s", want->dir);
    return nodes_run(run, want, want->silent ? TOOL("install", "--silent") : TOOL("install"), err);
}

static int bootstrap_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct nodes_args *want = args;

    if (!state_noted(run, "made")) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "removed %s", make_modules_path(run, want));
    return change_remove(run, make_modules_path(run, want), err);
}

const struct module module_npm_bootstrap = {
    .name = "npm.bootstrap",
    .summary = "a project has the packages that its package.json names",
    .details = "A revert restores node_modules and package-lock.json.",
    .example = "name: /srv/app\n",
    .params = bootstrap_params,
    .args_size = sizeof(struct nodes_args),
    .lock = NODES_LOCK,
    .validate = nodes_validate,
    .check = bootstrap_check,
    .apply = bootstrap_apply,
    .revert = bootstrap_revert,
};
