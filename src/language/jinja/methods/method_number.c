/* Integers and floats. */

#include <math.h>

#include "language/jinja/render.h"
#include "language/jinja/text.h"
#include "language/jinja/methods/methods.h"

/* The longest is "-0x1.0000000000000p+1023". */
#define HEX_TEXT_MAX 64

static int64_t self_int(const struct bound_args *bound)
{
    return bound->args[0].kind == VALUE_BOOL ? bound->args[0].b : bound->args[0].i;
}

static uint64_t get_magnitude(int64_t i)
{
    return i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
}

static int int_bit_count(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)render;
    *ret = value_int(__builtin_popcountll(get_magnitude(self_int(bound))));
    return 0;
}

static int int_bit_length(struct render *render, const struct bound_args *bound, struct value *ret)
{
    uint64_t bits = get_magnitude(self_int(bound));

    (void)render;
    *ret = value_int(bits > 0 ? 64 - __builtin_clzll(bits) : 0);
    return 0;
}

static int float_is_integer(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    double d = bound->args[0].d;

    (void)render;
    *ret = value_bool(isfinite(d) && d == floor(d));
    return 0;
}

/* One digit before the point, thirteen after it, as Python writes it. */
static int float_hex(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(HEX_TEXT_MAX);
    double d = bound->args[0].d, fraction;
    int exponent = 0;

    if (!isfinite(d)) {
        buf_add_text(&out, isnan(d) ? "nan" : d < 0 ? "-inf" : "inf");
        return text_finish(render, &out, 0, ret);
    }
    fraction = fabs(d);
    if (fraction > 0) {
        exponent = ilogb(fraction);
        exponent = exponent < -1022 ? -1022 : exponent; /* subnormal numbers keep the least one */
        fraction = scalbn(fraction, -exponent);
    }
    if (d == 0)
        buf_printf(&out, "%s0x0.0p+0", signbit(d) ? "-" : "");
    else
        buf_printf(&out, "%s0x%d.%013llxp%+d", signbit(d) ? "-" : "", (int)fraction,
                   (unsigned long long)scalbn(fraction - floor(fraction), 52), exponent);
    return text_finish(render, &out, 0, ret);
}

/* clang-format off */
const struct function method_int[] = {
    { "bit_count", "self", int_bit_count, "how many bits are set" },
    { "bit_length", "self", int_bit_length, "how many bits the number needs" },
    { 0 },
};

const struct function method_float[] = {
    { "hex", "self", float_hex, "the number in hexadecimal" },
    { "is_integer", "self", float_is_integer, "is it a whole number" },
    { 0 },
};
/* clang-format on */
