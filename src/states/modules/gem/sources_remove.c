/* gem.sources_remove - gems do not come from this source. */
#include "core/base/err.h"
#include "states/modules/gem/gems.h"
#include "states/state/module.h"

#define ARGS struct gems_args

/* clang-format off */
static const struct param sources_remove_params[] = {
    PARAM("name", STR, ARGS, name, "the address of the source", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "source_uri"),
    PARAM("ruby", STR, ARGS, ruby, "the Ruby of rbenv or rvm that it is for", .flags = PARAM_FILLED),
    PARAM("user", STR, ARGS, user, "owner of the sources", .aliases = "runas", .flags = PARAM_FILLED),
    PARAM("gem_bin", STR, ARGS, gem_bin, "the program gem", .flags = PARAM_FILLED),
    { 0 },
};
/* clang-format on */

static int sources_remove_check(struct state_run *run, const void *args, struct err *err)
{
    const struct gems_args *want = args;
    struct param_strs sources = { 0 };

    if (!(run->test && gems_is_missing(run, want)) && gems_sources(run, want, &sources, err) < 0)
        return -1;
    if (gems_has_source(&sources, want->name)) {
        state_differs(run, "'%s' is a source of gems", want->name);
        state_made(run, "removed source '%s'", want->name);
        return 0;
    }
    state_say(run, "'%s' is not a source of gems", want->name);
    return 0;
}

static int sources_remove_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct gems_args *want = args;
    struct param_strs sources;

    if (gems_sources(run, want, &sources, err) < 0)
        return -1;
    if (!(gems_has_source(&sources, want->name))) {
        state_unchanged(run);
        return 0;
    }
    if (state_note(run, "changed", value_bool(true), err) < 0)
        return -1;
    state_detail(run, "source", "%s", want->name);
    return gems_change_source(run, want, "--remove", err);
}

static int sources_remove_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct gems_args *want = args;

    if (!state_noted(run, "changed")) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "added source '%s'", want->name);
    return gems_change_source(run, want, "--add", err);
}

const struct module module_gem_sources_remove = {
    .name = "gem.sources_remove",
    .summary = "gems do not come from this source",
    .example = "name: https://gems.example.org/\n",
    .params = sources_remove_params,
    .args_size = sizeof(struct gems_args),
    .lock = GEMS_LOCK,
    .validate = gems_validate,
    .check = sources_remove_check,
    .apply = sources_remove_apply,
    .revert = sources_remove_revert,
};
