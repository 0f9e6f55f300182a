#include "modules/pkgrepo/repos_absent.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "modules/pkg/packages.h"
#include "provider/repo_line.h"
#include "provider/repo_section.h"
#include "provider/repo_stanza.h"
#include "state/module.h"
#include "sys/fs.h"
#include "sys/path.h"

#define TEXT_MAX ((size_t)8 << 20)

/* A file without a source of its own goes too, if it lies among those of repositories. */
static void settle(struct packages *packages, struct repos_file *file, const struct buf *text)
{
    const bool part = path_is_below(file->path, packages->manager->repo_place) &&
                      strcmp(file->path, packages->manager->repo_place) != 0;

    file->now = buf_copy(text, packages->run->arena);
    if (part && repo_line_is_empty(file->now))
        file->now = (struct str){ NULL, 0 };
}

static int drop_from(struct packages *packages, const struct repos_args *args, const char *path,
                     struct repos_files *files, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    struct repos_file *file;
    struct repo_line line;
    size_t count = 0;
    bool there = false;

    if (repos_add_file(packages, files, path, &file, err) < 0)
        return -1;
    if (!file->old.p)
        return 0;
    switch (packages->manager->repo_kind) {
    case PACKAGE_REPO_APT:
        if (repo_line_parse(str_from(args->name), &line, err) < 0)
            return -1;
        (repo_stanza_is_file(path) ? repo_stanza_remove : repo_line_remove)(file->old, &line, &text,
                                                                            &count);
        break;
    case PACKAGE_REPO_APK:
        repo_line_remove_plain(file->old, str_from(args->baseurl ? args->baseurl : args->name),
                               &text, &count);
        break;
    case PACKAGE_REPO_INI:
    case PACKAGE_REPO_PACMAN:
        repo_section_remove(file->old, str_from(args->name), &text, &there);
        break;
    }
    if (count > 0 || there)
        settle(packages, file, &text);
    return 0;
}

static int drop_from_folder(struct packages *packages, const struct repos_args *args,
                            struct str ending, struct repos_files *files, struct err *err)
{
    struct arena *arena = packages->run->arena;
    const char *folder = packages->manager->repo_place;
    struct fs_names names;
    struct fs_info info;

    if (fs_stat(folder, &info, err) < 0)
        return -1;
    if (info.kind != FS_FOLDER)
        return 0;
    if (fs_list(arena, folder, &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name)
        if (str_ends(str_from(*name), ending) &&
            drop_from(packages, args, path_join(arena, folder, *name), files, err) < 0)
            return -1;
    return 0;
}

/* Sources have no names in files of apt: the only one of a file is meant, or that of an address. */
static int drop_from_file(struct packages *packages, const struct repos_args *args,
                          struct repos_files *files, struct err *err)
{
    struct repo_line pattern = {
        .uri = str_from(args->baseurl ? args->baseurl : ""),
        .suite = str_from(args->dist ? args->dist : ""),
    };
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    struct repos_file *file;
    size_t count;

    if ((repos_is_line(args->baseurl) &&
         repo_line_parse(str_from(args->baseurl), &pattern, err) < 0) ||
        repos_add_file(packages, files, args->file, &file, err) < 0)
        return -1;
    if (!file->old.p)
        return 0;
    (repo_stanza_is_file(args->file) ? repo_stanza_remove : repo_line_remove)(file->old, &pattern,
                                                                              &text, &count);
    if (count > 1 && !args->baseurl)
        return err_set(err, ERR_INVALID,
                       "'%s' holds %zu sources: say which one by 'baseurl', or write its 'deb' "
                       "line as the name",
                       args->file, count);
    if (count > 0)
        settle(packages, file, &text);
    return 0;
}

/* The file and the key that pkgrepo.managed made for this name. */
static int drop_own(struct packages *packages, const struct repos_args *args,
                    struct repos_files *files, struct err *err)
{
    struct arena *arena = packages->run->arena;
    const char *const paths[] = {
        arena_printf(arena, REPOS_APT_KEYRINGS "/zester-%s.gpg", args->name),
        arena_printf(arena, REPOS_APT_KEYRINGS "/zester-%s.asc", args->name),
        arena_printf(arena, "%s/%s.list", packages->manager->repo_place, args->name),
        arena_printf(arena, "%s/%s.sources", packages->manager->repo_place, args->name),
    };
    const size_t keys = 2;

    for (size_t i = 0; i < (args->file ? keys : ARRAY_LEN(paths)); i++) {
        struct repos_file *file;

        if (repos_add_file(packages, files, paths[i], &file, err) < 0)
            return -1;
        file->now = (struct str){ NULL, 0 };
    }
    return args->file ? drop_from_file(packages, args, files, err) : 0;
}

int repos_absent_find(struct packages *packages, const struct repos_args *args,
                      struct repos_files *ret_files, struct err *err)
{
    const enum package_repo_kind kind = packages->manager->repo_kind;

    *ret_files = (struct repos_files){ 0 };
    if (kind == PACKAGE_REPO_APT && !repos_is_line(args->name))
        return drop_own(packages, args, ret_files, err);
    if (args->file)
        return drop_from(packages, args, args->file, ret_files, err);
    if (kind == PACKAGE_REPO_INI)
        return drop_from_folder(packages, args, STR(".repo"), ret_files, err);
    if (kind != PACKAGE_REPO_APT)
        return drop_from(packages, args, packages->manager->repo_place, ret_files, err);
    if (drop_from(packages, args, REPOS_APT_LIST, ret_files, err) < 0)
        return -1;
    if (drop_from_folder(packages, args, STR(".list"), ret_files, err) < 0)
        return -1;
    return drop_from_folder(packages, args, STR(".sources"), ret_files, err);
}
