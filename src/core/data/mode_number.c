#include "core/data/mode_number.h"

#include "core/base/err.h"
#include "core/base/number.h"
#include "core/data/value.h"

#define MODE_MAX 07777
/* The largest number whose digits are those of a mode. */
#define DIGITS_MAX 7777
/* Numbers up to here are always the value of a mode. */
#define MODE_PLAIN_MAX 0777

static bool has_octal_digits_only(int64_t n)
{
    for (; n > 0; n /= 10)
        if (n % 10 > 7)
            return false;
    return true;
}

/* Is 644 a number, or the digits of a mode? A leading zero in the document means octal, and is
 * ambiguous when the reader saw it otherwise, as YAML 1.2 does; any other two or more octal digits
 * may be meant as a mode. Without a document only numbers that are not a usual mode are ambiguous:
 * 420 is 0644 there. */
static bool is_doubtful(const struct value *v, struct str written)
{
    const bool is_known = written.n > 0 && written.p[0] >= '0' && written.p[0] <= '9';
    struct err err;
    unsigned octal;

    if (v->source && v->source->salt)
        return true;
    if (is_known && written.p[0] == '0')
        return number_parse_mode(written, &octal, &err) == 0 && octal != v->i;
    if (!has_octal_digits_only(v->i))
        return is_known && v->i > MODE_PLAIN_MAX; /* 493 is 0755, and 999 is not a mode */
    return v->i > MODE_PLAIN_MAX || (is_known && v->i >= 10);
}

/* The owner may read, and neither group nor others may do more than the class before them. */
static bool is_usual_mode(int64_t mode)
{
    const int64_t owner = mode >> 6 & 7, group = mode >> 3 & 7, others = mode & 7;

    return mode <= MODE_MAX && (owner & 4) && (group & ~owner) == 0 && (others & ~group) == 0;
}

/* The number with these octal digits; -1 when there is an 8 or 9. */
static int64_t octal_digits(int64_t number)
{
    int64_t digits = 0;

    if (!has_octal_digits_only(number))
        return -1;
    for (int64_t rest = number, place = 1; rest > 0; rest /= 10, place *= 8)
        digits += rest % 10 * place;
    return digits;
}

/* The meaning of an ambiguous number: its digits when they are a usual mode (644), as Salt reads
 * it, or its value when that is one (420, which a template printed for 0644). When neither is, as
 * in 604, the digits are meant. 511 may be both. In Salt's YAML it is always the digits. */
static bool settle_doubt(const struct value *v, mode_t *ret)
{
    const int64_t everything = 0777, number = v->i, digits = octal_digits(number);

    if (v->source && v->source->salt && digits >= 0)
        *ret = (mode_t)digits;
    else if (v->source && v->source->salt)
        return false;
    else if (digits >= 0 && is_usual_mode(digits) && number != everything)
        *ret = (mode_t)digits;
    else if (is_usual_mode(number) && !(digits >= 0 && is_usual_mode(digits)))
        *ret = (mode_t)number;
    else if (digits > 0 && digits <= everything && !is_usual_mode(number))
        *ret = (mode_t)digits;
    else
        return false;
    return true;
}

bool mode_number_read(const struct value *v, struct str written, mode_t *ret)
{
    if (v->i < 0 || v->i > DIGITS_MAX)
        return false;
    if (is_doubtful(v, written))
        return settle_doubt(v, ret);
    if (v->i > MODE_MAX)
        return false;
    *ret = (mode_t)v->i;
    return true;
}

bool mode_number_has_digits(int64_t number)
{
    return number >= 0 && number <= DIGITS_MAX && has_octal_digits_only(number);
}
