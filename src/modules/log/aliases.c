/* What formulas say on the way, and ask of a fleet that is not there. */
#include "state/module.h"

#define ARGS struct log_args

struct log_args {
    const struct value *message;
    const char *target, *function, *type;
};

/* clang-format off */
static const struct param log_params[] = {
    PARAM("message", ANY, ARGS, message, "what to say", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    { 0 },
};
static const struct param mine_params[] = {
    PARAM("tgt", STR, ARGS, target, "which machines", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("fun", STR, ARGS, function, "what was sent", .flags = PARAM_REQUIRED),
    PARAM("tgt_type", STR, ARGS, type, "how machines are named", .default_text = "glob", .aliases = "expr_form"),
    { 0 },
};
/* clang-format on */

/* Templates have no log of their own; what is said there changes nothing. */
static int call_log(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)run;
    (void)args;
    (void)err;
    *ret = value_bool(true);
    return 0;
}

/* One machine alone has no others that could have sent something. */
static int call_mine(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)args;
    (void)err;
    *ret = value_map(value_map_new(run->arena, 0));
    return 0;
}

/* clang-format off */
#define ROW(table, function) .params = table, .args_size = sizeof(ARGS), .call = function

const struct module aliases_log[] = {
    { .name = "log.critical", .summary = "accepted for Salt's templates; says nothing", ROW(log_params, call_log) },
    { .name = "log.debug", .summary = "accepted for Salt's templates; says nothing", ROW(log_params, call_log) },
    { .name = "log.error", .summary = "accepted for Salt's templates; says nothing", ROW(log_params, call_log) },
    { .name = "log.info", .summary = "accepted for Salt's templates; says nothing", ROW(log_params, call_log) },
    { .name = "log.warning", .summary = "accepted for Salt's templates; says nothing", ROW(log_params, call_log) },
    { .name = "mine.get", .summary = "what other machines sent: nothing, without a fleet", ROW(mine_params, call_mine) },
    { 0 },
};
/* clang-format on */
