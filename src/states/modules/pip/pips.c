#include "states/modules/pip/pips.h"

#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/edit/lines.h"
#include "states/state/module.h"

/* --- the program ------------------------------------------------------------------------ */

/* The pip of a virtual environment, or the given program. */
static const char *find_pip_program(struct arena *arena, const struct pips *pips)
{
    const char *inside = arena_printf(arena, "%s/bin/pip", pips->bin);

    return strchr(pips->bin, '/') && access(inside, X_OK) == 0 ? inside : pips->bin;
}

bool pips_is_missing(struct state_run *run, const struct pips *pips)
{
    const char *program = find_pip_program(run->arena, pips);

    return strchr(program, '/') ? access(program, X_OK) < 0 : !tool_find(run->arena, program);
}

void pips_begin(const struct tool *tool, const struct pips *pips, const char *verb,
                struct tool_words *words)
{
    tool_add(tool, words, find_pip_program(tool->arena, pips));
    tool_add(tool, words, "--disable-pip-version-check");
    tool_add(tool, words, "--no-input");
    tool_add(tool, words, verb);
}

void pips_begin_removal(const struct tool *tool, const struct pips *pips, struct tool_words *words)
{
    pips_begin(tool, pips, "uninstall", words);
    tool_add(tool, words, "--yes");
    for (size_t i = 0; i < pips->extra.n; i++) /* options of install; this one applies to both */
        if (strcmp(pips->extra.p[i], "--break-system-packages") == 0)
            tool_add(tool, words, pips->extra.p[i]);
}

static struct tool_options make_options(struct state_run *run, const struct pips *pips)
{
    const char **env = ARENA_ARRAY(run->arena, const char *, pips->env.n + 1);

    for (size_t i = 0; i < pips->env.n; i++)
        env[i] = arena_printf(run->arena, "%s=%s", pips->env.p[i].key, pips->env.p[i].value);
    return (struct tool_options){ .runas = pips->user, .cwd = pips->cwd, .env = env };
}

int pips_try(struct state_run *run, const struct pips *pips, struct tool_words *words,
             struct process_result *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    const struct tool_options options = make_options(run, pips);

    return tool_try(&tool, tool_argv(&tool, words), &options, ret, err);
}

int pips_run(struct state_run *run, const struct pips *pips, struct tool_words *words,
             struct str *ret_output, struct err *err)
{
    const struct tool tool = run_tool(run);
    const struct tool_options options = make_options(run, pips);

    return tool_run(&tool, tool_argv(&tool, words), &options, ret_output, err);
}

int pips_list(struct state_run *run, const struct pips *pips, struct str *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };

    pips_begin(&tool, pips, "list", &words);
    tool_add(&tool, &words, "--format=freeze");
    return pips_run(run, pips, &words, ret, err);
}

/* --- names -------------------------------------------------------------------------------- */

static bool is_char_one_of(struct str set, char c)
{
    return str_find_char(set, c, 0) != STR_NONE;
}

static bool is_joint(char c)
{
    return is_char_one_of(STR("-_."), c);
}

/* Package names compare without case, and with runs of - _ . as equal. */
static bool is_same_package_name(struct str a, struct str b)
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

struct str pips_name_of(struct str package)
{
    size_t n = 0;

    while (n < package.n && !is_char_one_of(STR("[=<>!~;@ "), package.p[n]))
        n++;
    return str_slice(package, 0, n);
}

struct str pips_version_of(struct str installed, struct str package)
{
    struct line line;

    while (lines_next(&installed, &line)) {
        const size_t at = str_find(line.text, STR("=="), 0);

        if (at != STR_NONE &&
            is_same_package_name(str_slice(line.text, 0, at), pips_name_of(package)))
            return str_from_offset(line.text, at + 2);
    }
    return (struct str){ NULL, 0 };
}

/* --- notes --------------------------------------------------------------------------------- */

static bool has_package_name(const struct param_strs *names, struct str line)
{
    for (size_t i = 0; i < names->n; i++)
        if (is_same_package_name(pips_name_of(line), pips_name_of(str_from(names->p[i]))))
            return true;
    return false;
}

int pips_note_before(struct state_run *run, struct str before, const struct param_strs *names,
                     bool come, struct err *err)
{
    AUTO_BUF struct buf after = BUF_INIT(BUF_NO_LIMIT);
    struct str rest = before;
    struct line line;

    while (lines_next(&rest, &line))
        if (!has_package_name(names, line.text))
            buf_printf(&after, "%.*s\n", STR_ARG(line.text));
    for (size_t i = 0; come && i < names->n; i++)
        buf_printf(&after, "%.*s==?\n", STR_ARG(pips_name_of(str_from(names->p[i]))));
    if (state_note(run, "before", value_str(arena_str(run->arena, before)), err) < 0)
        return -1;
    return state_note(run, "after", value_str(buf_copy(&after, run->arena)), err);
}

int pips_look(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct str list;

    if (pips_list(run, args, &list, err) < 0)
        return -1;
    *ret = value_str(arena_str(run->arena, list));
    return 0;
}

/* --- going back ---------------------------------------------------------------------------- */

size_t pips_add_new(const struct tool *tool, struct tool_words *words, struct str of, struct str in)
{
    struct line line;
    size_t n = 0;

    while (lines_next(&of, &line)) {
        const struct str name = pips_name_of(line.text);

        if (pips_version_of(in, name).p)
            continue;
        tool_add(tool, words, arena_str(tool->arena, name).p);
        n++;
    }
    return n;
}

size_t pips_add_changed(const struct tool *tool, struct tool_words *words, struct str of,
                        struct str in, bool gone)
{
    struct line line;
    size_t n = 0;

    while (lines_next(&of, &line)) {
        const struct str name = pips_name_of(line.text), there = pips_version_of(in, name);

        if (there.p ? str_eq(there, pips_version_of(line.text, name)) : !gone)
            continue;
        tool_add(tool, words, arena_str(tool->arena, line.text).p);
        n++;
    }
    return n;
}

int pips_revert(struct state_run *run, const struct pips *pips, struct err *err)
{
    const struct tool tool = run_tool(run);
    const struct value *before = state_noted(run, "before"), *after = state_noted(run, "after");
    struct tool_words gone = { 0 }, back = { 0 };
    size_t less, more;

    if (!before || !after) {
        state_unchanged(run);
        return 0;
    }
    pips_begin_removal(&tool, pips, &gone);
    less = pips_add_new(&tool, &gone, after->s, before->s);
    pips_begin(&tool, pips, "install", &back);
    for (size_t i = 0; i < pips->extra.n; i++)
        tool_add(&tool, &back, pips->extra.p[i]);
    more = pips_add_changed(&tool, &back, before->s, after->s, true);
    if ((less > 0 && pips_run(run, pips, &gone, NULL, err) < 0) ||
        (more > 0 && pips_run(run, pips, &back, NULL, err) < 0))
        return -1;
    state_say(run, "removed %zu packages, restored %zu (revert)", less, more);
    return 0;
}
