/* pip.installed - Python packages, by pip. */
#include <string.h>

#include "base/buf.h"
#include "base/diag.h"
#include "base/err.h"
#include "edit/lines.h"
#include "modules/machine.h"
#include "state/module.h"
#include "sys/process.h"

#define ARGS struct installed_args

struct installed_args {
    const char *name, *version, *requirements, *bin, *index_url, *user, *cwd;
    struct param_strs pkgs, extra;
    bool upgrade, force_reinstall;
};

/* clang-format off */
static const struct param installed_params[] = {
    PARAM("name", STR, ARGS, name, "the package, maybe with a version: flask, flask==2.0, flask>=2", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("pkgs", STRS, ARGS, pkgs, "several packages, instead of the name"),
    PARAM("version", STR, ARGS, version, "exactly this version", .flags = PARAM_FILLED),
    PARAM("requirements", STR, ARGS, requirements, "a file with packages, instead of the name", .flags = PARAM_FILLED),
    PARAM("bin", STR, ARGS, bin, "the pip program; that of a virtual environment installs into it", .default_text = "pip3", .aliases = "bin_env"),
    PARAM("index_url", STR, ARGS, index_url, "where packages come from", .flags = PARAM_FILLED),
    PARAM("upgrade", BOOL, ARGS, upgrade, "install the newest version"),
    PARAM("force_reinstall", BOOL, ARGS, force_reinstall, "install again what is there"),
    PARAM("user", STR, ARGS, user, "who runs pip"),
    PARAM("cwd", PATH, ARGS, cwd, "the folder it runs in"),
    PARAM("extra_args", STRS, ARGS, extra, "more words for pip install"),
    { 0 },
};
/* clang-format on */

static int installed_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct installed_args *want = args;
    int result = machine_validate("user", want->user, MACHINE_USER, where, diags);

    if (machine_validate_all("pkgs", want->pkgs, MACHINE_ARGUMENT, where, diags) < 0)
        result = -1;
    if (!want->requirements && want->pkgs.n == 0 &&
        machine_validate("name", want->name, MACHINE_ARGUMENT, where, diags) < 0)
        result = -1;
    if (machine_validate("version", want->version, MACHINE_ARGUMENT, where, diags) < 0 ||
        machine_validate("index_url", want->index_url, MACHINE_ARGUMENT, where, diags) < 0 ||
        machine_validate("requirements", want->requirements, MACHINE_LINE, where, diags) < 0)
        result = -1;
    if (want->version && (want->pkgs.n > 0 || want->requirements))
        result = value_diag(diags, where, "'version' is for one package by its name");
    return result;
}

static struct param_strs packages(struct state_run *run, const struct installed_args *want)
{
    const char **one = ARENA_ARRAY(run->arena, const char *, 1);

    if (want->pkgs.n > 0)
        return want->pkgs;
    one[0] =
        want->version ? arena_printf(run->arena, "%s==%s", want->name, want->version) : want->name;
    return (struct param_strs){ 1, one };
}

static struct tool_options options_of(const struct installed_args *want)
{
    return (struct tool_options){ .runas = want->user, .cwd = want->cwd };
}

static void add_common(const struct tool *tool, struct tool_words *words,
                       const struct installed_args *want)
{
    tool_add(tool, words, want->bin);
    tool_add(tool, words, "--disable-pip-version-check");
    tool_add(tool, words, "--no-input");
}

/* --- what is there ------------------------------------------------------------------------------
 */

/* "name==version" for each package that is there. */
static int list(struct state_run *run, const struct installed_args *want, struct str *ret,
                struct err *err)
{
    const struct tool tool = machine_tool(run);
    const struct tool_options options = options_of(want);
    struct tool_words words = { 0 };

    add_common(&tool, &words, want);
    tool_add(&tool, &words, "list");
    tool_add(&tool, &words, "--format=freeze");
    return tool_run(&tool, tool_argv(&tool, &words), &options, ret, err);
}

/* Names of packages: case, and runs of - _ . are all alike. */
static bool same_name(struct str a, struct str b)
{
    size_t i = 0, j = 0;

    while (i < a.n && j < b.n) {
        const bool left = memchr("-_.", a.p[i], 3) != NULL,
                   right = memchr("-_.", b.p[j], 3) != NULL;

        if (left != right)
            return false;
        if (!left && (a.p[i] | 0x20) != (b.p[j] | 0x20))
            return false;
        i++;
        j++;
        while (left && i < a.n && memchr("-_.", a.p[i], 3))
            i++;
        while (right && j < b.n && memchr("-_.", b.p[j], 3))
            j++;
    }
    return i == a.n && j == b.n;
}

/* The name in "flask[async]>=2". */
static struct str name_of(struct str package)
{
    size_t n = 0;

    while (n < package.n && !memchr("[=<>!~;@ ", package.p[n], 9))
        n++;
    return str_slice(package, 0, n);
}

static struct str version_of(struct str installed, struct str package)
{
    struct line line;

    while (lines_next(&installed, &line)) {
        const size_t at = str_find(line.text, STR("=="), 0);

        if (at != STR_NONE && same_name(str_slice(line.text, 0, at), name_of(package)))
            return str_from_offset(line.text, at + 2);
    }
    return (struct str){ NULL, 0 };
}

/* pip itself knows what satisfies a range: a dry run of an install tells. */
static int would_install(struct state_run *run, const struct installed_args *want,
                         const char *package, bool *ret, struct err *err)
{
    const struct tool tool = machine_tool(run);
    const struct tool_options options = options_of(want);
    struct process_result result;
    struct tool_words words = { 0 };

    add_common(&tool, &words, want);
    tool_add(&tool, &words, "install");
    tool_add(&tool, &words, "--dry-run");
    tool_add(&tool, &words, "--no-deps");
    if (want->upgrade)
        tool_add(&tool, &words, "--upgrade");
    else
        tool_add(&tool, &words, "--no-index");
    if (want->upgrade && want->index_url) {
        tool_add(&tool, &words, "--index-url");
        tool_add(&tool, &words, want->index_url);
    }
    for (size_t i = 0; i < want->extra.n; i++)
        tool_add(&tool, &words, want->extra.p[i]);
    tool_add(&tool, &words, package);
    if (tool_try(&tool, tool_argv(&tool, &words), &options, &result, err) < 0)
        return -1;
    /* without an index an install that is needed fails */
    *ret = !process_status_ok(result.status) ||
           str_find(result.out, STR("Would install"), 0) != STR_NONE;
    return 0;
}

static int check_one(struct state_run *run, const struct installed_args *want, struct str installed,
                     const char *package, struct err *err)
{
    const struct str now = version_of(installed, str_from(package));
    const char *exact = strstr(package, "==");
    bool needed = false;

    if (!now.p) {
        state_differs(run, "%s is not installed", package);
        return 0;
    }
    if (exact && !strpbrk(package, "<>!~,;*") && !want->upgrade) {
        if (!str_is(now, exact + 2))
            state_differs(run, "%.*s version mismatch: got \"%.*s\", want \"%s\"",
                          STR_ARG(name_of(str_from(package))), STR_ARG(now), exact + 2);
        return 0;
    }
    if (!want->upgrade && strlen(package) == name_of(str_from(package)).n)
        return 0;
    if (would_install(run, want, package, &needed, err) < 0)
        return -1;
    if (needed)
        state_differs(run, "%s is %.*s", package, STR_ARG(now));
    return 0;
}

static int installed_check(struct state_run *run, const void *args, struct err *err)
{
    const struct installed_args *want = args;
    const struct param_strs all = packages(run, want);
    struct str installed;

    if (want->requirements) {
        state_differs(run, "requirements file %s: cannot verify without installing",
                      want->requirements);
        return 0;
    }
    if (list(run, want, &installed, err) < 0)
        return -1;
    for (size_t i = 0; i < all.n; i++)
        if (check_one(run, want, installed, all.p[i], err) < 0)
            return -1;
    if (want->force_reinstall && !run->differs)
        state_differs(run, "%s is installed again", machine_join(run, all));
    if (!run->differs)
        state_say(run, "%s is already installed", machine_join(run, all));
    return 0;
}

/* --- installing ----------------------------------------------------------------------------------
 */

static int install(struct state_run *run, const struct installed_args *want, struct err *err)
{
    const struct tool tool = machine_tool(run);
    const struct tool_options options = options_of(want);
    const struct param_strs all = packages(run, want);
    struct tool_words words = { 0 };

    add_common(&tool, &words, want);
    tool_add(&tool, &words, "install");
    if (want->upgrade)
        tool_add(&tool, &words, "--upgrade");
    if (want->force_reinstall)
        tool_add(&tool, &words, "--force-reinstall");
    if (want->index_url) {
        tool_add(&tool, &words, "--index-url");
        tool_add(&tool, &words, want->index_url);
    }
    for (size_t i = 0; i < want->extra.n; i++)
        tool_add(&tool, &words, want->extra.p[i]);
    if (want->requirements) {
        tool_add(&tool, &words, "-r");
        tool_add(&tool, &words, want->requirements);
    }
    for (size_t i = 0; !want->requirements && i < all.n; i++)
        tool_add(&tool, &words, all.p[i]);
    return tool_run(&tool, tool_argv(&tool, &words), &options, NULL, err);
}

static int installed_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct installed_args *want = args;
    struct str before, after;

    if (list(run, want, &before, err) < 0 ||
        state_note(run, "before", value_str(arena_str(run->arena, before)), err) < 0 ||
        install(run, want, err) < 0 || list(run, want, &after, err) < 0)
        return -1;
    buf_clear(&run->text);
    if (str_eq(before, after) && !want->force_reinstall) {
        state_say(run, "everything was installed already");
        state_unchanged(run);
        return 0;
    }
    if (want->requirements)
        state_say(run, "installed requirements from %s via %s", want->requirements, want->bin);
    else
        state_say(run, "installed %s via %s", machine_join(run, packages(run, want)), want->bin);
    state_detail(run, "package", "%s",
                 want->requirements ? want->requirements : machine_join(run, packages(run, want)));
    state_detail(run, "bin", "%s", want->bin);
    return state_note(run, "after", value_str(arena_str(run->arena, after)), err);
}

/* --- going back ---------------------------------------------------------------------- */

/* Lines of `of` whose package is not in `in` at the same version. */
static size_t add_changed(const struct tool *tool, struct tool_words *words, struct str of,
                          struct str in, bool absent_only)
{
    struct line line;
    size_t n = 0;

    while (lines_next(&of, &line)) {
        const struct str name = name_of(line.text);
        const struct str there = version_of(in, name);

        if (absent_only ? there.p != NULL : !there.p || str_ends(line.text, there))
            continue;
        tool_add(tool, words, arena_str(tool->arena, absent_only ? name : line.text).p);
        n++;
    }
    return n;
}

/* What is new goes; what had another version gets that one back. */
static int installed_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct installed_args *want = args;
    const struct tool tool = machine_tool(run);
    const struct tool_options options = options_of(want);
    const struct value *before = state_noted(run, "before"), *after = state_noted(run, "after");
    struct tool_words gone = { 0 }, back = { 0 };
    size_t less, older;

    if (!before || !after) {
        state_unchanged(run);
        return 0;
    }
    add_common(&tool, &gone, want);
    tool_add(&tool, &gone, "uninstall");
    tool_add(&tool, &gone, "--yes");
    for (size_t i = 0; i < want->extra.n; i++)
        if (strcmp(want->extra.p[i], "--break-system-packages") == 0)
            tool_add(&tool, &gone, want->extra.p[i]);
    less = add_changed(&tool, &gone, after->s, before->s, true);
    add_common(&tool, &back, want);
    tool_add(&tool, &back, "install");
    for (size_t i = 0; i < want->extra.n; i++)
        tool_add(&tool, &back, want->extra.p[i]);
    older = add_changed(&tool, &back, before->s, after->s, false);
    if (less > 0 && tool_run(&tool, tool_argv(&tool, &gone), &options, NULL, err) < 0)
        return -1;
    if (older > 0 && tool_run(&tool, tool_argv(&tool, &back), &options, NULL, err) < 0)
        return -1;
    state_say(run, "removed %zu packages, gave %zu their version back (revert)", less, older);
    return 0;
}

const struct module module_pip_installed = {
    .name = "pip.installed",
    .summary = "Python packages, by pip",
    .details = "A revert removes only what was not there before, dependencies included, and brings "
               "older versions back.",
    .example = "name: flask\nversion: 2.3.2\nbin: /srv/app/venv/bin/pip\n",
    .params = installed_params,
    .args_size = sizeof(struct installed_args),
    .lock = "pip",
    .validate = installed_validate,
    .check = installed_check,
    .apply = installed_apply,
    .revert = installed_revert,
};
