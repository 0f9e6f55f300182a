#include "core/base/ksuid.h"

#include "core/base/err.h"
#include "core/base/hex.h"
#include "test.h"

#define LEAST   "000000000000000000000000000"
#define LARGEST "aWgEPTl1tmebfsQzFP4bxwgy80V"

TEST(a_known_id_is_read_and_written)
{
    char hex[HEX_SIZE(KSUID_PAYLOAD)], text[KSUID_SIZE];
    struct ksuid ksuid;
    struct err err;

    CHECK_INT(ksuid_parse(STR("0ujtsYcgvSTl8PAuAdqWYSMnLOv"), &ksuid, &err), 0);
    CHECK_INT(ksuid.seconds, KSUID_EPOCH + 107608047);
    hex_write(ksuid.payload, sizeof(ksuid.payload), hex);
    CHECK_STR(hex, "b5a1cd34b5f99d1154fb6853345c9735");
    ksuid_print(&ksuid, text);
    CHECK_STR(text, "0ujtsYcgvSTl8PAuAdqWYSMnLOv");
}

TEST(the_least_and_the_largest_id_are_where_numbers_end)
{
    struct ksuid ksuid = { .seconds = 0 };
    char text[KSUID_SIZE];
    struct err err;

    ksuid_print(&ksuid, text);
    CHECK_STR(text, LEAST);
    ksuid.seconds = INT64_MAX;
    memset(ksuid.payload, 0xff, sizeof(ksuid.payload));
    ksuid_print(&ksuid, text);
    CHECK_STR(text, LARGEST);
    CHECK_INT(ksuid_parse(STR(LARGEST), &ksuid, &err), 0);
    CHECK_INT(ksuid.seconds, KSUID_EPOCH + UINT32_MAX);
    CHECK_INT(ksuid_parse(STR("aWgEPTl1tmebfsQzFP4bxwgy80W"), &ksuid, &err), -1);
    CHECK_STR(err.text, "'aWgEPTl1tmebfsQzFP4bxwgy80W' is above the largest id");
}

TEST(texts_sort_as_seconds_do)
{
    static const int64_t seconds[] = { 0,          KSUID_EPOCH, KSUID_EPOCH + 1,
                                       1700000000, 1700000001,  4000000000 };
    char before[KSUID_SIZE] = "", text[KSUID_SIZE];

    for (size_t i = 0; i < ARRAY_LEN(seconds); i++) {
        struct ksuid ksuid = { .seconds = seconds[i] };

        memset(ksuid.payload, i % 2 == 0 ? 0xff : 0x00, sizeof(ksuid.payload));
        ksuid_print(&ksuid, text);
        if (i != 1) /* 0 is taken as the first second there is */
            CHECK(strcmp(before, text) < 0);
        memcpy(before, text, sizeof(text));
    }
}

TEST(an_invalid_id_is_refused)
{
    static const char *const bad[] = { "", "0ujtsYcgvSTl8PAuAdqWYSMnLO", (LEAST "0"),
                                       "0ujtsYcgvSTl8PAuAdqWYSMnL-v",
                                       "zzzzzzzzzzzzzzzzzzzzzzzzzzz" };
    struct ksuid ksuid;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK_INT(ksuid_parse(str_from(bad[i]), &ksuid, &err), -1);
        CHECK_INT(err.code, ERR_INVALID);
    }
    CHECK_INT(ksuid_parse((struct str){ "0ujtsYcgvSTl8PAuAdqWYSMnLO\0", 27 }, &ksuid, &err), -1);
}

TEST(new_ids_differ_within_a_second)
{
    char first[KSUID_SIZE], second[KSUID_SIZE];
    struct ksuid ksuid;
    struct err err;

    ksuid_new(1700000000, first);
    ksuid_new(1700000000, second);
    CHECK(strcmp(first, second) != 0);
    CHECK_INT(ksuid_parse(str_from(second), &ksuid, &err), 0);
    CHECK_INT(ksuid.seconds, 1700000000);
}
