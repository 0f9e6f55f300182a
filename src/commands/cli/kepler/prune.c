/* kepler prune: remove what is stored of configs that do not run. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/number.h"
#include "commands/cli/kepler/client.h"
#include "commands/cli/kepler/kepler.h"

#define HASH_SHOWN 8

struct prune_args {
    struct kepler_globals globals;
    bool force, dry_run;
};

#define ARGS struct prune_args

static const struct param prune_options[] = {
    PARAM("force", BOOL, ARGS, force, "also stop and remove configs that run"),
    PARAM("dry-run", BOOL, ARGS, dry_run, "only list what would be removed"),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};
#undef ARGS

static void print_pruned(const struct value *configs, bool verbose, struct buf *out)
{
    uint64_t total = 0;
    size_t count = 0;

    for (size_t i = 0; configs && value_is(configs, VALUE_LIST) && i < configs->list->count; i++) {
        const struct value *one = &configs->list->items[i], *size = value_get(one, "size");
        uint64_t bytes = size && value_is(size, VALUE_INT) ? (uint64_t)size->i : 0;
        const char *word = value_get_view(one, "status").p;

        buf_printf(out, "%s  %s  %.*s  ", word, value_get_view(one, "path").p,
                   verbose ? INT_MAX : HASH_SHOWN, value_get_view(one, "hash").p);
        number_print_size(bytes, out);
        buf_add_char(out, '\n');
        if (strcmp(word, "running") == 0 || strncmp(word, "failed", strlen("failed")) == 0)
            continue;
        total += bytes;
        count++;
    }
    buf_printf(out, "Total: %zu config%s, ", count, count == 1 ? "" : "s");
    number_print_size(total, out);
    buf_add_char(out, '\n');
}

static int run_prune(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct prune_args *args = raw;
    const struct request_prune prune = { args->force, args->dry_run };
    AUTO_BUF struct buf out = BUF_INIT(KEPLER_OUTPUT_MAX);
    struct value body;
    int status = kepler_ask(cli->arena, REQUEST_PRUNE, &prune, &body);

    (void)operands;
    if (status != 0)
        return status;
    print_pruned(value_get(&body, "configs"), args->globals.verbose, &out);
    (void)fputs(buf_text(&out), stdout);
    return KEPLER_OK;
}

const struct command kepler_command_prune = {
    .name = "prune",
    .operands = "",
    .summary = "remove stored data of configs that do not run",
    .details =
        "Removes state, logs and outputs of all configs of this daemon that have no running\n"
        "service. Configs whose file is gone are listed as orphaned. Requires root, or the user\n"
        "who runs the daemon.\n",
    .examples = "  kepler prune --dry-run\n  kepler prune\n",
    .options = prune_options,
    .args_size = sizeof(struct prune_args),
    .least = 0,
    .most = 0,
    .run = run_prune,
};
