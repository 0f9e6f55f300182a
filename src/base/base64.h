/*
 * base64 - bytes as text (RFC 4648), with the standard or the URL alphabet.
 *
 * The standard form is padded with '='; the URL form ('-' and '_') is not. The
 * decoder takes either padding, skips blanks and line ends, and refuses bits that
 * would be lost, so that one text has one meaning.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/str.h"

struct buf;
struct err;

enum base64_form {
    BASE64_STANDARD,
    BASE64_URL,
};

void base64_encode(struct str bytes, enum base64_form form, struct buf *out);
/* Appends; fails with ERR_INVALID, and then may have appended some. */
int base64_decode(struct str text, enum base64_form form, struct buf *out, struct err *err);

#endif
