/* pip.uptodate - upgrades all installed Python packages. */
#include <string.h>

#include "core/base/err.h"
#include "core/edit/lines.h"
#include "states/modules/pip/pips.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct uptodate_args

struct uptodate_args {
    const char *name;
    struct pips pip;
};

/* clang-format off */
static const struct param uptodate_params[] = {
    PARAM("name", STR, ARGS, name, "any text", .flags = PARAM_PRIMARY),
    PIPS_PARAMS(ARGS, pip),
    { 0 },
};
/* clang-format on */

static int uptodate_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct uptodate_args *want = args;

    return validate_text("user", want->pip.user, VALIDATE_USER, where, diags);
}

/* "name==version" for each package that has a newer one; the version is the installed one. Where
 * packages come from is for `pip list` the same as for `pip install`. */
static int list_outdated(struct state_run *run, const struct pips *pips, struct str *ret,
                         struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };

    pips_begin(&tool, pips, "list", &words);
    tool_add(&tool, &words, "--outdated");
    tool_add(&tool, &words, "--format=columns");
    for (size_t i = 0; i < pips->extra.n; i++)
        if (strcmp(pips->extra.p[i], "--break-system-packages") != 0)
            tool_add(&tool, &words, pips->extra.p[i]);
    return pips_run(run, pips, &words, ret, err);
}

/* The first word of each line below the head, which has a line of dashes under it. */
static size_t add_outdated_names(const struct tool *tool, struct tool_words *words,
                                 struct str table)
{
    struct line line;
    bool below = false;
    size_t n = 0;

    while (lines_next(&table, &line)) {
        struct str rest = line.text;

        if (below && str_trim(rest).n > 0) {
            tool_add(tool, words, arena_str(tool->arena, str_cut(&rest, ' ')).p);
            n++;
        }
        below |= str_starts(line.text, STR("---"));
    }
    return n;
}

static int find_outdated(struct state_run *run, const struct uptodate_args *want,
                         struct tool_words *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct str table;

    if (list_outdated(run, &want->pip, &table, err) < 0)
        return -1;
    (void)add_outdated_names(&tool, ret, table);
    return 0;
}

static int uptodate_check(struct state_run *run, const void *args, struct err *err)
{
    const struct uptodate_args *want = args;
    struct tool_words outdated = { 0 };

    if (run->test && pips_is_missing(run, &want->pip)) {
        state_say(run, "pip '%s' does not exist", want->pip.bin);
        return 0;
    }
    if (find_outdated(run, want, &outdated, err) < 0)
        return -1;
    VEC_EACH (&outdated.list, name) {
        state_differs(run, "%s has a newer version", *name);
        state_made(run, "upgraded %s", *name);
    }
    if (!run->differs)
        state_say(run, "all packages are up to date");
    return 0;
}

static int uptodate_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct uptodate_args *want = args;
    const struct tool tool = run_tool(run);
    struct tool_words outdated = { 0 }, words = { 0 };
    struct param_strs names;
    struct str before;
    int rc;

    if (find_outdated(run, want, &outdated, err) < 0 ||
        pips_list(run, &want->pip, &before, err) < 0)
        return -1;
    if (outdated.list.n == 0) {
        state_unchanged(run);
        return 0;
    }
    pips_begin(&tool, &want->pip, "install", &words);
    tool_add(&tool, &words, "--upgrade");
    for (size_t i = 0; i < want->pip.extra.n; i++)
        tool_add(&tool, &words, want->pip.extra.p[i]);
    VEC_EACH (&outdated.list, name)
        tool_add(&tool, &words, *name);
    names = (struct param_strs){ outdated.list.n, outdated.list.p };
    if (pips_note_before(run, before, &names, true, err) < 0)
        return -1;
    rc = pips_run(run, &want->pip, &words, NULL, err);
    if (run_tool_note_after(run, &want->pip, pips_look, rc, err) < 0)
        return -1;
    if (str_eq(before, state_noted(run, "after")->s))
        state_unchanged(run);
    return 0;
}

static int uptodate_revert(struct state_run *run, const void *args, struct err *err)
{
    return pips_revert(run, &((const struct uptodate_args *)args)->pip, err);
}

const struct module module_pip_uptodate = {
    .name = "pip.uptodate",
    .summary = "upgrade all installed Python packages",
    .details =
        "A revert installs the versions that were there before. `extra_args` name other places "
        "of packages (--index-url, --find-links).",
    .example = "bin: /srv/app/venv/bin/pip\n",
    .params = uptodate_params,
    .args_size = sizeof(struct uptodate_args),
    .lock = PIPS_LOCK,
    .validate = uptodate_validate,
    .check = uptodate_check,
    .apply = uptodate_apply,
    .revert = uptodate_revert,
};
