#include "states/modules/test/outcome.h"

#include "core/base/err.h"

int outcome_differs(struct state_run *run, const void *args, struct err *err)
{
    const struct outcome_args *want = args;

    (void)err;
    state_differs(run, "%s", want->comment);
    return 0;
}

int outcome_fails(struct state_run *run, const void *args, struct err *err)
{
    const struct outcome_args *want = args;

    (void)run;
    return err_set(err, ERR_INVALID, "%s", want->comment);
}
