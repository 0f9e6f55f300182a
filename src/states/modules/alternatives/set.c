/* alternatives.set - chooses which of several programs a name stands for. */
#include <string.h>

#include "core/base/err.h"
#include "states/modules/alternatives/alternatives.h"
#include "states/state/module.h"

#define ARGS struct set_args

struct set_args {
    struct alternatives_ref ref;
    const char *path;
};

static const struct param set_params[] = {
    ALTERNATIVES_REF(ARGS, ref),
    PARAM("path", PATH, ARGS, path, "the program to use", .flags = PARAM_REQUIRED),
    { 0 },
};

static int set_check(struct state_run *run, const void *args, struct err *err)
{
    const struct set_args *want = args;
    struct alternatives now;

    if (alternatives_look(run, &want->ref, &now, err) < 0)
        return -1;
    if (!now.current || strcmp(now.current, want->path) != 0)
        state_diff(run, want->ref.name, now.current, want->path);
    if (run->differs && !alternatives_find(&now, want->path))
        state_say(run,
                  "%s is not an alternative for %s; an earlier state must install it (apply fails "
                  "otherwise)",
                  want->path, want->ref.name);
    if (!run->differs)
        state_say(run, "%s is %s", want->ref.name, want->path);
    return 0;
}

static int set_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct set_args *want = args;
    struct alternatives now;

    if (alternatives_look(run, &want->ref, &now, err) < 0)
        return -1;
    if (now.current && strcmp(now.current, want->path) == 0) {
        state_unchanged(run);
        return 0;
    }
    if (alternatives_note(run, &now, err) < 0 ||
        alternatives_choose(run, &want->ref, want->path, err) < 0)
        return -1;
    state_say(run, "%s is %s", want->ref.name, want->path);
    state_detail(run, "name", "%s", want->ref.name);
    state_detail(run, "path", "%s", want->path);
    return 0;
}

static int set_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct set_args *want = args;

    return alternatives_choose_again(run, &want->ref, err);
}

const struct module module_alternatives_set = {
    .name = "alternatives.set",
    .summary = "choose which of several programs a name stands for",
    .example = "name: editor\npath: /usr/bin/vim.basic\n",
    .params = set_params,
    .args_size = sizeof(struct set_args),
    .lock = ALTERNATIVES_LOCK,
    .validate = alternatives_validate,
    .check = set_check,
    .apply = set_apply,
    .revert = set_revert,
};
