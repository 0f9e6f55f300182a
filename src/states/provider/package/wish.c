#include "states/provider/package/wish.h"

#include <ctype.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/glob.h"
#include "core/base/mem.h"

/* Longer ones first. */
static const struct {
    const char *word;
    enum wish_operator test;
} operators[] = {
    { "==", WISH_EQ }, { "!=", WISH_NE }, { ">=", WISH_GE }, { "<=", WISH_LE }, { "<>", WISH_NE },
    { ">>", WISH_GT }, { "<<", WISH_LT }, { "=", WISH_EQ },  { ">", WISH_GT },  { "<", WISH_LT },
};

static enum wish_operator cut_operator(struct str *text)
{
    for (size_t i = 0; i < ARRAY_LEN(operators); i++)
        if (str_starts(*text, str_from(operators[i].word))) {
            *text = str_trim(str_from_offset(*text, strlen(operators[i].word)));
            return operators[i].test;
        }
    return WISH_EQ;
}

/* An invalid version could be read as an option or a second argument. */
static int check_version(struct str version, struct err *err)
{
    if (version.n == 0)
        return err_set(err, ERR_INVALID, "missing version");
    if (version.p[0] == '-')
        return err_set(err, ERR_INVALID, "a version must not begin with '-': '%.*s'",
                       STR_ARG(version));
    for (size_t i = 0; i < version.n; i++)
        if (!isgraph((unsigned char)version.p[i]))
            return err_set(err, ERR_INVALID, "a version must not contain blanks: '%.*s'",
                           STR_ARG(version));
    return 0;
}

int wish_parse(struct str text, struct wish *ret_wish, struct err *err)
{
    struct wish wish = { 0 };

    text = str_trim(text);
    while (text.p && (text.n > 0 || wish.count > 0)) {
        struct str part = str_trim(str_cut(&text, ','));
        enum wish_operator test = cut_operator(&part);

        if (check_version(part, err) < 0)
            return -1;
        if (wish.count == WISH_CONDITIONS_MAX)
            return err_set(err, ERR_LIMIT, "more than the limit of %d conditions on a version",
                           WISH_CONDITIONS_MAX);
        if (test == WISH_EQ && !glob_is_plain(part))
            test = WISH_LIKE;
        wish.conditions[wish.count].test = test;
        wish.conditions[wish.count++].version = part;
    }
    *ret_wish = wish;
    return 0;
}

static bool satisfies_condition(enum wish_operator test, struct str want, struct str have,
                                version_compare_fn compare)
{
    int order;

    if (test == WISH_LIKE)
        return glob_match(want, have);
    order = compare(have, want);
    switch (test) {
    case WISH_EQ: return order == 0;
    case WISH_NE: return order != 0;
    case WISH_GE: return order >= 0;
    case WISH_GT: return order > 0;
    case WISH_LE: return order <= 0;
    case WISH_LT: return order < 0;
    case WISH_LIKE: break;
    }
    return false;
}

static struct str skip_epoch(struct str version)
{
    const size_t colon = str_find_char(version, ':', 0);

    return colon == STR_NONE ? version : str_from_offset(version, colon + 1);
}

bool wish_holds(const struct wish *wish, struct str version, version_compare_fn compare)
{
    if (wish->ignore_epoch)
        version = skip_epoch(version);
    for (size_t i = 0; i < wish->count; i++) {
        const struct str want = wish->conditions[i].version;

        if (!satisfies_condition(wish->conditions[i].test,
                                 wish->ignore_epoch ? skip_epoch(want) : want, version, compare))
            return false;
    }
    return true;
}

struct str wish_exact(const struct wish *wish)
{
    if (wish->count == 1 && wish->conditions[0].test == WISH_EQ && !wish->ignore_epoch)
        return wish->conditions[0].version;
    return (struct str){ NULL, 0 };
}
