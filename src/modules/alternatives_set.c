/* alternatives.set - which of several programs a name stands for. */
#include <string.h>

#include "base/err.h"
#include "modules/machine.h"
#include "state/module.h"
#include "sys/fs.h"
#include "sys/path.h"

#define ARGS struct set_args

#define FILE_MAX ((size_t)1 << 20)

struct set_args {
    const char *name, *path, *altdir, *admindir;
};

/* clang-format off */
static const struct param set_params[] = {
    PARAM("name", STR, ARGS, name, "the name: editor", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("path", PATH, ARGS, path, "the program it stands for", .flags = PARAM_REQUIRED),
    PARAM("altdir", PATH, ARGS, altdir, "the folder of links", .default_text = "/etc/alternatives"),
    PARAM("admindir", PATH, ARGS, admindir, "the folder of what is known of them; without: that of the system"),
    { 0 },
};
/* clang-format on */

static int set_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct set_args *want = args;
    int result = machine_validate("name", want->name, MACHINE_ARGUMENT, where, diags);

    if (result == 0 && strchr(want->name, '/'))
        result = value_diag(diags, where, "'name' may not hold a slash");
    return result;
}

/* NULL when nobody knows the name. */
static int look(struct state_run *run, const struct set_args *want, const char **ret,
                struct err *err)
{
    return fs_readlink(run->arena, path_join(run->arena, want->altdir, want->name), ret, err);
}

static int set_check(struct state_run *run, const void *args, struct err *err)
{
    const struct set_args *want = args;
    const char *now;

    if (look(run, want, &now, err) < 0)
        return -1;
    if (!now || strcmp(now, want->path) != 0)
        state_diff(run, want->name, now, want->path);
    else
        state_say(run, "%s is %s", want->name, want->path);
    return 0;
}

static int set(struct state_run *run, const struct set_args *want, const char *path,
               struct err *err)
{
    const struct tool tool = machine_tool(run);
    struct tool_words words = { 0 };

    tool_add(&tool, &words, "update-alternatives");
    tool_add(&tool, &words, "--altdir");
    tool_add(&tool, &words, want->altdir);
    if (want->admindir) {
        tool_add(&tool, &words, "--admindir");
        tool_add(&tool, &words, want->admindir);
    }
    tool_add(&tool, &words, path ? "--set" : "--auto");
    tool_add(&tool, &words, want->name);
    if (path)
        tool_add(&tool, &words, path);
    return tool_run(&tool, tool_argv(&tool, &words), NULL, NULL, err);
}

/* The first line of what is known of a name: whether the system chooses. */
static int is_auto(struct state_run *run, const struct set_args *want, bool *ret, struct err *err)
{
    const char *const folders[] = { want->admindir, "/var/lib/dpkg/alternatives",
                                    "/var/lib/alternatives" };

    *ret = false;
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        struct str text, first;

        if (!folders[i])
            continue;
        if (fs_read(run->arena, path_join(run->arena, folders[i], want->name), FILE_MAX, &text,
                    err) < 0)
            return -1;
        first = text.p ? str_cut(&text, '\n') : STR("");
        if (first.n > 0) {
            *ret = str_is(str_trim(first), "auto");
            return 0;
        }
    }
    return 0;
}

static int set_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct set_args *want = args;
    const char *now;
    bool automatic;

    if (look(run, want, &now, err) < 0 || is_auto(run, want, &automatic, err) < 0)
        return -1;
    if (now && strcmp(now, want->path) == 0) {
        state_unchanged(run);
        return 0;
    }
    if (state_note(run, "path", now ? value_text(now) : value_null(), err) < 0 ||
        state_note(run, "auto", value_bool(automatic), err) < 0 ||
        set(run, want, want->path, err) < 0)
        return -1;
    state_say(run, "%s is %s", want->name, want->path);
    state_detail(run, "name", "%s", want->name);
    state_detail(run, "path", "%s", want->path);
    return 0;
}

static int set_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct set_args *want = args;
    const struct value *path = state_noted(run, "path"), *automatic = state_noted(run, "auto");

    if (!path || path->kind != VALUE_STR) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "%s is %s again", want->name, path->s.p);
    return set(run, want,
               automatic && automatic->kind == VALUE_BOOL && automatic->b ? NULL : path->s.p, err);
}

const struct module module_alternatives_set = {
    .name = "alternatives.set",
    .summary = "which of several programs a name stands for",
    .example = "name: editor\npath: /usr/bin/vim.basic\n",
    .params = set_params,
    .args_size = sizeof(struct set_args),
    .lock = "alternatives",
    .validate = set_validate,
    .check = set_check,
    .apply = set_apply,
    .revert = set_revert,
};
