#include "states/compile/dialect.h"

#include "core/base/str.h"

const struct dialect dialect_zy = {
    .name = "zy",
    .retry_interval = 10,
};

const struct dialect dialect_sls = {
    .name = "sls",
    .written_order = true,
    .listen_at_end = true,
    .unless_all = true,
    .attempts_total = true,
    .retry_interval = 30,
    .ignores_parameters = true,
    .ignores_cycles = true,
    .ignores_excludes = true,
    .ignores_repeats = true,
    .unique_ids = true,
    .extends_families = true,
    .requires_all = true,
    .fails_late = true,
    .check_decides = true,
    .salt_attributes = true,
};

const struct dialect *dialect_of(const char *path)
{
    return str_ends(str_from(path), STR(".sls")) ? &dialect_sls : &dialect_zy;
}
