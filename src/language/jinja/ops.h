/*
 * ops - Python's operators and built-ins on our values.
 *
 * Every function behaves as Jinja2 on CPython does for the same template, with
 * three differences: integers have 64 bits and overflow is an error, dates are a
 * separate kind of value, and every loop counts against the limits of the rendering.
 * Undefined operands fail or pass as the environment is configured.
 */
#ifndef LANGUAGE_JINJA_OPS_H
#define LANGUAGE_JINJA_OPS_H

#include "core/data/value.h"

struct buf;
struct function_call;
struct render;

enum op_binary { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_FLOORDIV, OP_MOD, OP_POW };
enum op_unary { OP_NEG, OP_POS };
enum op_compare { OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE, OP_IN, OP_NOT_IN };

int op_binary(struct render *render, enum op_binary op, const struct value *a,
              const struct value *b, struct value *ret);
int op_unary(struct render *render, enum op_unary op, const struct value *a, struct value *ret);
int op_compare(struct render *render, enum op_compare op, const struct value *a,
               const struct value *b, bool *ret);
/* `~`: the texts of all parts joined; safe text wins and escapes the others. */
int op_concat(struct render *render, const struct value *parts, size_t count, struct value *ret);
int op_truth(struct render *render, const struct value *v, bool *ret);
/* Can it be the key of a map? Fails with "unhashable type: 'list'". */
int op_check_key(struct render *render, const struct value *key);

/* `a.name`: attribute first, then item, as in Jinja2; `a[key]`: item first, then attribute. Returns
 * an undefined value when there is neither. Methods of texts, lists and maps are found here. */
int op_attribute(struct render *render, const struct value *v, struct str name, struct value *ret);
int op_item(struct render *render, const struct value *v, const struct value *key,
            struct value *ret);
/* Attribute only, as the filter `attr`. */
int op_attribute_only(struct render *render, const struct value *v, struct str name,
                      struct value *ret);
/* `a[start:stop:step]`; NULL or none: left out. */
int op_slice(struct render *render, const struct value *v, const struct value *start,
             const struct value *stop, const struct value *step, struct value *ret);
int op_call(struct render *render, const struct value *callee, const struct function_call *call,
            struct value *ret);

/* The items as a list that must not be changed: a list itself, the characters of a text, the keys
 * of a map, or the items of an object. Fails with "'int' object is not iterable". */
int op_list(struct render *render, const struct value *v, const struct value_list **ret);
bool op_is_iterable(const struct value *v);
int op_length(struct render *render, const struct value *v, size_t *ret);

/* Append str(v) to `out`, or return it as a value; repr(v) is for items of lists. */
int op_print(struct render *render, const struct value *v, struct buf *out);
int op_text(struct render *render, const struct value *v, struct str *ret);
int op_repr(struct render *render, const struct value *v, struct buf *out);
/* The output for a value: str(v), escaped when autoescape is on and `v` is not safe. */
int op_output(struct render *render, const struct value *v, struct buf *out);
/* HTML-escape text. */
void op_escape(struct str text, struct buf *out);

/* Python's name of the type, for messages: "int", "str", "dict". */
const char *op_type_name(const struct value *v);

/* Temporary text, in the memory of the rendering. */
struct value op_new_str(struct render *render, struct str text);

#endif
