/* postgres_user.absent - a user of a PostgreSQL server does not exist. */
#include "states/modules/postgres/role.h"
#include "states/state/module.h"

/* clang-format off */
static const struct param absent_params[] = {
    PARAM("name", STR, struct role_args, name, "the user", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PSQL_PARAMS(struct role_args, login),
    { 0 },
};
/* clang-format on */

RESOURCE_STATE(role_user, RESOURCE_ABSENT)

const struct module module_postgres_user_absent = {
    .name = "postgres_user.absent",
    .summary = "a user of a PostgreSQL server does not exist",
    .details = "The server refuses to remove one that owns something. A revert creates it again, "
               "with attributes, password, memberships and settings.",
    .example = "name: frank\n",
    .params = absent_params,
    ROLE_STATE_FIELDS,
};
