/* postgres_group.present - a group of a PostgreSQL server, with these attributes. */
#include "states/modules/postgres/role.h"
#include "states/state/module.h"

static const struct param present_params[] = {
    ROLE_PARAMS("group"),
    { 0 },
};

RESOURCE_STATE(role_group, RESOURCE_PRESENT)

const struct module module_postgres_group_present = {
    .name = "postgres_group.present",
    .summary = "a group of a PostgreSQL server, with these attributes",
    .details = "The server gets the hash of a password and never the password. Attributes that are "
               "not given stay as they are; a new group may not log in.",
    .example = "name: staff\n",
    .params = present_params,
    ROLE_STATE_FIELDS,
};
