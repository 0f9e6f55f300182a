/* The service "peel-trees": connected peels that cannot use what is published. */
#include <stdio.h>

#include "fleet/master/peels/roster.h"
#include "fleet/master/services.h"

static void *open_peel_trees(struct master *master, struct err *err)
{
    (void)err;
    return master;
}

static int start_peel_trees(void *self, struct err *err)
{
    (void)self;
    (void)err;
    return 0;
}

static enum health_status check_peel_trees(void *self, char message[static HEALTH_TEXT_MAX])
{
    const struct roster *roster = master_roster(self);
    struct roster_problem first;
    const size_t count = roster ? roster_problems(roster, &first) : 0;

    message[0] = '\0';
    if (count == 0)
        return HEALTH_OK;
    (void)snprintf(message, HEALTH_TEXT_MAX, "%zu peel%s on older trees: %s: %s%s", count,
                   count == 1 ? " runs" : "s run", first.peel, first.text,
                   count == 1 ? "" : ", ...");
    return HEALTH_DEGRADED;
}

const struct master_service master_peel_trees_service = {
    .name = "peel-trees",
    .open = open_peel_trees,
    .start = start_peel_trees,
    .check = check_peel_trees,
};
