#include "states/modules/mount/fstabs.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/modules/cmd/run_tool.h"
#include "states/state/module.h"
#include "states/state/validate.h"

static const char *const tags[] = { NULL, "LABEL", "UUID", "PARTLABEL", "PARTUUID" };

int fstabs_validate(const struct fstabs_args *args, const struct value *where, struct diags *diags)
{
    const bool folder = args->folder[0] == '/' || strcmp(args->folder, "none") == 0 ||
                        strcmp(args->folder, "swap") == 0;

    if (!folder)
        return value_diag(diags, where,
                          "'fs_file' must be an absolute path, 'swap' or 'none', got \"%s\"",
                          args->folder);
    if (validate_text("fs_file", args->folder, VALIDATE_LINE, where, diags) < 0)
        return -1;
    return validate_text("name", args->device, VALIDATE_LINE, where, diags);
}

int fstabs_device(struct state_run *run, const struct fstabs_args *args, const char **ret,
                  struct err *err)
{
    const struct tool tool = run_tool(run);
    const char *tag = tags[args->by];
    struct str said;

    *ret = args->device;
    if (!tag || args->device[0] != '/')
        return 0;
    if (tool_run(&tool, TOOL("blkid", "-o", "value", "-s", tag, "--", args->device), NULL, &said,
                 err) < 0)
        return err_wrap(err, "find the %s of %s", tag, args->device);
    *ret = arena_printf(run->arena, "%s=%.*s", tag, STR_ARG(str_trim(said)));
    return 0;
}
