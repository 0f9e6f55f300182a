#include "fleet/wire/update.h"

#include "test.h"

/* Each is older than the next. */
static const char *const versions[] = { "0.9",
                                        "1.4.0-beta",
                                        "1.4.0-rc1",
                                        "1.4.0-rc2",
                                        "1.4.0-rc10",
                                        "1.4.0",
                                        "1.4.0-2",
                                        "1.4.0.1",
                                        "1.4.1",
                                        "1.10.0",
                                        "2.0a1",
                                        "2.0",
                                        "10.0",
                                        "99999999999999999999.0",
                                        "100000000000000000000.0" };

TEST(versions_are_ordered_by_their_numbers_and_those_with_letters_come_before_the_release)
{
    for (size_t i = 0; i < ARRAY_LEN(versions); i++)
        for (size_t j = 0; j < ARRAY_LEN(versions); j++) {
            const int order = update_version_compare(versions[i], versions[j]);

            CHECK_INT((order > 0) - (order < 0), (i > j) - (i < j));
        }
}

TEST(zeros_before_a_number_do_not_count)
{
    CHECK_INT(update_version_compare("1.04.00", "1.4.0"), 0);
    CHECK(update_version_compare("1.4.0", "1.4.00.1") < 0);
}
