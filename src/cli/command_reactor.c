/* zester reactor: rules for events. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/err.h"
#include "cli/commands.h"
#include "compile/tree.h"
#include "reactor/reaction.h"
#include "reactor/rule_check.h"
#include "reactor/rule_set.h"
#include "sys/clock.h"
#include "sys/path.h"

struct files {
    VEC(struct rule_file) list;
};

static int read_files(struct cli *cli, const struct tree *tree, const char *folder,
                      struct files *ret_files, struct err *err)
{
    struct tree_names names;

    if (tree_list(tree, cli->arena, "", &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, path) {
        struct rule_file file = { *path, path_join(cli->arena, folder, *path), { NULL, 0 } };

        if (!str_ends(str_from(*path), STR(RULE_SET_SUFFIX)))
            continue;
        if (tree_read(tree, cli->arena, *path, &file.text, err) < 0)
            return -1;
        VEC_PUSH_IN(cli->arena, &ret_files->list, file);
    }
    return 0;
}

static int64_t tell_time(void *user)
{
    (void)user;
    return clock_now();
}

static void print_lints(const struct diags *lints)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    diags_print(lints, &out);
    (void)fputs(buf_text(&out), stderr);
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static int check_files(struct cli *cli, const char *folder, const struct files *files)
{
    const struct reaction_options options = { .now = tell_time, .lenient = true };
    struct diags diags = DIAGS_INIT(cli->arena), lints = DIAGS_INIT(cli->arena);
    struct reaction_env *env = reaction_env_new(&options);
    struct rule_check_result result;
    const int status = rule_check(env, files->list.p, files->list.n, &result, &diags, &lints);

    reaction_env_free(env);
    if (status < 0)
        (void)cli_diags(cli, &diags);
    print_lints(&lints);
    if (status < 0)
        return cli_error(cli, "%s: %zu mistake%s", folder, diags_count(&diags),
                         plural(diags_count(&diags)));
    printf("%s: %zu rule%s, %zu reaction file%s", folder, result.rules, plural(result.rules),
           result.files, plural(result.files));
    if (diags_count(&lints) > 0)
        printf(", %zu warning%s", diags_count(&lints), plural(diags_count(&lints)));
    printf("\n");
    return CLI_OK;
}

static int run_check(struct cli *cli, const void *args, struct param_strs operands)
{
    const char *folder = operands.p[0];
    struct files files = { VEC_INIT };
    struct tree *tree;
    struct err err;
    int status;

    (void)args;
    tree = tree_new(folder, &err);
    if (!tree)
        return cli_err(cli, &err);
    if (read_files(cli, tree, folder, &files, &err) < 0)
        status = cli_err(cli, &err);
    else if (files.list.n == 0)
        status = cli_error(cli, "no " RULE_SET_SUFFIX " files in '%s'", folder);
    else
        status = check_files(cli, folder, &files);
    tree_free(tree);
    return status;
}

static const struct command reactor_commands[] = {
    {
        .name = "check",
        .operands = "DIR",
        .summary = "find every mistake in a folder of rules",
        .details =
            "DIR holds top.zy and the reaction files. Mistakes are reported with file, line\n"
            "and column, all at once. Reactions that are templates are checked as far as\n"
            "possible without an event: syntax, and names of actions and fields.\n"
            "Rules that are allowed and probably wrong are warnings.\n",
        .examples = "  zester reactor check /var/lib/zester/reactor\n",
        .options = params_none,
        .least = 1,
        .most = 1,
        .run = run_check,
    },
    { 0 },
};

const struct command command_reactor = {
    .name = "reactor",
    .operands = "",
    .summary = "rules that react to events",
    .examples = "  zester reactor check /var/lib/zester/reactor\n",
    .commands = reactor_commands,
};
