#include "states/provider/package/repo.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/provider/package/manager.h"
#include "states/provider/package/repo_line.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define FILE_MAX ((size_t)4 << 20)

/* --- supported parts -------------------------------------------------------------------------- */

static bool is_deb_line(const char *text)
{
    return text && repo_line_is(str_from(text));
}

static int check_supported_parts(const struct package_manager *manager,
                                 const struct package_repo *repo, struct err *err)
{
    const struct {
        const char *key;
        bool given;
        enum package_repo_part part;
    } rules[] = {
        { "a 'deb' line", is_deb_line(repo->name) || is_deb_line(repo->baseurl),
          PACKAGE_REPO_LINE },
        { "ppa", repo->ppa != NULL, PACKAGE_REPO_PPA },
        { "dist", repo->dist != NULL, PACKAGE_REPO_DIST },
        { "comps", repo->comps.n > 0, PACKAGE_REPO_COMPS },
        { "architectures", repo->architectures.n > 0, PACKAGE_REPO_ARCHITECTURES },
        { "key_text", repo->key_text.n > 0, PACKAGE_REPO_KEY_TEXT },
        { "signedby", repo->signedby != NULL, PACKAGE_REPO_SIGNEDBY },
        { "key_url", repo->key_url != NULL, PACKAGE_REPO_KEY_URL },
        { "options", repo->options.n > 0, PACKAGE_REPO_OPTIONS },
        { "mirrorlist", repo->mirrorlist != NULL, PACKAGE_REPO_MIRRORLIST },
        { "humanname", repo->humanname != NULL, PACKAGE_REPO_HUMANNAME },
        { "gpgcheck: false", !repo->gpgcheck, PACKAGE_REPO_UNSIGNED },
        { "clean_file", repo->clean_file, PACKAGE_REPO_CLEAN_FILE },
    };

    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (rules[i].given && !(manager->repos.parts & rules[i].part))
            return err_set(err, ERR_UNSUPPORTED, "repositories of %s do not support '%s'",
                           manager->name, rules[i].key);
    return 0;
}

int package_repo_managed(const struct package_manager *manager, struct package_repo_host host,
                         const struct package_repo *repo, struct package_repo_files *ret_files,
                         struct err *err)
{
    host.place = manager->repos.place;
    *ret_files = (struct package_repo_files){ 0 };
    if (check_supported_parts(manager, repo, err) < 0)
        return -1;
    return manager->repos.managed(&host, repo, ret_files, err);
}

int package_repo_absent(const struct package_manager *manager, struct package_repo_host host,
                        const struct package_repo *repo, struct package_repo_files *ret_files,
                        struct err *err)
{
    host.place = manager->repos.place;
    *ret_files = (struct package_repo_files){ 0 };
    return manager->repos.absent(&host, repo, ret_files, err);
}

bool package_repo_is_used(const struct package_repo *repo)
{
    return repo->enabled && !repo->disabled;
}

int package_repo_lacks(const struct package_repo *repo, const char *what, struct err *err)
{
    return err_set(err, ERR_INVALID, "repository '%s' requires %s", repo->name, what);
}

/* --- files ------------------------------------------------------------------------------------ */

int package_repo_add_file(const struct package_repo_host *host, struct package_repo_files *files,
                          const char *path, struct package_repo_file **ret, struct err *err)
{
    struct package_repo_file file = { .path = path };

    if (fs_read(host->arena, path, FILE_MAX, &file.old, err) < 0)
        return -1;
    file.now = file.old;
    VEC_PUSH_IN(host->arena, &files->list, file);
    *ret = &files->list.p[files->list.n - 1];
    return 0;
}

int package_repo_drop(const struct package_repo_host *host, const struct package_repo *repo,
                      const char *path, package_repo_drop_fn *drop,
                      struct package_repo_files *files, struct err *err)
{
    const bool part = path_is_below(path, host->place) && strcmp(path, host->place) != 0;
    AUTO_BUF struct buf text = BUF_INIT(PACKAGE_REPO_TEXT_MAX);
    struct package_repo_file *file;
    size_t count = 0;

    if (package_repo_add_file(host, files, path, &file, err) < 0)
        return -1;
    if (!file->old.p)
        return 0;
    if (drop(repo, path, file->old, &text, &count, err) < 0)
        return -1;
    if (count == 0)
        return 0;
    file->now = buf_copy(&text, host->arena);
    if (part && repo_line_is_empty(file->now))
        file->now = (struct str){ NULL, 0 };
    return 0;
}

int package_repo_drop_each(const struct package_repo_host *host, const struct package_repo *repo,
                           struct str ending, package_repo_drop_fn *drop,
                           struct package_repo_files *files, struct err *err)
{
    struct fs_names names;
    struct fs_info info;

    if (fs_stat(host->place, &info, err) < 0)
        return -1;
    if (info.kind != FS_FOLDER)
        return 0;
    if (fs_list(host->arena, host->place, &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name)
        if (str_ends(str_from(*name), ending) &&
            package_repo_drop(host, repo, path_join(host->arena, host->place, *name), drop, files,
                              err) < 0)
            return -1;
    return 0;
}
