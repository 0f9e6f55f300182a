/* Logging calls and the mine, as Salt's formulas use them. */
#include "core/data/yaml_print.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "states/state/secrets.h"

#define ARGS struct log_args

struct log_args {
    const struct value *message;
    const char *target, *function, *type;
};

/* clang-format off */
static const struct param log_params[] = {
    PARAM("message", ANY, ARGS, message, "the message", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    { 0 },
};
static const struct param mine_params[] = {
    PARAM("tgt", STR, ARGS, target, "the target", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("fun", STR, ARGS, function, "the function of the mine", .flags = PARAM_REQUIRED),
    PARAM("tgt_type", STR, ARGS, type, "the kind of target", .default_text = "glob", .aliases = "expr_form"),
    { 0 },
};
/* clang-format on */

static int log_message(struct state_run *run, enum log_level level, const struct value *message,
                       struct value *ret, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(LOG_TEXT_MAX);

    *ret = value_bool(true);
    if (!run->host->log)
        return 0;
    if (message->kind == VALUE_STR)
        buf_add_str(&text, message->s);
    else if (yaml_print_flow(&text, message, err) < 0)
        return -1;
    secrets_mask(run->host->secrets, &text);
    run->host->log(level, buf_view(&text));
    return 0;
}

#define LOG_CALL(name, level)                                                                      \
    static int name(struct state_run *run, const void *args, struct value *ret, struct err *err)   \
    {                                                                                              \
        return log_message(run, level, ((const struct log_args *)args)->message, ret, err);        \
    }
LOG_CALL(call_error, LOG_LEVEL_ERROR)
LOG_CALL(call_warning, LOG_LEVEL_WARNING)
LOG_CALL(call_info, LOG_LEVEL_INFO)
LOG_CALL(call_debug, LOG_LEVEL_DEBUG)

/* A single machine has no mine. */
static int call_mine(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct log_args *want = args;
    const struct state_basket question = { want->target, want->type, want->function };

    if (run->host->basket)
        return run->host->basket(run->host, &question, run->arena, ret, err);
    *ret = value_map(value_map_new(run->arena, 0));
    return 0;
}

/* clang-format off */
#define ROW(table, function) .params = table, .args_size = sizeof(ARGS), .call = function

const struct module functions_log[] = {
    { .name = "log.critical", .summary = "write an error line to the log", ROW(log_params, call_error) },
    { .name = "log.debug", .summary = "write a debug line to the log", ROW(log_params, call_debug) },
    { .name = "log.error", .summary = "write an error line to the log", ROW(log_params, call_error) },
    { .name = "log.exception", .summary = "write an error line to the log", ROW(log_params, call_error) },
    { .name = "log.info", .summary = "write an info line to the log", ROW(log_params, call_info) },
    { .name = "log.warning", .summary = "write a warning line to the log", ROW(log_params, call_warning) },
    { .name = "mine.get", .summary = "values that other machines of the fleet share under a name, by machine; empty without a fleet", ROW(mine_params, call_mine) },
    { 0 },
};
/* clang-format on */
