/* git.config_unset - keys that git's configuration does not have. */
#include <string.h>

#include "core/base/err.h"
#include "core/base/matcher.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/git/config.h"
#include "states/state/module.h"

#define ARGS struct unset_args

struct unset_args {
    struct config_args config;
    const char *value_regex;
    bool all;
};

/* clang-format off */
static const struct param unset_params[] = {
    CONFIG_PARAMS(ARGS, config),
    PARAM("value_regex", STR, ARGS, value_regex, "only where the value matches this pattern", .flags = PARAM_FILLED),
    PARAM("all", BOOL, ARGS, all, "all values of a key; else several are an error"),
    { 0 },
};
/* clang-format on */

struct patterns {
    const struct matcher *key, *value;
};

/* The pattern of keys is for the whole key. */
static int compile_config_patterns(struct arena *arena, const struct unset_args *want,
                                   struct patterns *ret, struct err *err)
{
    const char *whole = arena_printf(arena, "^(?:%s)$", want->config.name);

    ret->value = NULL;
    if (matcher_new(arena, str_from(whole), MATCHER_IGNORE_CASE, &ret->key, NULL, err) < 0)
        return -1;
    return want->value_regex
               ? matcher_new(arena, str_from(want->value_regex), 0, &ret->value, NULL, err)
               : 0;
}

static int unset_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct unset_args *want = args;
    struct patterns patterns;
    struct err err;

    if (compile_config_patterns(diags->arena, want, &patterns, &err) < 0)
        return value_diag(diags, where, "invalid %s", err.text);
    return config_validate(&want->config, where, diags);
}

static int is_pair_meant(const struct patterns *patterns, const struct config_pair *pair, bool *ret,
                         struct err *err)
{
    if (matcher_find(patterns->key, str_from(pair->key), 0, NULL, ret, err) < 0)
        return -1;
    if (!*ret || !patterns->value)
        return 0;
    return matcher_find(patterns->value, pair->value, 0, NULL, ret, err);
}

/* Leaves only the unwanted pairs in `ret->pairs`. */
static int find_pairs(struct state_run *run, const struct unset_args *want, struct git_config *ret,
                      struct err *err)
{
    struct patterns patterns;
    size_t n = 0;
    bool meant;

    if (compile_config_patterns(run->arena, want, &patterns, err) < 0 ||
        config_open(run, &want->config, ret, err) < 0)
        return -1;
    for (size_t i = 0; i < ret->pairs.n; i++) {
        const struct config_pair pair = ret->pairs.p[i];

        if (is_pair_meant(&patterns, &pair, &meant, err) < 0)
            return -1;
        if (meant && n > 0 && !want->all && strcmp(ret->pairs.p[n - 1].key, pair.key) == 0)
            return err_set(err, ERR_INVALID, "%s has several values in %s; all: true unsets them",
                           pair.key, ret->path);
        if (meant)
            ret->pairs.p[n++] = pair;
    }
    ret->pairs.n = n;
    return 0;
}

static int unset_check(struct state_run *run, const void *args, struct err *err)
{
    const struct unset_args *want = args;
    struct git_config config;

    if (find_pairs(run, want, &config, err) < 0)
        return -1;
    VEC_EACH (&config.pairs, pair) {
        state_differs(run, "%s is set in %s", pair->key, config.path);
        state_made(run, "unset %s in %s", pair->key, config.path);
    }
    return 0;
}

static int unset_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct unset_args *want = args;
    struct git_config config;

    if (find_pairs(run, want, &config, err) < 0)
        return -1;
    if (config.pairs.n == 0) {
        state_unchanged(run);
        return 0;
    }
    if (config_keep(run, &config, err) < 0)
        return -1;
    for (size_t i = 0; i < config.pairs.n; i++) {
        const struct config_pair *pair = &config.pairs.p[i];
        const bool again = i > 0 && strcmp(config.pairs.p[i - 1].key, pair->key) == 0 &&
                           str_eq(config.pairs.p[i - 1].value, pair->value);

        if (!again &&
            config_git(run, &config, TOOL("--fixed-value", "--unset-all", pair->key, pair->value.p),
                       err) < 0)
            return -1;
    }
    state_detail(run, "path", "%s", config.path);
    return 0;
}

const struct module module_git_config_unset = {
    .name = "git.config_unset",
    .summary = "keys that git's configuration does not have",
    .details = "The name is a pattern for the whole key: `foo\\..+` is all of the section foo.",
    .example = "name: user.email\nrepo: /srv/app\n",
    .params = unset_params,
    .args_size = sizeof(struct unset_args),
    .validate = unset_validate,
    .check = unset_check,
    .apply = unset_apply,
};
