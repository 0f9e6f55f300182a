/* ssh_known_hosts.absent - removes the keys of a host from known_hosts. */
#include "core/base/err.h"
#include "core/edit/edit.h"
#include "core/edit/lines.h"
#include "states/modules/file/editor.h"
#include "states/modules/ssh_known_hosts/knownhosts.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct absent_args

struct absent_args {
    const char *name, *user, *config;
    int64_t port;
};

/* clang-format off */
static const struct param absent_params[] = {
    PARAM("name", STR, ARGS, name, "the host", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("user", STR, ARGS, user, "the user who owns the file (default: /etc/ssh/ssh_known_hosts)"),
    PARAM("port", INT, ARGS, port, "port of the host", .default_text = "22", PARAM_RANGE(1, UINT16_MAX)),
    PARAM("config", STR, ARGS, config, "the file: a path, absolute or below the user's home", .flags = PARAM_FILLED),
    { 0 },
};
/* clang-format on */

static int absent_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct absent_args *want = args;
    int result = validate_text("name", want->name, VALIDATE_ARGUMENT, where, diags);

    return knownhosts_validate(want->user, want->config, where, diags) < 0 ? -1 : result;
}

static int plan_host_key_removal(struct state_run *run, const void *args,
                                 const struct editor_file *file, struct editor_plan *plan,
                                 struct err *err)
{
    const struct absent_args *want = args;
    const struct str host = str_from(knownhosts_host(run, want->name, want->port));
    struct str rest = file->text, found;
    struct line line;

    if (knownhosts_find(run, host.p, file, &found, err) < 0)
        return -1;
    while (lines_next(&rest, &line))
        if (knownhosts_is_of(found, line.text))
            knownhosts_add_others(&line, host, &plan->text);
        else
            lines_add(&plan->text, line.text, line.end);
    plan->pending =
        arena_printf(run->arena, "keys of %s should be absent from %s", host.p, file->path);
    plan->done = arena_printf(run->arena, "removed the keys of %s from %s", host.p, file->path);
    plan->remark = arena_printf(run->arena, "no key of %s is in %s", host.p, file->path);
    plan->detail = "host";
    plan->word = want->name;
    return edit_finish(&plan->text, err);
}

static int find_known_hosts_editor(struct state_run *run, const struct absent_args *want,
                                   struct editor *ret_editor, struct err *err)
{
    struct change_attr ignored; /* of a new file, which is never created here */

    *ret_editor = (struct editor){ .plan = plan_host_key_removal };
    return knownhosts_file(run, want->user, want->config, &ret_editor->path, &ignored, err);
}

static int absent_check(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    struct editor editor;

    if (find_known_hosts_editor(run, want, &editor, err) < 0)
        return -1;
    if (editor.path)
        return editor_check(run, &editor, args, err);
    state_say(run, "user %s does not exist", want->user);
    return 0;
}

static int absent_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    struct editor editor;

    if (find_known_hosts_editor(run, want, &editor, err) < 0)
        return -1;
    if (editor.path)
        return editor_apply(run, &editor, args, err);
    state_unchanged(run);
    return 0;
}

const struct module module_ssh_known_hosts_absent = {
    .name = "ssh_known_hosts.absent",
    .summary = "remove the keys of a host from known_hosts",
    .details =
        "Names of other hosts in the same line stay, and so do patterns that match the host.",
    .example = "name: old.example.org\n",
    .params = absent_params,
    .args_size = sizeof(struct absent_args),
    .validate = absent_validate,
    .check = absent_check,
    .apply = absent_apply,
};
