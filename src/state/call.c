#include "state/call.h"

#include "base/diag.h"
#include "base/err.h"
#include "state/host.h"
#include "state/module.h"

int call_function(struct arena *arena, struct state_host *host, const struct module *module,
                  const struct value *given, const struct value *primary, struct value *ret,
                  struct diags *diags)
{
    const struct params_policy policy = { .owner = module->name, .primary = primary };
    void *args = arena_zalloc(arena, module->args_size + 1);
    struct state_run run = {
        .arena = arena,
        .name = module->name,
        .test = host->test,
        .host = host,
        .text = BUF_INIT(BUF_NO_LIMIT),
        .details = value_map_new(arena, 0),
        .notes = value_map_new(arena, 0),
    };
    struct err err;
    int result;

    if (params_decode(arena, module->params, &policy, given, args, diags) < 0)
        return -1;
    result = module->call(&run, args, ret, &err);
    buf_done(&run.text);
    return result < 0 ? diag_err(diags, (struct place){ 0 }, &err) : 0;
}
