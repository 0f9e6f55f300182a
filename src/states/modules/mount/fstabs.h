/*
 * fstabs - what mount.fstab_present and mount.fstab_absent say of an entry of fstab.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_MOUNT_FSTABS_H
#define STATES_MODULES_MOUNT_FSTABS_H

#include "core/data/params.h"

struct diags;
struct err;
struct state_run;
struct value;

struct fstabs_args {
    const char *device, *folder, *config;
    int by; /* how the device is written down; 0: as it is */
};

/* clang-format off */
#define FSTABS_PARAMS(type, in)                                                                                        \
    PARAM("name", STR, type, in.device, "the device: a path, UUID=..., LABEL=..., host:/path, tmpfs", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED), \
    PARAM("fs_file", STR, type, in.folder, "the mount point; swap or none if it has none", .flags = PARAM_REQUIRED),                \
    PARAM("mount_by", CHOICE, type, in.by, "how the entry names the device", .choices = "device|label|uuid|partlabel|partuuid", .default_text = "device"), \
    PARAM("config", PATH, type, in.config, "the file", .default_text = "/etc/fstab")
/* clang-format on */

int fstabs_validate(const struct fstabs_args *args, const struct value *where, struct diags *diags);
/* The device as the entry names it: with mount_by, blkid knows its label or number. */
int fstabs_device(struct state_run *run, const struct fstabs_args *args, const char **ret,
                  struct err *err);

#endif
