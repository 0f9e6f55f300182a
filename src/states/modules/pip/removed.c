/* pip.removed - Python packages are not installed. */
#include "core/base/err.h"
#include "states/modules/pip/pips.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct removed_args

struct removed_args {
    const char *name, *requirements, *log, *proxy, *timeout;
    struct param_strs pkgs;
    struct pips pip;
};

/* clang-format off */
static const struct param removed_params[] = {
    PARAM("name", STR, ARGS, name, "the package", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("pkgs", STRS, ARGS, pkgs, "several packages, instead of the name"),
    PARAM("requirements", STR, ARGS, requirements, "a requirements file, instead of the name: a path, or salt://...", .flags = PARAM_FILLED),
    PARAM("log", PATH, ARGS, log, "log file of pip"),
    PARAM("proxy", STR, ARGS, proxy, "the proxy to use", .flags = PARAM_FILLED),
    PARAM("timeout", STR, ARGS, timeout, "seconds to wait for an answer", .flags = PARAM_FILLED),
    PIPS_PARAMS(ARGS, pip),
    { 0 },
};
/* clang-format on */

static int removed_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct removed_args *want = args;

    return validate_text("user", want->pip.user, VALIDATE_USER, where, diags) |
           validate_text("name", want->name, VALIDATE_ARGUMENT, where, diags) |
           validate_texts("pkgs", want->pkgs, VALIDATE_ARGUMENT, where, diags) |
           validate_text("requirements", want->requirements, VALIDATE_LINE, where, diags) |
           validate_text("proxy", want->proxy, VALIDATE_ARGUMENT, where, diags) |
           validate_text("timeout", want->timeout, VALIDATE_ARGUMENT, where, diags);
}

/* The names to remove: of the state, or those in the lines of the requirements. */
static int list_package_names(struct state_run *run, const struct removed_args *want,
                              struct tool_words *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct str text, line;

    for (size_t i = 0; !want->requirements && i < want->pkgs.n; i++)
        tool_add(&tool, ret, want->pkgs.p[i]);
    if (!want->requirements && want->pkgs.n == 0)
        tool_add(&tool, ret, want->name);
    if (!want->requirements)
        return 0;
    if (state_source(run, want->requirements, NULL, &text, err) < 0)
        return -1;
    while (text.n > 0) {
        line = str_trim(str_cut(&text, '\n'));
        if (line.n > 0 && line.p[0] != '#' && line.p[0] != '-')
            tool_add(&tool, ret, arena_str(run->arena, pips_name_of(line)).p);
    }
    return 0;
}

/* Those of the names that are installed. */
static int find_present_packages(struct state_run *run, const struct removed_args *want,
                                 struct tool_words *ret_present, struct str *ret_installed,
                                 struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words names = { 0 };

    if (list_package_names(run, want, &names, err) < 0 ||
        pips_list(run, &want->pip, ret_installed, err) < 0)
        return -1;
    VEC_EACH (&names.list, name)
        if (pips_version_of(*ret_installed, str_from(*name)).p)
            tool_add(&tool, ret_present, arena_str(run->arena, pips_name_of(str_from(*name))).p);
    return 0;
}

static int removed_check(struct state_run *run, const void *args, struct err *err)
{
    const struct removed_args *want = args;
    struct tool_words present = { 0 };
    struct str installed;

    if (run->test && pips_is_missing(run, &want->pip)) {
        state_say(run, "pip '%s' does not exist", want->pip.bin);
        return 0;
    }
    if (find_present_packages(run, want, &present, &installed, err) < 0)
        return -1;
    VEC_EACH (&present.list, name) {
        state_differs(run, "%s is installed", *name);
        state_made(run, "removed %s", *name);
    }
    if (!run->differs)
        state_say(run, "%s is not installed", want->requirements ? want->requirements : want->name);
    return 0;
}

static void add_uninstall_options(const struct tool *tool, const struct removed_args *want,
                                  struct tool_words *words)
{
    const char *const options[][2] = { { "--log", want->log },
                                       { "--proxy", want->proxy },
                                       { "--timeout", want->timeout } };

    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        if (options[i][1]) {
            tool_add(tool, words, options[i][0]);
            tool_add(tool, words, options[i][1]);
        }
}

static int removed_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct removed_args *want = args;
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 }, present = { 0 };
    struct param_strs names;
    struct str before;
    int rc;

    if (find_present_packages(run, want, &present, &before, err) < 0)
        return -1;
    if (present.list.n == 0) {
        state_unchanged(run);
        return 0;
    }
    pips_begin_removal(&tool, &want->pip, &words);
    add_uninstall_options(&tool, want, &words);
    VEC_EACH (&present.list, name)
        tool_add(&tool, &words, *name);
    names = (struct param_strs){ present.list.n, present.list.p };
    if (pips_note_before(run, before, &names, false, err) < 0)
        return -1;
    rc = pips_run(run, &want->pip, &words, NULL, err);
    return run_tool_note_after(run, &want->pip, pips_look, rc, err);
}

static int removed_revert(struct state_run *run, const void *args, struct err *err)
{
    return pips_revert(run, &((const struct removed_args *)args)->pip, err);
}

const struct module module_pip_removed = {
    .name = "pip.removed",
    .summary = "Python packages are not installed",
    .details = "A revert installs the versions again that were removed.",
    .example = "name: flask\nbin: /srv/app/venv/bin/pip\n",
    .params = removed_params,
    .args_size = sizeof(struct removed_args),
    .lock = PIPS_LOCK,
    .validate = removed_validate,
    .check = removed_check,
    .apply = removed_apply,
    .revert = removed_revert,
};
