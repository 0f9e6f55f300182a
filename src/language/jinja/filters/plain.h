/*
 * plain - template values as plain data, for printers that know nothing about templates.
 *
 * Changed containers have their current content; ranges, views and generators become lists;
 * undefined values and objects are errors.
 */
#ifndef LANGUAGE_JINJA_FILTERS_PLAIN_H
#define LANGUAGE_JINJA_FILTERS_PLAIN_H

struct render;
struct value;

int plain_value(struct render *render, const struct value *v, struct value *ret);

#endif
