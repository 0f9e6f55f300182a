#include "states/modules/facts/factset.h"

#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/yaml.h"
#include "states/state/host.h"
#include "states/state/module.h"

#define ARGS struct factset_args

/* clang-format off */
const struct param factset_params[] = {
    PARAM("key", STR, ARGS, key, "a path, with '.' between its parts", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "name"),
    PARAM("value", ANY, ARGS, value, "its value; text is parsed as YAML", .flags = PARAM_REQUIRED, .aliases = "val"),
    { 0 },
};
/* clang-format on */

int factset_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct factset_args *want = args;
    struct diags diags = DIAGS_INIT(run->arena);
    struct value v = *want->value;

    if (!run->host->set_fact || run->host->test)
        return err_set(err, ERR_UNSUPPORTED, "cannot write facts %s",
                       run->host->test ? "in a dry run" : "here");
    if (v.kind == VALUE_STR && yaml_parse(run->arena, "value", v.s, NULL, &v, &diags) < 0)
        return diags_to_err(&diags, err);
    if (run->host->set_fact(run->host, want->key, &v, err) < 0)
        return -1;
    *ret = v;
    return 0;
}
