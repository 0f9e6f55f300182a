/* Functions about files of the state tree, as in Salt's cp module. */
#include "core/base/digest.h"
#include "core/base/err.h"
#include "core/base/glob.h"
#include "core/base/matcher.h"
#include "states/modules/file/cache.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define ARGS struct cp_args

struct cp_args {
    const char *path, *prefix, *saltenv, *include, *exclude;
    const struct value *dest;
    struct param_strs paths;
    struct source_trust trust;
    bool empty;
};

/* clang-format off */
static const struct param path_params[] = {
    PARAM("path", STR, ARGS, path, "salt://...", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("saltenv", STR, ARGS, saltenv, "ignored: there is one tree", .default_text = "base"),
    { 0 },
};
static const struct param cache_params[] = {
    PARAM("path", STR, ARGS, path, "a path, salt://, http:// or https://", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "url"),
    PARAM("saltenv", STR, ARGS, saltenv, "ignored: there is one tree", .default_text = "base"),
    PARAM("source_hash", STR, ARGS, trust.hash, "hash of the source: sha256=..., or a file of checksums"),
    PARAM_REFUSED("verify_ssl", "certificates are always verified", .default_text = "true"),
    PARAM_IDLE("use_etag", "downloads are checked by hash"),
    PARAM("skip_verify", BOOL, ARGS, trust.skip_verify, "accept a source from the network without a hash"),
    { 0 },
};
static const struct param environment_params[] = {
    PARAM("saltenv", STR, ARGS, saltenv, "ignored: there is one tree", .default_text = "base", .flags = PARAM_PRIMARY),
    { 0 },
};
static const struct param list_params[] = {
    PARAM("saltenv", STR, ARGS, saltenv, "ignored: there is one tree", .default_text = "base", .flags = PARAM_PRIMARY),
    PARAM("prefix", STR, ARGS, prefix, "only paths with this prefix", .default_text = ""),
    { 0 },
};
static const struct param files_params[] = {
    PARAM("paths", STRS, ARGS, paths, "salt://...", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("saltenv", STR, ARGS, saltenv, "ignored: there is one tree", .default_text = "base"),
    { 0 },
};
static const struct param dir_params[] = {
    PARAM("path", STR, ARGS, path, "salt://...", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("saltenv", STR, ARGS, saltenv, "ignored: there is one tree", .default_text = "base"),
    PARAM("include_empty", BOOL, ARGS, empty, "ignored: files are returned, not folders"),
    PARAM("include_pat", STR, ARGS, include, "only paths that match a glob, or a pattern after 'E@'"),
    PARAM("exclude_pat", STR, ARGS, exclude, "no paths that match a glob, or a pattern after 'E@'"),
    { 0 },
};
static const struct param url_params[] = {
    PARAM("path", STR, ARGS, path, "a path, salt://, http:// or https://", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("dest", ANY, ARGS, dest, "'': cache it, and return the path; none: return the content"),
    PARAM("saltenv", STR, ARGS, saltenv, "ignored: there is one tree", .default_text = "base"),
    PARAM("source_hash", STR, ARGS, trust.hash, "hash of the source: sha256=..., or a file of checksums"),
    PARAM("skip_verify", BOOL, ARGS, trust.skip_verify, "accept a source from the network without a hash"),
    PARAM_REFUSED("makedirs", "this function only caches; use file.managed"),
    PARAM_REFUSED("verify_ssl", "certificates are always verified"),
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

static int find_local(struct state_run *run, const char *source, struct value *ret, struct err *err)
{
    const char *path;
    struct fs_info info;

    if (state_source_path(run, source, &path, err) < 0 ||
        fs_stat(cache_path(run, source), &info, err) < 0)
        return -1;
    if (!path && info.kind == FS_FILE) /* by file.cached */
        path = cache_path(run, source);
    *ret = path ? value_text(path) : value_text("");
    return 0;
}

static int call_cache_file(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    return find_local(run, ((const struct cp_args *)args)->path, ret, err);
}

static int call_cache_files(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    const struct cp_args *want = args;

    *ret = value_list(value_list_new(run->arena, want->paths.n));
    for (size_t i = 0; i < want->paths.n; i++) {
        struct value path;

        if (find_local(run, want->paths.p[i], &path, err) < 0)
            return -1;
        value_list_push(run->arena, ret->list, path);
    }
    return 0;
}

static int match_pattern(struct state_run *run, const char *pattern, struct str name, bool *ret,
                         struct err *err)
{
    const struct matcher *matcher;

    if (!str_starts(str_from(pattern), STR("E@"))) {
        *ret = glob_match(str_from(pattern), name);
        return 0;
    }
    if (matcher_new(run->arena, str_from(pattern + 2), 0, &matcher, NULL, err) < 0)
        return -1;
    return matcher_find(matcher, name, 0, NULL, ret, err);
}

static int call_cache_dir(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    const struct cp_args *want = args;
    const char *slash = str_ends(str_from(want->path), STR("/")) ? "" : "/";
    struct value_list *names;

    if (state_source_list(run, want->path, &names, err) < 0)
        return -1;
    *ret = value_list(value_list_new(run->arena, names->count));
    for (size_t i = 0; i < names->count; i++) {
        const struct str name = names->items[i].s;
        bool included = true, excluded = false;
        struct value path;

        if ((want->include && match_pattern(run, want->include, name, &included, err) < 0) ||
            (want->exclude && match_pattern(run, want->exclude, name, &excluded, err) < 0))
            return -1;
        if (!included || excluded)
            continue;
        if (find_local(run, arena_printf(run->arena, "%s%s%.*s", want->path, slash, STR_ARG(name)),
                       &path, err) < 0)
            return -1;
        value_list_push(run->arena, ret->list, path);
    }
    return 0;
}

/* Keep a copy of a source; `missing` is the answer for one that is not there. */
static int keep_source(struct state_run *run, const struct cp_args *want, struct value missing,
                       struct value *ret, struct err *err)
{
    struct source_content content = { 0 };

    if (state_source_content(run, want->path, &want->trust, &content, err) < 0) {
        *ret = missing;
        return err->code == ERR_NOT_FOUND ? 0 : -1;
    }
    *ret = value_text(cache_path(run, want->path));
    return cache_keep(run, want->path, &content, err);
}

static int call_cache_source(struct state_run *run, const void *args, struct value *ret,
                             struct err *err)
{
    const struct cp_args *want = args;

    return str_starts(str_from(want->path), STR("http"))
               ? keep_source(run, want, value_bool(false), ret, err)
               : find_local(run, want->path, ret, err);
}

/* Where the copy is, or would be. */
static int call_cache_dest(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    const struct cp_args *want = args;

    if (find_local(run, want->path, ret, err) < 0)
        return -1;
    if (ret->s.n == 0)
        *ret = value_text(cache_path(run, want->path));
    return 0;
}

static int call_cache_local_file(struct state_run *run, const void *args, struct value *ret,
                                 struct err *err)
{
    const struct cp_args *want = args;

    if (want->path[0] != '/')
        return err_set(err, ERR_INVALID, "'%s' is not an absolute path", want->path);
    return keep_source(run, want, value_text(""), ret, err);
}

/* All files of the tree, as cp.cache_file gives them. */
static int call_cache_master(struct state_run *run, const void *args, struct value *ret,
                             struct err *err)
{
    struct cp_args all = *(const struct cp_args *)args;

    all.path = "salt://";
    return call_cache_dir(run, &all, ret, err);
}

/* Files kept by file.cached, cp.get_url and cp.cache_file, and the tree where it is on this
 * machine. */
static int call_list_minion(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    const char *folder = path_dirname(run->arena, cache_path(run, ""));
    struct fs_names names = { .list = VEC_INIT };
    struct fs_info info;

    if (call_cache_master(run, args, ret, err) < 0 || fs_stat(folder, &info, err) < 0 ||
        (info.kind == FS_FOLDER && fs_list(run->arena, folder, &names, err) < 0))
        return -1;
    VEC_EACH (&names.list, name)
        value_list_push(run->arena, ret->list, value_text(path_join(run->arena, folder, *name)));
    return 0;
}

/* As in Salt, false if it does not exist. */
static int call_get_url(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct cp_args *want = args;
    const bool as_text = want->dest && want->dest->kind == VALUE_NULL;
    struct source_content content = { 0 };

    if (want->dest && !as_text && (want->dest->kind != VALUE_STR || want->dest->s.n > 0))
        return err_set(err, ERR_INVALID,
                       "'dest' must be '' or none: this function only caches; "
                       "use file.managed");
    if (as_text ? state_source_trusted(run, want->path, &want->trust, &content.text, err) < 0
                : state_source_content(run, want->path, &want->trust, &content, err) < 0) {
        *ret = value_bool(false);
        return err->code == ERR_NOT_FOUND ? 0 : -1;
    }
    if (as_text) {
        *ret = value_str(content.text);
        return 0;
    }
    if (find_local(run, want->path, ret, err) < 0)
        return -1;
    if (str_starts(str_from(want->path), STR("http")) || ret->s.n == 0) {
        *ret = value_text(cache_path(run, want->path));
        return cache_keep(run, want->path, &content, err);
    }
    return 0;
}

static int call_hash_file(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    struct value_map *map = value_map_new(run->arena, 2);
    const struct source_trust trust = { 0 };
    struct source_content content;
    char hex[DIGEST_HEX_MAX];

    if (state_source_content(run, ((const struct cp_args *)args)->path, &trust, &content, err) <
            0 ||
        state_source_digest(&content, digest_find(STR("sha256")), hex, err) < 0)
        return -1;
    value_map_set(run->arena, map, value_text("hsum"), value_text(arena_strdup(run->arena, hex)));
    value_map_set(run->arena, map, value_text("hash_type"), value_text("sha256"));
    *ret = value_map(map);
    return 0;
}

/* All files whose names begin with the prefix; state files by their dotted names. */
static int list_cp_files(struct state_run *run, const struct cp_args *want, bool states,
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

static bool has_cp_item(const struct value_list *list, const struct value *item)
{
    for (size_t i = list->count; i-- > 0;) /* it is mostly one of the last */
        if (value_equal(&list->items[i], item))
            return true;
    return false;
}

static int call_list_master(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    return list_cp_files(run, args, false, ret, err);
}

static int call_list_states(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    return list_cp_files(run, args, true, ret, err);
}

/* Folders that have files, each once; the list is sorted. */
static int call_list_dirs(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    struct value_list *list = value_list_new(run->arena, 16);
    struct value files;

    if (list_cp_files(run, args, false, &files, err) < 0)
        return -1;
    for (size_t i = 0; i < files.list->count; i++)
        for (size_t n = 0; n < files.list->items[i].s.n; n++) {
            const struct value folder =
                value_str(arena_str(run->arena, str_slice(files.list->items[i].s, 0, n)));

            if (files.list->items[i].s.p[n] == '/' && !has_cp_item(list, &folder))
                value_list_push(run->arena, list, folder);
        }
    *ret = value_list(list);
    return 0;
}

static int add_symlinks(struct state_run *run, const char *root, const struct value_list *names,
                        struct value_map *links, struct err *err)
{
    for (size_t i = 0; i < names->count; i++) {
        const struct str name = names->items[i].s;
        const char *target;

        if (fs_readlink(run->arena, path_join(run->arena, root, arena_str(run->arena, name).p),
                        &target, err) < 0)
            return -1;
        if (target)
            value_map_set(run->arena, links, value_str(name), value_text(target));
    }
    return 0;
}

/* Files and folders that are links: a map of them to what they lead to. */
static int call_list_symlinks(struct state_run *run, const void *args, struct value *ret,
                              struct err *err)
{
    struct value_map *links = value_map_new(run->arena, 4);
    struct value files, folders;
    const char *root;

    *ret = value_map(links);
    if (state_source_path(run, "salt://", &root, err) < 0)
        return -1;
    if (!root)
        return 0;
    if (call_list_master(run, args, &files, err) < 0 ||
        call_list_dirs(run, args, &folders, err) < 0 ||
        add_symlinks(run, root, files.list, links, err) < 0)
        return -1;
    return add_symlinks(run, root, folders.list, links, err);
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

const struct module functions_cp[] = {
    { .name = "cp.cache_dest", .summary = "where the copy of a source is, or would be", ROW(cache_params, call_cache_dest) },
    { .name = "cp.cache_dir", .summary = "the local paths of the files of a folder of the state tree", ROW(dir_params, call_cache_dir) },
    { .name = "cp.cache_file", .summary = "the local path of a file of the state tree, or of a copy of a source", ROW(cache_params, call_cache_source) },
    { .name = "cp.cache_files", .summary = "the local paths of files of the state tree", ROW(files_params, call_cache_files) },
    { .name = "cp.cache_local_file", .summary = "the path of a cached copy of a file of this machine", ROW(path_params, call_cache_local_file) },
    { .name = "cp.cache_master", .summary = "the local paths of all files of the state tree", ROW(environment_params, call_cache_master) },
    { .name = "cp.envs", .summary = "the names of the state trees", ROW(params_none, call_envs) },
    { .name = "cp.get_file_str", .summary = "the contents of a file of the state tree, or false", ROW(path_params, call_get_file_str) },
    { .name = "cp.get_url", .summary = "the content of a source, or the path of a cached copy", ROW(url_params, call_get_url) },
    { .name = "cp.hash_file", .summary = "the hash of a file of the state tree", ROW(path_params, call_hash_file) },
    { .name = "cp.is_cached", .summary = "the local path of a file of the state tree", ROW(path_params, call_cache_file) },
    { .name = "cp.list_master", .summary = "the files of the state tree", ROW(list_params, call_list_master) },
    { .name = "cp.list_master_dirs", .summary = "the folders of the state tree", ROW(list_params, call_list_dirs) },
    { .name = "cp.list_master_symlinks", .summary = "the links of the state tree, and where they lead", ROW(list_params, call_list_symlinks) },
    { .name = "cp.list_minion", .summary = "the local paths of all files of the state tree, and of cached copies", ROW(environment_params, call_list_minion) },
    { .name = "cp.list_states", .summary = "the names of all state files", ROW(list_params, call_list_states) },
    { .name = "cp.stat_file", .summary = "the permissions of a file of the state tree", ROW(path_params, call_stat_file) },
    { 0 },
};
/* clang-format on */
