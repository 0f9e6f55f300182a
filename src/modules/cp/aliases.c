/* Functions about files of the state tree, as in Salt's cp module. */
#include "base/digest.h"
#include "base/err.h"
#include "modules/file/cache.h"
#include "state/module.h"
#include "sys/fs.h"
#include "sys/cancel.h"

#define ARGS struct cp_args

struct cp_args {
    const char *path, *prefix, *saltenv;
};

/* clang-format off */
static const struct param path_params[] = {
    PARAM("path", STR, ARGS, path, "salt://...", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("saltenv", STR, ARGS, saltenv, "ignored: there is one tree", .default_text = "base"),
    { 0 },
};
static const struct param list_params[] = {
    PARAM("saltenv", STR, ARGS, saltenv, "ignored: there is one tree", .default_text = "base", .flags = PARAM_PRIMARY),
    PARAM("prefix", STR, ARGS, prefix, "only paths with this prefix", .default_text = ""),
    { 0 },
};
/* clang-format on */

static int call_get_file_str(struct state_run *run, const void *args, struct value *ret,
                             struct err *err)
{
    struct str text;

    if (state_source(run, ((const struct cp_args *)args)->path, NULL, &text, err) < 0) {
        if (err->code != ERR_NOT_FOUND)
            return -1;
        *ret = value_bool(false); /* as in Salt */
        return 0;
    }
    *ret = value_str(text);
    return 0;
}

static int call_cache_file(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    const char *source = ((const struct cp_args *)args)->path, *path;
    struct fs_info info;

    if (state_source_path(run, source, &path, err) < 0 ||
        fs_stat(cache_path(run, source), &info, err) < 0)
        return -1;
    if (!path && info.kind == FS_FILE) /* by file.cached */
        path = cache_path(run, source);
    *ret = path ? value_text(path) : value_text("");
    return 0;
}

static int call_hash_file(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    struct value_map *map = value_map_new(run->arena, 2);
    char hex[DIGEST_HEX_MAX];
    struct str text;

    if (state_source(run, ((const struct cp_args *)args)->path, NULL, &text, err) < 0 ||
        digest_hex(digest_find(STR("sha256")), text, cancel_check, hex, err) < 0)
        return -1;
    value_map_set(run->arena, map, value_text("hsum"), value_text(arena_strdup(run->arena, hex)));
    value_map_set(run->arena, map, value_text("hash_type"), value_text("sha256"));
    *ret = value_map(map);
    return 0;
}

/* All files whose names begin with the prefix; state files by their dotted names. */
static int list_files(struct state_run *run, const struct cp_args *want, bool states,
                      struct value *ret, struct err *err)
{
    struct value_list *all, *list = value_list_new(run->arena, 16);

    if (state_source_list(run, "salt://", &all, err) < 0)
        return -1;
    for (size_t i = 0; i < all->count; i++) {
        struct str name = all->items[i].s;

        if (!str_starts(name, str_from(want->prefix ? want->prefix : "")))
            continue;
        if (states && !str_ends(name, STR(".sls")) && !str_ends(name, STR(".zy")))
            continue;
        if (states) {
            char *ref;

            name.n -= str_ends(name, STR(".sls")) ? 4 : 3;
            if (str_ends(name, STR("/init")))
                name.n -= 5;
            ref = arena_strndup(run->arena, name.p, name.n);
            for (char *p = ref; *p; p++)
                *p = *p == '/' ? '.' : *p;
            name = str_from(ref);
        }
        value_list_push(run->arena, list, value_str(name));
    }
    *ret = value_list(list);
    return 0;
}

static bool has_item(const struct value_list *list, const struct value *item)
{
    for (size_t i = list->count; i-- > 0;) /* it is mostly one of the last */
        if (value_equal(&list->items[i], item))
            return true;
    return false;
}

static int call_list_master(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    return list_files(run, args, false, ret, err);
}

static int call_list_states(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    return list_files(run, args, true, ret, err);
}

/* Folders that have files, each once; the list is sorted. */
static int call_list_dirs(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    struct value_list *list = value_list_new(run->arena, 16);
    struct value files;

    if (list_files(run, args, false, &files, err) < 0)
        return -1;
    for (size_t i = 0; i < files.list->count; i++)
        for (size_t n = 0; n < files.list->items[i].s.n; n++) {
            const struct value folder =
                value_str(arena_str(run->arena, str_slice(files.list->items[i].s, 0, n)));

            if (files.list->items[i].s.p[n] == '/' && !has_item(list, &folder))
                value_list_push(run->arena, list, folder);
        }
    *ret = value_list(list);
    return 0;
}

static int call_stat_file(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    const char *path;
    struct fs_info info;

    if (state_source_path(run, ((const struct cp_args *)args)->path, &path, err) < 0)
        return -1;
    *ret = value_null(); /* as in Salt, when it is not there */
    if (!path || fs_stat(path, &info, err) < 0 || info.kind == FS_NONE)
        return 0;
    *ret = value_text(arena_printf(run->arena, "%04o", (unsigned)info.mode));
    return 0;
}

/* There is one tree, which Salt calls base. */
static int call_envs(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)args;
    (void)err;
    *ret = value_list(value_list_new(run->arena, 1));
    value_list_push(run->arena, ret->list, value_text("base"));
    return 0;
}

/* clang-format off */
#define ROW(table, function) .params = table, .args_size = sizeof(ARGS), .call = function

const struct module aliases_cp[] = {
    { .name = "cp.cache_file", .summary = "the local path of a file of the state tree", ROW(path_params, call_cache_file) },
    { .name = "cp.envs", .summary = "the names of the state trees", ROW(params_none, call_envs) },
    { .name = "cp.get_file_str", .summary = "the contents of a file of the state tree, or false", ROW(path_params, call_get_file_str) },
    { .name = "cp.hash_file", .summary = "the hash of a file of the state tree", ROW(path_params, call_hash_file) },
    { .name = "cp.is_cached", .summary = "the local path of a file of the state tree", ROW(path_params, call_cache_file) },
    { .name = "cp.list_master", .summary = "the files of the state tree", ROW(list_params, call_list_master) },
    { .name = "cp.list_master_dirs", .summary = "the folders of the state tree", ROW(list_params, call_list_dirs) },
    { .name = "cp.list_states", .summary = "the names of all state files", ROW(list_params, call_list_states) },
    { .name = "cp.stat_file", .summary = "the permissions of a file of the state tree", ROW(path_params, call_stat_file) },
    { 0 },
};
/* clang-format on */
