/* fleet.function - runs a function on machines of the fleet, as a step of an orchestration. */
#include "states/modules/fleet/orders.h"

const struct module module_fleet_function = {
    .name = "fleet.function",
    .summary = "run a function on machines of the fleet, and wait for it",
    .details = "A step of a tree that `zester orchestrate` runs; the name is the function. It has "
               "changed when a peel has, and fails when more peels fail than `max_failures`, or "
               "none matches. In a dry run only functions that are states are dispatched, as dry "
               "runs.",
    ORDERS_FUNCTION_FIELDS,
};
