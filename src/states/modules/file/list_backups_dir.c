/* file.list_backups_dir - what the files of a folder were before earlier runs changed them. */
#include "states/modules/file/backups.h"
#include "states/state/module.h"

const struct module module_file_list_backups_dir = {
    .name = "file.list_backups_dir",
    .summary = "earlier versions of the files in a folder",
    .details = "By their names, each as file.list_backups gives it.",
    .params = backups_params,
    .args_size = sizeof(struct backups_args),
    .call = backups_of_folder,
};
