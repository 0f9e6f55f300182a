/* pip.installed - installs Python packages with pip. */
#include <stddef.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/modules/pip/pips.h"
#include "states/modules/pip/release.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/process.h"

#define ARGS struct installed_args

struct installed_args {
    const char *name, *version, *requirements, *editable;
    struct pips pip;
    const char *index_url, *proxy, *cache_dir, *log, *timeout, *src, *exists_action, *cert,
        *no_binary;
    struct param_strs pkgs, extra_index_url, find_links, trusted_host, global_options;
    bool upgrade, force_reinstall, no_index, no_deps, pre_releases, ignore_installed, no_cache_dir;
};

/* clang-format off */
static const struct param installed_params[] = {
    PARAM("name", STR, ARGS, name, "the package, optionally with a version: flask, flask==2.0, flask>=2", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("pkgs", STRS, ARGS, pkgs, "several packages, instead of the name"),
    PARAM("version", STR, ARGS, version, "exactly this version", .flags = PARAM_FILLED),
    PARAM("requirements", STR, ARGS, requirements, "a requirements file, instead of the name: a path, or salt://...", .flags = PARAM_FILLED),
    PIPS_PARAMS(ARGS, pip),
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
    PARAM("log", PATH, ARGS, log, "log file of pip"),
    PARAM("source", PATH, ARGS, src, "folder for development installs"),
    PARAM("exists_action", STR, ARGS, exists_action, "action for an existing path: s(witch), i(gnore), w(ipe), b(ackup)", .flags = PARAM_FILLED),
    PARAM("no_binary", STR, ARGS, no_binary, "packages that are built here: names with commas, ':all:' or ':none:'", .flags = PARAM_FILLED),
    PARAM("global_options", STRS, ARGS, global_options, "options for setup.py"),
    PARAM("pre_releases", BOOL, ARGS, pre_releases, "include pre-releases"),
    PARAM("no_deps", BOOL, ARGS, no_deps, "do not install dependencies"),
    PARAM("ignore_installed", BOOL, ARGS, ignore_installed, "install without removing the old version first"),
    PARAM("no_cache_dir", BOOL, ARGS, no_cache_dir, "disable pip's cache"),
    PARAM("cache_dir", PATH, ARGS, cache_dir, "folder of pip's cache"),
    PARAM_IDLE("use_wheel", "pip has no such option since version 10"),
    PARAM_IDLE("no_use_wheel", "pip has no such option since version 10"),
    PARAM_IDLE("mirrors", "pip has no such option since version 10"),
    PARAM_IDLE("download_cache", "pip has no such option since version 10"),
    PARAM_IDLE("allow_all_external", "pip has no such option since version 10"),
    PARAM_IDLE("allow_external", "pip has no such option since version 10"),
    PARAM_IDLE("allow_unverified", "pip has no such option since version 10"),
    PARAM_IDLE("process_dependency_links", "pip has no such option since version 10"),
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
    int result = validate_text("user", want->pip.user, VALIDATE_USER, where, diags);

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

static void add_install_option(const struct tool *tool, struct tool_words *words, const char *word,
                               const char *text)
{
    if (!text)
        return;
    tool_add(tool, words, word);
    tool_add(tool, words, text);
}

static void add_install_options(const struct tool *tool, struct tool_words *words,
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
            add_install_option(tool, words, word, *(const char *const *)field);
        for (size_t k = 0;
             pip_options[i].kind == PARAM_STRS && k < ((const struct param_strs *)field)->n; k++)
            add_install_option(tool, words, word, ((const struct param_strs *)field)->p[k]);
    }
    for (size_t i = 0; i < want->pip.extra.n; i++)
        tool_add(tool, words, want->pip.extra.p[i]);
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

/* --- what is there ----------------------------------------------------------------------- */

/* The packages to install: arguments of pip install. */
static int add_wishes(struct state_run *run, const struct tool *tool, struct tool_words *words,
                      const struct installed_args *want, struct err *err)
{
    const struct param_strs all = list_wanted(run, want);
    const char *path = want->requirements;

    if (want->editable) {
        add_install_option(tool, words, "--editable", want->editable);
        return 0;
    }
    if (!want->requirements) {
        for (size_t i = 0; i < all.n; i++)
            tool_add(tool, words, all.p[i]);
        return 0;
    }
    if (strstr(path, "://") && state_source_path(run, path, &path, err) < 0)
        return -1;
    add_install_option(tool, words, "-r", path ? path : want->requirements);
    return 0;
}

/* Only pip knows what satisfies a range: use a dry run of pip install. `package` NULL: all
 * requested ones. */
static int check_future_install(struct state_run *run, const struct installed_args *want,
                                const char *package, bool *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };
    struct process_result result;

    pips_begin(&tool, &want->pip, "install", &words);
    tool_add(&tool, &words, "--dry-run");
    tool_add(&tool, &words, "--no-deps");
    if (want->upgrade) {
        tool_add(&tool, &words, "--upgrade");
        add_install_options(&tool, &words, want, true);
    } else {
        tool_add(&tool, &words, "--no-index");
    }
    if (package)
        tool_add(&tool, &words, package);
    else if (add_wishes(run, &tool, &words, want, err) < 0)
        return -1;
    if (pips_try(run, &want->pip, &words, &result, err) < 0)
        return -1;
    /* fails if something is missing and there is no index */
    *ret = !process_status_ok(result.status) ||
           str_find(result.out, STR("Would install"), 0) != STR_NONE;
    return 0;
}

static int check_requirement(struct state_run *run, const struct installed_args *want,
                             struct str installed, const char *package, struct err *err)
{
    const struct str now = pips_version_of(installed, str_from(package));
    const char *exact = strstr(package, "==");
    bool needed = false;

    if (!now.p) {
        state_differs(run, "%s is not installed", package);
        return 0;
    }
    if (exact && !strpbrk(package, "<>!~,;*") && exact[2] != '=' && !want->upgrade) {
        if (!release_matches(now, str_from(exact + 2)))
            state_differs(run, "%.*s version mismatch: got \"%.*s\", want \"%s\"",
                          STR_ARG(pips_name_of(str_from(package))), STR_ARG(now), exact + 2);
        return 0;
    }
    if (!want->upgrade && strlen(package) == pips_name_of(str_from(package)).n)
        return 0;
    if (check_future_install(run, want, package, &needed, err) < 0)
        return -1;
    if (needed)
        state_differs(run, "%s is %.*s", package, STR_ARG(now));
    return 0;
}

static int check_requirements(struct state_run *run, const struct installed_args *want,
                              struct err *err)
{
    bool needed;

    if (check_future_install(run, want, NULL, &needed, err) < 0)
        return -1;
    if (needed || want->force_reinstall)
        state_differs(run, "requirements file %s: not all packages are installed",
                      want->requirements);
    else
        state_say(run, "all packages of %s are installed", want->requirements);
    return 0;
}

static int installed_check(struct state_run *run, const void *args, struct err *err)
{
    const struct installed_args *want = args;
    const struct param_strs all = list_wanted(run, want);
    struct str installed;

    if (run->test && pips_is_missing(run, &want->pip)) {
        state_differs(run, "%s is not installed",
                      want->requirements ? want->requirements
                      : want->editable   ? want->editable
                                         : validate_join(run, all));
        state_say(
            run,
            "pip '%s' does not exist; an earlier state must install it (apply fails otherwise)",
            want->pip.bin);
        return 0;
    }
    if (want->editable) { /* its name is known only after the build */
        state_differs(run, "%s: cannot verify without installing", want->editable);
        return 0;
    }
    if (want->requirements)
        return check_requirements(run, want, err);
    if (pips_list(run, &want->pip, &installed, err) < 0)
        return -1;
    for (size_t i = 0; i < all.n; i++)
        if (check_requirement(run, want, installed, all.p[i], err) < 0)
            return -1;
    if (want->force_reinstall && !run->differs)
        state_differs(run, "%s will be reinstalled", validate_join(run, all));
    if (!run->differs)
        state_say(run, "%s is already installed", validate_join(run, all));
    return 0;
}

/* --- installing -------------------------------------------------------------------------- */

static int run_install(struct state_run *run, const struct installed_args *want, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };

    pips_begin(&tool, &want->pip, "install", &words);
    add_install_options(&tool, &words, want, false);
    if (add_wishes(run, &tool, &words, want, err) < 0)
        return -1;
    return pips_run(run, &want->pip, &words, NULL, err);
}

static int installed_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct installed_args *want = args;
    const struct param_strs none = { 0 };
    const struct param_strs wanted =
        want->requirements || want->editable ? none : list_wanted(run, want);
    struct str before;
    int rc;

    if (pips_list(run, &want->pip, &before, err) < 0 ||
        pips_note_before(run, before, &wanted, true, err) < 0)
        return -1;
    rc = run_install(run, want, err);
    if (run_tool_note_after(run, &want->pip, pips_look, rc, err) < 0)
        return -1;
    buf_clear(&run->text);
    if (str_eq(before, state_noted(run, "after")->s) && !want->force_reinstall) {
        state_say(run, "everything was already installed");
        state_unchanged(run);
        return 0;
    }
    if (want->requirements)
        state_say(run, "installed requirements from %s via %s", want->requirements, want->pip.bin);
    else
        state_say(run, "installed %s via %s", validate_join(run, list_wanted(run, want)),
                  want->pip.bin);
    state_detail(run, "package", "%s",
                 want->requirements ? want->requirements
                                    : validate_join(run, list_wanted(run, want)));
    state_detail(run, "bin", "%s", want->pip.bin);
    return 0;
}

/* --- revert -------------------------------------------------------------------------- */

/* Remove new packages; restore the old version of changed ones. */
static int installed_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct installed_args *want = args;
    const struct tool tool = run_tool(run);
    const struct value *before = state_noted(run, "before"), *after = state_noted(run, "after");
    struct tool_words gone = { 0 }, back = { 0 };
    size_t less, older;

    if (!before || !after) {
        state_unchanged(run);
        return 0;
    }
    pips_begin_removal(&tool, &want->pip, &gone);
    less = pips_add_new(&tool, &gone, after->s, before->s);
    pips_begin(&tool, &want->pip, "install", &back);
    add_install_options(&tool, &back, want, true);
    older = pips_add_changed(&tool, &back, before->s, after->s, false);
    if ((less > 0 && pips_run(run, &want->pip, &gone, NULL, err) < 0) ||
        (older > 0 && pips_run(run, &want->pip, &back, NULL, err) < 0))
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
    .lock = PIPS_LOCK,
    .validate = installed_validate,
    .check = installed_check,
    .apply = installed_apply,
    .revert = installed_revert,
};
