#include "states/modules/file/cache.h"

#include <errno.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "states/modules/file/desired_file.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "core/sys/draft.h"
#include "core/sys/fd.h"
#include "core/sys/path.h"
#include "core/sys/site.h"

const char *cache_path(struct state_run *run, const char *source)
{
    char hex[SHA256_HEX_SIZE];

    sha256_hex(source, strlen(source), hex);
    return arena_printf(run->arena, "%s/cached/%s", run->host->data_dir, hex);
}

static int make_cache_folder(const char *folder, mode_t mode, struct err *err)
{
    const struct fs_attr attr = { mode, FS_KEEP, FS_KEEP };
    AUTO_SITE struct site site = SITE_INIT;

    if (site_walk(&site, folder, SITE_OWN | SITE_FOLLOW, err) < 0)
        return -1;
    if (site.info.kind != FS_NONE || site_mkdir(&site, &attr, err) == 0)
        return 0;
    return err->errnum == EEXIST ? 0 : -1; /* another thread was faster */
}

static int fill_cache_draft(struct draft *draft, const struct source_content *content,
                            struct err *err)
{
    AUTO_FD int fd = -1;

    if (!content->file)
        return draft_add(draft, content->text, err);
    if (desired_file_open(content, &fd, err) < 0)
        return -1;
    return draft_copy(draft, fd, err);
}

int cache_keep(struct state_run *run, const char *source, const struct source_content *content,
               struct err *err)
{
    const struct fs_replace_options private = { .attr = { 0600, FS_KEEP, FS_KEEP } };
    const char *path = cache_path(run, source);
    AUTO_SITE struct site site = SITE_INIT;
    struct draft draft;
    int rc;

    if (run->host->test)
        return 0;
    if (make_cache_folder(run->host->data_dir, 0755, err) < 0 ||
        make_cache_folder(path_dirname(run->arena, path), 0700, err) < 0 ||
        site_walk(&site, path, SITE_OWN, err) < 0 ||
        draft_open_at(&draft, &site, &private, err) < 0)
        return -1;
    rc = fill_cache_draft(&draft, content, err);
    if (rc == 0)
        rc = draft_commit(&draft, err);
    draft_done(&draft);
    return rc;
}
