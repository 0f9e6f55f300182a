/*
 * template - a parsed template: its text, its tree, its blocks.
 *
 * Made by template_new from text, then never changed; any number of renderings may run it.
 * Positions in the tree are byte offsets into `text`; line and column are computed only for
 * messages.
 *
 * Memory: a template owns an arena with all its parts. Threads: one.
 */
#ifndef LANGUAGE_JINJA_TEMPLATE_H
#define LANGUAGE_JINJA_TEMPLATE_H

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "language/jinja/node.h"

struct diags;
struct jinja;

struct template
{
    struct jinja *jinja;
    const char *name;
    struct str text;     /* line ends are \n */
    struct str original; /* the original text */
    VEC(uint32_t) lines; /* the start of each line but the first */
    struct nodes body;
    struct code code; /* code of the body, as a function */
    struct scope scope;
    bool uses_self;
    int32_t self_slot; /* slot of `self`; -1: not used */
    struct node_block **blocks;
    size_t block_count;
    VEC(const struct node_name *) free_names; /* reads of undefined names, without blocks */
    VEC(const struct name *) asked_names;     /* names that it tests for being defined */
    bool has_extends;                         /* output must ask whether a parent was named */
    struct arena arena;
};

/* Parse and compile. NULL, and at least one more diagnostic, when the text is not a valid template.
 * The text is borrowed unless `copy`. */
struct template *template_new(struct jinja *jinja, const char *name, struct str text, bool copy,
                              struct diags *diags);
void template_free(struct template *template);

struct place template_place(const struct template *template, uint32_t at);
/* The same for a diagnostic, which may outlive the template. */
struct place template_diag_place(const struct template *template, uint32_t at,
                                 const struct diags *diags);
/* Was it made from exactly this text? */
bool template_is(const struct template *template, struct str text);

#endif
