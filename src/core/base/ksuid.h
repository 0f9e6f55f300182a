/*
 * ksuid - an id of 27 characters that sorts by time.
 *
 * Four bytes of seconds since 2014-05-13T16:53:20Z and sixteen of payload, read as
 * one number and written in base 62 (0-9A-Za-z). Texts of a fixed length in an
 * alphabet in byte order sort as the numbers do: by second, then by payload.
 *
 *      seconds    payload
 *     | 4 bytes | 16 bytes                      |  big-endian
 *
 * Threads: any.
 */
#ifndef CORE_BASE_KSUID_H
#define CORE_BASE_KSUID_H

#include <stdint.h>

#include "core/base/str.h"

struct err;

#define KSUID_LENGTH  27
#define KSUID_SIZE    (KSUID_LENGTH + 1) /* with its NUL */
#define KSUID_PAYLOAD 16
#define KSUID_EPOCH   INT64_C(1400000000)

struct ksuid {
    int64_t seconds; /* since 1970 */
    unsigned char payload[KSUID_PAYLOAD];
};

/* Seconds out of range (before 2014, after 2150) become the first or the last. */
void ksuid_print(const struct ksuid *ksuid, char text[static KSUID_SIZE]);
/* Fails with ERR_INVALID. */
int ksuid_parse(struct str text, struct ksuid *ret_ksuid, struct err *err);

/* The text of a new id with a random payload. */
void ksuid_new(int64_t seconds, char text[static KSUID_SIZE]);

#endif
