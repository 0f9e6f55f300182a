/* service.get_all - the services that are installed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

/* Where units are, and scripts of init. */
static const char *const unit_folders[] = { "/etc/systemd/system", "/run/systemd/system",
                                            "/usr/local/lib/systemd/system",
                                            "/usr/lib/systemd/system", "/lib/systemd/system" };
#define SCRIPTS "/etc/init.d"

static void add_service_name(struct state_run *run, struct value_map *names, struct str name)
{
    value_map_set(run->arena, names, value_str(arena_str(run->arena, name)), value_null());
}

/* "nginx.service" is nginx; other kinds of units keep their suffix. Folders with settings of units
 * and templates without an instance are not services. */
static void add_unit(struct state_run *run, struct value_map *names, struct str file)
{
    static const char *const kinds[] = { ".socket", ".target", ".mount", ".timer", ".path" };

    if (str_find_char(file, '@', 0) != STR_NONE)
        return;
    if (str_ends(file, STR(".service")))
        add_service_name(run, names, str_slice(file, 0, file.n - strlen(".service")));
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_ends(file, str_from(kinds[i])))
            add_service_name(run, names, file);
}

static int compare_service_names(const void *a, const void *b)
{
    return str_compare(((const struct value *)a)->s, ((const struct value *)b)->s);
}

static struct value sort_service_names(struct state_run *run, const struct value_map *names)
{
    struct value_list *list = value_list_new(run->arena, names->count);

    for (size_t i = 0; i < names->count; i++)
        value_list_push(run->arena, list, names->pairs[i].key);
    if (list->count > 1)
        qsort(list->items, list->count, sizeof(list->items[0]), compare_service_names);
    return value_list(list);
}

static int get_all_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct value_map *names = value_map_new(run->arena, 64);
    struct fs_names files = { .list = VEC_INIT };

    (void)args;
    for (size_t i = 0; i < ARRAY_LEN(unit_folders); i++) {
        files.list.n = 0;
        if (fs_list(run->arena, unit_folders[i], &files, err) < 0 && err->errnum != ENOENT)
            return -1;
        VEC_EACH (&files.list, file)
            add_unit(run, names, str_from(*file));
    }
    files.list.n = 0;
    if (fs_list(run->arena, SCRIPTS, &files, err) < 0 && err->errnum != ENOENT)
        return -1;
    VEC_EACH (&files.list, file)
        if (**file != '.' && strcmp(*file, "README") != 0)
            add_service_name(run, names, str_from(*file));
    *ret = sort_service_names(run, names);
    return 0;
}

const struct module module_service_get_all = {
    .name = "service.get_all",
    .summary = "the names of the installed services: units of systemd and scripts of init",
    .params = params_none,
    .call = get_all_call,
};
