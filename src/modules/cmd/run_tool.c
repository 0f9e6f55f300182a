#include "modules/cmd/run_tool.h"

#include "state/host.h"
#include "state/module.h"

struct tool run_tool(const struct state_run *run)
{
    return (struct tool){ .arena = run->arena, .cancel = run->host->cancel, .runas = run->runas };
}
