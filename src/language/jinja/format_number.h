/*
 * format_number - digits, signs, groups and padding, for both kinds of formats.
 *
 * A number is written as three texts: its head (sign and "0x"), its digits, and its tail (point,
 * fraction, exponent, percent sign). Padding with zeros goes between head and digits; only digits
 * are grouped.
 */
#ifndef LANGUAGE_JINJA_FORMAT_NUMBER_H
#define LANGUAGE_JINJA_FORMAT_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct buf;

/* A field, as either kind of format describes it. */
struct format_field {
    struct str fill; /* one character */
    char align;      /* '<', '>', '^', or '=': between head and digits */
    char sign;       /* '-', '+' or ' ' */
    char grouping;   /* ',', '_' or 0 */
    char type;       /* 0: none given */
    bool alternate;
    bool positive_zero; /* a zero has no minus */
    size_t width;
    int precision; /* -1: none given */
};

/* The longest head: sign and "0x". */
#define FORMAT_HEAD_MAX 4

/* Append `text`, filled up to the width of the field. */
void format_pad(const struct format_field *field, struct str text, struct buf *out);

/* An integer by its type (b o x X, else decimal); the precision is the minimum number of digits. */
void format_int(const struct format_field *field, int64_t i, struct buf *out);
/* A double by its type (e E f F g G n %, or none). */
void format_double(const struct format_field *field, double d, struct buf *out);

#endif
