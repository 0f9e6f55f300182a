/* mount.active - returns the current mounts. */
#include "core/base/err.h"
#include "states/modules/mount/mounts.h"
#include "states/state/module.h"

static int active_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct value_map *map = value_map_new(run->arena, 32);
    struct mounts_list list;

    (void)args;
    if (mounts_read(run, &list, err) < 0)
        return -1;
    VEC_EACH (&list.list, entry) {
        struct value_map *one = value_map_new(run->arena, 4);

        value_map_set(run->arena, one, value_text("device"), value_text(entry->device));
        value_map_set(run->arena, one, value_text("fstype"), value_text(entry->type));
        value_map_set(run->arena, one, value_text("opts"), value_text(entry->options));
        value_map_set(run->arena, one, value_text("superopts"), value_text(entry->super_options));
        value_map_set(run->arena, map, value_text(entry->folder), value_map(one));
    }
    *ret = value_map(map);
    return 0;
}

const struct module module_mount_active = {
    .name = "mount.active",
    .summary = "the current mounts: each folder with device, type and options",
    .example = "{}\n",
    .params = params_none,
    .call = active_call,
};
