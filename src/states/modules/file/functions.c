/* Small functions about paths and accounts, under their Salt names. */
#include <errno.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/digest.h"
#include "core/base/err.h"
#include "core/base/glob.h"
#include "core/base/matcher.h"
#include "states/modules/file/backups.h"
#include "states/state/module.h"
#include "core/sys/account.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define ARGS     struct path_args
#define TEXT_MAX ((size_t)64 << 20)
/* Limit on a label of SELinux. */
#define LABEL_MAX 4096

struct path_args {
    const char *path, *other, *limit, *letters;
    struct param_strs parts;
    int64_t flags;
    bool follow, multiline;
};

/* clang-format off */
#define PATH_ROW PARAM("path", STR, ARGS, path, "the path", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name,infile")

static const struct param path_params[] = {
    PATH_ROW,
    PARAM("follow_symlinks", BOOL, ARGS, follow, "follow links", .default_text = "true"),
    { 0 },
};
static const struct param search_params[] = {
    PATH_ROW,
    PARAM("pattern", STR, ARGS, other, "a regular expression", .flags = PARAM_REQUIRED, .aliases = "regex"),
    PARAM("flags", INT, ARGS, flags, "flags of Python's re: 2 ignores case, 8 is multiline, 16 lets a dot match newlines"),
    PARAM("multiline", BOOL, ARGS, multiline, "^ and $ match at every line"),
    { 0 },
};
static const struct param contains_params[] = {
    PATH_ROW,
    PARAM("text", STR, ARGS, other, "the text to search for", .flags = PARAM_REQUIRED),
    { 0 },
};
static const struct param glob_params[] = {
    PATH_ROW,
    PARAM("glob_expr", STR, ARGS, other, "a glob that matches all of the content", .flags = PARAM_REQUIRED),
    { 0 },
};
static const struct param sed_params[] = {
    PATH_ROW,
    PARAM("text", STR, ARGS, other, "a regular expression that a part of a line matches", .flags = PARAM_REQUIRED),
    PARAM("limit", STR, ARGS, limit, "only lines that match this", .default_text = ""),
    PARAM("flags", STR, ARGS, letters, "I: in upper and lower case", .default_text = "g"),
    { 0 },
};
static const struct param hash_params[] = {
    PATH_ROW,
    PARAM("form", STR, ARGS, other, "md5, sha1, sha256, sha512...", .default_text = "sha256", .aliases = "checksum"),
    { 0 },
};
static const struct param check_params[] = {
    PATH_ROW,
    PARAM("file_hash", STR, ARGS, other, "sha256=...", .flags = PARAM_REQUIRED),
    { 0 },
};
static const struct param access_params[] = {
    PATH_ROW,
    PARAM("mode", STR, ARGS, other, "f (exists), r, w or x", .default_text = "f"),
    { 0 },
};
static const struct param name_params[] = {
    PARAM("user", STR, ARGS, path, "the name, or the number", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "group,name,uid,gid"),
    { 0 },
};
static const struct param join_params[] = {
    PARAM("parts", STRS, ARGS, parts, "the parts", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    { 0 },
};
/* clang-format on */

static int stat_file_path(const struct path_args *want, struct fs_info *ret, struct err *err)
{
    if ((want->follow ? fs_stat : fs_lstat)(want->path, ret, err) < 0)
        return -1;
    return ret->kind != FS_NONE ? 0 : err_set(err, ERR_NOT_FOUND, "%s does not exist", want->path);
}

static int read_file_text(struct state_run *run, const char *path, struct str *ret, struct err *err)
{
    if (fs_read(run->arena, path, TEXT_MAX, ret, err) < 0)
        return -1;
    return ret->p ? 0 : err_set(err, ERR_NOT_FOUND, "%s does not exist", path);
}

static int call_get_mode(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    struct fs_info info;

    if (stat_file_path(args, &info, err) < 0)
        return -1;
    *ret = value_text(arena_printf(run->arena, "%04o", (unsigned)info.mode));
    return 0;
}

static int call_get_uid(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct fs_info info;

    (void)run;
    if (stat_file_path(args, &info, err) < 0)
        return -1;
    *ret = value_int(info.uid);
    return 0;
}

static int call_get_gid(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct fs_info info;

    (void)run;
    if (stat_file_path(args, &info, err) < 0)
        return -1;
    *ret = value_int(info.gid);
    return 0;
}

static int find_user_name(struct state_run *run, uid_t uid, struct value *ret, struct err *err)
{
    const struct account *account;

    if (account_find_uid(run->arena, uid, &account, err) < 0)
        return -1;
    *ret = account ? value_text(account->name) : value_int(uid);
    return 0;
}

static int find_group_name(struct state_run *run, gid_t gid, struct value *ret, struct err *err)
{
    const struct account_group *group;

    if (account_find_gid(run->arena, gid, &group, err) < 0)
        return -1;
    *ret = group ? value_text(group->name) : value_int(gid);
    return 0;
}

static int call_get_user(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    struct fs_info info;

    return stat_file_path(args, &info, err) < 0 ? -1 : find_user_name(run, info.uid, ret, err);
}

static int call_get_group(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    struct fs_info info;

    return stat_file_path(args, &info, err) < 0 ? -1 : find_group_name(run, info.gid, ret, err);
}

/* An unknown account is an empty text, as in Salt. */
static int call_user_to_uid(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    const struct path_args *want = args;
    const struct account *account;

    if (account_find(run->arena, want->path, &account, err) < 0)
        return -1;
    *ret = account ? value_int(account->uid) : value_text("");
    return 0;
}

static int call_group_to_gid(struct state_run *run, const void *args, struct value *ret,
                             struct err *err)
{
    const struct path_args *want = args;
    const struct account_group *group;

    if (account_find_group(run->arena, want->path, &group, err) < 0)
        return -1;
    *ret = group ? value_int(group->gid) : value_text("");
    return 0;
}

static int call_uid_to_user(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    uid_t uid;

    if (account_parse_user(((const struct path_args *)args)->path, &uid, err) < 0)
        return -1;
    return find_user_name(run, uid, ret, err);
}

static int call_gid_to_group(struct state_run *run, const void *args, struct value *ret,
                             struct err *err)
{
    gid_t gid;

    if (account_parse_group(((const struct path_args *)args)->path, &gid, err) < 0)
        return -1;
    return find_group_name(run, gid, ret, err);
}

static int call_is_link(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct fs_info info;

    (void)run;
    if (fs_lstat(((const struct path_args *)args)->path, &info, err) < 0)
        return -1;
    *ret = value_bool(info.kind == FS_LINK);
    return 0;
}

static int call_readlink(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    const struct path_args *want = args;
    const char *target;

    if (fs_readlink(run->arena, want->path, &target, err) < 0)
        return -1;
    if (!target)
        return err_set(err, ERR_INVALID, "%s is not a link", want->path);
    *ret = value_text(target);
    return 0;
}

static int call_readdir(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct value_list *list = value_list_new(run->arena, 8);
    struct fs_names names = { .list = VEC_INIT };

    if (fs_list(run->arena, ((const struct path_args *)args)->path, &names, err) < 0)
        return -1;
    value_list_push(run->arena, list, value_text("."));
    value_list_push(run->arena, list, value_text(".."));
    VEC_EACH (&names.list, name)
        value_list_push(run->arena, list, value_text(*name));
    *ret = value_list(list);
    return 0;
}

static int call_exists_glob(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    glob_t found;
    const int rc = glob(((const struct path_args *)args)->path, 0, NULL, &found);

    (void)run;
    (void)err;
    globfree(&found);
    *ret = value_bool(rc == 0);
    return 0;
}

/* Flags of Python's re module. */
static unsigned read_matcher_flags(const struct path_args *want)
{
    return (want->flags & 2 ? MATCHER_IGNORE_CASE : 0U) |
           (want->multiline || want->flags & 8 ? MATCHER_MULTILINE : 0U) |
           (want->flags & 16 ? MATCHER_DOTALL : 0U);
}

static int call_search(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct path_args *want = args;
    const struct matcher *matcher;
    struct matcher_match match;
    struct str text;
    bool found;

    if (read_file_text(run, want->path, &text, err) < 0 ||
        matcher_new(run->arena, str_from(want->other), read_matcher_flags(want), &matcher, NULL,
                    err) < 0 ||
        matcher_find(matcher, text, 0, &match, &found, err) < 0)
        return -1;
    *ret = value_bool(found);
    return 0;
}

static int call_file_contains(struct state_run *run, const void *args, struct value *ret,
                              struct err *err)
{
    const struct path_args *want = args;
    struct str text;

    if (fs_read(run->arena, want->path, TEXT_MAX, &text, err) < 0)
        return -1;
    *ret = value_bool(text.p && str_find(text, str_trim(str_from(want->other)), 0) != STR_NONE);
    return 0;
}

/* The glob is for all of the file, as in Salt. */
static int call_contains_glob(struct state_run *run, const void *args, struct value *ret,
                              struct err *err)
{
    const struct path_args *want = args;
    struct str text;

    if (fs_read(run->arena, want->path, TEXT_MAX, &text, err) < 0)
        return -1;
    *ret = value_bool(text.p && glob_match(str_from(want->other), text));
    return 0;
}

static int find_in_lines(struct str text, const struct matcher *limit, const struct matcher *wanted,
                         bool *ret, struct err *err)
{
    *ret = false;
    while (text.n > 0 && !*ret) {
        const struct str line = str_cut(&text, '\n');
        bool counts;

        if (matcher_find(limit, line, 0, NULL, &counts, err) < 0 ||
            (counts && matcher_find(wanted, line, 0, NULL, ret, err) < 0))
            return -1;
    }
    return 0;
}

static int call_sed_contains(struct state_run *run, const void *args, struct value *ret,
                             struct err *err)
{
    const struct path_args *want = args;
    const unsigned flags = strpbrk(want->letters, "iI") ? MATCHER_IGNORE_CASE : 0;
    const struct matcher *limit, *wanted;
    struct str text;
    bool found;

    if (fs_read(run->arena, want->path, TEXT_MAX, &text, err) < 0 ||
        matcher_new(run->arena, str_from(want->limit), 0, &limit, NULL, err) < 0 ||
        matcher_new(run->arena, str_from(want->other), flags, &wanted, NULL, err) < 0 ||
        find_in_lines(text, limit, wanted, &found, err) < 0)
        return -1;
    *ret = value_bool(found);
    return 0;
}

static int hash_file(struct state_run *run, const char *path, struct str form, struct value *ret,
                     struct err *err)
{
    const struct source_content content = { .file = path };
    const struct digest *digest = digest_find(form);
    char hex[DIGEST_HEX_MAX];

    if (!digest)
        return err_set(err, ERR_INVALID, "unknown hash '%.*s'", STR_ARG(form));
    if (state_source_digest(&content, digest, hex, err) < 0)
        return -1;
    *ret = value_text(arena_strdup(run->arena, hex));
    return 0;
}

static int call_get_hash(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    const struct path_args *want = args;

    return hash_file(run, want->path, str_from(want->other), ret, err);
}

static int call_check_hash(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    const struct path_args *want = args;
    struct str sum = str_from(want->other);
    const struct str form = str_cut(&sum, '=');
    struct value now;

    if (!sum.p)
        return err_set(err, ERR_INVALID, "'file_hash' must be of the form sha256=...");
    if (hash_file(run, want->path, form, &now, err) < 0)
        return -1;
    *ret = value_bool(str_eq(now.s, sum));
    return 0;
}

static int call_access(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    static const struct {
        char word;
        int mode;
    } modes[] = { { 'f', F_OK }, { 'r', R_OK }, { 'w', W_OK }, { 'x', X_OK } };
    const struct path_args *want = args;

    (void)run;
    for (size_t i = 0; i < ARRAY_LEN(modes); i++)
        if (want->other[0] == modes[i].word && want->other[1] == '\0') {
            *ret = value_bool(access(want->path, modes[i].mode) == 0);
            return 0;
        }
    return err_set(err, ERR_INVALID, "'mode' must be f, r, w or x");
}

static int call_normpath(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    (void)err;
    *ret = value_text(path_normalise(run->arena, ((const struct path_args *)args)->path));
    return 0;
}

static int call_file_join(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    const struct path_args *want = args;
    const char *path = want->parts.p[0];

    (void)err;
    for (size_t i = 1; i < want->parts.n; i++)
        path = want->parts.p[i][0] == '/' ? want->parts.p[i]
                                          : path_join(run->arena, path, want->parts.p[i]);
    *ret = value_text(path);
    return 0;
}

/* --- kinds and file systems -------------------------------------------------------------- */

static int has_file_kind(const void *args, enum fs_kind kind, struct value *ret, struct err *err)
{
    struct fs_info info;

    if (stat_file_path(args, &info, err) < 0)
        return -1;
    *ret = value_bool(info.kind == kind);
    return 0;
}

static int call_is_blkdev(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    (void)run;
    return has_file_kind(args, FS_BLOCK, ret, err);
}

static int call_is_chrdev(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    (void)run;
    return has_file_kind(args, FS_CHAR, ret, err);
}

static int call_is_fifo(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)run;
    return has_file_kind(args, FS_FIFO, ret, err);
}

static int call_is_hardlink(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    struct fs_info info;

    (void)run;
    if (fs_lstat(((const struct path_args *)args)->path, &info, err) < 0)
        return -1;
    *ret = value_bool(info.kind == FS_FILE && info.links > 1);
    return 0;
}

struct named_number {
    const char *key;
    int64_t number;
};

static void put_numbers(struct state_run *run, const struct named_number *all, size_t n,
                        struct value *ret)
{
    *ret = value_map(value_map_new(run->arena, n));
    for (size_t i = 0; i < n; i++)
        value_map_set(run->arena, ret->map, value_text(all[i].key), value_int(all[i].number));
}

static int call_lstat(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct path_args *want = args;
    struct stat st;

    if (lstat(want->path, &st) < 0)
        return err_sys(err, errno, "%s", want->path);
    const struct named_number all[] = {
        { "st_atime", st.st_atim.tv_sec }, { "st_ctime", st.st_ctim.tv_sec },
        { "st_gid", st.st_gid },           { "st_mode", st.st_mode },
        { "st_mtime", st.st_mtim.tv_sec }, { "st_nlink", (int64_t)st.st_nlink },
        { "st_size", st.st_size },         { "st_uid", st.st_uid },
    };
    put_numbers(run, all, ARRAY_LEN(all), ret);
    return 0;
}

static int call_statvfs(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct path_args *want = args;
    struct statvfs fs;

    if (statvfs(want->path, &fs) < 0)
        return err_sys(err, errno, "%s", want->path);
    const struct named_number all[] = {
        { "f_bavail", (int64_t)fs.f_bavail }, { "f_bfree", (int64_t)fs.f_bfree },
        { "f_blocks", (int64_t)fs.f_blocks }, { "f_bsize", (int64_t)fs.f_bsize },
        { "f_favail", (int64_t)fs.f_favail }, { "f_ffree", (int64_t)fs.f_ffree },
        { "f_files", (int64_t)fs.f_files },   { "f_flag", (int64_t)fs.f_flag },
        { "f_frsize", (int64_t)fs.f_frsize }, { "f_namemax", (int64_t)fs.f_namemax },
    };
    put_numbers(run, all, ARRAY_LEN(all), ret);
    return 0;
}

/* As in Salt, anything but a device has two zeros. */
static int call_get_devmm(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    struct fs_info info;
    dev_t node;

    if (stat_file_path(args, &info, err) < 0)
        return -1;
    node = info.kind == FS_BLOCK || info.kind == FS_CHAR ? info.node : 0;
    *ret = value_list(value_list_new(run->arena, 2));
    value_list_push(run->arena, ret->list, value_int(major(node)));
    value_list_push(run->arena, ret->list, value_int(minor(node)));
    return 0;
}

/* As in Salt: the label, or that there is none. */
static int call_get_selinux_context(struct state_run *run, const void *args, struct value *ret,
                                    struct err *err)
{
    const struct path_args *want = args;
    char label[LABEL_MAX + 1];
    const ssize_t n = lgetxattr(want->path, "security.selinux", label, LABEL_MAX);

    if (n < 0 && errno != ENODATA && errno != ENOTSUP)
        return err_sys(err, errno, "%s", want->path);
    if (n < 0) {
        *ret = value_text(arena_printf(
            run->arena, "No selinux context information is available for %s", want->path));
        return 0;
    }
    label[n] = '\0';
    *ret = value_text(arena_strdup(run->arena, label));
    return 0;
}

static int call_pardir(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)run;
    (void)args;
    (void)err;
    *ret = value_text("..");
    return 0;
}

/* clang-format off */
#define ROW(table, function) .params = table, .args_size = sizeof(ARGS), .call = function

const struct module functions_file[] = {
    { .name = "file.access", .summary = "whether a path can be accessed", ROW(access_params, call_access) },
    { .name = "file.check_hash", .summary = "whether a file has the given hash", ROW(check_params, call_check_hash) },
    { .name = "file.contains", .summary = "whether a file contains a text", ROW(contains_params, call_file_contains) },
    { .name = "file.contains_glob", .summary = "whether a glob matches the content of a file", ROW(glob_params, call_contains_glob) },
    { .name = "file.contains_regex", .summary = "whether a line of a file matches", ROW(search_params, call_search) },
    { .name = "file.get_devmm", .summary = "the major and minor number of a device", ROW(path_params, call_get_devmm) },
    { .name = "file.get_gid", .summary = "the group ID of a path", ROW(path_params, call_get_gid) },
    { .name = "file.get_group", .summary = "the group of a path", ROW(path_params, call_get_group) },
    { .name = "file.get_hash", .summary = "the hash of a file", ROW(hash_params, call_get_hash) },
    { .name = "file.get_mode", .summary = "the permissions of a path", ROW(path_params, call_get_mode) },
    { .name = "file.get_selinux_context", .summary = "the SELinux context of a path", ROW(path_params, call_get_selinux_context) },
    { .name = "file.get_sum", .summary = "the hash of a file", ROW(hash_params, call_get_hash) },
    { .name = "file.get_uid", .summary = "the user ID of the owner of a path", ROW(path_params, call_get_uid) },
    { .name = "file.get_user", .summary = "the owner of a path", ROW(path_params, call_get_user) },
    { .name = "file.gid_to_group", .summary = "the name of a group", ROW(name_params, call_gid_to_group) },
    { .name = "file.group_to_gid", .summary = "the ID of a group, or an empty string", ROW(name_params, call_group_to_gid) },
    { .name = "file.is_blkdev", .summary = "whether a path is a block device", ROW(path_params, call_is_blkdev) },
    { .name = "file.is_chrdev", .summary = "whether a path is a character device", ROW(path_params, call_is_chrdev) },
    { .name = "file.is_fifo", .summary = "whether a path is a named pipe", ROW(path_params, call_is_fifo) },
    { .name = "file.is_hardlink", .summary = "whether a file has several names", ROW(path_params, call_is_hardlink) },
    { .name = "file.is_link", .summary = "whether a path is a link", ROW(path_params, call_is_link) },
    { .name = "file.join", .summary = "the parts of a path, joined", ROW(join_params, call_file_join) },
    { .name = "file.list_backup", .summary = "earlier versions of a file", .params = backups_params, .args_size = sizeof(struct backups_args), .call = backups_of_file },
    { .name = "file.lstat", .summary = "numbers about a path, as lstat() gives them", ROW(path_params, call_lstat) },
    { .name = "file.normpath", .summary = "a path without '.', '..' and double slashes", ROW(path_params, call_normpath) },
    { .name = "file.pardir", .summary = "the name of the folder above: '..'", ROW(params_none, call_pardir) },
    { .name = "file.path_exists_glob", .summary = "whether any path matches a glob", ROW(path_params, call_exists_glob) },
    { .name = "file.readdir", .summary = "list a folder", ROW(path_params, call_readdir) },
    { .name = "file.readlink", .summary = "the target of a link", ROW(path_params, call_readlink) },
    { .name = "file.search", .summary = "whether a file matches a pattern", ROW(search_params, call_search) },
    { .name = "file.sed_contains", .summary = "whether a line of a file matches", ROW(sed_params, call_sed_contains) },
    { .name = "file.statvfs", .summary = "numbers about a file system, as statvfs() gives them", ROW(path_params, call_statvfs) },
    { .name = "file.uid_to_user", .summary = "the name of a user", ROW(name_params, call_uid_to_user) },
    { .name = "file.user_to_uid", .summary = "the ID of a user, or an empty string", ROW(name_params, call_user_to_uid) },
    { 0 },
};
/* clang-format on */
