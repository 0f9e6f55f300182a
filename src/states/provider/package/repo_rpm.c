#include "states/provider/package/repo_rpm.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "states/provider/package/repo_section.h"

static struct repo_key *make_section_keys(struct arena *arena, const struct package_repo *repo,
                                          size_t *ret_count)
{
    const struct repo_key fixed[] = {
        { "name", repo->humanname ? repo->humanname : repo->name },
        { "baseurl", repo->baseurl },
        { "mirrorlist", repo->mirrorlist },
        { "enabled", package_repo_is_used(repo) ? "1" : "0" },
        { "gpgcheck", repo->gpgcheck ? "1" : "0" },
        { "gpgkey", repo->key_url },
    };
    struct repo_key *keys = ARENA_ARRAY(arena, struct repo_key, ARRAY_LEN(fixed) + repo->options.n);
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        keys[count++] = fixed[i];
    for (size_t i = 0; i < repo->options.n; i++)
        keys[count++] = (struct repo_key){ repo->options.p[i].key, repo->options.p[i].value };
    *ret_count = count;
    return keys;
}

int repo_rpm_managed(const struct package_repo_host *host, const struct package_repo *repo,
                     struct package_repo_files *files, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(PACKAGE_REPO_TEXT_MAX);
    struct package_repo_file *file;
    size_t count;
    const struct repo_key *keys = make_section_keys(host->arena, repo, &count);
    const char *path =
        repo->file ? repo->file : arena_printf(host->arena, "%s/%s.repo", host->place, repo->name);

    if (!repo->baseurl && !repo->mirrorlist)
        return package_repo_lacks(repo, "'baseurl' or 'mirrorlist'", err);
    if (package_repo_add_file(host, files, path, &file, err) < 0 ||
        repo_section_set(repo->clean_file || !file->old.p ? STR("") : file->old,
                         str_from(repo->name), keys, count, "=", &text, err) < 0)
        return -1;
    file->now = buf_copy(&text, host->arena);
    return 0;
}

int repo_rpm_absent(const struct package_repo_host *host, const struct package_repo *repo,
                    struct package_repo_files *files, struct err *err)
{
    if (repo->file)
        return package_repo_drop(host, repo, repo->file, repo_section_drop, files, err);
    return package_repo_drop_each(host, repo, STR(".repo"), repo_section_drop, files, err);
}
