/* alternatives.remove - a program is not one of the alternatives for a name. */
#include "core/base/err.h"
#include "states/modules/alternatives/alternatives.h"
#include "states/provider/tool.h"
#include "states/state/module.h"

#define ARGS struct remove_args

struct remove_args {
    struct alternatives_ref ref;
    const char *path;
};

static const struct param remove_params[] = {
    ALTERNATIVES_REF(ARGS, ref),
    PARAM("path", PATH, ARGS, path, "the program", .flags = PARAM_REQUIRED),
    { 0 },
};

static int remove_check(struct state_run *run, const void *args, struct err *err)
{
    const struct remove_args *want = args;
    struct alternatives now;

    if (alternatives_look(run, &want->ref, &now, err) < 0)
        return -1;
    if (alternatives_find(&now, want->path)) {
        state_differs(run, "%s is an alternative for %s", want->path, want->ref.name);
        state_made(run, "removed %s from the alternatives for %s", want->path, want->ref.name);
    } else
        state_say(run, "%s is not an alternative for %s", want->path, want->ref.name);
    return 0;
}

static int remove_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct remove_args *want = args;
    const struct alternatives_choice *choice;
    struct alternatives now;

    if (alternatives_look(run, &want->ref, &now, err) < 0)
        return -1;
    choice = alternatives_find(&now, want->path);
    if (!choice) {
        state_unchanged(run);
        return 0;
    }
    if (alternatives_note(run, &now, err) < 0 ||
        state_note(run, "before", alternatives_words(run, &want->ref, &now, choice), err) < 0 ||
        alternatives_run(run, &want->ref, TOOL("--remove", want->ref.name, want->path), err) < 0)
        return -1;
    state_say(run, "%s is no longer an alternative for %s", want->path, want->ref.name);
    state_detail(run, "name", "%s", want->ref.name);
    state_detail(run, "path", "%s", want->path);
    return 0;
}

static int remove_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct value *before = state_noted(run, "before");
    const struct remove_args *want = args;

    if (!before) {
        state_unchanged(run);
        return 0;
    }
    if (alternatives_obey(run, &want->ref, before, err) < 0)
        return -1;
    return alternatives_choose_again(run, &want->ref, err);
}

const struct module module_alternatives_remove = {
    .name = "alternatives.remove",
    .summary = "a program is not one of the alternatives for a name",
    .details = "If it was in use, the one with the highest priority among the others replaces it.",
    .example = "name: editor\npath: /usr/bin/vim.basic\n",
    .params = remove_params,
    .args_size = sizeof(struct remove_args),
    .lock = ALTERNATIVES_LOCK,
    .validate = alternatives_validate,
    .check = remove_check,
    .apply = remove_apply,
    .revert = remove_revert,
};
