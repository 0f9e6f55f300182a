/* mysql_query.run - runs statements in a database. */
#include "states/modules/mysql_query/query.h"
#include "states/state/module.h"

#define ARGS struct run_args

struct run_args {
    struct query_args in;
    const char *query;
};

static const struct param run_params[] = {
    QUERY_PARAMS(ARGS, in),
    PARAM("query", STR, ARGS, query, "the statements", .flags = PARAM_REQUIRED | PARAM_FILLED),
    { 0 },
};

static int run_validate(const void *args, const struct value *where, struct diags *diags)
{
    return query_validate(&((const struct run_args *)args)->in, where, diags);
}

static int run_check(struct state_run *run, const void *args, struct err *err)
{
    return query_check(run, &((const struct run_args *)args)->in, err);
}

static int run_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct run_args *want = args;

    return query_apply(run, &want->in, str_from(want->query), err);
}

static int run_revert(struct state_run *run, const void *args, struct err *err)
{
    (void)err;
    return query_revert(run, &((const struct run_args *)args)->in);
}

const struct module module_mysql_query_run = {
    .name = "mysql_query.run",
    .summary = "run statements in a MySQL database",
    .details = "They run whenever the state does; limit it with `output` and `overwrite: false`, "
               "`unless` or `onchanges`. The rows are among the details of the result. What the "
               "statements did is not reverted.",
    .example = "name: count-users\ndatabase: shop\nquery: SELECT COUNT(*) AS n FROM users\n",
    .params = run_params,
    .args_size = sizeof(struct run_args),
    .lock = SERVER_LOCK,
    .validate = run_validate,
    .check = run_check,
    .apply = run_apply,
    .revert = run_revert,
};
