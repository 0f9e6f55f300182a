/*
 * base64 - bytes as text (RFC 4648), with the standard or the URL alphabet.
 *
 * The standard form is padded with '='; the URL form ('-' and '_') is not. What
 * people write is read with either padding and with blanks and line ends between
 * letters; bits that would be lost are refused, so that one text has one meaning.
 * Signed or compared text is read strictly, so that one meaning has one text.
 */
#ifndef CORE_BASE_BASE64_H
#define CORE_BASE_BASE64_H

#include "core/base/str.h"

struct buf;
struct err;

enum base64_form {
    BASE64_STANDARD,
    BASE64_URL,
};

void base64_encode(struct str bytes, enum base64_form form, struct buf *out);
/* Append the bytes. Fails with ERR_INVALID, or with ERR_LIMIT when `out` is full; `out` is then
 * unchanged. */
int base64_decode(struct str text, enum base64_form form, struct buf *out, struct err *err);
/* The same for the one text that base64_encode writes: no blanks, padding as the form has it. */
int base64_decode_strict(struct str text, enum base64_form form, struct buf *out, struct err *err);

#endif
