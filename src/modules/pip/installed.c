/* pip.installed - installs Python packages with pip. */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/diag.h"
#include "base/err.h"
#include "edit/lines.h"
#include "modules/cmd/run_tool.h"
#include "modules/pip/release.h"
#include "state/module.h"
#include "state/validate.h"
#include "sys/process.h"

#define ARGS struct installed_args

struct installed_args {
    const char *name, *version, *requirements, *bin, *user, *cwd, *editable;
    const char *index_url, *proxy, *cache_dir, *log, *timeout, *src, *exists_action, *cert,
        *no_binary;
    struct param_strs pkgs, extra, extra_index_url, find_links, trusted_host, global_options;
    struct param_strmap env;
    bool upgrade, force_reinstall, no_index, no_deps, pre_releases, ignore_installed, no_cache_dir;
};

/* clang-format off */
static const struct param installed_params[] = {
    PARAM("name", STR, ARGS, name, "the package, optionally with a version: flask, flask==2.0, flask>=2", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("pkgs", STRS, ARGS, pkgs, "several packages, instead of the name"),
    PARAM("version", STR, ARGS, version, "exactly this version", .flags = PARAM_FILLED),
    PARAM("requirements", STR, ARGS, requirements, "a requirements file, instead of the name: a path, or salt://...", .flags = PARAM_FILLED),
    PARAM("bin", STR, ARGS, bin, "the pip program, or the folder of the virtual environment to install into", .default_text = "pip3", .aliases = "bin_env,pip_bin"),
    PARAM("index_url", STR, ARGS, index_url, "the package index", .flags = PARAM_FILLED),
    PARAM("upgrade", BOOL, ARGS, upgrade, "install the newest version"),
    PARAM("force_reinstall", BOOL, ARGS, force_reinstall, "reinstall packages that are installed"),
    PARAM("editable", STR, ARGS, editable, "a folder or URL to install in development mode, instead of the name", .flags = PARAM_FILLED),
    PARAM("extra_index_url", STRS, ARGS, extra_index_url, "more package indexes"),
    PARAM("find_links", STRS, ARGS, find_links, "folders and pages with packages"),
    PARAM("no_index", BOOL, ARGS, no_index, "only from find_links"),
    PARAM("trusted_host", STRS, ARGS, trusted_host, "hosts whose certificates are not verified"),
    PARAM("proxy", STR, ARGS, proxy, "the proxy to use", .flags = PARAM_FILLED),
    PARAM("cert", PATH, ARGS, cert, "file of the certificates that are trusted"),
    PARAM("timeout", STR, ARGS, timeout, "seconds to wait for an answer", .flags = PARAM_FILLED),
    PARAM("log", PATH, ARGS, log, "file in which pip writes what it does"),
    PARAM("source", PATH, ARGS, src, "folder of what is installed for development"),
    PARAM("exists_action", STR, ARGS, exists_action, "what to do with a path that is there: s(witch), i(gnore), w(ipe), b(ackup)", .flags = PARAM_FILLED),
    PARAM("no_binary", STR, ARGS, no_binary, "packages that are built here: names with commas, ':all:' or ':none:'", .flags = PARAM_FILLED),
    PARAM("global_options", STRS, ARGS, global_options, "options for setup.py"),
    PARAM("pre_releases", BOOL, ARGS, pre_releases, "include pre-releases"),
    PARAM("no_deps", BOOL, ARGS, no_deps, "do not install dependencies"),
    PARAM("ignore_installed", BOOL, ARGS, ignore_installed, "install without removing the old version first"),
    PARAM("no_cache_dir", BOOL, ARGS, no_cache_dir, "disable pip's cache"),
    PARAM("cache_dir", PATH, ARGS, cache_dir, "folder of pip's cache"),
    PARAM("env_vars", STRMAP, ARGS, env, "extra environment for pip"),
    PARAM("user", STR, ARGS, user, "the user that runs pip", .aliases = "runas"),
    PARAM("cwd", PATH, ARGS, cwd, "the folder to run in"),
    PARAM("extra_args", STRS, ARGS, extra, "extra arguments for pip install"),
    PARAM_IDLE("use_wheel", "pip has no such option since version 10"),
    PARAM_IDLE("no_use_wheel", "pip has no such option since version 10"),
    PARAM_IDLE("mirrors", "pip has no such option since version 10"),
    PARAM_IDLE("download_cache", "pip has no such option since version 10"),
    PARAM_IDLE("allow_all_external", "pip has no such option since version 10"),
    PARAM_IDLE("allow_external", "pip has no such option since version 10"),
    PARAM_IDLE("allow_unverified", "pip has no such option since version 10"),
    PARAM_IDLE("process_dependency_links", "pip has no such option since version 10"),
    PARAM_IDLE("use_vt", "there is no terminal; the output is in the result"),
    PARAM_REFUSED("build", "pip has no such option since version 21"),
    PARAM_REFUSED("install_options", "pip has no such option since version 23"),
    PARAM_REFUSED("download", "this state installs; run pip download as a command"),
    PARAM_REFUSED("no_install", "this state installs; run pip download as a command"),
    PARAM_REFUSED("no_download", "this state installs; run pip download as a command"),
    PARAM_REFUSED("target", "what is installed is that of pip itself; use a virtual environment"),
    PARAM_REFUSED("repo", "write the address as the name"),
    { 0 },
};
/* clang-format on */

static int installed_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct installed_args *want = args;
    int result = validate_text("user", want->user, VALIDATE_USER, where, diags);

    if (validate_texts("pkgs", want->pkgs, VALIDATE_ARGUMENT, where, diags) < 0)
        result = -1;
    if (!want->requirements && !want->editable && want->pkgs.n == 0 &&
        validate_text("name", want->name, VALIDATE_ARGUMENT, where, diags) < 0)
        result = -1;
    if (validate_text("version", want->version, VALIDATE_ARGUMENT, where, diags) < 0 ||
        validate_text("index_url", want->index_url, VALIDATE_ARGUMENT, where, diags) < 0 ||
        validate_text("requirements", want->requirements, VALIDATE_LINE, where, diags) < 0 ||
        validate_text("editable", want->editable, VALIDATE_ARGUMENT, where, diags) < 0 ||
        validate_text("proxy", want->proxy, VALIDATE_ARGUMENT, where, diags) < 0 ||
        validate_text("timeout", want->timeout, VALIDATE_ARGUMENT, where, diags) < 0 ||
        validate_text("exists_action", want->exists_action, VALIDATE_ARGUMENT, where, diags) < 0 ||
        validate_text("no_binary", want->no_binary, VALIDATE_ARGUMENT, where, diags) < 0 ||
        validate_texts("global_options", want->global_options, VALIDATE_LINE, where, diags) < 0 ||
        validate_texts("extra_index_url", want->extra_index_url, VALIDATE_ARGUMENT, where, diags) <
            0 ||
        validate_texts("find_links", want->find_links, VALIDATE_ARGUMENT, where, diags) < 0 ||
        validate_texts("trusted_host", want->trusted_host, VALIDATE_ARGUMENT, where, diags) < 0)
        result = -1;
    if (want->version && (want->pkgs.n > 0 || want->requirements))
        result = value_diag(diags, value_point(where, "version"),
                            "'version' is for one package by its name");
    return result;
}

/* Arguments of pip install. `where`: those for package sources, which downgrades need as well. */
static const struct {
    const char *word;
    size_t offset;
    enum param_kind kind;
    bool where;
} pip_options[] = {
    { "--index-url", offsetof(ARGS, index_url), PARAM_STR, true },
    { "--extra-index-url", offsetof(ARGS, extra_index_url), PARAM_STRS, true },
    { "--find-links", offsetof(ARGS, find_links), PARAM_STRS, true },
    { "--no-index", offsetof(ARGS, no_index), PARAM_BOOL, true },
    { "--trusted-host", offsetof(ARGS, trusted_host), PARAM_STRS, true },
    { "--proxy", offsetof(ARGS, proxy), PARAM_STR, true },
    { "--cert", offsetof(ARGS, cert), PARAM_STR, true },
    { "--timeout", offsetof(ARGS, timeout), PARAM_STR, true },
    { "--log", offsetof(ARGS, log), PARAM_STR, false },
    { "--src", offsetof(ARGS, src), PARAM_STR, false },
    { "--exists-action", offsetof(ARGS, exists_action), PARAM_STR, false },
    { "--no-binary", offsetof(ARGS, no_binary), PARAM_STR, true },
    { "--global-option", offsetof(ARGS, global_options), PARAM_STRS, false },
    { "--pre", offsetof(ARGS, pre_releases), PARAM_BOOL, true },
    { "--no-cache-dir", offsetof(ARGS, no_cache_dir), PARAM_BOOL, true },
    { "--cache-dir", offsetof(ARGS, cache_dir), PARAM_STR, true },
    { "--upgrade", offsetof(ARGS, upgrade), PARAM_BOOL, false },
    { "--force-reinstall", offsetof(ARGS, force_reinstall), PARAM_BOOL, false },
    { "--no-deps", offsetof(ARGS, no_deps), PARAM_BOOL, false },
    { "--ignore-installed", offsetof(ARGS, ignore_installed), PARAM_BOOL, false },
};

static void add_option(const struct tool *tool, struct tool_words *words, const char *word,
                       const char *text)
{
    if (!text)
        return;
    tool_add(tool, words, word);
    tool_add(tool, words, text);
}

static void add_options(const struct tool *tool, struct tool_words *words,
                        const struct installed_args *want, bool where_only)
{
    for (size_t i = 0; i < ARRAY_LEN(pip_options); i++) {
        const void *field = (const char *)want + pip_options[i].offset;
        const char *word = pip_options[i].word;

        if (where_only && !pip_options[i].where)
            continue;
        if (pip_options[i].kind == PARAM_BOOL && *(const bool *)field)
            tool_add(tool, words, word);
        else if (pip_options[i].kind == PARAM_STR)
            add_option(tool, words, word, *(const char *const *)field);
        for (size_t k = 0;
             pip_options[i].kind == PARAM_STRS && k < ((const struct param_strs *)field)->n; k++)
            add_option(tool, words, word, ((const struct param_strs *)field)->p[k]);
    }
    for (size_t i = 0; i < want->extra.n; i++)
        tool_add(tool, words, want->extra.p[i]);
}

static struct param_strs list_wanted(struct state_run *run, const struct installed_args *want)
{
    const char **one = ARENA_ARRAY(run->arena, const char *, 1);

    if (want->pkgs.n > 0)
        return want->pkgs;
    one[0] =
        want->version ? arena_printf(run->arena, "%s==%s", want->name, want->version) : want->name;
    return (struct param_strs){ 1, one };
}

static struct tool_options options_of(struct state_run *run, const struct installed_args *want)
{
    const char **env = ARENA_ARRAY(run->arena, const char *, want->env.n + 1);

    for (size_t i = 0; i < want->env.n; i++)
        env[i] = arena_printf(run->arena, "%s=%s", want->env.p[i].key, want->env.p[i].value);
    return (struct tool_options){ .runas = want->user, .cwd = want->cwd, .env = env };
}

/* The pip of a virtual environment, or the given program. */
static const char *program_of(struct arena *arena, const struct installed_args *want)
{
    const char *inside = arena_printf(arena, "%s/bin/pip", want->bin);

    return strchr(want->bin, '/') && access(inside, X_OK) == 0 ? inside : want->bin;
}

static void add_common(const struct tool *tool, struct tool_words *words,
                       const struct installed_args *want)
{
    tool_add(tool, words, program_of(tool->arena, want));
    tool_add(tool, words, "--disable-pip-version-check");
    tool_add(tool, words, "--no-input");
}

/* --- what is there ------------------------------------------------------------------------------
 */

/* "name==version" for each installed package. */
static int list_installed(struct state_run *run, const struct installed_args *want, struct str *ret,
                          struct err *err)
{
    const struct tool tool = run_tool(run);
    const struct tool_options options = options_of(run, want);
    struct tool_words words = { 0 };

    add_common(&tool, &words, want);
    tool_add(&tool, &words, "list");
    tool_add(&tool, &words, "--format=freeze");
    return tool_run(&tool, tool_argv(&tool, &words), &options, ret, err);
}

static bool is_one_of(struct str set, char c)
{
    return str_find_char(set, c, 0) != STR_NONE;
}

static bool is_joint(char c)
{
    return is_one_of(STR("-_."), c);
}

/* Package names compare without case, and with runs of - _ . as equal. */
static bool same_name(struct str a, struct str b)
{
    size_t i = 0, j = 0;

    while (i < a.n && j < b.n) {
        const bool left = is_joint(a.p[i]), right = is_joint(b.p[j]);

        if (left != right)
            return false;
        if (!left && (a.p[i] | 0x20) != (b.p[j] | 0x20))
            return false;
        i++;
        j++;
        while (left && i < a.n && is_joint(a.p[i]))
            i++;
        while (right && j < b.n && is_joint(b.p[j]))
            j++;
    }
    return i == a.n && j == b.n;
}

/* The name in "flask[async]>=2". */
static struct str name_of(struct str package)
{
    size_t n = 0;

    while (n < package.n && !is_one_of(STR("[=<>!~;@ "), package.p[n]))
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

/* The packages to install: arguments of pip install. */
static int add_wishes(struct state_run *run, const struct tool *tool, struct tool_words *words,
                      const struct installed_args *want, struct err *err)
{
    const struct param_strs all = list_wanted(run, want);
    const char *path = want->requirements;

    if (want->editable) {
        add_option(tool, words, "--editable", want->editable);
        return 0;
    }
    if (!want->requirements) {
        for (size_t i = 0; i < all.n; i++)
            tool_add(tool, words, all.p[i]);
        return 0;
    }
    if (strstr(path, "://") && state_source_path(run, path, &path, err) < 0)
        return -1;
    add_option(tool, words, "-r", path ? path : want->requirements);
    return 0;
}

/* Only pip knows what satisfies a range: use a dry run of pip install. `package` NULL: all
 * requested ones. */
static int would_install(struct state_run *run, const struct installed_args *want,
                         const char *package, bool *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    const struct tool_options options = options_of(run, want);
    struct process_result result;
    struct tool_words words = { 0 };

    add_common(&tool, &words, want);
    tool_add(&tool, &words, "install");
    tool_add(&tool, &words, "--dry-run");
    tool_add(&tool, &words, "--no-deps");
    if (want->upgrade) {
        tool_add(&tool, &words, "--upgrade");
        add_options(&tool, &words, want, true);
    } else {
        tool_add(&tool, &words, "--no-index");
    }
    if (package)
        tool_add(&tool, &words, package);
    else if (add_wishes(run, &tool, &words, want, err) < 0)
        return -1;
    if (tool_try(&tool, tool_argv(&tool, &words), &options, &result, err) < 0)
        return -1;
    /* fails if something is missing and there is no index */
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
    if (exact && !strpbrk(package, "<>!~,;*") && exact[2] != '=' && !want->upgrade) {
        if (!release_matches(now, str_from(exact + 2)))
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

static int check_requirements(struct state_run *run, const struct installed_args *want,
                              struct err *err)
{
    bool needed;

    if (would_install(run, want, NULL, &needed, err) < 0)
        return -1;
    if (needed || want->force_reinstall)
        state_differs(run, "requirements file %s: not all packages are installed",
                      want->requirements);
    else
        state_say(run, "all packages of %s are installed", want->requirements);
    return 0;
}

static bool is_missing(struct state_run *run, const struct installed_args *want)
{
    const char *program = program_of(run->arena, want);

    return strchr(program, '/') ? access(program, X_OK) < 0 : !tool_find(run->arena, program);
}

static int installed_check(struct state_run *run, const void *args, struct err *err)
{
    const struct installed_args *want = args;
    const struct param_strs all = list_wanted(run, want);
    struct str installed;

    if (run->test && is_missing(run, want)) {
        state_differs(run, "%s is not installed",
                      want->requirements ? want->requirements
                      : want->editable   ? want->editable
                                         : validate_join(run, all));
        state_say(
            run,
            "pip '%s' does not exist; an earlier state must install it (apply fails otherwise)",
            want->bin);
        return 0;
    }
    if (want->editable) { /* its name is known only after the build */
        state_differs(run, "%s: cannot verify without installing", want->editable);
        return 0;
    }
    if (want->requirements)
        return check_requirements(run, want, err);
    if (list_installed(run, want, &installed, err) < 0)
        return -1;
    for (size_t i = 0; i < all.n; i++)
        if (check_one(run, want, installed, all.p[i], err) < 0)
            return -1;
    if (want->force_reinstall && !run->differs)
        state_differs(run, "%s will be reinstalled", validate_join(run, all));
    if (!run->differs)
        state_say(run, "%s is already installed", validate_join(run, all));
    return 0;
}

/* --- installing ----------------------------------------------------------------------------------
 */

static int run_install(struct state_run *run, const struct installed_args *want, struct err *err)
{
    const struct tool tool = run_tool(run);
    const struct tool_options options = options_of(run, want);
    struct tool_words words = { 0 };

    add_common(&tool, &words, want);
    tool_add(&tool, &words, "install");
    add_options(&tool, &words, want, false);
    if (add_wishes(run, &tool, &words, want, err) < 0)
        return -1;
    return tool_run(&tool, tool_argv(&tool, &words), &options, NULL, err);
}

static int installed_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct installed_args *want = args;
    struct str before, after;

    if (list_installed(run, want, &before, err) < 0 ||
        state_note(run, "before", value_str(arena_str(run->arena, before)), err) < 0 ||
        run_install(run, want, err) < 0 || list_installed(run, want, &after, err) < 0)
        return -1;
    buf_clear(&run->text);
    if (str_eq(before, after) && !want->force_reinstall) {
        state_say(run, "everything was already installed");
        state_unchanged(run);
        return 0;
    }
    if (want->requirements)
        state_say(run, "installed requirements from %s via %s", want->requirements, want->bin);
    else
        state_say(run, "installed %s via %s", validate_join(run, list_wanted(run, want)),
                  want->bin);
    state_detail(run, "package", "%s",
                 want->requirements ? want->requirements
                                    : validate_join(run, list_wanted(run, want)));
    state_detail(run, "bin", "%s", want->bin);
    return state_note(run, "after", value_str(arena_str(run->arena, after)), err);
}

/* --- revert -------------------------------------------------------------------------- */

/* Lines of `of` whose package is not in `in` with the same version. */
static size_t add_changed(const struct tool *tool, struct tool_words *words, struct str of,
                          struct str in, bool absent_only)
{
    struct line line;
    size_t n = 0;

    while (lines_next(&of, &line)) {
        const struct str name = name_of(line.text);
        const struct str there = version_of(in, name);

        if (absent_only ? there.p != NULL : !there.p || str_eq(there, version_of(line.text, name)))
            continue;
        tool_add(tool, words, arena_str(tool->arena, absent_only ? name : line.text).p);
        n++;
    }
    return n;
}

/* Remove new packages; restore the old version of changed ones. */
static int installed_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct installed_args *want = args;
    const struct tool tool = run_tool(run);
    const struct tool_options options = options_of(run, want);
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
    add_options(&tool, &back, want, true);
    older = add_changed(&tool, &back, before->s, after->s, false);
    if (less > 0 && tool_run(&tool, tool_argv(&tool, &gone), &options, NULL, err) < 0)
        return -1;
    if (older > 0 && tool_run(&tool, tool_argv(&tool, &back), &options, NULL, err) < 0)
        return -1;
    state_say(run, "removed %zu package%s, restored the version of %zu (revert)", less,
              less == 1 ? "" : "s", older);
    return 0;
}

const struct module module_pip_installed = {
    .name = "pip.installed",
    .summary = "install Python packages with pip",
    .details = "A revert removes only what was not installed before, dependencies included, and "
               "restores previous versions.",
    .example = "name: flask\nversion: 2.3.2\nbin: /srv/app/venv/bin/pip\n",
    .params = installed_params,
    .args_size = sizeof(struct installed_args),
    .lock = "pip",
    .validate = installed_validate,
    .check = installed_check,
    .apply = installed_apply,
    .revert = installed_revert,
};
