#include "states/modules/file/desired_file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/digest.h"
#include "core/base/err.h"
#include "states/modules/file/backup.h"
#include "states/modules/file/parent.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "core/sys/cancel.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/site.h"

#define PIECE_SIZE 16384

struct found {
    struct site site;
    int fd; /* open for reading; -1: missing, or a link that will be replaced */
    bool exists;
    bool is_link; /* that will be replaced */
    bool same;    /* the content */
};

static void free_found(struct found *found)
{
    fd_close(&found->fd);
    site_done(&found->site);
}

/* Check and change the same open file. */
#define AUTO_FOUND __attribute__((cleanup(free_found)))

/* The sizes agree: read no more than that, so a small file takes one read. */
static int compare_wanted_file(int fd, const char *path, struct str content, bool *ret_same,
                               struct err *err)
{
    char piece[PIECE_SIZE];

    *ret_same = true;
    for (size_t at = 0, n; *ret_same && at < content.n; at += n) {
        const size_t left = content.n - at;
        const size_t want = left < sizeof(piece) ? left : sizeof(piece);

        if (fd_read(fd, piece, want, &n, err) < 0)
            return err_wrap(err, "read '%s'", path);
        *ret_same = n == want && memcmp(piece, content.p + at, n) == 0;
    }
    return 0;
}

int desired_file_open(const struct source_content *large, int *ret_fd, struct err *err)
{
    AUTO_FD int fd = -1;
    struct fs_info info;

    if (fs_open(large->file, &fd, &info, err) < 0)
        return -1;
    if (info.kind != FS_FILE)
        return err_set(err, ERR_BUSY, "source '%s' was replaced by another process", large->file);
    *ret_fd = fd_take(&fd);
    return 0;
}

/* Two open files with as many bytes. */
static int compare_wanted_files(int fd, const char *path, int source, bool *ret_same,
                                struct err *err)
{
    char piece[PIECE_SIZE], other[PIECE_SIZE];
    size_t n, m;

    do {
        if (cancel_check(err) < 0 || fd_read(fd, piece, sizeof(piece), &n, err) < 0 ||
            fd_read(source, other, sizeof(other), &m, err) < 0)
            return err_wrap(err, "compare '%s'", path);
        *ret_same = n == m && memcmp(piece, other, n) == 0;
    } while (*ret_same && n > 0);
    return 0;
}

static int compare_large(const struct desired_file *wanted, struct found *found, struct err *err)
{
    AUTO_FD int source = -1;

    if (desired_file_open(wanted->large, &source, err) < 0)
        return -1;
    return compare_wanted_files(found->fd, wanted->path, source, &found->same, err);
}

static uint64_t get_wanted_size(const struct desired_file *wanted)
{
    return wanted->large ? wanted->large->size : wanted->content.n;
}

static int compare_wanted_content(const struct desired_file *wanted, struct found *found,
                                  struct err *err)
{
    found->same = true;
    if (!wanted->has_content || wanted->keep_content)
        return 0;
    found->same = found->site.info.size == get_wanted_size(wanted);
    if (!found->same || get_wanted_size(wanted) == 0)
        return 0;
    return wanted->large
               ? compare_large(wanted, found, err)
               : compare_wanted_file(found->fd, wanted->path, wanted->content, &found->same, err);
}

/* Most files are unchanged, which one stat shows. Everything else goes through the walk that a
 * change would take. */
static bool is_content_settled(const struct desired_file *wanted)
{
    struct found found = { .site = SITE_INIT, .fd = site_glance(wanted->path) };
    struct err ignored;
    struct stat st;
    bool settled = false;

    if (found.fd >= 0 && fstat(found.fd, &st) == 0 && S_ISREG(st.st_mode)) {
        fs_info_from(&st, &found.site.info);
        settled = !attrs_differ(&wanted->attrs, &found.site.info) &&
                  compare_wanted_content(wanted, &found, &ignored) == 0 && found.same;
    }
    free_found(&found);
    return settled;
}

static int find_wanted_file(const struct desired_file *wanted, struct found *ret, struct err *err)
{
    if (site_walk(&ret->site, wanted->path, wanted->replace_link ? 0 : SITE_FOLLOW, err) < 0)
        return -1;
    ret->exists = ret->site.info.kind != FS_NONE;
    if (ret->exists && site_open(&ret->site, &ret->fd, err) < 0)
        return -1;
    ret->exists = ret->site.info.kind != FS_NONE; /* it may have gone */
    ret->is_link = ret->site.info.kind == FS_LINK && wanted->replace_link;
    if (!ret->exists || ret->is_link)
        return 0;
    if (ret->site.info.kind != FS_FILE)
        return err_set(err, ERR_INVALID, "%s exists but is a %s, not a file", wanted->path,
                       fs_kind_name(ret->site.info.kind));
    return compare_wanted_content(wanted, ret, err);
}

/* --- reporting ---------------------------------------------------------------------- */

/* Too large to be shown: sizes only. */
static void show_sizes(struct state_run *run, const struct desired_file *wanted,
                       const struct found *found)
{
    const unsigned long long now = get_wanted_size(wanted), old = found->site.info.size;

    if (found->fd < 0) {
        state_differs(run, "new file %s, %llu bytes", wanted->path, now);
        return;
    }
    state_differs(run, "large content of %s changes: %llu -> %llu bytes", wanted->path, old, now);
    state_made(run, "large content of %s changed: %llu -> %llu bytes", wanted->path, old, now);
}

/* Content that is not shown: what there is, and what there will be. */
static int bind_content(struct state_run *run, const struct desired_file *wanted,
                        const struct found *found, struct err *err)
{
    const struct digest *sha256 = digest_find(STR("sha256"));
    const struct source_content plain = { .text = wanted->content };
    char hex[DIGEST_HEX_MAX];

    if (!run->plan_binding)
        return 0;
    if (found->fd >= 0) {
        if (fs_hash_fd(found->fd, wanted->path, sha256, hex, err) < 0)
            return -1;
        state_bind(run, str_from(hex));
    }
    if (wanted->has_content || wanted->large) {
        if (state_source_digest(wanted->large ? wanted->large : &plain, sha256, hex, err) < 0)
            return -1;
        state_bind(run, str_from(hex));
    }
    return 0;
}

static int show_content(struct state_run *run, const struct desired_file *wanted,
                        const struct found *found, struct err *err)
{
    struct str old = { NULL, 0 };

    if (bind_content(run, wanted, found, err) < 0)
        return -1;
    if (wanted->large && !wanted->hide) {
        show_sizes(run, wanted, found);
        return 0;
    }
    if (wanted->hide || (found->exists && found->site.info.size > DESIRED_FILE_SHOWN_MAX))
        return 0;
    if (!found->exists && wanted->content.n == 0)
        return 0; /* a new, empty file: nothing else to report */
    if (found->fd >= 0 &&
        (lseek(found->fd, 0, SEEK_SET) < 0 ||
         fs_read_fd(run->arena, found->fd, wanted->path, DESIRED_FILE_SHOWN_MAX, &old, err) < 0))
        return -1;
    state_diff_content(run, wanted->path, old, wanted->has_content ? wanted->content : STR(""));
    return 0;
}

/* A folder that the walk ended in is there. */
static int check_parent(struct state_run *run, const struct desired_file *wanted,
                        const struct found *found, struct err *err)
{
    if (wanted->own_folder || found->site.folder >= 0)
        return 0;
    return wanted->replace_link ? parent_check(run, wanted->path, wanted->makedirs, err)
                                : parent_check_file(run, wanted->path, wanted->makedirs, err);
}

int desired_file_check(struct state_run *run, const struct desired_file *wanted, struct err *err)
{
    AUTO_FOUND struct found found = { .site = SITE_INIT, .fd = -1 };

    if (is_content_settled(wanted))
        return 0;
    if (find_wanted_file(wanted, &found, err) < 0)
        return -1;
    if (!found.exists && wanted->keep_absence) {
        state_say(run, "file %s does not exist and create is false", wanted->path);
        return 0;
    }
    if (!found.exists) {
        if (check_parent(run, wanted, &found, err) < 0)
            return -1;
        state_differs(run, "file %s does not exist", wanted->path);
        state_made(run, "created file %s", wanted->path);
        return show_content(run, wanted, &found, err);
    }
    if (found.is_link) {
        state_differs(run, "%s is a link, not a file", wanted->path);
        state_made(run, "replaced link %s by a file", wanted->path);
        return show_content(run, wanted, &found, err);
    }
    if (!found.same) {
        state_differs(run, "content differs for %s", wanted->path);
        state_made(run, "changed content of %s", wanted->path);
        if (show_content(run, wanted, &found, err) < 0)
            return -1;
    }
    attrs_check(run, wanted->path, &wanted->attrs, &found.site.info);
    return 0;
}

/* --- applying ------------------------------------------------------------------------ */

static int make_parent(struct state_run *run, const struct desired_file *wanted, struct err *err)
{
    const struct change_attr own = parent_attr(&wanted->attrs.want);
    const struct change_attr *folders = wanted->folders ? wanted->folders : &own;

    return wanted->replace_link
               ? parent_make(run, wanted->path, wanted->makedirs, folders, err)
               : parent_make_file(run, wanted->path, wanted->makedirs, folders, err);
}

static int write_content(struct state_run *run, const struct desired_file *wanted,
                         struct site *site, struct err *err)
{
    const struct str content = wanted->has_content ? wanted->content : STR("");
    AUTO_FD int source = -1;

    if (!wanted->large)
        return change_rewrite_at(run, site, wanted->seen, content, &wanted->attrs.want, err);
    if (desired_file_open(wanted->large, &source, err) < 0)
        return -1;
    return change_refill_at(run, site, wanted->seen, source, &wanted->attrs.want, err);
}

static int write_new(struct state_run *run, const struct desired_file *wanted, struct found *found,
                     struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (found->site.folder < 0)
        return make_parent(run, wanted, err) < 0 ||
                       site_walk(&site, wanted->path, SITE_FOLLOW, err) < 0
                   ? -1
                   : write_content(run, wanted, &site, err);
    if (found->is_link && change_remove(run, wanted->path, err) < 0)
        return -1;
    return write_content(run, wanted, &found->site, err);
}

int desired_file_writes(const struct desired_file *wanted, bool *ret_writes, struct err *err)
{
    AUTO_FOUND struct found found = { .site = SITE_INIT, .fd = -1 };

    *ret_writes = false;
    if (is_content_settled(wanted))
        return 0;
    if (find_wanted_file(wanted, &found, err) < 0)
        return -1;
    *ret_writes = !found.same && !(wanted->keep_absence && !found.exists);
    return 0;
}

int desired_file_apply(struct state_run *run, const struct desired_file *wanted,
                       enum desired_file_done *ret_done, struct err *err)
{
    AUTO_FOUND struct found found = { .site = SITE_INIT, .fd = -1 };

    if (find_wanted_file(wanted, &found, err) < 0)
        return -1;
    *ret_done = DESIRED_FILE_NOTHING;
    if (!found.exists && wanted->keep_absence)
        return 0;
    if (!found.exists || found.is_link) {
        *ret_done = DESIRED_FILE_CREATED;
        return write_new(run, wanted, &found, err);
    }
    if (!found.same) {
        *ret_done = DESIRED_FILE_REPLACED;
        if (backup_make(run, wanted->path, wanted->backup, err) < 0)
            return -1;
        return write_content(run, wanted, &found.site, err);
    }
    if (attrs_differ(&wanted->attrs, &found.site.info))
        *ret_done = DESIRED_FILE_ATTRIBUTES;
    return attrs_apply(run, &found.site, &wanted->attrs, err);
}

int desired_file_report(struct state_run *run, const struct desired_file *wanted,
                        enum desired_file_done done, struct err *err)
{
    struct fs_info info;

    if (done == DESIRED_FILE_NOTHING) {
        state_unchanged(run);
        return 0;
    }
    if (fs_stat(wanted->path, &info, err) < 0)
        return -1;
    if (done == DESIRED_FILE_ATTRIBUTES)
        state_say(run, "set mode and owner of %s (mode %o)", wanted->path, (unsigned)info.mode);
    else
        state_say(run, "wrote %llu bytes to %s (mode %o)",
                  (unsigned long long)get_wanted_size(wanted), wanted->path, (unsigned)info.mode);
    state_detail(run, "path", "%s", wanted->path);
    if (done != DESIRED_FILE_ATTRIBUTES)
        state_detail(run, "bytes", "%llu", (unsigned long long)get_wanted_size(wanted));
    state_detail(run, "mode", "%04o", (unsigned)info.mode);
    return 0;
}
