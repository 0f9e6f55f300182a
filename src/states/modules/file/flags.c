#include "states/modules/file/flags.h"

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/matcher.h"
#include "core/data/value.h"

static const struct {
    const char *name, *letter;
    int64_t number; /* value in Python */
    unsigned flag;
} known[] = {
    { "IGNORECASE", "I", 2, MATCHER_IGNORE_CASE },
    { "MULTILINE", "M", 8, MATCHER_MULTILINE },
    { "DOTALL", "S", 16, MATCHER_DOTALL },
    { "VERBOSE", "X", 64, MATCHER_VERBOSE },
    { "UNICODE", "U", 32, 0 }, /* as always */
};

static int read_flag_number(int64_t number, unsigned *flags, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (number & known[i].number) {
            *flags |= known[i].flag;
            number &= ~known[i].number;
        }
    if (number != 0)
        return err_set(err, ERR_INVALID, "flags: no flag has number %lld", (long long)number);
    return 0;
}

static int read_flag(const struct value *v, unsigned *flags, struct err *err)
{
    if (v->kind == VALUE_INT)
        return read_flag_number(v->i, flags, err);
    for (size_t i = 0; v->kind == VALUE_STR && i < ARRAY_LEN(known); i++)
        if (str_is(v->s, known[i].name) || str_is(v->s, known[i].letter)) {
            *flags |= known[i].flag;
            return 0;
        }
    return err_set(err, ERR_INVALID,
                   "flags: must be IGNORECASE, MULTILINE, DOTALL or VERBOSE%s%.*s",
                   v->kind == VALUE_STR ? ", got " : "", v->kind == VALUE_STR ? str_int(v->s.n) : 0,
                   v->kind == VALUE_STR ? v->s.p : "");
}

int flags_read(const struct value *flags, unsigned otherwise, unsigned *ret, struct err *err)
{
    unsigned sum = 0;

    if (!flags || flags->kind == VALUE_NULL) {
        *ret = otherwise;
        return 0;
    }
    if (flags->kind != VALUE_LIST && read_flag(flags, &sum, err) < 0)
        return -1;
    for (size_t i = 0; flags->kind == VALUE_LIST && i < flags->list->count; i++)
        if (read_flag(&flags->list->items[i], &sum, err) < 0)
            return -1;
    *ret = sum;
    return 0;
}
