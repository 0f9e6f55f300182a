/*
 * eval - running a compiled template.
 *
 * One walk over the tree. Expressions give values (eval_expr.c, eval_call.c),
 * statements write text and change variables (eval_stmt.c); loops, macros, blocks
 * and modules have a file each. All text goes to the end of one buffer: code that
 * needs it as a value (macro, block set, filter block) cuts it off again.
 *
 *     eval_run -> eval_template -> eval_body ... eval_expression
 *
 * Functions return 0, or -1 after render_fail. Statements may also return
 * EVAL_BREAK and EVAL_CONTINUE, which loops handle.
 *
 * Memory: the arena of the rendering. Threads: one.
 */
#ifndef LANGUAGE_JINJA_EVAL_H
#define LANGUAGE_JINJA_EVAL_H

#include <assert.h>

#include "core/base/stack.h"
#include "language/jinja/function.h"
#include "language/jinja/node.h"
#include "language/jinja/object.h"
#include "language/jinja/render.h"

struct buf;
struct context;
struct diags;
struct template_module;
struct name;
struct template;

enum { EVAL_BREAK = 1, EVAL_CONTINUE = 2 };

/* Maximum nesting of expressions and statements at run time, calls included: what fits the stack.
 */
#define EVAL_LEVELS_MAX 3000

/* The variables of a running function. */
struct activation {
    struct activation *outer; /* the function it was defined in */
    struct value slots[];
};

/* The state that changes when another function, template or block begins to run. */
struct running {
    const struct code *code;
    struct activation *activation;
    struct context *context;
    const struct template *template;
    const struct template **parent; /* the template it extends, once it does */
    bool autoescape;
};

struct eval {
    struct render render; /* first member: operations know only this part */
    struct running now;
    struct buf *out;
    const struct template *main; /* the one that was given to jinja_render */
    const struct value *base;
    struct diags *diags;
    uint64_t serial;
    uint32_t levels;
    struct str captured;                   /* the text that a filter without a value works on */
    VEC(struct template_module *) modules; /* imported without context: run once */
    struct trace *trace; /* records the origin of the output; NULL: not recorded */
};

/* Run `template` with the map `base`; appends to `out`. */
int eval_run(struct jinja *jinja, const struct template *template, const struct value *base,
             struct buf *out, struct trace *trace, struct diags *diags);

/* The evaluator behind a rendering. */
struct eval *eval_of(struct render *render);

/* --- running code ------------------------------------------------------------------ */

/* Begin a function: fresh variables. `outer` is the function that defines it. */
void eval_activate(struct eval *eval, const struct code *code, struct activation *outer);
static inline struct value *eval_slot(const struct eval *eval, struct slot slot)
{
    struct activation *activation = eval->now.activation;

    for (uint16_t up = slot.up; up > 0; up--) {
        assert(activation->outer); /* the compiler counted the levels */
        activation = activation->outer;
    }
    return &activation->slots[slot.slot];
}
/* Begin a scope: fill its variables. */
void eval_enter(struct eval *eval, const struct scope *scope);
/* End a scope: functions that still refer to its variables find nothing. */
void eval_exit(struct eval *eval, const struct scope *scope);

/* The state to restore later; eval_return records nothing and cannot fail. */
struct running eval_save(const struct eval *eval);
void eval_return(struct eval *eval, struct running saved, uint32_t at);

/* Report too many levels, or the end of the stack. */
int eval_fail_deep(struct eval *eval);
/* One level deeper; fails with too many levels, or at the end of the stack. */
static inline int eval_descend(struct eval *eval)
{
    if (eval->levels >= EVAL_LEVELS_MAX || stack_is_low())
        return eval_fail_deep(eval);
    eval->levels++;
    return 0;
}
static inline void eval_ascend(struct eval *eval)
{
    eval->levels--;
}

/* Run the template body, then that of its parent. The context is set by the caller. */
int eval_template(struct eval *eval, const struct template *template);
int eval_body(struct eval *eval, struct nodes body);
int eval_assign(struct eval *eval, const struct node *target, const struct value *value);
/* The same, and export the assigned names. */
int eval_assign_toplevel(struct eval *eval, const struct node *target, const struct value *value);
/* Write a value that must already be text. */
int eval_write_text(struct eval *eval, const struct value *value);

/* Cut the text written since `start` off the output, as a value. */
struct value eval_capture(struct eval *eval, size_t start, bool safe);

/* --- expressions ---------------------------------------------------------------------- */

int eval_expression(struct eval *eval, const struct node *node, struct value *ret);
/* `node` reads a part of `owner`: a failure is reported at `node`, or, without an owner, at the
 * missing name. */
static inline void eval_point(struct eval *eval, const struct node *node,
                              const struct node *owner_node, const struct value *owner)
{
    eval->render.at = value_is_undefined(owner) ? owner_node->at : node->at;
}
/* The value in place, if possible (a variable, a constant, a value of a map), else in `room`; NULL:
 * it failed. Valid until another expression is evaluated, which may change its container. */
const struct value *eval_reference(struct eval *eval, const struct node *node, struct value *room);
int eval_truth(struct eval *eval, const struct node *node, bool *ret);

/* The arguments of a call, evaluated. */
#define EVAL_ARGS_FEW 8
struct eval_args {
    struct function_call call;
    struct value few[EVAL_ARGS_FEW];
    struct value_pair few_named[EVAL_ARGS_FEW];
};

/* `extra`, unless NULL, is one more named argument: the caller of a call block. */
int eval_arguments(struct eval *eval, const struct args *args, const struct value_pair *extra,
                   struct eval_args *ret);
int eval_call(struct eval *eval, const struct node_call *node, const struct value_pair *extra,
              struct value *ret);
int eval_apply(struct eval *eval, const struct node_apply *node, struct value *ret);

/* --- statements in separate files -------------------------------------------------------- */

int eval_for(struct eval *eval, const struct node_for *node);

int eval_macro(struct eval *eval, const struct node_macro *node);
int eval_call_block(struct eval *eval, const struct node_macro *node);

int eval_extends(struct eval *eval, const struct node_unary *node);
int eval_block(struct eval *eval, const struct node_block *node);
/* The value of `self` in the running context. */
struct value eval_self(struct eval *eval);

int eval_include(struct eval *eval, const struct node_include *node);
int eval_import(struct eval *eval, const struct node_import *node);
int eval_from(struct eval *eval, const struct node_from *node);
/* The template of that name; fails when there is none. */
int eval_load(struct eval *eval, const struct value *name, const struct template **ret);
/* Data parsed from text, for `{% load_yaml %}` and the like. */
int eval_decode(struct eval *eval, enum decode decode, const char *source, const struct value *text,
                struct value *ret);

#endif
