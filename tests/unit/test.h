/*
 * test - a sentence that is true, checked in a process of its own.
 *
 *     TEST(a_map_keeps_the_order_of_insertion)
 *     {
 *         CHECK_INT(map_count(&map), 2);
 *     }
 *
 * A file is a program: run without arguments it runs each of its tests in a
 * child, prints one line for each failure with the expression and both values,
 * and ends with "N passed, N failed". With names as arguments it runs those only,
 * in this process, which is what a debugger wants.
 *
 * Golden cases (test_golden) come from a text file that a user can read:
 *
 *     ## name of the case
 *     --- input
 *     text of the section, up to the next line that begins with "--- " or "## "
 *     --- output
 *     ...
 */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"

struct test {
    const char *name;
    void (*function)(void);
    struct test *next;
};

void test_register(struct test *test);

#define TEST(sentence)                                                                             \
    static void sentence(void);                                                                    \
    __attribute__((constructor)) static void sentence##_register(void)                             \
    {                                                                                              \
        static struct test test = { #sentence, sentence, NULL };                                   \
        test_register(&test);                                                                      \
    }                                                                                              \
    static void sentence(void)

#define CHECK(expression) ((expression) ? (void)0 : test_fail(#expression, __FILE__, __LINE__))
#define CHECK_INT(got, want)                                                                       \
    test_check_int((intmax_t)(got), (intmax_t)(want), #got, __FILE__, __LINE__)
#define CHECK_STR(got, want) test_check_str((got), (want), #got, __FILE__, __LINE__)
/* `got` contains `part`. */
#define CHECK_HAS(got, part) test_check_has((got), (part), #got, __FILE__, __LINE__)

/* Ends the test. */
_Noreturn void test_fail(const char *expression, const char *file, int line);
void test_check(bool ok, const char *expression, const char *file, int line);
void test_check_int(intmax_t got, intmax_t want, const char *expression, const char *file,
                    int line);
void test_check_str(const char *got, const char *want, const char *expression, const char *file,
                    int line);
void test_check_has(const char *got, const char *part, const char *expression, const char *file,
                    int line);

/* A fresh empty folder, removed with all that is in it when the test ends. */
const char *test_folder(void);

/* One golden case: its sections by name. */
struct golden {
    const char *name;
    size_t count;
    struct {
        const char *name;
        struct str text;
    } sections[16];
};

/* The text of a section; a NULL view when the case has none. */
struct str golden_section(const struct golden *golden, const char *name);

/* Run every case of tests/golden/<path>. `run` writes what came out: it is compared with the
 * section "output", or with "error" when `run` returns -1. All cases run; a difference prints both
 * and fails the test at the end. */
void test_golden(const char *path, int (*run)(const struct golden *golden, struct buf *out));

#endif
