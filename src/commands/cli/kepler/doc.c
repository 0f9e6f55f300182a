/* kepler doc: the manual of the config file, from the tables that parse it. */
#include <stdio.h>

#include "core/base/buf.h"
#include "commands/cli/kepler/kepler.h"
#include "kepler/config/config_manual.h"

#define MANUAL_MAX ((size_t)1 << 20)

enum doc_format { FORMAT_TEXT, FORMAT_MARKDOWN };

struct doc_args {
    struct kepler_globals globals;
    enum doc_format format;
};

#define ARGS struct doc_args
static const struct param options[] = {
    PARAM("format", CHOICE, ARGS, format, "output format; markdown prints the whole manual",
          .choices = "text|markdown", .default_text = "text"),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};
#undef ARGS

static int refuse_chapter(const char *name)
{
    const char *near = config_manual_suggest(str_from(name));

    if (near)
        return kepler_error("unknown chapter '%s' (did you mean '%s'?)", name, near);
    return kepler_error("unknown chapter '%s'; 'kepler doc' lists them", name);
}

static int run_kepler_doc(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct doc_args *how = args;
    AUTO_BUF struct buf out = BUF_INIT(MANUAL_MAX);

    if (how->format == FORMAT_MARKDOWN && operands.n > 0)
        return cli_usage(cli, "--format markdown prints the whole manual and takes no CHAPTER");
    if (how->format == FORMAT_MARKDOWN) {
        config_manual_print_markdown(&out);
    } else if (operands.n == 0) {
        config_manual_print_index(&out);
        buf_add_text(&out, "\nsee 'kepler doc CHAPTER' for details\n");
    } else if (!config_manual_print(str_from(operands.p[0]), &out)) {
        return refuse_chapter(operands.p[0]);
    }
    (void)fputs(buf_text(&out), stdout);
    return KEPLER_OK;
}

static void add_doc_topics(struct buf *out)
{
    for (const struct config_chapter *chapter = config_chapters; chapter->name; chapter++)
        buf_printf(out, " %s", chapter->name);
}

const struct command kepler_command_doc = {
    .name = "doc",
    .operands = "[CHAPTER]",
    .summary = "show the manual of the config file: services, conditions, hooks, expressions",
    .examples = "  kepler doc\n  kepler doc depends_on\n",
    .options = options,
    .args_size = sizeof(struct doc_args),
    .least = 0,
    .most = 1,
    .run = run_kepler_doc,
    .words = add_doc_topics,
};
