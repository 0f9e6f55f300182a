/*
 * test - the table of tests, `value is name`.
 */
#ifndef LANGUAGE_JINJA_FILTERS_TEST_H
#define LANGUAGE_JINJA_FILTERS_TEST_H

#include "language/jinja/function.h"

extern const struct function test_functions[];

#endif
