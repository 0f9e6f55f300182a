#include "core/base/ksuid.h"

#include <stdlib.h>

#include <sodium.h>

#include "core/base/err.h"

/* The number of 20 bytes as five digits of base 2^32, most significant first. */
#define WORDS 5
#define BASE  62

static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

static uint32_t get_word(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put_word(uint32_t word, unsigned char *p)
{
    for (int i = 3; i >= 0; i--, word >>= 8)
        p[i] = (unsigned char)word;
}

/* Divide by 62 in place; returns the remainder. */
static uint32_t divide_by_62(uint32_t words[static WORDS])
{
    uint64_t rest = 0;

    for (int i = 0; i < WORDS; i++) {
        rest = rest << 32 | words[i];
        words[i] = (uint32_t)(rest / BASE);
        rest %= BASE;
    }
    return (uint32_t)rest;
}

/* Multiply by 62 and add in place; returns the overflow. */
static uint32_t multiply_by_62(uint32_t words[static WORDS], uint32_t add)
{
    uint64_t carry = add;

    for (int i = WORDS - 1; i >= 0; i--) {
        carry += (uint64_t)words[i] * BASE;
        words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return (uint32_t)carry;
}

void ksuid_print(const struct ksuid *ksuid, char text[static KSUID_SIZE])
{
    int64_t seconds = ksuid->seconds < KSUID_EPOCH ? 0 : ksuid->seconds - KSUID_EPOCH;
    uint32_t words[WORDS] = { seconds > UINT32_MAX ? UINT32_MAX : (uint32_t)seconds };

    for (int i = 1; i < WORDS; i++)
        words[i] = get_word(ksuid->payload + 4 * (i - 1));
    for (int i = KSUID_LENGTH - 1; i >= 0; i--)
        text[i] = alphabet[divide_by_62(words)];
    text[KSUID_LENGTH] = '\0';
}

int ksuid_parse(struct str text, struct ksuid *ret_ksuid, struct err *err)
{
    uint32_t words[WORDS] = { 0 };

    if (text.n != KSUID_LENGTH)
        return err_set(err, ERR_INVALID, "id has %zu characters, must have %d", text.n,
                       KSUID_LENGTH);
    for (size_t i = 0; i < text.n; i++) {
        size_t digit = str_find_char((struct str){ alphabet, BASE }, text.p[i], 0);

        if (digit == STR_NONE)
            return err_set(err, ERR_INVALID, "id has a character other than 0-9A-Za-z");
        if (multiply_by_62(words, (uint32_t)digit) > 0)
            return err_set(err, ERR_INVALID, "'%.*s' is above the largest id", STR_ARG(text));
    }
    ret_ksuid->seconds = KSUID_EPOCH + words[0];
    for (int i = 1; i < WORDS; i++)
        put_word(words[i], ret_ksuid->payload + 4 * (i - 1));
    return 0;
}

void ksuid_new(int64_t seconds, char text[static KSUID_SIZE])
{
    struct ksuid ksuid = { .seconds = seconds };

    if (sodium_init() < 0) /* harmless when already initialised */
        abort();           /* no random numbers: nothing that needs an id can continue */
    randombytes_buf(ksuid.payload, sizeof(ksuid.payload));
    ksuid_print(&ksuid, text);
}
