#include "kepler/access/hardening.h"

#include "core/base/err.h"
#include "core/base/suggest.h"

const char *const hardening_words[HARDENINGS] = {
    [HARDENING_NONE] = "none",
    [HARDENING_NO_ROOT] = "no-root",
    [HARDENING_STRICT] = "strict",
};

const char *hardening_name(enum hardening level)
{
    return hardening_words[level];
}

int hardening_parse(struct str text, enum hardening *ret_level, struct err *err)
{
    const char *near = suggest(text, hardening_words, HARDENINGS);

    for (size_t i = 0; i < HARDENINGS; i++)
        if (str_is(text, hardening_words[i])) {
            *ret_level = (enum hardening)i;
            return 0;
        }
    if (near)
        return err_set(err, ERR_INVALID, "unknown hardening level '%.*s' (did you mean '%s'?)",
                       STR_ARG(str_slice(text, 0, 100)), near);
    return err_set(err, ERR_INVALID,
                   "unknown hardening level '%.*s': expected none, no-root or strict",
                   STR_ARG(str_slice(text, 0, 100)));
}

enum hardening hardening_max(enum hardening a, enum hardening b)
{
    return a > b ? a : b;
}
