/* alternatives.install - a program is one of the alternatives for a name. */
#include <inttypes.h>
#include <string.h>

#include "core/base/err.h"
#include "states/modules/alternatives/alternatives.h"
#include "states/provider/tool.h"
#include "states/state/module.h"

#define ARGS struct install_args

/* update-alternatives stores priorities as int. */
#define PRIORITY_MAX INT32_MAX

struct install_args {
    struct alternatives_ref ref;
    const char *link, *path;
    int64_t priority;
};

/* clang-format off */
static const struct param install_params[] = {
    ALTERNATIVES_REF(ARGS, ref),
    PARAM("link", PATH, ARGS, link, "the generic link: /usr/bin/editor", .flags = PARAM_REQUIRED),
    PARAM("path", PATH, ARGS, path, "the program", .flags = PARAM_REQUIRED),
    PARAM("priority", INT, ARGS, priority, "the highest priority wins, unless the choice was made by hand", .flags = PARAM_REQUIRED, PARAM_RANGE(-PRIORITY_MAX, PRIORITY_MAX)),
    { 0 },
};
/* clang-format on */

static int install_check(struct state_run *run, const void *args, struct err *err)
{
    const struct install_args *want = args;
    const struct alternatives_choice *choice;
    struct alternatives now;

    if (alternatives_look(run, &want->ref, &now, err) < 0)
        return -1;
    choice = alternatives_find(&now, want->path);
    if (!choice) {
        state_differs(run, "%s is not an alternative for %s", want->path, want->ref.name);
        state_made(run, "added %s as an alternative for %s", want->path, want->ref.name);
    } else if (choice->priority != want->priority)
        state_differs(run, "priority of %s: %" PRId64 " -> %" PRId64, want->path, choice->priority,
                      want->priority);
    if (now.known && strcmp(now.link, want->link) != 0)
        state_diff(run, "link", now.link, want->link);
    if (!run->differs)
        state_say(run, "%s is an alternative for %s", want->path, want->ref.name);
    return 0;
}

/* An existing one keeps the links that follow it. */
static struct alternatives_choice make_choice(const struct install_args *want,
                                              const struct alternatives_choice *old)
{
    struct alternatives_choice choice = { .path = want->path, .priority = want->priority };

    if (old)
        choice.slaves = old->slaves;
    return choice;
}

static int install_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct install_args *want = args;
    const struct alternatives_choice *old;
    struct alternatives_choice choice;
    struct alternatives now;
    struct value before, words;

    if (alternatives_look(run, &want->ref, &now, err) < 0)
        return -1;
    old = alternatives_find(&now, want->path);
    if (old && old->priority == want->priority && strcmp(now.link, want->link) == 0) {
        state_unchanged(run);
        return 0;
    }
    before = old ? alternatives_words(run, &want->ref, &now, old) : value_null();
    choice = make_choice(want, old);
    now.link = want->link;
    words = alternatives_words(run, &want->ref, &now, &choice);
    if (state_note(run, "before", before, err) < 0 ||
        alternatives_obey(run, &want->ref, &words, err) < 0)
        return -1;
    state_say(run, "%s is an alternative for %s with priority %" PRId64, want->path, want->ref.name,
              want->priority);
    state_detail(run, "name", "%s", want->ref.name);
    state_detail(run, "path", "%s", want->path);
    return 0;
}

static int install_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct value *before = state_noted(run, "before");
    const struct install_args *want = args;

    if (!before) {
        state_unchanged(run);
        return 0;
    }
    if (before->kind == VALUE_LIST) {
        state_say(run, "restored %s", want->path);
        return alternatives_obey(run, &want->ref, before, err);
    }
    state_say(run, "%s is no longer an alternative for %s", want->path, want->ref.name);
    return alternatives_run(run, &want->ref, TOOL("--remove", want->ref.name, want->path), err);
}

const struct module module_alternatives_install = {
    .name = "alternatives.install",
    .summary = "a program is one of the alternatives for a name",
    .details =
        "The one with the highest priority is used, unless alternatives.set chooses another.",
    .example = "name: editor\nlink: /usr/bin/editor\npath: /usr/bin/vim.basic\npriority: 50\n",
    .params = install_params,
    .args_size = sizeof(struct install_args),
    .lock = ALTERNATIVES_LOCK,
    .validate = alternatives_validate,
    .check = install_check,
    .apply = install_apply,
    .revert = install_revert,
};
