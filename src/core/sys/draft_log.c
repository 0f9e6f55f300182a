#include "core/sys/draft_log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/site.h"
#include "core/sys/tree.h"

#define LOG_SIZE_MAX ((size_t)1 << 30)
#define RECORD_MAX   ((size_t)64 << 10)

struct draft_log {
    struct arena arena;
    const char *path;
    pthread_mutex_t mutex;
    int fd;             /* -1: not created yet */
    atomic_bool failed; /* a draft is still there */
};

/* One text of the log. */
struct drafted {
    unsigned long long folder_device, folder_inode, device, inode;
    const char *name, *folder;
};

/* --- writing ----------------------------------------------------------------------------- */

/* Called with the mutex held. */
static int open_log_file(struct draft_log *log, struct err *err)
{
    if (log->fd < 0)
        log->fd = open(log->path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return log->fd < 0 ? err_sys(err, errno, "create '%s'", log->path) : 0;
}

static int append_draft_record(struct draft_log *log, const struct site *site, const char *name,
                               const struct fs_info *draft, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    AUTO_BUF struct buf record = BUF_INIT(RECORD_MAX);
    int rc;

    buf_printf(&record, "%llx %llx %s %llx %llx %s", (unsigned long long)site->above.device,
               (unsigned long long)site->above.inode, name, (unsigned long long)draft->device,
               (unsigned long long)draft->inode, path_dirname(&scratch, site->path));
    buf_add_char(&record, '\0');
    (void)pthread_mutex_lock(&log->mutex);
    rc = open_log_file(log, err);
    if (rc == 0)
        rc = fd_write(log->fd, record.p, record.n, err);
    (void)pthread_mutex_unlock(&log->mutex);
    return rc < 0 ? err_wrap(err, "record a draft") : 0;
}

int draft_log_add(struct draft_log *log, const struct site *site, const char *name, struct err *err)
{
    const struct fs_info unknown = { 0 };

    return append_draft_record(log, site, name, &unknown, err);
}

int draft_log_add_folder(struct draft_log *log, const struct site *site, struct err *err)
{
    return append_draft_record(log, site, site->name, &site->info, err);
}

void draft_log_keep(struct draft_log *log)
{
    atomic_store(&log->failed, true);
}

/* --- removing ---------------------------------------------------------------------------- */

static bool read_draft_number(char **rest, unsigned long long *ret)
{
    char *end;

    *ret = strtoull(*rest, &end, 16);
    if (end == *rest || *end != ' ')
        return false;
    *rest = end + 1;
    return true;
}

/* Cuts the text into its parts. False for one damaged by a crash. */
static bool read_draft_record(char *text, struct drafted *ret)
{
    char *name, *space;

    if (!read_draft_number(&text, &ret->folder_device) ||
        !read_draft_number(&text, &ret->folder_inode))
        return false;
    name = text;
    space = strchr(text, ' ');
    if (!space)
        return false;
    *space = '\0';
    text = space + 1;
    if (!read_draft_number(&text, &ret->device) || !read_draft_number(&text, &ret->inode))
        return false;
    ret->name = name;
    ret->folder = text;
    return fs_is_temp_name(name) && path_is_absolute(text);
}

/* A folder that may be another one now is removed only if empty. */
static int remove_draft_folder(const struct drafted *draft, const struct site *site,
                               struct err *err)
{
    if (site->info.inode == draft->inode && site->info.device == draft->device)
        return tree_discard_at(site, err);
    if (draft->inode == 0 && site_rmdir(site, err) < 0 && err->errnum != ENOTEMPTY &&
        err->errnum != EEXIST)
        return -1;
    return 0;
}

/* Returns -1 when it still exists. If its folder has moved, the draft moved with it: no other place
 * is searched. */
static int remove_draft(const struct drafted *draft, struct err *err)
{
    AUTO_FD int fd = open(draft->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    const struct fs_info unknown = { .kind = FS_NONE };
    AUTO_SITE struct site site = SITE_INIT;
    struct fs_info folder;

    if (fd < 0 || fs_look_at(fd, "", &folder) < 0)
        return 0;
    if (folder.device != draft->folder_device || folder.inode != draft->folder_inode)
        return 0;
    site_enter(&site, fd, &folder, draft->name, path_join(&scratch, draft->folder, draft->name),
               &unknown);
    if (site_look(&site, err) < 0)
        return -1;
    if (site.info.kind == FS_NONE)
        return 0;
    return site.info.kind == FS_FOLDER ? remove_draft_folder(draft, &site, err)
                                       : site_unlink(&site, err);
}

/* Drafts that could not be removed stay in the log. */
static int remove_logged_drafts(struct draft_log *log, struct err *err)
{
    const struct fs_replace_options how = { .attr = { 0600, FS_KEEP, FS_KEEP },
                                            .sync = FS_NO_SYNC };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf remaining = BUF_INIT(BUF_NO_LIMIT);
    struct drafted draft;
    struct err ignored;
    struct str rest;

    if (fs_read(&arena, log->path, LOG_SIZE_MAX, &rest, err) < 0)
        return -1;
    if (!rest.p)
        return 0;
    while (rest.n > 0) {
        const struct str text = str_cut(&rest, '\0');

        if (read_draft_record(arena_strndup(&arena, text.p, text.n), &draft) &&
            remove_draft(&draft, &ignored) < 0) {
            draft_log_keep(log);
            buf_add_str(&remaining, text);
            buf_add_char(&remaining, '\0');
        }
    }
    return remaining.n > 0 ? fs_replace(log->path, buf_view(&remaining), &how, err)
                           : fs_unlink(log->path, err);
}

/* --- a log ------------------------------------------------------------------------------- */

struct draft_log *draft_log_open(const char *path)
{
    struct draft_log *log = mem_zalloc(sizeof(*log));
    struct err ignored; /* the next run tries again */

    log->fd = -1;
    log->path = arena_strdup(&log->arena, path);
    (void)pthread_mutex_init(&log->mutex, NULL);
    (void)remove_logged_drafts(log, &ignored);
    return log;
}

void draft_log_close(struct draft_log *log)
{
    struct err ignored; /* the next run tries again */

    if (!log)
        return;
    if (atomic_load(&log->failed))
        (void)remove_logged_drafts(log, &ignored);
    else if (log->fd >= 0) /* all its drafts are gone */
        (void)fs_unlink(log->path, &ignored);
    fd_close(&log->fd);
    (void)pthread_mutex_destroy(&log->mutex);
    arena_done(&log->arena);
    free(log);
}
