/* The provider and configs have the same conditions. */
#include "kepler/config/condition.h"
#include "states/provider/orchestrator.h"
#include "test.h"

TEST(conditions_have_the_names_and_the_order_of_depends_on)
{
    struct str rest = STR(ORCHESTRATOR_CONDITIONS);
    int count = 0;

    while (rest.p) {
        const struct str word = str_cut(&rest, '|');

        CHECK(str_starts(str_from(condition_name((enum condition)count)), STR("service_")));
        CHECK(str_ends(str_from(condition_name((enum condition)count)), word));
        CHECK(str_eq(orchestrator_condition(count), word));
        count++;
    }
    CHECK_INT(count, CONDITIONS);
}
