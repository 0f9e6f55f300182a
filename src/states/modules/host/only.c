/* host.only - gives an address in /etc/hosts exactly these names. */
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/edit/edit.h"
#include "core/edit/hosts.h"
#include "states/modules/file/editor.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct only_args

struct only_args {
    const char *name, *config;
    struct param_strs hostnames;
};

/* clang-format off */
static const struct param only_params[] = {
    PARAM("name", STR, ARGS, name, "the address: IPv4 or IPv6", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("hostnames", STRS, ARGS, hostnames, "its names, in this order; an empty list removes the address", .flags = PARAM_REQUIRED),
    PARAM("config", PATH, ARGS, config, "the file", .default_text = "/etc/hosts", .aliases = "path"),
    { 0 },
};
/* clang-format on */

static int only_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct only_args *want = args;
    int result = validate_text("name", want->name, VALIDATE_WORD, where, diags);

    if (result == 0 && !hosts_is_address(str_from(want->name)))
        result = value_diag(diags, value_point(where, "name"),
                            "'name' must be an IPv4 or IPv6 address, got '%s'", want->name);
    if (validate_texts("hostnames", want->hostnames, VALIDATE_WORD, where, diags) < 0)
        return -1;
    for (size_t i = 0; i < want->hostnames.n; i++)
        if (str_find_char(str_from(want->hostnames.p[i]), '#', 0) != STR_NONE)
            result = value_diag(diags, value_point(where, "hostnames"),
                                "'hostnames' must not contain '#'");
    return result;
}

static int plan_host_address(struct state_run *run, const void *args,
                             const struct editor_file *file, struct editor_plan *plan,
                             struct err *err)
{
    const struct only_args *want = args;
    struct str *names = ARENA_ARRAY(run->arena, struct str, want->hostnames.n + 1);
    const char *joined = validate_join(run, want->hostnames);

    for (size_t i = 0; i < want->hostnames.n; i++)
        names[i] = str_from(want->hostnames.p[i]);
    hosts_only(file->text, str_from(want->name), names, want->hostnames.n, &plan->text);
    if (want->hostnames.n == 0) {
        plan->pending = arena_printf(run->arena, "%s should not be in %s", want->name, file->path);
        plan->done = arena_printf(run->arena, "%s is not in %s", want->name, file->path);
    } else {
        plan->pending = arena_printf(run->arena, "the names of %s in %s should be: %s", want->name,
                                     file->path, joined);
        plan->done = arena_printf(run->arena, "the names of %s in %s are: %s", want->name,
                                  file->path, joined);
    }
    plan->remark = plan->done;
    plan->detail = "ip";
    plan->word = want->name;
    return edit_finish(&plan->text, err);
}

static struct editor make_host_only_editor(const struct only_args *want)
{
    return (struct editor){ .path = want->config, .plan = plan_host_address };
}

EDITOR_STATE(make_host_only_editor)

const struct module module_host_only = {
    .name = "host.only",
    .summary = "give an address in /etc/hosts exactly these names",
    .details = "Other addresses are left alone: a name may have several.",
    .example = "name: 127.0.1.1\nhostnames: [web1.example.org, web1]\nconfig: ROOT/hosts\n",
    .params = only_params,
    .args_size = sizeof(struct only_args),
    .validate = only_validate,
    EDITOR_STATE_FIELDS,
};
