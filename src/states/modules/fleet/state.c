/* fleet.state - applies states on machines of the fleet, as a step of an orchestration. */
#include "states/modules/fleet/orders.h"

const struct module module_fleet_state = {
    .name = "fleet.state",
    .summary = "apply states on machines of the fleet, and wait for them",
    .details =
        "A step of a tree that `zester orchestrate` runs. It has changed when a peel has, and "
        "fails when more peels fail than `max_failures`, or none matches. A dry run is a "
        "dry run on the peels.",
    ORDERS_STATE_FIELDS,
};
