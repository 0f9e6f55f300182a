/*
 * test - the table of tests, `value is name`.
 */
#ifndef JINJA_TEST_H
#define JINJA_TEST_H

#include "jinja/function.h"

extern const struct function test_functions[];

#endif
