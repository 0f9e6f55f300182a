/* file.list_backups - what a file was before earlier runs changed it. */
#include "states/modules/file/backups.h"
#include "states/state/module.h"

const struct module module_file_list_backups = {
    .name = "file.list_backups",
    .summary = "earlier versions of a file",
    .details =
        "The undo journal keeps it; `zester revert` brings it back. The location is the copy, "
        "or the folder of the run for a small file.",
    .params = backups_params,
    .args_size = sizeof(struct backups_args),
    .call = backups_of_file,
};
