/*
 * jmes_order - sorts the items of a list by themselves, or by an expression.
 *
 * The keys are all numbers or all texts; anything else is an error with the column of the running
 * call. Equal keys keep their order.
 */
#ifndef LANGUAGE_JMESPATH_JMES_ORDER_H
#define LANGUAGE_JMESPATH_JMES_ORDER_H

struct jmes_eval;
struct jmes_node;
struct value;
struct value_list;

/* The sorted list. `by` is NULL to sort by the items themselves. */
int jmes_order_sort(struct jmes_eval *eval, const struct value_list *list,
                    const struct jmes_node *by, struct value *ret);
/* The first of the largest (`sign` 1) or smallest (-1) items; null for an empty list. */
int jmes_order_pick(struct jmes_eval *eval, const struct value_list *list,
                    const struct jmes_node *by, int sign, struct value *ret);

#endif
