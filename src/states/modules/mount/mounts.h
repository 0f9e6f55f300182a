/*
 * mounts - the current mounts, and comparison with requested options.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_MOUNT_MOUNTS_H
#define STATES_MODULES_MOUNT_MOUNTS_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct err;
struct state_run;

struct mounts_entry {
    const char *folder, *device, *type;
    const char *number, *root; /* device number, and the mounted folder of that file system */
    const char *options;       /* mount options: "rw,nosuid" */
    const char *super_options; /* file system options */
};

struct mounts_list {
    VEC(struct mounts_entry) list;
};

/* All mounts of this process, in the order in which they were made. */
int mounts_read(struct state_run *run, struct mounts_list *ret, struct err *err);
/* The topmost mount at a folder; NULL: none. */
const struct mounts_entry *mounts_find(const struct mounts_list *list, const char *folder);

/* How to mount the same again, including bind mounts. */
struct mounts_entry mounts_recipe(struct state_run *run, const struct mounts_list *list,
                                  const struct mounts_entry *entry);
/* The same as notes of a state, and back. */
int mounts_note(struct state_run *run, const struct mounts_list *list,
                const struct mounts_entry *entry, struct err *err);
struct mounts_entry mounts_noted(struct state_run *run, const char *folder);

/* The first option that differs from `wanted` ("defaults,noatime"); NULL: none. Options that
 * the kernel does not show, and those in `hidden`, are ignored. */
const char *mounts_differing(struct state_run *run, const struct mounts_entry *entry,
                             const char *wanted, const char *hidden);
/* Is an option in a comma-separated list? */
bool mounts_has_option(const char *options, const char *option);

/* Is this the device of the mount? Understands UUID=, LABEL=, links and bind mounts. */
bool mounts_is_device(struct state_run *run, const struct mounts_entry *entry, const char *device);

/* Is this device or file active as swap? */
int mounts_is_swap(struct state_run *run, const char *device, bool *ret, struct err *err);
/* Does this text of fstab have a swap entry for it? */
bool mounts_has_swap(struct state_run *run, struct str fstab, const char *device);

int mounts_mount(struct state_run *run, const struct mounts_entry *entry, struct err *err);
int mounts_remount(struct state_run *run, const char *device, const char *folder,
                   const char *options, struct err *err);
/* Mount by a recipe, with the options of the file system. Some file systems show options that
 * they do not accept: then retry without those. */
int mounts_mount_again(struct state_run *run, const struct mounts_entry *entry, struct err *err);
int mounts_remount_again(struct state_run *run, const struct mounts_entry *entry, struct err *err);
int mounts_unmount(struct state_run *run, const char *folder, struct err *err);

#endif
