/* The steps of an orchestration under their names in Salt. */
#include "states/modules/fleet/orders.h"

/* clang-format off */
const struct module aliases_fleet[] = {
    { .name = "salt.function", .summary = "the name of fleet.function in Salt", ORDERS_FUNCTION_FIELDS },
    { .name = "salt.state", .summary = "the name of fleet.state in Salt", ORDERS_STATE_FIELDS },
    { 0 },
};
/* clang-format on */
