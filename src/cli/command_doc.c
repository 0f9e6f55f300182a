/* zester doc: the manual of what templates can call, from its tables. */
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "jinja/function.h"

#define MANUAL_MAX ((size_t)4 << 20)

static void add_function(struct buf *out, const struct function *function, bool call)
{
    size_t start = out->n;

    if (call)
        buf_printf(out, "  %s(%s)", function->name, function->signature);
    else
        buf_printf(out, "  %s: %s", function->name, function->signature);
    if (out->n - start < 40)
        buf_fill(out, ' ', 40 - (out->n - start));
    else
        buf_printf(out, "\n%40s", "");
    buf_printf(out, "%s\n", function->summary);
}

static void add_kind(struct buf *out, const char *kind, const char *heading)
{
    bool call = strcmp(kind, "global") == 0;

    buf_printf(out, "%s\n\n", heading);
    for (const struct function *const *table = function_tables(kind); *table; table++)
        for (const struct function *f = *table; f->name; f++)
            add_function(out, f, call);
    buf_add_char(out, '\n');
}

static int run(struct cli *cli, const void *args, struct param_strs operands)
{
    AUTO_BUF struct buf out = BUF_INIT(MANUAL_MAX);

    (void)args;
    if (operands.n > 0 && strcmp(operands.p[0], "jinja") != 0)
        return cli_usage(cli, "nothing is known of '%s': there is 'jinja'", operands.p[0]);
    add_kind(&out, "filter", "filters, used as value|name(...); the first argument is the value");
    add_kind(&out, "test", "tests, used as value is name(...); the first argument is the value");
    add_kind(&out, "global", "functions");
    (void)fputs(buf_text(&out), stdout);
    return CLI_OK;
}

const struct command command_doc = {
    .name = "doc",
    .operands = "[jinja]",
    .summary = "what templates can use: filters, tests, functions",
    .least = 0,
    .most = 1,
    .run = run,
};
