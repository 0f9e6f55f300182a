/* alternatives.auto - a name is in automatic mode: the program with the highest priority. */
#include "core/base/err.h"
#include "states/modules/alternatives/alternatives.h"
#include "states/state/module.h"

#define ARGS struct auto_args

struct auto_args {
    struct alternatives_ref ref;
};

static const struct param auto_params[] = {
    ALTERNATIVES_REF(ARGS, ref),
    { 0 },
};

static int auto_check(struct state_run *run, const void *args, struct err *err)
{
    const struct auto_args *want = args;
    struct alternatives now;

    if (alternatives_look(run, &want->ref, &now, err) < 0)
        return -1;
    if (!now.known)
        state_differs(run, "alternative %s does not exist yet", want->ref.name);
    else if (!now.automatic) {
        state_differs(run, "%s was set to %s by hand", want->ref.name,
                      now.current ? now.current : "nothing");
        state_made(run, "%s is in automatic mode again, was %s", want->ref.name,
                   now.current ? now.current : "nothing");
    } else
        state_say(run, "%s is chosen by priority", want->ref.name);
    return 0;
}

static int auto_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct auto_args *want = args;
    struct alternatives now;

    if (alternatives_look(run, &want->ref, &now, err) < 0)
        return -1;
    if (now.automatic) {
        state_unchanged(run);
        return 0;
    }
    if (alternatives_note(run, &now, err) < 0 ||
        alternatives_choose(run, &want->ref, NULL, err) < 0 ||
        alternatives_look(run, &want->ref, &now, err) < 0)
        return -1;
    state_say(run, "%s is chosen by priority: %s", want->ref.name,
              now.current ? now.current : "nothing");
    state_detail(run, "name", "%s", want->ref.name);
    return 0;
}

static int auto_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct auto_args *want = args;

    return alternatives_choose_again(run, &want->ref, err);
}

const struct module module_alternatives_auto = {
    .name = "alternatives.auto",
    .summary = "a name is in automatic mode: the program with the highest priority",
    .example = "name: editor\n",
    .params = auto_params,
    .args_size = sizeof(struct auto_args),
    .lock = ALTERNATIVES_LOCK,
    .validate = alternatives_validate,
    .check = auto_check,
    .apply = auto_apply,
    .revert = auto_revert,
};
