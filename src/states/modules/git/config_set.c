/* git.config_set - a value of git's configuration, for a repository or a user. */
#include <string.h>
#include <strings.h>

#include "core/base/err.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/git/config.h"
#include "states/state/module.h"

#define ARGS struct set_args

struct set_args {
    struct config_args config;
    const char *value;
    struct param_strs values;
};

/* clang-format off */
static const struct param set_params[] = {
    CONFIG_PARAMS(ARGS, config),
    PARAM("value", STR, ARGS, value, "its value"),
    PARAM("multivar", STRS, ARGS, values, "several values, in this order", .flags = PARAM_FILLED),
    { 0 },
};
/* clang-format on */

static int set_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct set_args *want = args;

    if ((want->value != NULL) == (want->values.n > 0))
        return value_diag(diags, where, "set either 'value' or 'multivar'");
    return config_validate(&want->config, where, diags);
}

static struct param_strs get_values(const struct set_args *want)
{
    return want->values.n > 0 ? want->values : (struct param_strs){ 1, &want->value };
}

/* Section and name of a key have no case, what is between them has; git prints those small. */
static bool is_config_set(const struct git_config *config, const struct set_args *want)
{
    const struct param_strs values = get_values(want);
    size_t found = 0;

    VEC_EACH (&config->pairs, pair) {
        if (strcasecmp(pair->key, want->config.name) != 0)
            continue;
        if (found >= values.n || !str_is(pair->value, values.p[found]))
            return false;
        found++;
    }
    return found == values.n;
}

static int set_check(struct state_run *run, const void *args, struct err *err)
{
    const struct set_args *want = args;
    struct git_config config;

    if (config_open(run, &want->config, &config, err) < 0)
        return -1;
    if (is_config_set(&config, want))
        return 0;
    state_differs(run, "%s is not set to %s in %s", want->config.name,
                  want->value ? want->value : "these values", config.path);
    state_made(run, "set %s in %s", want->config.name, config.path);
    return 0;
}

static int write_values(struct state_run *run, const struct git_config *config,
                        const struct set_args *want, struct err *err)
{
    const struct param_strs values = get_values(want);

    if (config_keep(run, config, err) < 0 ||
        config_git(run, config, TOOL("--replace-all", want->config.name, values.p[0]), err) < 0)
        return -1;
    for (size_t i = 1; i < values.n; i++)
        if (config_git(run, config, TOOL("--add", want->config.name, values.p[i]), err) < 0)
            return -1;
    return 0;
}

static int set_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct set_args *want = args;
    struct git_config config;

    if (config_open(run, &want->config, &config, err) < 0)
        return -1;
    if (is_config_set(&config, want)) {
        state_unchanged(run);
        return 0;
    }
    if (write_values(run, &config, want, err) < 0)
        return -1;
    state_detail(run, "path", "%s", config.path);
    return 0;
}

const struct module module_git_config_set = {
    .name = "git.config_set",
    .summary = "a value of git's configuration, for a repository or a user",
    .example = "name: user.email\nvalue: ada@example.org\nrepo: /srv/app\n",
    .params = set_params,
    .args_size = sizeof(struct set_args),
    .validate = set_validate,
    .check = set_check,
    .apply = set_apply,
};
