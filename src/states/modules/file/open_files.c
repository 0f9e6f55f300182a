/* file.open_files - the files that processes have open. */

#include "core/base/err.h"
#include "core/base/number.h"
#include "states/state/module.h"
#include "core/sys/cancel.h"
#include "core/sys/fs.h"

#define ARGS struct open_files_args
#define PROC "/proc"

struct open_files_args {
    bool by_pid;
};

/* clang-format off */
static const struct param open_files_params[] = {
    PARAM("by_pid", BOOL, ARGS, by_pid, "a map of processes to files, instead of files to processes", .flags = PARAM_PRIMARY),
    { 0 },
};
/* clang-format on */

static void add_open_file(struct arena *arena, struct value_map *map, struct value key,
                          struct value item)
{
    const struct value *found = value_map_find(map, &key);
    struct value_list *list = found ? found->list : value_list_new(arena, 4);

    for (size_t i = list->count; i-- > 0;)
        if (value_equal(&list->items[i], &item))
            return;
    value_list_push(arena, list, item);
    if (!found)
        value_map_set(arena, map, key, value_list(list));
}

/* A link of a process leads to a file: not to a socket, a pipe or what is gone. */
static const char *follow_fd_link(struct state_run *run, const char *link)
{
    const char *target;
    struct fs_info info;
    struct err ignored;

    if (fs_readlink(run->arena, link, &target, &ignored) < 0 || !target || target[0] != '/' ||
        fs_stat(target, &info, &ignored) < 0 || info.kind == FS_NONE)
        return NULL;
    return target;
}

static void add_fd_link(struct state_run *run, const struct open_files_args *want, int64_t pid,
                        const char *link, struct value_map *found)
{
    const char *path = follow_fd_link(run, link);

    if (path && want->by_pid)
        add_open_file(run->arena, found, value_int(pid), value_text(path));
    else if (path)
        add_open_file(run->arena, found, value_text(path), value_int(pid));
}

/* A process that ends meanwhile or may not be inspected has no files. */
static void add_process_files(struct state_run *run, const struct open_files_args *want,
                              const char *name, struct value_map *found)
{
    const char *folder = arena_printf(run->arena, PROC "/%s/fd", name);
    struct fs_names names = { .list = VEC_INIT };
    struct err ignored;
    int64_t pid;

    if (number_parse_int(str_from(name), &pid, &ignored) < 0)
        return;
    add_fd_link(run, want, pid, arena_printf(run->arena, PROC "/%s/exe", name), found);
    if (fs_list(run->arena, folder, &names, &ignored) < 0)
        return;
    VEC_EACH (&names.list, fd)
        add_fd_link(run, want, pid, arena_printf(run->arena, "%s/%s", folder, *fd), found);
}

static int open_files_call(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    struct fs_names names = { .list = VEC_INIT };

    if (fs_list(run->arena, PROC, &names, err) < 0)
        return -1;
    *ret = value_map(value_map_new(run->arena, 64));
    VEC_EACH (&names.list, name) {
        if (cancel_check(err) < 0)
            return -1;
        if ((*name)[0] >= '0' && (*name)[0] <= '9')
            add_process_files(run, args, *name, ret->map);
    }
    return 0;
}

const struct module module_file_open_files = {
    .name = "file.open_files",
    .summary = "the files that processes have open, with the numbers of the processes",
    .params = open_files_params,
    .args_size = sizeof(ARGS),
    .call = open_files_call,
};
