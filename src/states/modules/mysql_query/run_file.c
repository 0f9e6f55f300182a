/* mysql_query.run_file - runs the statements of a file in a database. */
#include "core/base/str.h"
#include "states/modules/mysql_query/query.h"
#include "states/state/module.h"

#define ARGS struct run_file_args

struct run_file_args {
    struct query_args in;
    const char *query_file, *hash;
};

/* clang-format off */
static const struct param run_file_params[] = {
    QUERY_PARAMS(ARGS, in),
    PARAM("query_file", STR, ARGS, query_file, "the file with the statements: a path in the state tree or on this machine, or a URL", .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("source_hash", STR, ARGS, hash, "hash of the file: sha256=..., for a URL", .flags = PARAM_FILLED),
    { 0 },
};
/* clang-format on */

static int run_file_validate(const void *args, const struct value *where, struct diags *diags)
{
    return query_validate(&((const struct run_file_args *)args)->in, where, diags);
}

static int run_file_check(struct state_run *run, const void *args, struct err *err)
{
    return query_check(run, &((const struct run_file_args *)args)->in, err);
}

static int run_file_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct run_file_args *want = args;
    struct str sql;

    if (state_source(run, want->query_file, want->hash, &sql, err) < 0)
        return -1;
    return query_apply(run, &want->in, sql, err);
}

static int run_file_revert(struct state_run *run, const void *args, struct err *err)
{
    (void)err;
    return query_revert(run, &((const struct run_file_args *)args)->in);
}

const struct module module_mysql_query_run_file = {
    .name = "mysql_query.run_file",
    .summary = "run the statements of a file in a MySQL database",
    .details = "The same as mysql_query.run, with statements from a file. What they did is not "
               "reverted.",
    .example = "name: load-schema\ndatabase: shop\nquery_file: salt://shop/schema.sql\n",
    .params = run_file_params,
    .args_size = sizeof(struct run_file_args),
    .lock = SERVER_LOCK,
    .validate = run_file_validate,
    .check = run_file_check,
    .apply = run_file_apply,
    .revert = run_file_revert,
};
