/* host.absent - removes a name from /etc/hosts. */
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/edit/edit.h"
#include "core/edit/hosts.h"
#include "states/modules/file/editor.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct absent_args

struct absent_args {
    const char *name, *config;
    struct param_strs ip;
};

/* clang-format off */
static const struct param absent_params[] = {
    PARAM("name", STR, ARGS, name, "the name of the host", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("ip", STRS, ARGS, ip, "only from these addresses (default: from all)"),
    PARAM("config", PATH, ARGS, config, "the file", .default_text = "/etc/hosts", .aliases = "path"),
    { 0 },
};
/* clang-format on */

static int absent_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct absent_args *want = args;
    int result = validate_text("name", want->name, VALIDATE_WORD, where, diags);

    for (size_t i = 0; i < want->ip.n; i++)
        if (!hosts_is_address(str_from(want->ip.p[i])))
            result = value_diag(diags, value_point(where, "ip"),
                                "'ip' must be an IPv4 or IPv6 address, got '%s'", want->ip.p[i]);
    return result;
}

static int plan_host_removal(struct state_run *run, const void *args,
                             const struct editor_file *file, struct editor_plan *plan,
                             struct err *err)
{
    const struct absent_args *want = args;
    struct str *addresses = ARENA_ARRAY(run->arena, struct str, want->ip.n + 1);
    const struct hosts_want hosts = { .name = str_from(want->name),
                                      .addresses = addresses,
                                      .n = want->ip.n };

    for (size_t i = 0; i < want->ip.n; i++)
        addresses[i] = str_from(want->ip.p[i]);
    hosts_remove(file->text, &hosts, &plan->text);
    plan->pending = arena_printf(run->arena, "%s should be absent from %s", want->name, file->path);
    plan->done = arena_printf(run->arena, "removed %s from %s", want->name, file->path);
    plan->remark = arena_printf(run->arena, "%s is not in %s", want->name, file->path);
    plan->detail = "hostname";
    plan->word = want->name;
    return edit_finish(&plan->text, err);
}

static struct editor make_host_removal_editor(const struct absent_args *want)
{
    return (struct editor){ .path = want->config, .plan = plan_host_removal };
}

EDITOR_STATE(make_host_removal_editor)

const struct module module_host_absent = {
    .name = "host.absent",
    .summary = "remove a name from /etc/hosts",
    .example = "name: old.example.org\n",
    .params = absent_params,
    .args_size = sizeof(struct absent_args),
    .validate = absent_validate,
    EDITOR_STATE_FIELDS,
};
