#include "states/modules/iptables/ruleset.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/edit/lines.h"
#include "states/modules/cmd/run_tool.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "core/sys/process.h"
#include "states/undo/change.h"

#define FILE_MAX ((size_t)16 << 20)

/* In the order of the choices of `family`. */
static const struct {
    const char *program, *save, *restore;
} families[] = {
    { "iptables", "iptables-save", "iptables-restore" },
    { "ip6tables", "ip6tables-save", "ip6tables-restore" },
};

static void add_head(const struct tool *tool, const struct rule_args *args, const char *verb,
                     struct tool_words *words)
{
    tool_add(tool, words, families[args->descendants].program);
    tool_add(tool, words, "--wait");
    tool_add(tool, words, "--table");
    tool_add(tool, words, args->table);
    tool_add(tool, words, verb);
    if (args->chain)
        tool_add(tool, words, args->chain);
}

/* --- rules ------------------------------------------------------------------------------ */

/* Status 1: there is no such rule, or no such chain. Others are mistakes in the rule. */
int ruleset_has(struct state_run *run, const struct rule_args *args, bool *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };
    struct process_result result;

    add_head(&tool, args, "--check", &words);
    rule_add(&tool, args, &words);
    if (tool_try(&tool, tool_argv(&tool, &words), NULL, &result, err) < 0)
        return -1;
    *ret = process_status_ok(result.status);
    return *ret || result.status.code == 1 ? 0 : tool_fail(tool_argv(&tool, &words), &result, err);
}

int ruleset_change(struct state_run *run, const struct rule_args *args, const char *verb,
                   const char *position, bool rule, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };

    add_head(&tool, args, verb, &words);
    if (position)
        tool_add(&tool, &words, position);
    if (rule)
        rule_add(&tool, args, &words);
    return tool_run(&tool, tool_argv(&tool, &words), NULL, NULL, err);
}

int ruleset_command(struct state_run *run, const struct rule_args *args, const char *verb,
                    const char *const *more, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };

    add_head(&tool, args, verb, &words);
    for (; more && *more; more++)
        tool_add(&tool, &words, *more);
    return tool_run(&tool, tool_argv(&tool, &words), NULL, NULL, err);
}

/* The whole table: a listing of one chain cannot tell a missing one from another mistake. */
static int print_ruleset_table(struct state_run *run, const struct rule_args *args, struct str *ret,
                               struct err *err)
{
    const struct tool tool = run_tool(run);
    struct rule_args whole = *args;
    struct tool_words words = { 0 };

    whole.chain = NULL;
    add_head(&tool, &whole, "--list-rules", &words);
    return tool_run(&tool, tool_argv(&tool, &words), NULL, ret, err);
}

/* "-P INPUT ACCEPT" or "-N chain", then the rules. */
int ruleset_list(struct state_run *run, const struct rule_args *args, struct ruleset_chain *ret,
                 struct err *err)
{
    struct str text;
    struct line line;

    *ret = (struct ruleset_chain){ 0 };
    if (print_ruleset_table(run, args, &text, err) < 0)
        return -1;
    while (lines_next(&text, &line)) {
        struct str rest = line.text;
        const struct str kind = lines_word(&rest);

        if (!str_is(lines_word(&rest), args->chain))
            continue;
        ret->exists = true;
        if (str_is(kind, "-A"))
            VEC_PUSH_IN(run->arena, &ret->rules, arena_str(run->arena, line.text).p);
        else if (str_is(kind, "-P"))
            ret->policy = arena_str(run->arena, lines_word(&rest)).p;
    }
    return 0;
}

int ruleset_chains(struct state_run *run, const struct rule_args *args, struct param_strs *ret,
                   struct err *err)
{
    VEC(const char *) names = { 0 };
    struct str text;
    struct line line;

    if (print_ruleset_table(run, args, &text, err) < 0)
        return -1;
    while (lines_next(&text, &line)) {
        struct str rest = line.text;
        const struct str kind = lines_word(&rest);

        if (str_is(kind, "-P") || str_is(kind, "-N"))
            VEC_PUSH_IN(run->arena, &names, arena_str(run->arena, lines_word(&rest)).p);
    }
    *ret = (struct param_strs){ names.n, names.p };
    return 0;
}

/* --- going back ------------------------------------------------------------------------- */

struct value ruleset_note(struct state_run *run, const struct ruleset_chain *chain)
{
    struct value_list *lines = value_list_new(run->arena, chain->rules.n);

    VEC_EACH (&chain->rules, rule)
        value_list_push(run->arena, lines, value_text(*rule));
    return value_list(lines);
}

int ruleset_restore(struct state_run *run, const struct rule_args *args, struct str lines,
                    struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct tool tool = run_tool(run);
    struct tool_options options = { 0 };

    buf_printf(&text, "*%s\n%.*sCOMMIT\n", args->table, STR_ARG(lines));
    options.input = buf_view(&text);
    return tool_run(&tool, TOOL(families[args->descendants].restore, "--wait", "--noflush"),
                    &options, NULL, err);
}

/* --- the file --------------------------------------------------------------------------- */

static const struct {
    const char *descendants, *files[ARRAY_LEN(families)];
} places[] = {
    { "RedHat", { "/etc/sysconfig/iptables", "/etc/sysconfig/ip6tables" } },
    { "Arch", { "/etc/iptables/iptables.rules", "/etc/iptables/ip6tables.rules" } },
    { "Alpine", { "/etc/iptables/rules-save", "/etc/iptables/rules6-save" } },
    { "Debian", { "/etc/iptables/rules.v4", "/etc/iptables/rules.v6" } },
};

const char *ruleset_file(struct state_run *run, const struct rule_args *args)
{
    const char *descendants = value_get_text(state_grains(run), "os_family");
    size_t i = 0;

    if (!args->save || !value_is_true(args->save))
        return NULL;
    if (args->save->kind == VALUE_STR)
        return args->save->s.p;
    while (i + 1 < ARRAY_LEN(places) &&
           !(descendants && strcmp(descendants, places[i].descendants) == 0))
        i++;
    return places[i].files[args->descendants];
}

/* Without comments, which hold the time, and without counters: the same rules are the same text. */
static int print_chain_rules(struct state_run *run, const struct rule_args *args, struct buf *out,
                             struct err *err)
{
    const struct tool tool = run_tool(run);
    struct str text;
    struct line line;

    if (tool_run(&tool, TOOL(families[args->descendants].save), NULL, &text, err) < 0)
        return -1;
    while (lines_next(&text, &line)) {
        const size_t counters =
            str_starts(line.text, STR(":")) ? str_find_char(line.text, '[', 0) : STR_NONE;

        if (str_starts(line.text, STR("#")))
            continue;
        buf_add_str(out, counters == STR_NONE ? line.text : str_slice(line.text, 0, counters));
        buf_add_text(out, counters == STR_NONE ? "\n" : "[0:0]\n");
    }
    return 0;
}

/* The lines of one chain in a file, with its policy. */
static void add_saved(struct str text, const struct rule_args *args, struct buf *out)
{
    bool inside = false;
    struct line line;

    while (lines_next(&text, &line)) {
        struct str rest = line.text;
        const struct str first = lines_word(&rest);
        struct str second = lines_word(&rest);

        if (str_starts(first, STR("*")))
            inside = str_is(str_from_offset(first, 1), args->table);
        else if (inside && str_starts(first, STR(":")) &&
                 str_is(str_from_offset(first, 1), args->chain))
            buf_printf(out, "%.*s\n", STR_ARG(second));
        else if (inside && str_is(first, "-A") && str_is(second, args->chain))
            buf_printf(out, "%.*s\n", STR_ARG(line.text));
    }
}

static int is_saved(struct state_run *run, const struct rule_args *args, const char *path,
                    struct str rules, bool *ret, struct err *err)
{
    AUTO_BUF struct buf have = BUF_INIT(BUF_NO_LIMIT), want = BUF_INIT(BUF_NO_LIMIT);
    struct str text;

    if (fs_read(run->arena, path, FILE_MAX, &text, err) < 0)
        return -1;
    if (text.p && args->chain) {
        add_saved(text, args, &have);
        add_saved(rules, args, &want);
        *ret = str_eq(buf_view(&have), buf_view(&want));
    } else {
        *ret = text.p && str_eq(text, rules);
    }
    return 0;
}

int ruleset_check_saved(struct state_run *run, const struct rule_args *args, struct err *err)
{
    AUTO_BUF struct buf rules = BUF_INIT(BUF_NO_LIMIT);
    const char *path = ruleset_file(run, args);
    bool saved;

    if (!path || run->differs)
        return 0;
    if (print_chain_rules(run, args, &rules, err) < 0 ||
        is_saved(run, args, path, buf_view(&rules), &saved, err) < 0)
        return -1;
    if (!saved) {
        state_differs(run, "the rules are not saved in %s", path);
        state_made(run, "saved the rules in %s", path);
    }
    return 0;
}

int ruleset_save(struct state_run *run, const struct rule_args *args, bool *ret_changed,
                 struct err *err)
{
    AUTO_BUF struct buf rules = BUF_INIT(BUF_NO_LIMIT);
    const char *path = ruleset_file(run, args);
    bool saved;

    if (!path)
        return 0;
    if (print_chain_rules(run, args, &rules, err) < 0 ||
        is_saved(run, args, path, buf_view(&rules), &saved, err) < 0)
        return -1;
    if (saved)
        return 0;
    *ret_changed = true;
    if (change_make_parents(run, path, err) < 0)
        return -1;
    return change_write(run, path, buf_view(&rules), NULL, err);
}
