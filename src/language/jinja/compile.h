/*
 * compile - turns names into slots, filters and tests into functions.
 *
 * The second pass over a parsed template, scope by scope: first all names of a scope are entered
 * into its symbols in the order of the text (compile_names.c), then its nodes are completed and the
 * scopes inside it follow (compile.c). Repeated work of the evaluator is done here once: constants
 * are folded, functions found, signatures parsed.
 *
 * Memory: the arena of the template. Threads: one.
 */
#ifndef LANGUAGE_JINJA_COMPILE_H
#define LANGUAGE_JINJA_COMPILE_H

#include "language/jinja/node.h"

struct diags;
struct symbols;
struct template;

/* Complete the tree. Unknown filters and tests are mistakes, except inside an `if`: there they fail
 * when they run, as in Jinja2. */
int compile_template(struct template *template, struct diags *diags);

/* Enter the names that expressions read, targets assign and statements use into `symbols`; inner
 * scopes are skipped. */
void compile_names_of(struct symbols *symbols, const struct node *node);
void compile_names_of_all(struct symbols *symbols, struct nodes nodes);
void compile_names_of_target(struct symbols *symbols, const struct node *target, enum node_use use);

#endif
