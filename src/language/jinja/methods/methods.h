/*
 * methods - the tables of methods of texts, lists, maps and numbers: "a".upper(), l.append(x). The
 * first argument of every method is the object itself.
 */
#ifndef LANGUAGE_JINJA_METHODS_METHODS_H
#define LANGUAGE_JINJA_METHODS_METHODS_H

#include "language/jinja/function.h"

extern const struct function method_str_search[];
extern const struct function method_str_split[];
extern const struct function method_str_shape[];
extern const struct function method_str_class[];
extern const struct function method_bytes[];
extern const struct function method_list[];
extern const struct function method_tuple[];
extern const struct function method_dict[];
extern const struct function method_int[];
extern const struct function method_float[];

#endif
