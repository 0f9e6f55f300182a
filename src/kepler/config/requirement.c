#include "kepler/config/requirement.h"

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/number.h"

#define PARTS 3

/* Missing numbers are 0; `count` is how many were given. */
struct version {
    uint64_t part[PARTS];
    size_t count;
};

enum operator{ OP_SAME, OP_MORE, OP_NOT_LESS, OP_LESS, OP_NOT_MORE, OP_TILDE, OP_CARET };

static const struct {
    const char *sign;
    enum operator op;
} signs[] = {
    { ">=", OP_NOT_LESS }, { "<=", OP_NOT_MORE }, { "=", OP_SAME },  { ">", OP_MORE },
    { "<", OP_LESS },      { "~", OP_TILDE },     { "^", OP_CARET },
};

static int parse_version(struct str text, struct version *ret, struct err *err)
{
    struct version v = { 0 };
    struct str rest = text;

    while (rest.p) {
        struct str part = str_cut(&rest, '.');

        if (str_is(part, "*") || str_is(part, "x")) {
            if (rest.p)
                break;
            *ret = v;
            return 0;
        }
        if (v.count == PARTS || number_parse_uint(part, &v.part[v.count], err) < 0)
            break;
        v.count++;
        if (!rest.p) {
            *ret = v;
            return 0;
        }
    }
    return err_set(err, ERR_INVALID, "'%.*s' is not a version such as \"0.15.2\"", STR_ARG(text));
}

/* -1, 0, 1 by the first `count` parts. */
static int compare_version_parts(const struct version *a, const struct version *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a->part[i] != b->part[i])
            return a->part[i] < b->part[i] ? -1 : 1;
    return 0;
}

/* How many leading parts may not change under '^': up to the first that is not 0. */
static size_t caret_parts(const struct version *want)
{
    size_t i = 0;

    while (i + 1 < want->count && want->part[i] == 0)
        i++;
    return i + 1;
}

static bool apply_operator(enum operator op, const struct version *have, const struct version *want)
{
    size_t n = want->count;

    if (n == 0)
        return true;
    switch (op) {
    case OP_SAME: return compare_version_parts(have, want, n) == 0;
    case OP_MORE: return compare_version_parts(have, want, n) > 0;
    case OP_NOT_LESS: return compare_version_parts(have, want, n) >= 0;
    case OP_LESS: return compare_version_parts(have, want, n) < 0;
    case OP_NOT_MORE: return compare_version_parts(have, want, n) <= 0;
    case OP_TILDE:
        return compare_version_parts(have, want, PARTS) >= 0 &&
               compare_version_parts(have, want, n < 2 ? n : 2) == 0;
    case OP_CARET:
        return compare_version_parts(have, want, PARTS) >= 0 &&
               compare_version_parts(have, want, caret_parts(want)) == 0;
    }
    return false;
}

static int check_comparison(struct str text, const struct version *have, bool *ret_holds,
                            struct err *err)
{
    enum operator op = OP_SAME;
    struct version want;

    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (str_starts(text, str_from(signs[i].sign))) {
            op = signs[i].op;
            text = str_trim(str_from_offset(text, str_from(signs[i].sign).n));
            break;
        }
    if (parse_version(text, &want, err) < 0)
        return -1;
    *ret_holds = apply_operator(op, have, &want);
    return 0;
}

int requirement_check(struct str requirement, struct str version, bool *ret_holds, struct err *err)
{
    struct str rest = requirement;
    struct version have;
    bool all = true, one = false;

    if (parse_version(version, &have, err) < 0)
        return -1;
    while (rest.p) {
        if (check_comparison(str_trim(str_cut(&rest, ',')), &have, &one, err) < 0)
            return -1;
        all = all && one;
    }
    *ret_holds = all;
    return 0;
}
