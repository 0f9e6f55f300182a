#include "states/modules/cmd/run_tool.h"

#include "core/base/err.h"
#include "core/data/value.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "core/sys/cancel.h"

/* Cleanups are not canceled, so they must not wait for long. */
#define CLEANUP_NS (30 * INT64_C(1000000000))

struct tool run_tool(const struct state_run *run)
{
    return (struct tool){ .arena = run->arena,
                          .cancel = run->cleans_up ? NULL : run->host->cancel,
                          .runas = run->runas,
                          .timeout = run->cleans_up ? CLEANUP_NS : 0 };
}

static int look_and_note(struct state_run *run, const void *args, run_tool_look_fn *look,
                         struct err *err)
{
    const struct value *before = state_noted(run, "before");
    struct value after;

    if (look(run, args, &after, err) < 0 || state_note(run, "after", after, err) < 0)
        return -1;
    if (before && value_equal(before, &after))
        state_untouched(run);
    return 0;
}

int run_tool_note_after(struct state_run *run, const void *args, run_tool_look_fn *look, int rc,
                        struct err *err)
{
    const struct cancel *heeded = cancel_heed(NULL);
    struct err own;
    int note_rc;

    run->cleans_up = true;
    note_rc = look_and_note(run, args, look, &own);
    run->cleans_up = false;
    (void)cancel_heed(heeded);
    if (rc < 0 || note_rc == 0)
        return rc;
    *err = own;
    return -1;
}
