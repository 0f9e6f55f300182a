/* host.present - maps names to addresses in /etc/hosts. */
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/edit/edit.h"
#include "core/edit/hosts.h"
#include "states/modules/file/editor.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct present_args

struct present_args {
    const char *name, *config, *comment;
    struct param_strs ip, aliases;
    enum param_tristate clean;
};

/* clang-format off */
static const struct param present_params[] = {
    PARAM("name", STR, ARGS, name, "the name of the host", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("ip", STRS, ARGS, ip, "its address, or a list of them: IPv4 and IPv6", .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("aliases", STRS, ARGS, aliases, "more names for the same addresses"),
    PARAM("clean", TRISTATE, ARGS, clean, "true: remove the names from all other addresses; false: leave other addresses alone (default: remove them from other addresses of the same family; in a Salt file: false)"),
    PARAM("comment", STR, ARGS, comment, "the comment after the names of each address (default: leave it as it is)", .flags = PARAM_FILLED),
    PARAM("config", PATH, ARGS, config, "the file", .default_text = "/etc/hosts", .aliases = "path"),
    { 0 },
};
/* clang-format on */

static int validate_name(const char *key, const char *name, const struct value *where,
                         struct diags *diags)
{
    if (validate_text(key, name, VALIDATE_WORD, where, diags) < 0)
        return -1;
    if (str_find_char(str_from(name), '#', 0) != STR_NONE)
        return value_diag(diags, value_point(where, key), "'%s' must not contain '#'", key);
    return 0;
}

static int present_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct present_args *want = args;
    int result = validate_name("name", want->name, where, diags) |
                 validate_text("comment", want->comment, VALIDATE_LINE, where, diags);

    for (size_t i = 0; i < want->aliases.n; i++)
        if (validate_name("aliases", want->aliases.p[i], where, diags) < 0)
            result = -1;
    for (size_t i = 0; i < want->ip.n; i++)
        if (!hosts_is_address(str_from(want->ip.p[i])) ||
            validate_text("ip", want->ip.p[i], VALIDATE_WORD, where, diags) < 0)
            result = value_diag(diags, value_point(where, "ip"),
                                "'ip' must be an IPv4 or IPv6 address, got '%s'", want->ip.p[i]);
    return result;
}

static enum hosts_others choose_others(const struct state_run *run, const struct present_args *want)
{
    if (want->clean == PARAM_IS_UNSET && !run->salt)
        return HOSTS_FAMILY;
    return want->clean == PARAM_IS_TRUE ? HOSTS_DROP : HOSTS_KEEP;
}

static void set_comments(struct state_run *run, const struct present_args *want, struct buf *text)
{
    const struct str comment = str_trim(str_from(want->comment ? want->comment : ""));

    for (size_t i = 0; want->comment && i < want->ip.n; i++) {
        const struct str before = buf_copy(text, run->arena);

        buf_clear(text);
        hosts_set_comment(before, str_from(want->ip.p[i]), comment, text);
    }
}

static int plan_host_names(struct state_run *run, const void *args, const struct editor_file *file,
                           struct editor_plan *plan, struct err *err)
{
    const struct present_args *want = args;
    struct str *addresses = ARENA_ARRAY(run->arena, struct str, want->ip.n);
    struct hosts_want hosts = {
        .addresses = addresses,
        .n = want->ip.n,
        .others = choose_others(run, want),
    };
    struct str text = file->text;
    const char *ips = validate_join(run, want->ip);

    for (size_t i = 0; i < want->ip.n; i++)
        addresses[i] = str_from(want->ip.p[i]);
    for (size_t i = 0; i <= want->aliases.n; i++) {
        hosts.name = str_from(i == 0 ? want->name : want->aliases.p[i - 1]);
        buf_clear(&plan->text);
        hosts_set(text, &hosts, &plan->text);
        text = buf_copy(&plan->text, run->arena);
    }
    set_comments(run, want, &plan->text);
    plan->pending =
        arena_printf(run->arena, "%s should map to %s in %s", want->name, ips, file->path);
    plan->done = arena_printf(run->arena, "mapped %s -> %s in %s", want->name, ips, file->path);
    plan->remark = arena_printf(run->arena, "%s maps to %s in %s", want->name, ips, file->path);
    plan->detail = "hostname";
    plan->word = want->name;
    return edit_finish(&plan->text, err);
}

static int present_check(struct state_run *run, const void *args, struct err *err)
{
    const struct editor editor = { .path = ((const struct present_args *)args)->config,
                                   .plan = plan_host_names };

    return editor_check(run, &editor, args, err);
}

static int present_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    const struct editor editor = { .path = want->config, .plan = plan_host_names };

    if (editor_apply(run, &editor, args, err) < 0)
        return -1;
    if (!run->unchanged)
        state_detail(run, "ip", "%s", validate_join(run, want->ip));
    return 0;
}

const struct module module_host_present = {
    .name = "host.present",
    .summary = "map names to addresses in /etc/hosts",
    .details = "A name may have an IPv4 and an IPv6 address at once, in one state or in two.",
    .example = "name: db.example.org\nip: 192.0.2.7\nconfig: ROOT/hosts\n",
    .params = present_params,
    .args_size = sizeof(struct present_args),
    .validate = present_validate,
    .check = present_check,
    .apply = present_apply,
};
