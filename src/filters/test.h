/*
 * test - the table of tests, `value is name`.
 */
#ifndef FILTERS_TEST_H
#define FILTERS_TEST_H

#include "jinja/function.h"

extern const struct function test_functions[];

#endif
