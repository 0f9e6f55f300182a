/* network.hostname - sets the host name. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define ARGS struct hostname_args

#define FILE_MAX ((size_t)64 << 10)

struct hostname_args {
    const char *name, *config;
    bool live, persist;
};

/* clang-format off */
static const struct param hostname_params[] = {
    PARAM("name", STR, ARGS, name, "the name", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("live", BOOL, ARGS, live, "set it now", .default_text = "true"),
    PARAM("persist", BOOL, ARGS, persist, "keep it across reboots", .default_text = "true"),
    PARAM("config", PATH, ARGS, config, "the file that keeps it", .default_text = "/etc/hostname"),
    { 0 },
};
/* clang-format on */

static int hostname_validate(const void *args, const struct value *where, struct diags *diags)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
    const struct hostname_args *want = args;
    const size_t n = strlen(want->name);

    if (n == 0 || n > HOST_NAME_MAX || strspn(want->name, letters) != n || want->name[0] == '-' ||
        want->name[0] == '.')
        return value_diag(diags, value_point(where, "name"),
                          "'name' is not a valid host name: use letters, digits, dots and dashes, "
                          "at most %d characters",
                          HOST_NAME_MAX);
    return 0;
}

struct machine_names {
    char live[HOST_NAME_MAX + 1];
    struct str file; /* NULL view: none */
};

static int read_hostname_names(struct state_run *run, const struct hostname_args *want,
                               struct machine_names *ret, struct err *err)
{
    if (gethostname(ret->live, sizeof(ret->live)) < 0)
        return err_sys(err, errno, "get the host name");
    ret->live[HOST_NAME_MAX] = '\0';
    if (fs_read(run->arena, want->config, FILE_MAX, &ret->file, err) < 0)
        return -1;
    ret->file = ret->file.p ? str_trim(ret->file) : ret->file;
    return 0;
}

static bool is_hostname_live(const struct hostname_args *want, const struct machine_names *now)
{
    return !want->live || strcmp(now->live, want->name) == 0;
}

static bool is_hostname_kept(const struct hostname_args *want, const struct machine_names *now)
{
    return !want->persist || (now->file.p && str_is(now->file, want->name));
}

static int hostname_check(struct state_run *run, const void *args, struct err *err)
{
    const struct hostname_args *want = args;
    struct machine_names now;

    if (read_hostname_names(run, want, &now, err) < 0)
        return -1;
    if (!is_hostname_live(want, &now))
        state_diff(run, "hostname", now.live, want->name);
    if (!is_hostname_kept(want, &now))
        state_diff(run, want->config, now.file.p ? arena_str(run->arena, now.file).p : NULL,
                   want->name);
    if (!run->differs)
        state_say(run, "the host name is %s", want->name);
    return 0;
}

static int set_live_hostname(const char *name, struct err *err)
{
    if (sethostname(name, strlen(name)) < 0)
        return err_sys(err, errno, "set the host name to '%s'", name);
    return 0;
}

static int hostname_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct hostname_args *want = args;
    const char *text = arena_printf(run->arena, "%s\n", want->name);
    struct machine_names now;

    if (read_hostname_names(run, want, &now, err) < 0)
        return -1;
    if (is_hostname_live(want, &now) && is_hostname_kept(want, &now)) {
        state_unchanged(run);
        return 0;
    }
    if (!is_hostname_kept(want, &now) &&
        change_write(run, want->config, str_from(text), NULL, err) < 0)
        return -1;
    if (!is_hostname_live(want, &now) &&
        (state_note(run, "previous", value_text(now.live), err) < 0 ||
         set_live_hostname(want->name, err) < 0))
        return -1;
    state_say(run, "the host name is %s", want->name);
    state_detail(run, "hostname", "%s", want->name);
    state_detail(run, "previous", "%s", now.live);
    return 0;
}

static int hostname_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct value *previous = state_noted(run, "previous");

    (void)args;
    if (!previous || previous->kind != VALUE_STR) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "restored the host name %s", previous->s.p);
    return set_live_hostname(previous->s.p, err);
}

const struct module module_network_hostname = {
    .name = "network.hostname",
    .summary = "the host name",
    .example = "name: web1.example.org\nlive: false\nconfig: ROOT/hostname\n",
    .params = hostname_params,
    .args_size = sizeof(struct hostname_args),
    .validate = hostname_validate,
    .check = hostname_check,
    .apply = hostname_apply,
    .revert = hostname_revert,
};
