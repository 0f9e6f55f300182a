/*
 * node - the tree of a template: built by the parser, completed by the compiler.
 *
 * Every node begins with a `struct node`; its kind says which struct it is. The
 * parser leaves variables as names. The compiler (compile.h) turns them into
 * slots: each function (body, block, macro, recursive loop) has an array of
 * slots, and a variable is `up` functions outwards, slot `slot`.
 *
 * A scope begins with a loop turn, `with`, block or macro: its loads fill slots from the context,
 * from an outer variable, or with nothing.
 *
 * Memory: the arena of the template. Never changed once compiled.
 */
#ifndef LANGUAGE_JINJA_NODE_H
#define LANGUAGE_JINJA_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/value.h"

struct function;
struct name;
struct signature;

enum node_kind {
    NODE_CONST,
    NODE_NAME,
    NODE_LIST,
    NODE_TUPLE,
    NODE_DICT,
    NODE_NOT,
    NODE_UNARY,
    NODE_BINARY,
    NODE_AND,
    NODE_OR,
    NODE_COMPARE,
    NODE_CONCAT,
    NODE_ATTRIBUTE,
    NODE_ITEM,
    NODE_SLICE,
    NODE_CALL,
    NODE_FILTER,
    NODE_TEST,
    NODE_COND,
    NODE_MEMBER, /* `ns.x` as a target */

    NODE_DATA,
    NODE_PRINT,
    NODE_IF,
    NODE_FOR,
    NODE_SET,
    NODE_SET_BLOCK,
    NODE_MACRO,
    NODE_CALL_BLOCK,
    NODE_FILTER_BLOCK,
    NODE_WITH,
    NODE_INCLUDE,
    NODE_IMPORT,
    NODE_FROM,
    NODE_EXTENDS,
    NODE_BLOCK,
    NODE_DO,
    NODE_AUTOESCAPE,
    NODE_BREAK,
    NODE_CONTINUE,
};
#define NODE_KINDS (NODE_CONTINUE + 1)

/* Maximum depth of trees, however flat the text looks ("a+a+a+..."). */
#define NODE_DEPTH_MAX 1000

struct node {
    uint8_t kind;
    uint8_t op;     /* operators: an enum of ops.h; names: a node_use */
    uint16_t depth; /* depth of the tree below, for the limit */
    uint32_t at;    /* byte offset in the text of the template */
};

enum node_use { NODE_LOAD, NODE_STORE, NODE_PARAM };

struct nodes {
    struct node **p;
    uint32_t n;
};

/* --- what the compiler adds ---------------------------------------------------- */

/* A variable: `up` functions outwards, slot `slot`. */
struct slot {
    uint16_t up;
    uint32_t slot;
};

/* A function, the owner of slots. */
struct code {
    struct code *outer;
    uint32_t slots;
    bool captured; /* inner functions may read its slots after it has ended */
};

enum load_kind { LOAD_PARAM, LOAD_RESOLVE, LOAD_ALIAS, LOAD_MISSING };

struct load_step {
    uint8_t kind;
    uint32_t to;      /* slot of the running function */
    struct slot from; /* LOAD_ALIAS */
    struct name *name;
};

struct scope {
    uint32_t count;
    struct load_step *loads;
};

/* Variables that an included template may see. */
struct local_variable {
    struct name *name;
    struct slot slot;
};

struct locals {
    uint32_t count;
    struct local_variable *items;
};

/* --- expressions ----------------------------------------------------------------- */

struct node_const {
    struct node node;
    struct value value;
};

struct node_name {
    struct node node;
    struct slot slot;
    struct name *name;
};

struct node_list { /* list, tuple, concat */
    struct node node;
    struct nodes items;
};

struct node_dict {
    struct node node;
    struct nodes keys, values;
};

struct node_unary { /* not, unary, print, do */
    struct node node;
    struct node *operand;
    bool checked; /* print: silent once the template extends another */
};

struct node_binary { /* binary, and, or, item */
    struct node node;
    struct node *left, *right;
};

struct node_compare {
    struct node node;
    uint32_t count;
    struct node *first;
    struct nodes operands;
    uint8_t *ops;
};

struct node_attribute {
    struct node node;
    struct node *value;
    struct name *name;
    uint32_t *place; /* place of the key in the last map; NULL: a method of maps, or hidden */
};

struct node_slice {
    struct node node;
    struct node *value, *start, *stop, *step;
};

struct args {
    struct nodes places, named; /* by place, by name */
    struct name **names;
    struct node *star, *star_star; /* NULL: none */
};

struct node_call {
    struct node node;
    struct node *callee;
    struct args args;
};

/* Parameters of a function with plain arguments: they stay on the stack while the value is
 * evaluated. */
#define NODE_PLAIN_MAX 5

struct node_apply { /* filter, test */
    struct node node;
    struct node *value; /* NULL: the text of the block around it */
    struct str name;
    const struct function *function; /* NULL: unknown, an error at run time */
    const struct signature *signature;
    struct args args;
    bool plain; /* all arguments are given by place, and they fit */
};

struct node_cond {
    struct node node;
    struct node *test, *then, *otherwise; /* otherwise may be NULL: */
    const char *missing;                  /* this then describes the undefined result */
};

struct node_member {
    struct node node;
    struct node_name object;
    struct name *name;
};

/* --- statements -------------------------------------------------------------------- */

struct node_data {
    struct node node;
    struct str text;
    bool checked;
};

struct node_branch {
    struct node *test;
    struct nodes body;
};

struct node_if {
    struct node node;
    uint32_t count;
    struct node_branch *branches;
    struct nodes otherwise;
};

struct node_for {
    struct node node;
    struct node *target, *iter, *test;
    struct node *test_target; /* the target again, for the variables of the test */
    struct nodes body, otherwise;
    bool recursive, uses_loop;
    int32_t loop_slot; /* -1: `loop` is not used */
    struct scope body_scope, test_scope, else_scope;
    struct code *code; /* recursive: the loop is a function */
};

struct node_set {
    struct node node;
    struct node *target, *value;
    bool toplevel; /* the template exports it */
};

/* The conversion of a text before it is assigned. */
enum decode { DECODE_TEXT, DECODE_YAML, DECODE_JSON };

struct node_set_block {
    struct node node;
    struct node *target, *filter; /* filter may be NULL */
    struct nodes body;
    struct scope scope;
    bool toplevel, load; /* load: `decode` is the format */
    uint8_t decode;
};

struct node_macro { /* macro, call block */
    struct node node;
    struct name *name;        /* NULL for a call block */
    struct node_name *target; /* the variable that holds it; NULL for a call block */
    struct node *call;        /* call block: what to call */
    struct nodes params, defaults;
    struct nodes body;
    struct scope scope;
    struct code *code;
    bool toplevel;
    bool uses_caller, uses_kwargs, uses_varargs; /* in the body */
    bool explicit_caller;                        /* `caller` is among the parameters */
    int32_t caller_slot, kwargs_slot, varargs_slot;
};

struct node_filter_block {
    struct node node;
    struct node *filter;
    struct nodes body;
    struct scope scope;
};

struct node_with {
    struct node node;
    struct nodes targets, values;
    struct nodes body;
    struct scope scope;
};

struct node_include {
    struct node node;
    struct node *template;
    bool ignore_missing, with_context;
    struct locals locals;
};

struct node_import {
    struct node node;
    struct node *template;
    struct node_name *target;
    bool with_context, toplevel;
    bool load; /* import_yaml and its kin: uses the text */
    uint8_t decode;
    struct locals locals;
};

struct node_from {
    struct node node;
    struct node *template;
    uint32_t count;
    struct name **names;
    struct node_name **targets;
    bool with_context, toplevel;
    struct locals locals;
};

struct node_block {
    struct node node;
    struct name *name;
    bool scoped, required, toplevel;
    bool uses_self, uses_super;
    int32_t self_slot, super_slot;
    struct nodes body;
    struct scope scope;
    struct code *code;
    struct locals locals; /* scoped: the variables it may see */
};

struct node_autoescape {
    struct node node;
    struct node *value;
    struct nodes body;
    struct scope scope;
};

#endif
