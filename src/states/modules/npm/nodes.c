#include "states/modules/npm/nodes.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/process.h"

int nodes_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct nodes_args *want = args;

    return validate_text("name", want->name, VALIDATE_ARGUMENT, where, diags) |
           validate_texts("pkgs", want->pkgs, VALIDATE_ARGUMENT, where, diags) |
           validate_text("registry", want->registry, VALIDATE_ARGUMENT, where, diags) |
           validate_text("user", want->user, VALIDATE_USER, where, diags);
}

void nodes_split(const char *package, struct str *ret_name, struct str *ret_version)
{
    const char *at = strrchr(package, '@');

    *ret_name = str_from(package);
    *ret_version = STR("");
    if (at && at > package) {
        ret_name->n = (size_t)(at - package);
        *ret_version = str_from(at + 1);
    }
}

/* --- the program ------------------------------------------------------------------------ */

bool nodes_is_missing(struct state_run *run)
{
    return !tool_find(run->arena, "npm");
}

static const char *const *make_nodes_argv(const struct tool *tool, const struct nodes_args *args,
                                          const char *const *words)
{
    struct tool_words all = { 0 };

    tool_add(tool, &all, "npm");
    for (; *words; words++)
        tool_add(tool, &all, *words);
    if (!args->dir)
        tool_add(tool, &all, "--global");
    if (args->registry)
        tool_add(tool, &all, arena_printf(tool->arena, "--registry=%s", args->registry));
    return tool_argv(tool, &all);
}

int nodes_try(struct state_run *run, const struct nodes_args *args, const char *const *words,
              struct process_result *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    const char **env = ARENA_ARRAY(run->arena, const char *, args->env.n + 4);
    const struct tool_options options = { .cwd = args->dir, .runas = args->user, .env = env };
    size_t n = 0;

    /* nothing that asks, and nothing that it says about itself */
    env[n++] = "npm_config_update_notifier=false";
    env[n++] = "npm_config_fund=false";
    env[n++] = "npm_config_audit=false";
    for (size_t i = 0; i < args->env.n; i++)
        env[n++] = arena_printf(run->arena, "%s=%s", args->env.p[i].key, args->env.p[i].value);
    env[n] = NULL;
    return tool_try(&tool, make_nodes_argv(&tool, args, words), &options, ret, err);
}

int nodes_run(struct state_run *run, const struct nodes_args *args, const char *const *words,
              struct err *err)
{
    const struct tool tool = run_tool(run);
    struct process_result result;

    if (nodes_try(run, args, words, &result, err) < 0)
        return -1;
    if (!process_status_ok(result.status))
        return tool_fail(make_nodes_argv(&tool, args, words), &result, err);
    return 0;
}

/* --- what is installed ------------------------------------------------------------------- */

/* npm exits 1 when something is wrong with what it lists, and lists it all the same. */
int nodes_list(struct state_run *run, const struct nodes_args *args, const char *package,
               struct value *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    const char *const words[] = { "list", "--json", "--depth=0", package, NULL };
    struct diags diags = DIAGS_INIT(run->arena);
    struct value_map *found = value_map_new(run->arena, 8);
    const struct value *all;
    struct process_result result;
    struct value tree;

    *ret = value_map(found);
    if (nodes_try(run, args, words, &result, err) < 0)
        return -1;
    if (json_parse(run->arena, "npm list", result.out, &tree, &diags) < 0 || tree.kind != VALUE_MAP)
        return tool_fail(make_nodes_argv(&tool, args, words), &result, err);
    all = value_get(&tree, "dependencies");
    for (size_t i = 0; value_is(all, VALUE_MAP) && i < all->map->count; i++) {
        const char *version = value_get_text(&all->map->pairs[i].value, "version");

        if (version)
            value_map_set(run->arena, found, all->map->pairs[i].key, value_text(version));
    }
    return 0;
}

int nodes_look(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    return nodes_list(run, args, NULL, ret, err);
}

/* --- going back -------------------------------------------------------------------------- */

/* Packages of `of` that `in` does not have, or not at that version. */
static int change_each(struct state_run *run, const struct nodes_args *args, const char *verb,
                       const struct value *of, const struct value *in, size_t *ret_changes,
                       struct err *err)
{
    for (size_t i = 0; i < of->map->count; i++) {
        const char *name = of->map->pairs[i].key.s.p, *version = of->map->pairs[i].value.s.p;
        const char *other = value_get_text(in, name);
        const bool removes = strcmp(verb, "uninstall") == 0;

        if (removes ? other != NULL : other && strcmp(other, version) == 0)
            continue;
        (*ret_changes)++;
        if (nodes_run(run, args,
                      TOOL(verb, removes ? name : arena_printf(run->arena, "%s@%s", name, version),
                           "--loglevel=error"),
                      err) < 0)
            return -1;
    }
    return 0;
}

int nodes_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct value *before = state_noted(run, "before"), *after = state_noted(run, "after");
    size_t changes = 0;

    if (!value_is(before, VALUE_MAP) || !value_is(after, VALUE_MAP)) {
        state_unchanged(run);
        return 0;
    }
    if (change_each(run, args, "uninstall", after, before, &changes, err) < 0 ||
        change_each(run, args, "install", before, after, &changes, err) < 0)
        return -1;
    if (changes == 0)
        state_unchanged(run);
    state_say(run, "restored %zu packages", changes);
    return 0;
}
