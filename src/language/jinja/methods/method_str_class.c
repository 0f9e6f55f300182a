/* Texts: classes of characters, and the same text in another case. */

#include "core/base/utf8.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"
#include "core/base/unicode.h"
#include "language/jinja/methods/methods.h"

/* --- case -------------------------------------------------------------------------- */

typedef void case_fn(struct str text, struct buf *out);

static int change_case(struct render *render, const struct bound_args *bound, case_fn *convert,
                       uint8_t keep, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);

    convert(bound->args[0].s, &out);
    return text_finish(render, &out, bound->args[0].flags & keep, ret);
}

static int str_upper(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return change_case(render, bound, unicode_upper, VALUE_SAFE, ret);
}

static int str_lower(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return change_case(render, bound, unicode_lower, VALUE_SAFE, ret);
}

static int str_title(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return change_case(render, bound, unicode_title, VALUE_SAFE, ret);
}

static int str_capitalize(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return change_case(render, bound, unicode_capitalize, VALUE_SAFE, ret);
}

static int str_swapcase(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return change_case(render, bound, unicode_swap, VALUE_SAFE, ret);
}

static int str_casefold(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return change_case(render, bound, unicode_fold, 0, ret);
}

/* --- kind -------------------------------------------------------------------------- */

static bool is_alnum(uint32_t c)
{
    return unicode_is(c, UNICODE_ALPHA) || unicode_is(c, UNICODE_DECIMAL) ||
           unicode_is(c, UNICODE_DIGIT) || unicode_is(c, UNICODE_NUMERIC);
}

/* Has every character the property? */
static bool all_are(struct str text, enum unicode_property property)
{
    while (text.n > 0)
        if (!unicode_is(utf8_next(&text), property))
            return false;
    return true;
}

static int set_class_result(struct render *render, const struct bound_args *bound, bool answer,
                            struct value *ret)
{
    *ret = value_bool(answer);
    return text_expect(render, bound->args[0].s.n);
}

/* An empty text has no property. */
static int have_all_property(struct render *render, const struct bound_args *bound,
                             enum unicode_property property, struct value *ret)
{
    struct str text = bound->args[0].s;

    return set_class_result(render, bound, text.n > 0 && all_are(text, property), ret);
}

static int str_isalpha(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return have_all_property(render, bound, UNICODE_ALPHA, ret);
}

static int str_isdecimal(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return have_all_property(render, bound, UNICODE_DECIMAL, ret);
}

static int str_isdigit(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return have_all_property(render, bound, UNICODE_DIGIT, ret);
}

static int str_isnumeric(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return have_all_property(render, bound, UNICODE_NUMERIC, ret);
}

static int str_isspace(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return have_all_property(render, bound, UNICODE_SPACE, ret);
}

static int str_isprintable(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return set_class_result(render, bound, all_are(bound->args[0].s, UNICODE_PRINTABLE), ret);
}

static int str_isascii(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return set_class_result(render, bound, utf8_is_ascii(bound->args[0].s), ret);
}

static int str_isalnum(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct str text = bound->args[0].s;
    bool answer = text.n > 0;

    while (answer && text.n > 0)
        answer = is_alnum(utf8_next(&text));
    return set_class_result(render, bound, answer, ret);
}

static int str_isidentifier(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    struct str text = bound->args[0].s;
    bool answer = text.n > 0 && unicode_is(utf8_next(&text), UNICODE_ID_START);

    return set_class_result(render, bound, answer && all_are(text, UNICODE_ID_PART), ret);
}

/* At least one cased character, and every one of them of this case. */
static int tell_case(struct render *render, const struct bound_args *bound,
                     enum unicode_property wanted, enum unicode_property other, struct value *ret)
{
    struct str text = bound->args[0].s;
    bool cased = false, wrong = false;

    while (!wrong && text.n > 0) {
        uint32_t c = utf8_next(&text);

        wrong = unicode_is(c, other) || unicode_is(c, UNICODE_TITLE);
        cased = cased || unicode_is(c, wanted);
    }
    return set_class_result(render, bound, cased && !wrong, ret);
}

static int str_isupper(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return tell_case(render, bound, UNICODE_UPPER, UNICODE_LOWER, ret);
}

static int str_islower(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return tell_case(render, bound, UNICODE_LOWER, UNICODE_UPPER, ret);
}

/* Capitals only after a character without case, small letters only after one with case. */
static int str_istitle(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct str text = bound->args[0].s;
    bool cased = false, wrong = false, inside = false;

    while (!wrong && text.n > 0) {
        uint32_t c = utf8_next(&text);
        bool capital = unicode_is(c, UNICODE_UPPER) || unicode_is(c, UNICODE_TITLE);
        bool small = unicode_is(c, UNICODE_LOWER);

        wrong = (capital && inside) || (small && !inside);
        inside = capital || small;
        cased = cased || inside;
    }
    return set_class_result(render, bound, cased && !wrong, ret);
}

/* clang-format off */
const struct function method_str_class[] = {
    { "capitalize", "self", str_capitalize, "the first character in upper case, the rest in lower" },
    { "casefold", "self", str_casefold, "for comparing without case" },
    { "isalnum", "self", str_isalnum, "letters and digits only" },
    { "isalpha", "self", str_isalpha, "letters only" },
    { "isascii", "self", str_isascii, "ASCII only" },
    { "isdecimal", "self", str_isdecimal, "decimal digits only" },
    { "isdigit", "self", str_isdigit, "digits only" },
    { "isidentifier", "self", str_isidentifier, "could be a name" },
    { "islower", "self", str_islower, "in lower case" },
    { "isnumeric", "self", str_isnumeric, "characters that stand for numbers only" },
    { "isprintable", "self", str_isprintable, "printable characters only" },
    { "isspace", "self", str_isspace, "blanks only" },
    { "istitle", "self", str_istitle, "every word with a capital" },
    { "isupper", "self", str_isupper, "in upper case" },
    { "lower", "self", str_lower, "in lower case" },
    { "swapcase", "self", str_swapcase, "upper case for lower and lower for upper" },
    { "title", "self", str_title, "every word with a capital" },
    { "upper", "self", str_upper, "in upper case" },
    { 0 },
};
/* clang-format on */
