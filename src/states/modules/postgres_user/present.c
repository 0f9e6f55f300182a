/* postgres_user.present - a user of a PostgreSQL server, with these attributes. */
#include "states/modules/postgres/role.h"
#include "states/state/module.h"

/* clang-format off */
static const struct param present_params[] = {
    ROLE_PARAMS("user"),
    PARAM("default_password", STR, struct role_args, default_password, "the password of a new user; later ones are not touched", .flags = PARAM_SECRET),
    PARAM("valid_until", STR, struct role_args, valid_until, "when the password expires", .flags = PARAM_FILLED),
    { 0 },
};
/* clang-format on */

RESOURCE_STATE(role_user, RESOURCE_PRESENT)

const struct module module_postgres_user_present = {
    .name = "postgres_user.present",
    .summary = "a user of a PostgreSQL server, with these attributes",
    .details = "The server gets the hash of a password and never the password. Attributes that are "
               "not given stay as they are; a new user may log in.",
    .example = "name: frank\npassword: bobcat\ncreatedb: true\n",
    .params = present_params,
    ROLE_STATE_FIELDS,
};
