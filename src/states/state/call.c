#include "states/state/call.h"

#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/state/host.h"
#include "states/state/module.h"

int call_decode(struct arena *arena, const struct module *module, const struct value *given,
                const struct value *primary, const void **ret_args, struct diags *diags)
{
    const struct value none = value_null();
    struct diags unknown = DIAGS_INIT(arena);
    const bool takes_any = params_find_rest(module->params, given ? given : &none);
    const struct params_policy policy = { .owner = module->name,
                                          .primary = primary,
                                          .unknown = takes_any ? &unknown : NULL };
    void *args = arena_zalloc(arena, module->args_size + 1);

    if (params_decode(arena, module->params, &policy, given, args, diags) < 0)
        return -1;
    if (module->validate && module->validate(args, given ? given : &none, diags) < 0)
        return -1;
    *ret_args = args;
    return 0;
}

int call_decoded(struct arena *arena, struct state_host *host, const struct module *module,
                 const void *args, struct value *ret, struct err *err)
{
    struct state_run run = {
        .arena = arena,
        .name = module->name,
        .test = host->test,
        .host = host,
        .text = BUF_INIT(BUF_NO_LIMIT),
        .details = value_map_new(arena, 0),
        .notes = value_map_new(arena, 0),
    };
    int result = module->call(&run, args, ret, err);

    buf_done(&run.text);
    return result;
}

int call_function(struct arena *arena, struct state_host *host, const struct module *module,
                  const struct value *given, const struct value *primary, struct value *ret,
                  struct diags *diags)
{
    const void *args;
    struct err err;

    if (call_decode(arena, module, given, primary, &args, diags) < 0)
        return -1;
    if (call_decoded(arena, host, module, args, ret, &err) < 0)
        return diag_err(diags, (struct place){ 0 }, &err);
    return 0;
}
