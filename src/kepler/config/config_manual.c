#include "kepler/config/config_manual.h"

#include "core/base/buf.h"
#include "core/base/suggest.h"
#include "core/data/params.h"

void config_manual_print_index(struct buf *out)
{
    for (const struct config_chapter *c = config_chapters; c->name; c++)
        buf_printf(out, "  %-14s %s\n", c->name, c->summary);
}

static void print_indented_chapter(struct buf *out, const char *text)
{
    struct str rest = str_from(text);

    while (rest.p && rest.n > 0) {
        struct str line = str_cut(&rest, '\n');

        buf_printf(out, line.n > 0 ? "  %.*s\n" : "%.*s\n", STR_ARG(line));
    }
}

static void add_chapter_text(const struct config_chapter *c, struct buf *out)
{
    buf_add_text(out, c->details);
    if (c->list) {
        buf_add_char(out, '\n');
        c->list(out);
    }
    if (c->more)
        buf_printf(out, "\n%s", c->more);
}

static void print_chapter(const struct config_chapter *c, struct buf *out)
{
    buf_printf(out, "%s - %s\n\n", c->name, c->summary);
    if (c->where)
        buf_printf(out, "in the file: %s\n\n", c->where);
    add_chapter_text(c, out);
    if (c->params) {
        buf_add_text(out, "\nkeys:\n");
        params_print_doc(c->params, NULL, out);
    }
    if (c->example) {
        buf_add_text(out, "\nexample:\n");
        print_indented_chapter(out, c->example);
    }
}

bool config_manual_print(struct str name, struct buf *out)
{
    for (const struct config_chapter *c = config_chapters; c->name; c++)
        if (str_is(name, c->name)) {
            print_chapter(c, out);
            return true;
        }
    return false;
}

const char *config_manual_suggest(struct str name)
{
    struct suggest s;

    suggest_init(&s, name);
    for (const struct config_chapter *c = config_chapters; c->name; c++)
        suggest_offer(&s, str_from(c->name));
    return suggest_best(&s).p;
}

/* Indented lines are a code block; Markdown needs two more blanks for that. */
static void print_chapter_details(const struct config_chapter *c, struct buf *out)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct str rest;

    add_chapter_text(c, &text);
    rest = buf_view(&text);
    while (rest.p && rest.n > 0) {
        struct str line = str_cut(&rest, '\n');

        buf_printf(out, "%s%.*s\n", line.n > 0 && line.p[0] == ' ' ? "  " : "", STR_ARG(line));
    }
}

static void print_chapter_markdown(const struct config_chapter *c, struct buf *out)
{
    buf_printf(out, "\n## %s\n\n", c->name);
    if (c->where)
        buf_printf(out, "`%s`: %s.\n\n", c->where, c->summary);
    print_chapter_details(c, out);
    if (c->params) {
        buf_add_char(out, '\n');
        params_print_markdown(c->params, NULL, out);
    }
    if (c->example)
        buf_printf(out, "\n```yaml\n%s```\n", c->example);
}

void config_manual_print_markdown(struct buf *out)
{
    buf_add_text(out, "# The config file of kepler\n"
                      "\n"
                      "Written by `make docs` from the tables that parse the file: what `kepler "
                      "doc` shows. The commands and\nthe daemon are in "
                      "[kepler.md](kepler.md).\n");
    for (const struct config_chapter *c = config_chapters; c->name; c++)
        print_chapter_markdown(c, out);
}
