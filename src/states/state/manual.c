#include "states/state/manual.h"

#include <string.h>

#include "core/base/buf.h"
#include "states/state/module.h"

#define WIDTH          100
#define EXAMPLE_FOLDER "/tmp"

static struct str cut_manual_family(const struct module *module)
{
    struct str rest = str_from(module->name);

    return str_cut(&rest, '.');
}

static bool is_state_module(const struct module *module)
{
    return module->apply != NULL;
}

bool manual_print_functions(const struct manual_function *list, const char *name, struct buf *out)
{
    const size_t before = out->n;

    for (const struct manual_function *one = list; one->name; one++) {
        struct str rest = str_from(one->name);
        const struct str descendants = str_cut(&rest, '.');

        if (!name)
            buf_printf(out, "  %-32s %s\n", one->name, one->summary);
        else if (strcmp(one->name, name) == 0 || str_is(descendants, name))
            buf_printf(out, "%s%s - %s\n\n  %s(%s)\n", out->n > 0 ? "\n" : "", one->name,
                       one->summary, one->name, one->signature);
    }
    return out->n > before;
}

void manual_print_index(struct buf *out)
{
    for (size_t i = 0; i < module_count; i++) {
        const struct module *module = module_table[i];

        if (module->flags & MODULE_HIDDEN)
            continue;
        if (i > 0 && !str_eq(cut_manual_family(module), cut_manual_family(module_table[i - 1])))
            buf_add_char(out, '\n');
        buf_printf(out, "  %-32s %s\n", module->name, module->summary);
    }
}

/* Tests run examples in their own folder; readers can paste them. */
static void print_placed(struct str line, struct buf *out)
{
    for (size_t at; (at = str_find(line, STR("ROOT"), 0)) != STR_NONE;) {
        buf_add_str(out, str_slice(line, 0, at));
        buf_add_text(out, EXAMPLE_FOLDER);
        line = str_from_offset(line, at + strlen("ROOT"));
    }
    buf_add_str(out, line);
    buf_add_char(out, '\n');
}

/* An example as written in a state file: arguments two levels deep. */
static void print_example(const struct module *module, struct buf *out)
{
    struct str rest = str_from(module->example);

    if (str_is(str_trim(rest), "{}")) {
        buf_printf(out, "  my_state:\n    %s: []\n", module->name);
        return;
    }
    buf_printf(out, "  my_state:\n    %s:\n", module->name);
    while (rest.p && rest.n > 0) {
        struct str line = str_cut(&rest, '\n');
        bool nested = line.n > 0 && (line.p[0] == ' ' || line.p[0] == '-');

        buf_printf(out, "      %s", nested ? "  " : "- ");
        print_placed(line, out);
    }
}

/* Without its primary parameter, a state uses its ID. */
static const char *describe_primary(const struct module *module)
{
    const struct param *primary = params_find_primary(module->params);

    return is_state_module(module) && primary && (primary->flags & PARAM_REQUIRED) ? "the ID"
                                                                                   : NULL;
}

/* Wrap paragraphs for the screen; lines that begin with a blank stay as they are. */
static void print_wrapped_text(struct str text, struct buf *out)
{
    while (text.p && text.n > 0) {
        struct str line = str_cut(&text, '\n');
        const bool as_it_is = line.n > 0 && line.p[0] == ' ';
        size_t column = 0;

        for (struct str rest = line, word; !as_it_is && rest.p && rest.n > 0; column += word.n) {
            word = str_cut(&rest, ' ');
            if (column > 0 && column + 1 + word.n > WIDTH) {
                buf_add_char(out, '\n');
                column = 0;
            }
            if (column > 0) {
                buf_add_char(out, ' ');
                column++;
            }
            buf_add_str(out, word);
        }
        if (as_it_is)
            buf_add_str(out, line);
        buf_add_char(out, '\n');
    }
    buf_add_char(out, '\n');
}

static void print_module(const struct module *module, struct buf *out)
{
    buf_printf(out, "%s - %s\n\n", module->name, module->summary);
    if (module->details)
        print_wrapped_text(str_trim_right(str_from(module->details)), out);
    if (module->params && module->params->name) {
        buf_add_text(out, "parameters:\n");
        params_print_doc(module->params, describe_primary(module), out);
        buf_add_char(out, '\n');
    }
    if (is_state_module(module) && module->example) {
        buf_add_text(out, "example:\n");
        print_example(module, out);
    }
}

bool manual_print(struct str name, struct buf *out)
{
    bool found = false;

    for (size_t i = 0; i < module_count; i++) {
        const struct module *module = module_table[i];

        if (!str_is(name, module->name) && !str_eq(name, cut_manual_family(module)))
            continue;
        if (found)
            buf_add_char(out, '\n');
        print_module(module, out);
        found = true;
    }
    return found;
}

static void put_manual_text(struct arena *arena, struct value_map *map, const char *key,
                            const char *text)
{
    if (text)
        value_map_set(arena, map, value_text(key), value_text(text));
}

static const char *print_example_text(struct arena *arena, const struct module *module)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    if (!is_state_module(module))
        return NULL;
    print_example(module, &out);
    return buf_copy(&out, arena).p;
}

struct value manual_value(struct arena *arena, const struct module *module)
{
    struct value_map *map = value_map_new(arena, 6);

    put_manual_text(arena, map, "name", module->name);
    put_manual_text(arena, map, "kind", is_state_module(module) ? "state" : "function");
    put_manual_text(arena, map, "summary", module->summary);
    put_manual_text(arena, map, "details", module->details);
    put_manual_text(arena, map, "example",
                    module->example ? print_example_text(arena, module) : NULL);
    value_map_set(arena, map, value_text("parameters"), params_doc_value(arena, module->params));
    return value_map(map);
}

static void print_module_markdown(const struct module *module, struct buf *out)
{
    buf_printf(out, "\n### %s\n\n%s%s.\n", module->name,
               is_state_module(module) ? "" : "Function: ", module->summary);
    if (module->details)
        buf_printf(out, "\n%.*s\n", STR_ARG(str_trim_right(str_from(module->details))));
    if (module->params && module->params->name) {
        buf_add_char(out, '\n');
        params_print_markdown(module->params, describe_primary(module), out);
    }
    if (is_state_module(module) && module->example) {
        buf_add_text(out, "\n```yaml\n");
        print_example(module, out);
        buf_add_text(out, "```\n");
    }
}

void manual_print_markdown(struct buf *out)
{
    struct str descendants = { NULL, 0 };

    buf_add_text(out, "# Modules\n\nWritten by `make docs` from the modules' own tables: what "
                      "`zester doc` shows. The attributes and requisites of every\nstate are in "
                      "[states.md](states.md).\n");
    for (size_t i = 0; i < module_count; i++) {
        const struct module *module = module_table[i];

        if (module->flags & MODULE_HIDDEN)
            continue;
        if (!str_eq(descendants, cut_manual_family(module))) {
            descendants = cut_manual_family(module);
            buf_printf(out, "\n## %.*s\n", STR_ARG(descendants));
        }
        print_module_markdown(module, out);
    }
}
