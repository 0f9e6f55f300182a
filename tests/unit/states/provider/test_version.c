#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "states/provider/package/manager.h"

struct pair {
    const char *a;
    char order;
    const char *b;
};

static char sign(int order)
{
    return order < 0 ? '<' : order > 0 ? '>' : '=';
}

static void check_pairs(const struct pair *pairs, size_t count, version_compare_fn compare)
{
    for (size_t i = 0; i < count; i++) {
        const struct pair *p = &pairs[i];
        const char *back = p->order == '<' ? ">" : p->order == '>' ? "<" : "=";
        char got[2] = { sign(compare(str_from(p->a), str_from(p->b))), 0 };
        char reverse[2] = { sign(compare(str_from(p->b), str_from(p->a))), 0 };
        const char want[2] = { p->order, 0 };

        if (strcmp(got, want) != 0 || strcmp(reverse, back) != 0)
            printf("%s ? %s\n", p->a, p->b);
        CHECK_STR(got, want);
        CHECK_STR(reverse, back);
    }
}

/* --- Debian ------------------------------------------------------------------------------- */

static const struct pair deb_pairs[] = {
    { "1.0", '=', "1.0" },
    { "1.0", '<', "1.1" },
    { "1.9", '<', "1.10" },
    { "1.0~rc1", '<', "1.0" },
    { "1.0~~", '<', "1.0~" },
    { "1.0~rc1", '<', "1.0~rc2" },
    { "1:0.1", '>', "99" },
    { "0:1.0", '=', "1.0" },
    { "1.0-1", '<', "1.0-2" },
    { "1.0", '<', "1.0-1" },
    { "1.0-0", '=', "1.0" },
    { "1.0a", '>', "1.0" },
    { "1.0a", '<', "1.0+" },
    { "1.0-1+b1", '>', "1.0-1" },
    { "1.0-1~bpo1", '<', "1.0-1" },
    { "007", '=', "7" },
    { "1.0.0", '>', "1.0" },
    { "1.2.3-4-5", '>', "1.2.3-4-4" },
    { "2.36-9+deb12u4", '<', "2.36-9+deb12u10" },
    { "99999999999999999999999", '<', "100000000000000000000000" },
};

TEST(debian_versions_compare_as_the_manual_says)
{
    check_pairs(deb_pairs, ARRAY_LEN(deb_pairs), package_manager_called("apt")->compare);
}

static bool dpkg_says(const char *a, const char *operator, const char * b)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        execlp("dpkg", "dpkg", "--force-bad-version", "--compare-versions", a, operator, b,
               (char *)NULL);
        _exit(2);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static char dpkg_order(const char *a, const char *b)
{
    if (dpkg_says(a, "lt-nl", b))
        return '<';
    return dpkg_says(a, "eq", b) ? '=' : '>';
}

/* A small generator of versions that share their pieces, so that most pairs are close. */
static void make_version(unsigned *seed, char *text, size_t size)
{
    static const char *const pieces[] = { "0", "1", "2",  "10", "09", ".", ".", "~",
                                          "+", "a", "rc", "b",  "Z",  "-", "~", "." };
    size_t n = 0;
    int count = 1 + rand_r(seed) % 6;

    if (rand_r(seed) % 5 == 0)
        n += (size_t)snprintf(text, size, "%d:", rand_r(seed) % 2);
    n += (size_t)snprintf(text + n, size - n, "%d", rand_r(seed) % 3);
    for (int i = 0; i < count && n + 4 < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s",
                              pieces[(size_t)rand_r(seed) % ARRAY_LEN(pieces)]);
    if (text[n - 1] == '-')
        text[n - 1] = '0';
}

TEST(debian_versions_compare_as_dpkg_does)
{
    enum { VERSION_SIZE = 64, PAIRS = 300 };
    char a[VERSION_SIZE], b[VERSION_SIZE];
    unsigned seed = 20240101;

    if (access("/usr/bin/dpkg", X_OK) < 0) {
        puts("skipped: there is no dpkg to ask");
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(deb_pairs); i++)
        CHECK_INT(dpkg_order(deb_pairs[i].a, deb_pairs[i].b), deb_pairs[i].order);
    for (int i = 0; i < PAIRS; i++) {
        make_version(&seed, a, sizeof(a));
        make_version(&seed, b, sizeof(b));
        if (sign(package_manager_called("apt")->compare(str_from(a), str_from(b))) !=
            dpkg_order(a, b))
            printf("%s ? %s\n", a, b);
        CHECK_INT(sign(package_manager_called("apt")->compare(str_from(a), str_from(b))),
                  dpkg_order(a, b));
    }
}

/* --- the others ---------------------------------------------------------------------------- */

/* From the tests and the manual of rpm. */
static const struct pair rpm_pairs[] = {
    { "1.0", '=', "1.0" },
    { "1.0", '<', "2.0" },
    { "2.0.1", '=', "2.0.1" },
    { "2.0", '<', "2.0.1" },
    { "2.0.1a", '>', "2.0.1" },
    { "5.5p1", '<', "5.5p2" },
    { "5.5p1", '<', "5.5p10" },
    { "10xyz", '<', "10.1xyz" },
    { "xyz10", '<', "xyz10.1" },
    { "xyz.4", '<', "8" },
    { "5.5p2", '<', "5.6p1" },
    { "6.0.rc1", '>', "6.0" },
    { "10b2", '>', "10a1" },
    { "1.0aa", '>', "1.0a" },
    { "10.0001", '=', "10.1" },
    { "4.999.9", '<', "5.0" },
    { "20101121", '<', "20101122" },
    { "2_0", '=', "2.0" },
    { "a+", '=', "a_" },
    { "1.0~rc1", '<', "1.0" },
    { "1.0~rc1", '<', "1.0~rc2" },
    { "1.0~rc1~git", '<', "1.0~rc1" },
    { "1.0^", '>', "1.0" },
    { "1.0^git1", '<', "1.0^git2" },
    { "1.0^git1", '<', "1.01" },
    { "1.0^20160101", '<', "1.0.1" },
    { "1.0~rc1^git1", '>', "1.0~rc1" },
    { "1:1.0", '>', "2.0" },
    { "1.2.3-4.el9", '<', "1.2.3-5.el9" },
    { "1.2.3", '=', "1.2.3-4.el9" },
    { "0:1.2.3-4.el9", '=', "1.2.3-4.el9" },
};

TEST(rpm_versions_compare_as_rpm_says)
{
    check_pairs(rpm_pairs, ARRAY_LEN(rpm_pairs), package_manager_called("dnf")->compare);
}

/* From the manual of vercmp. */
static const struct pair pacman_pairs[] = {
    { "1.0a", '<', "1.0b" },   { "1.0b", '<', "1.0beta" }, { "1.0beta", '<', "1.0p" },
    { "1.0p", '<', "1.0pre" }, { "1.0pre", '<', "1.0rc" }, { "1.0rc", '<', "1.0" },
    { "1.0", '<', "1.0.a" },   { "1.0.a", '<', "1.0.1" },  { "1", '<', "1.0" },
    { "1.0", '<', "1.1" },     { "1.1", '<', "1.1.1" },    { "1.1.1", '<', "1.2" },
    { "1.2", '<', "2.0" },     { "2.0", '<', "3.0.0" },    { "1:1.0", '>', "3.6" },
    { "1.5-1", '<', "1.5-2" }, { "1.5", '=', "1.5-1" },    { "1.24.0-1", '=', "1.24.0-1" },
};

TEST(arch_versions_compare_as_vercmp_says)
{
    check_pairs(pacman_pairs, ARRAY_LEN(pacman_pairs), package_manager_called("pacman")->compare);
}

static const struct pair apk_pairs[] = {
    { "1.2", '<', "1.10" },
    { "1.2", '<', "1.2.1" },
    { "1.2.3-r0", '<', "1.2.3-r1" },
    { "1.2.3_rc1", '<', "1.2.3" },
    { "1.2_alpha", '<', "1.2_beta" },
    { "1.2_pre2", '<', "1.2_rc1" },
    { "1.2_p1", '>', "1.2" },
    { "1.2_p1-r3", '>', "1.2-r9" },
    { "1.2a", '>', "1.2" },
    { "1.2a", '<', "1.2b" },
    { "1.05", '<', "1.1" },
    { "1.24.0-r7", '=', "1.24.0-r7" },
    { "1.2_rc1-r1", '<', "1.2-r0" },
    { "10", '>', "9" },
    { "1.2_git20200101", '>', "1.2" },
    { "1.2.0", '>', "1.2a" },
};

TEST(alpine_versions_compare_by_parts_suffix_and_revision)
{
    check_pairs(apk_pairs, ARRAY_LEN(apk_pairs), package_manager_called("apk")->compare);
}

TEST(any_bytes_compare_and_equal_themselves)
{
    static const char *const odd[] = { "",   ":",  "-",  "~",  "^", "_",   "_rc", "-r",
                                       "1:", ":1", "--", "..", "é", "1_x", "a",   " 1 " };

    for (const struct package_manager *const *m = package_manager_table; *m; m++)
        for (size_t i = 0; i < ARRAY_LEN(odd); i++)
            CHECK_INT((*m)->compare(str_from(odd[i]), str_from(odd[i])), 0);
}
