/* zester doc: the manual, from the tables of modules and template functions. */
#include "commands/cli/local/commands.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/compile/host_filters.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "language/jinja/filters/builtins.h"
#include "language/jinja/function.h"
#include "states/local/agent.h"
#include "states/local/functions.h"
#include "states/state/manual.h"
#include "states/state/module.h"

#define MANUAL_MAX ((size_t)4 << 20)

static void add_doc_function(struct buf *out, const struct function *function, bool call)
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

static void add_kind(struct buf *out, function_tables all, bool call, const char *heading)
{
    buf_printf(out, "%s\n\n", heading);
    for (function_tables tables = all; *tables; tables++)
        for (const struct function *f = *tables; f->name; f++)
            if (builtins_find(all, str_from(f->name)) == f)
                add_doc_function(out, f, call);
    buf_add_char(out, '\n');
}

enum doc_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_MARKDOWN };

struct doc_args {
    int format;
    bool json;
};

static const struct param options[] = {
    PARAM("format", CHOICE, struct doc_args, format,
          "output format; markdown prints the manual of all modules",
          .choices = "text|json|markdown", .default_text = "text"),
    PARAM("json", BOOL, struct doc_args, json, "the same as --format json"),
    { 0 },
};

static void add_jinja(struct arena *arena, struct buf *out)
{
    add_kind(out, host_filters_builtins(arena)->filters, false,
             "filters, used as value|name(...); the first argument is the value");
    add_kind(out, filter_builtins.tests, false,
             "tests, used as value is name(...); the first argument is the value");
    add_kind(out, filter_builtins.globals, true, "functions");
}

/* Matches the name of a module or of its family. */
static bool has_doc_name(const char *full, const char *name)
{
    const size_t n = strlen(name);

    return strcmp(full, name) == 0 || (strncmp(full, name, n) == 0 && full[n] == '.');
}

/* Functions of states and templates; all of them without a name. False: none is called so. */
static bool add_functions(struct cli *cli, struct buf *out, const char *name)
{
    return manual_print_functions(functions_list(cli->arena), name, out);
}

/* The functions that only an agent has; all of them without a name. False: none is called so. */
static bool add_agent_functions(struct buf *out, const char *name)
{
    const size_t before = out->n;

    for (const struct agent_function *one = agent_functions; one->name; one++)
        if (!name || has_doc_name(one->name, name))
            buf_printf(out, "  %-32s %s\n", one->name, one->summary);
    return out->n > before;
}

static void add_index(struct cli *cli, struct buf *out)
{
    manual_print_index(out);
    buf_add_text(out, "\nof states and templates, without a module:\n\n");
    (void)add_functions(cli, out, NULL);
    buf_add_text(out, "\nof a peel, in jobs alone:\n\n");
    (void)add_agent_functions(out, NULL);
}

/* A family may have modules and functions of other kinds. */
static bool add_manual(struct cli *cli, struct buf *out, const char *name)
{
    bool found = manual_print(str_from(name), out);

    found = add_functions(cli, out, name) || found;
    return add_agent_functions(out, name) || found;
}

static bool has_doc_word(struct str text, const char *word)
{
    const size_t n = strlen(word);

    for (; text.n >= n; text = str_from_offset(text, 1))
        if (strncasecmp(text.p, word, n) == 0)
            return true;
    return false;
}

/* In its name, or anywhere in its manual. */
static bool has_manual_word(const struct module *module, const char *word, bool in_name)
{
    AUTO_BUF struct buf manual = BUF_INIT(MANUAL_MAX);

    if (module->flags & MODULE_HIDDEN || has_doc_word(str_from(module->name), word) != in_name)
        return false;
    return in_name ||
           (manual_print(str_from(module->name), &manual) && has_doc_word(buf_view(&manual), word));
}

static void search_functions(struct cli *cli, const char *word, struct buf *out)
{
    for (const struct manual_function *one = functions_list(cli->arena); one->name; one++)
        if (has_doc_word(str_from(one->name), word) || has_doc_word(str_from(one->summary), word))
            buf_printf(out, "  %-32s %s\n", one->name, one->summary);
    for (const struct agent_function *one = agent_functions; one->name; one++)
        if (has_doc_word(str_from(one->name), word) || has_doc_word(str_from(one->summary), word))
            buf_printf(out, "  %-32s %s\n", one->name, one->summary);
}

/* Finds modules by a word, those with it in their names first. False: none. */
static bool add_search(struct cli *cli, struct buf *out, const char *word)
{
    AUTO_BUF struct buf found = BUF_INIT(MANUAL_MAX);

    for (int in_name = 1; in_name >= 0; in_name--)
        for (size_t i = 0; i < module_count; i++)
            if (has_manual_word(module_table[i], word, in_name))
                buf_printf(&found, "  %-32s %s\n", module_table[i]->name, module_table[i]->summary);
    search_functions(cli, word, &found);
    if (found.n == 0)
        return false;
    buf_printf(out, "no module has the name '%s'; these mention it:\n\n", word);
    buf_add_str(out, buf_view(&found));
    buf_add_text(out, "\nsee 'zester doc NAME' for details\n");
    return true;
}

static int unknown_module(struct cli *cli, const char *name)
{
    const char *near = module_suggest(str_from(name));

    if (near)
        return cli_error(cli, "unknown module '%s' (did you mean '%s'?)", name, near);
    return cli_error(cli, "unknown module '%s'; 'zester doc' lists them", name);
}

static int print_doc_json(struct cli *cli, const char *name)
{
    struct value list = value_list(value_list_new(cli->arena, 0));
    AUTO_BUF struct buf out = BUF_INIT(MANUAL_MAX);
    struct err err;

    for (size_t i = 0; i < module_count; i++)
        if (!name || has_doc_name(module_table[i]->name, name))
            value_list_push(cli->arena, list.list, manual_value(cli->arena, module_table[i]));
    if (name && list.list->count == 0)
        return unknown_module(cli, name);
    if (json_print(&out, &list, JSON_STYLE_PRETTY, &err) < 0)
        return cli_err(cli, &err);
    printf("%s\n", buf_text(&out));
    return CLI_OK;
}

static int run_module_doc(struct cli *cli, const void *args, struct param_strs operands)
{
    AUTO_BUF struct buf out = BUF_INIT(MANUAL_MAX);
    const struct doc_args *how = args;
    const char *name = operands.n > 0 ? operands.p[0] : NULL;

    const bool is_json = how->format == FORMAT_JSON || how->json;
    const bool is_jinja = name && strcmp(name, "jinja") == 0;

    if (name && how->format == FORMAT_MARKDOWN)
        return cli_usage(cli,
                         "--format markdown prints the manual of all modules and takes no NAME");
    if (is_json && is_jinja)
        return cli_usage(cli, "'jinja' is available as text only");
    if (is_json)
        return print_doc_json(cli, name);
    if (how->format == FORMAT_MARKDOWN)
        manual_print_markdown(&out);
    else if (is_jinja)
        add_jinja(cli->arena, &out);
    else if (!name)
        add_index(cli, &out);
    else if (!add_manual(cli, &out, name) && !add_search(cli, &out, name))
        return unknown_module(cli, name);
    (void)fputs(buf_text(&out), stdout);
    if (!name && how->format == FORMAT_TEXT)
        printf(
            "\nsee 'zester doc NAME' for details; 'zester doc jinja' lists template functions\n");
    return CLI_OK;
}

static void add_doc_words(struct buf *out)
{
    buf_add_text(out, " jinja");
    module_add_names(out);
    agent_function_add_names(out);
}

const struct command command_doc = {
    .name = "doc",
    .operands = "[NAME|FAMILY|WORD|jinja]",
    .summary = "show the manual of modules and template functions",
    .details =
        "Without an argument, lists all modules. NAME is a module, FAMILY the part before\n"
        "its dot; 'jinja' lists the filters, tests and functions of templates. If no module\n"
        "has that name, WORD is searched in the names and texts of all.\n",
    .examples = "  zester doc\n  zester doc file.managed\n  zester doc file\n  zester doc restart\n"
                "  zester doc jinja\n",
    .options = options,
    .args_size = sizeof(struct doc_args),
    .least = 0,
    .most = 1,
    .run = run_module_doc,
    .words = add_doc_words,
};
