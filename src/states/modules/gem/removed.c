/* gem.removed - a Ruby package is not installed. */
#include "core/base/err.h"
#include "states/modules/gem/gems.h"
#include "states/state/module.h"

#define ARGS struct gems_args

/* clang-format off */
static const struct param removed_params[] = {
    PARAM("name", STR, ARGS, name, "the gem; all its versions go", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    GEMS_PARAMS,
    { 0 },
};
/* clang-format on */

static int removed_check(struct state_run *run, const void *args, struct err *err)
{
    const struct gems_args *want = args;
    struct gems gems;

    if (gems_is_missing(run, want)) {
        state_say(run, "gem is not installed");
        return 0;
    }
    if (gems_list(run, want, &gems, err) < 0)
        return -1;
    if (!gems_find(&gems, str_from(want->name))) {
        state_say(run, "gem '%s' is not installed", want->name);
        return 0;
    }
    state_differs(run, "gem '%s' is installed", want->name);
    state_made(run, "removed gem '%s'", want->name);
    return 0;
}

static int removed_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct gems_args *want = args;
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };
    struct gems before;
    int rc;

    if (gems_list(run, want, &before, err) < 0)
        return -1;
    if (!gems_find(&before, str_from(want->name))) {
        state_unchanged(run);
        return 0;
    }
    if (state_note(run, "before", gems_note(run, &before), err) < 0 ||
        state_note(run, "after", gems_note_removal(run, &before, want->name), err) < 0)
        return -1;
    tool_add(&tool, &words, "uninstall");
    tool_add(&tool, &words, want->name);
    tool_add(&tool, &words, "--all");
    tool_add(&tool, &words, "--executables");
    state_detail(run, "gem", "%s", want->name);
    rc = gems_run(run, want, &words, NULL, err);
    return run_tool_note_after(run, want, gems_look, rc, err);
}

const struct module module_gem_removed = {
    .name = "gem.removed",
    .summary = "a Ruby package is not installed",
    .details = "A revert installs its versions again, from the sources of gem.",
    .example = "name: rake\n",
    .params = removed_params,
    .args_size = sizeof(struct gems_args),
    .lock = GEMS_LOCK,
    .validate = gems_validate,
    .check = removed_check,
    .apply = removed_apply,
    .revert = gems_revert,
};
