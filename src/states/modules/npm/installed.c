/* npm.installed - Node.js packages are installed. */
#include <string.h>

#include "core/base/err.h"
#include "states/modules/npm/nodes.h"
#include "states/state/module.h"

#define ARGS struct nodes_args

/* clang-format off */
static const struct param installed_params[] = {
    PARAM("name", STR, ARGS, name, "the package, maybe with a version: express@4.18.2", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("pkgs", STRS, ARGS, pkgs, "several packages, instead of the name"),
    PARAM("dir", PATH, ARGS, dir, "the folder of the project that gets them (default: everybody)"),
    PARAM("user", STR, ARGS, user, "user that runs npm", .aliases = "runas", .flags = PARAM_FILLED),
    PARAM("force_reinstall", BOOL, ARGS, force_reinstall, "reinstall existing packages"),
    PARAM("registry", STR, ARGS, registry, "where packages come from", .flags = PARAM_FILLED),
    PARAM("env", STRMAP, ARGS, env, "more environment for npm"),
    { 0 },
};
/* clang-format on */

static struct param_strs find_npm_packages(const struct nodes_args *want)
{
    return want->pkgs.n > 0 ? want->pkgs : (struct param_strs){ 1, &want->name };
}

static bool is_exact_npm_version(struct str version)
{
    for (size_t i = 0; i < version.n; i++)
        if (str_find_char(STR("^~<>=*x |"), version.p[i], 0) != STR_NONE)
            return false;
    return version.n > 0 && version.p[0] >= '0' && version.p[0] <= '9';
}

/* npm itself knows what is in a range. A tag such as latest is what is there. */
static int is_npm_package_installed(struct state_run *run, const struct nodes_args *want,
                                    const struct value *all, const char *package, bool *ret,
                                    struct err *err)
{
    struct str name, version;
    const struct value *have;
    struct value found;

    nodes_split(package, &name, &version);
    have = value_get_str(all, name);
    *ret = have && (version.n == 0 || str_eq(have->s, version));
    if (!have || *ret || is_exact_npm_version(version))
        return 0;
    if (nodes_list(run, want, package, &found, err) < 0)
        return -1;
    *ret = found.map->count > 0;
    return 0;
}

static int installed_check(struct state_run *run, const void *args, struct err *err)
{
    const struct nodes_args *want = args;
    const struct param_strs packages = find_npm_packages(want);
    const bool missing = run->test && nodes_is_missing(run);
    struct value all = value_map(value_map_new(run->arena, 0));

    if (missing)
        state_say(run, "npm is not installed; an earlier state must install it (apply fails "
                       "otherwise)");
    else if (nodes_list(run, want, NULL, &all, err) < 0)
        return -1;
    for (size_t i = 0; i < packages.n; i++) {
        bool installed = false;

        if (!missing &&
            is_npm_package_installed(run, want, &all, packages.p[i], &installed, err) < 0)
            return -1;
        if (installed && !want->force_reinstall)
            continue;
        state_differs(
            run, installed ? "package '%s' is installed again" : "package '%s' is not installed",
            packages.p[i]);
        state_made(run, "installed package '%s'", packages.p[i]);
    }
    if (!run->differs)
        state_say(run, "all packages are installed");
    return 0;
}

static int install_npm_packages(struct state_run *run, const struct nodes_args *want,
                                const struct param_strs *packages, struct err *err)
{
    const char **words = ARENA_ARRAY(run->arena, const char *, packages->n + 4);
    size_t n = 0;

    words[n++] = "install";
    words[n++] = "--loglevel=error";
    if (want->force_reinstall)
        words[n++] = "--force";
    for (size_t i = 0; i < packages->n; i++)
        words[n++] = packages->p[i];
    words[n] = NULL;
    return nodes_run(run, want, words, err);
}

/* Notes the expected packages, in case the machine stops before the real ones are known. */
static struct value expect_installed(struct state_run *run, const struct value *before,
                                     const struct param_strs *packages)
{
    const struct value all = value_copy(run->arena, before);

    for (size_t i = 0; i < packages->n; i++) {
        struct str name, version;

        nodes_split(packages->p[i], &name, &version);
        value_map_set(run->arena, all.map, value_str(name), value_str(version));
    }
    return all;
}

static int installed_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct nodes_args *want = args;
    const struct param_strs packages = find_npm_packages(want);
    struct value before;
    size_t present = 0;
    int rc;

    if (nodes_list(run, want, NULL, &before, err) < 0)
        return -1;
    for (size_t i = 0; i < packages.n; i++) {
        bool installed;

        if (is_npm_package_installed(run, want, &before, packages.p[i], &installed, err) < 0)
            return -1;
        present += installed;
    }
    if (present == packages.n && !want->force_reinstall) {
        state_unchanged(run);
        return 0;
    }
    if (state_note(run, "before", before, err) < 0 ||
        state_note(run, "after", expect_installed(run, &before, &packages), err) < 0)
        return -1;
    state_detail(run, "packages", "%zu", packages.n);
    rc = install_npm_packages(run, want, &packages, err);
    return run_tool_note_after(run, want, nodes_look, rc, err);
}

const struct module module_npm_installed = {
    .name = "npm.installed",
    .summary = "Node.js packages are installed",
    .details = "A version may be a range (express@^4). A revert removes what was not there before "
               "and brings older versions back.",
    .example = "name: express@4.18.2\ndir: /srv/app\n",
    .params = installed_params,
    .args_size = sizeof(struct nodes_args),
    .lock = NODES_LOCK,
    .validate = nodes_validate,
    .check = installed_check,
    .apply = installed_apply,
    .revert = nodes_revert,
};
