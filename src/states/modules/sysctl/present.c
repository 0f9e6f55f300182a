/* sysctl.present - sets a kernel parameter, now and at boot. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/edit/edit.h"
#include "core/edit/lines.h"
#include "states/modules/file/editor.h"
#include "states/state/module.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"

#define ARGS struct present_args

/* A value of /proc/sys. */
#define VALUE_MAX ((size_t)64 << 10)

struct present_args {
    const char *name, *value, *config, *proc;
    bool persist, live;
};

/* clang-format off */
static const struct param present_params[] = {
    PARAM("name", STR, ARGS, name, "the parameter: net.ipv4.ip_forward", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("value", STR, ARGS, value, "its value; runs of blanks compare as equal", .flags = PARAM_REQUIRED),
    PARAM("config", PATH, ARGS, config, "the file that keeps it", .default_text = "/etc/sysctl.d/99-zester.conf"),
    PARAM("persist", BOOL, ARGS, persist, "keep it across reboots", .default_text = "true"),
    PARAM("live", BOOL, ARGS, live, "set it now", .default_text = "true"),
    PARAM("proc", PATH, ARGS, proc, "where the kernel shows its parameters", .default_text = "/proc/sys"),
    { 0 },
};
/* clang-format on */

static int present_validate(const void *args, const struct value *where, struct diags *diags)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
    const struct present_args *want = args;
    int result = 0;

    if (want->name[0] == '\0' || want->name[strspn(want->name, letters)] != '\0' ||
        want->name[0] == '/' || want->name[0] == '.' || strstr(want->name, ".."))
        result = value_diag(diags, value_point(where, "name"),
                            "'name' is not a valid kernel parameter: '%s'", want->name);
    for (const char *p = want->value; *p; p++)
        if ((unsigned char)*p < ' ' && *p != '\t')
            return value_diag(diags, value_point(where, "value"),
                              "'value' must not contain control characters");
    if (!want->live && !want->persist)
        result = value_diag(diags, value_point(where, "live"),
                            "'live' and 'persist' are both false: nothing to do");
    return result;
}

/* Dots and slashes are swapped when a dot comes first, as in sysctl. */
static const char *find_sysctl_path(struct state_run *run, const struct present_args *want)
{
    char *path = arena_printf(run->arena, "%s/%s", want->proc, want->name);
    const char first = want->name[strcspn(want->name, "./")];

    for (char *p = path + strlen(want->proc) + 1; first == '.' && *p; p++)
        *p = *p == '.' ? '/' : *p == '/' ? '.' : *p;
    return path;
}

static int read_live(struct state_run *run, const struct present_args *want, struct str *ret,
                     struct err *err)
{
    if (fs_read(run->arena, find_sysctl_path(run, want), VALUE_MAX, ret, err) < 0)
        return -1;
    if (!ret->p)
        return err_set(err, ERR_NOT_FOUND, "the kernel has no parameter '%s'", want->name);
    *ret = str_trim(*ret);
    return 0;
}

static int write_live(struct state_run *run, const struct present_args *want, const char *value,
                      struct err *err)
{
    const char *path = find_sysctl_path(run, want);
    AUTO_FD int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

    if (fd < 0)
        return err_sys(err, errno, "open '%s'", path);
    if (fd_write(fd, value, strlen(value), err) < 0)
        return err_wrap(err, "set %s to \"%s\"", want->name, value);
    return 0;
}

/* The name with dots between its parts. */
static const char *make_dotted(struct state_run *run, struct str name)
{
    char *text = arena_printf(run->arena, "%.*s", STR_ARG(name));
    const char first = text[strcspn(text, "./")];

    for (char *p = text; first == '/' && *p; p++)
        *p = *p == '.' ? '/' : *p == '/' ? '.' : *p;
    return text;
}

/* Does a line set the parameter to another value in another spelling: net/ipv4/ip_forward, or
 * with a leading dash (ignore errors)? */
static bool is_contradiction(struct state_run *run, struct str line,
                             const struct present_args *want)
{
    struct str value = line, key = str_trim(str_cut(&value, '='));
    const bool dash = key.n > 0 && key.p[0] == '-';

    if (!value.p || key.n == 0 || key.p[0] == '#' || key.p[0] == ';' || str_is(key, want->name))
        return false;
    if (dash)
        key = str_trim_left(str_from_offset(key, 1));
    return strcmp(make_dotted(run, key), make_dotted(run, str_from(want->name))) == 0 &&
           !lines_equal(str_trim(value), str_from(want->value), true);
}

static struct str drop_other_lines(struct state_run *run, struct str text,
                                   const struct present_args *want)
{
    AUTO_BUF struct buf out = BUF_INIT(EDIT_SIZE_MAX);
    struct line line;

    while (lines_next(&text, &line))
        if (!is_contradiction(run, line.text, want))
            lines_add(&out, line.text, line.end);
    return buf_copy(&out, run->arena);
}

static int plan_sysctl_line(struct state_run *run, const void *args, const struct editor_file *file,
                            struct editor_plan *plan, struct err *err)
{
    const struct present_args *want = args;
    const struct edit_pair pair = { str_from(want->name), str_from(want->value) };
    const struct edit_keyvalue edit = {
        .pairs = &pair, .n = 1, .separator = STR(" = "), .append = true
    };
    struct edit_keyvalue_found found;

    plan->pending = arena_printf(run->arena, "%s: not persisted as \"%s\" in %s", want->name,
                                 want->value, file->path);
    plan->done = arena_printf(run->arena, "%s = %s in %s", want->name, want->value, file->path);
    return edit_keyvalue(drop_other_lines(run, file->text, want), &edit, &plan->text, &found, err);
}

static struct editor make_sysctl_editor(const struct present_args *want)
{
    return (struct editor){ .path = want->config, .plan = plan_sysctl_line, .makedirs = true };
}

static bool is_sysctl_live(const struct present_args *want, struct str now)
{
    return lines_equal(now, str_from(want->value), true);
}

static int present_check(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    const struct editor editor = make_sysctl_editor(want);
    struct str now = STR("");

    if (want->live && read_live(run, want, &now, err) < 0)
        return -1;
    if (want->live && !is_sysctl_live(want, now))
        state_differs(run, "%s: \"%.*s\" != \"%s\"", want->name, STR_ARG(now), want->value);
    if (want->persist && editor_check(run, &editor, args, err) < 0)
        return -1;
    if (!run->differs)
        state_say(run, "%s already \"%s\"", want->name, want->value);
    return 0;
}

static int set_live_sysctl(struct state_run *run, const struct present_args *want,
                           bool *ret_changed, struct err *err)
{
    struct str now;

    *ret_changed = false;
    if (!want->live)
        return 0;
    if (read_live(run, want, &now, err) < 0)
        return -1;
    if (is_sysctl_live(want, now))
        return 0;
    *ret_changed = true;
    if (state_note(run, "previous", value_str(arena_str(run->arena, now)), err) < 0 ||
        write_live(run, want, want->value, err) < 0)
        return -1;
    state_say(run, "%s: \"%.*s\" -> \"%s\"", want->name, STR_ARG(now), want->value);
    state_detail(run, "previous", "%.*s", STR_ARG(now));
    return 0;
}

static int present_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    const struct editor editor = make_sysctl_editor(want);
    bool changed;

    if (set_live_sysctl(run, want, &changed, err) < 0 ||
        (want->persist && editor_apply(run, &editor, args, err) < 0))
        return -1;
    run->unchanged = !changed && (run->unchanged || !want->persist);
    state_detail(run, "key", "%s", want->name);
    state_detail(run, "value", "%s", want->value);
    state_detail_value(run, "persisted", value_bool(want->persist));
    return 0;
}

static int present_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct value *previous = state_noted(run, "previous");
    const struct present_args *want = args;

    if (!previous || previous->kind != VALUE_STR) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "restored %s to \"%s\"", want->name, previous->s.p);
    return write_live(run, want, previous->s.p, err);
}

const struct module module_sysctl_present = {
    .name = "sysctl.present",
    .summary = "set a kernel parameter, now and at boot",
    .example = "name: net.ipv4.ip_forward\nvalue: 1\nconfig: ROOT/99-zester.conf\nlive: false\n",
    .params = present_params,
    .args_size = sizeof(struct present_args),
    .validate = present_validate,
    .check = present_check,
    .apply = present_apply,
    .revert = present_revert,
};
