#include "states/undo/image.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/data/record.h"
#include "core/sys/cancel.h"
#include "core/sys/fd.h"
#include "core/sys/draft.h"
#include "core/sys/handle.h"
#include "core/sys/path.h"
#include "core/sys/site.h"
#include "states/undo/attributes.h"

#define CHUNK ((size_t)64 << 10)

static const char *const kind_words[] = {
    [FS_NONE] = "none", [FS_FILE] = "file",     [FS_FOLDER] = "folder", [FS_LINK] = "link",
    [FS_FIFO] = "fifo", [FS_SOCKET] = "socket", [FS_BLOCK] = "block",   [FS_CHAR] = "char",
};
_Static_assert(ARRAY_LEN(kind_words) == FS_KINDS, "every kind has a word");

/* --- marks ----------------------------------------------------------------------- */

const char *image_mark_kind(enum fs_kind kind)
{
    return kind_words[kind];
}

const char *image_mark_content(struct arena *arena, struct str content)
{
    char hex[SHA256_HEX_SIZE];

    sha256_hex(content.p, content.n, hex);
    return arena_printf(arena, "file:%s", hex);
}

int image_mark_fd(struct arena *arena, int fd, const char **ret_mark, struct err *err)
{
    AUTO_FREE char *chunk = mem_alloc(CHUNK);
    char hex[SHA256_HEX_SIZE];
    struct sha256 sha;
    size_t n;

    if (lseek(fd, 0, SEEK_SET) < 0)
        return err_sys(err, errno, "read from the beginning");
    sha256_init(&sha);
    do {
        if (cancel_check(err) < 0 || fd_read(fd, chunk, CHUNK, &n, err) < 0)
            return -1;
        sha256_add(&sha, chunk, n);
    } while (n > 0);
    sha256_end_hex(&sha, hex);
    *ret_mark = arena_printf(arena, "file:%s", hex);
    return 0;
}

static int mark_file(struct arena *arena, struct site *site, const char **ret, struct err *err)
{
    AUTO_FD int fd = -1;

    if (site_peek(site, &fd, err) < 0)
        return -1;
    if (fd < 0)
        return err_set(err, ERR_NOT_FOUND, "'%s' vanished", site->path);
    if (image_mark_fd(arena, fd, ret, err) < 0)
        return err_wrap(err, "'%s'", site->path);
    return 0;
}

int image_mark(struct arena *arena, struct site *site, const char **ret_mark, struct err *err)
{
    const char *target;

    if (site->info.kind == FS_FILE)
        return mark_file(arena, site, ret_mark, err);
    *ret_mark = kind_words[site->info.kind];
    if (site->info.kind != FS_LINK)
        return 0;
    if (site_readlink(arena, site, &target, err) < 0)
        return -1;
    *ret_mark = arena_printf(arena, "link:%s", target ? target : "");
    return 0;
}

int image_mark_path(struct arena *arena, const char *path, const char **ret_mark, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (site_walk(&site, path, SITE_RETURN, err) < 0)
        return -1;
    return image_mark(arena, &site, ret_mark, err);
}

/* --- taking ---------------------------------------------------------------------- */

static int copy_image_file(struct arena *arena, int fd, struct image *image, const char *folder,
                           struct err *err)
{
    const struct fs_replace_options options = { .attr = { 0600, FS_KEEP, FS_KEEP } };
    struct draft draft;
    int rc;

    if (lseek(fd, 0, SEEK_SET) < 0)
        return err_sys(err, errno, "read '%s' from the beginning", image->path);
    if (draft_open(&draft, path_join(arena, folder, image->copy), &options, err) < 0)
        return -1;
    rc = draft_copy(&draft, fd, err);
    if (rc == 0)
        rc = image_mark_fd(arena, draft.fd, &image->mark, err);
    if (rc == 0)
        rc = draft_commit(&draft, err);
    draft_done(&draft);
    return rc;
}

static int take_content(struct arena *arena, int fd, struct image *image, const char *folder,
                        const char *copy, struct err *err)
{
    if (image->info.size <= IMAGE_INLINE_MAX) {
        if (fs_read_fd(arena, fd, image->path, IMAGE_INLINE_MAX, &image->content, err) == 0) {
            image->mark = image_mark_content(arena, image->content);
            return 0;
        }
        if (err->code != ERR_LIMIT) /* it may have grown meanwhile */
            return -1;
    }
    image->content = (struct str){ NULL, 0 };
    image->copy = copy;
    return copy_image_file(arena, fd, image, folder, err);
}

/* Content, owner, mode and extended attributes come from one open file, so that they match. */
static int take_file(struct arena *arena, struct site *site, struct image *image,
                     const char *folder, const char *copy, struct err *err)
{
    AUTO_FD int fd = -1;

    if (site_peek(site, &fd, err) < 0)
        return -1;
    if (fd < 0 || site->info.kind != FS_FILE)
        return err_set(err, ERR_BUSY, "'%s' was replaced by another process", site->path);
    image->info = site->info;
    if (image->info.links > 1)
        image->handle = handle_take(arena, fd);
    if (take_content(arena, fd, image, folder, copy, err) < 0)
        return -1;
    return attributes_take(arena, fd, image, err);
}

static int take_attributes(struct arena *arena, const struct site *site, struct image *image,
                           struct err *err)
{
    AUTO_FD int fd = -1;

    return site_hold_known(site, &fd, err) < 0 ? -1 : attributes_take(arena, fd, image, err);
}

/* A new owner must not choose what runs with the rights of the former one. */
static int take_guarded(struct arena *arena, struct site *site, struct image *image,
                        struct err *err)
{
    if (take_attributes(arena, site, image, err) < 0 ||
        image_mark(arena, site, &image->mark, err) < 0)
        return -1;
    image->guarded = true;
    return 0;
}

static int take_link(struct arena *arena, const struct site *site, struct image *image,
                     struct err *err)
{
    if (site_readlink(arena, site, &image->target, err) < 0)
        return -1;
    if (!image->target)
        return err_set(err, ERR_BUSY, "'%s' was replaced by another process", site->path);
    image->mark = arena_printf(arena, "link:%s", image->target);
    return 0;
}

static int take_image(struct arena *arena, struct site *site, struct image *image,
                      const char *folder, const char *copy, struct err *err)
{
    const enum fs_kind kind = image->info.kind;

    image->mark = kind_words[kind];
    if (kind == FS_NONE)
        return 0;
    if (kind == FS_LINK)
        return take_link(arena, site, image, err);
    if (kind == FS_FILE && image->whole)
        return take_file(arena, site, image, folder, copy, err);
    if (kind == FS_FILE && (image->info.mode & (S_ISUID | S_ISGID)) != 0)
        return take_guarded(arena, site, image, err);
    return take_attributes(arena, site, image, err);
}

int image_take(struct arena *arena, struct site *site, enum image_extent extent, const char *folder,
               const char *copy, struct image *ret_image, struct err *err)
{
    struct image image = { .path = site->path, .whole = extent == IMAGE_WHOLE, .info = site->info };

    if (take_image(arena, site, &image, folder, copy, err) < 0)
        return err_wrap(err, "keep an image of '%s'", site->path);
    image.self = fs_id_of(&image.info);
    if (site->folder >= 0 || site->borrowed) {
        image.in = fs_id_of(&site->above);
        image.in_owner = site->above.uid;
    }
    *ret_image = image;
    return 0;
}

/* --- on disk --------------------------------------------------------------------- */

/* The name of a copy never leads out of its folder. */
static int check_image(const void *record, struct err *err)
{
    const struct image *image = record;
    const char *copy = image->copy;

    if (image->path[0] != '/')
        return err_set(err, ERR_INVALID, "'%s' is not an absolute path", image->path);
    if (image->info.kind == FS_LINK && !image->target)
        return err_set(err, ERR_INVALID, "'%s': a link without its target", image->path);
    if (copy && (strchr(copy, '/') || copy[0] == '.' || !copy[0]))
        return err_set(err, ERR_INVALID, "'%s': a copy with the name '%s'", image->path, copy);
    if (image->whole && image->info.kind == FS_FILE && !image->content.p && !copy)
        return err_set(err, ERR_INVALID, "'%s': a file without its content", image->path);
    return 0;
}

/* clang-format off */
#define ARGS struct image
static const struct record_field image_fields[] = {
    RECORD("path",    TEXT,  ARGS, path,       RECORD_REQUIRED),
    RECORD("whole",   BOOL,  ARGS, whole,      RECORD_OMIT),
    RECORD("kind",    WORD,  ARGS, info.kind,  RECORD_REQUIRED, RECORD_WORDS(kind_words)),
    RECORD("mark",    TEXT,  ARGS, mark,       RECORD_REQUIRED),
    RECORD("mode",    INT,   ARGS, info.mode,  RECORD_OMIT, RECORD_RANGE(0, 07777)),
    RECORD("uid",     INT,   ARGS, info.uid,   RECORD_OMIT),
    RECORD("gid",     INT,   ARGS, info.gid,   RECORD_OMIT),
    RECORD("mtime",   INT,   ARGS, info.mtime, RECORD_OMIT),
    RECORD("node",    INT,   ARGS, info.node,  RECORD_OMIT),
    RECORD("links",   INT,   ARGS, info.links, RECORD_OMIT),
    RECORD("guarded", BOOL,  ARGS, guarded,    RECORD_OMIT),
    RECORD("handle",  BYTES, ARGS, handle,     RECORD_OMIT),
    RECORD("device",  INT,   ARGS, self.device, RECORD_OMIT),
    RECORD("inode",   INT,   ARGS, self.inode, RECORD_OMIT),
    RECORD("born",    INT,   ARGS, self.born,  RECORD_OMIT),
    RECORD("in_device", INT, ARGS, in.device,  RECORD_OMIT),
    RECORD("in_inode",  INT, ARGS, in.inode,   RECORD_OMIT),
    RECORD("in_born",   INT, ARGS, in.born,    RECORD_OMIT),
    RECORD("in_owner", INT,  ARGS, in_owner,   RECORD_OMIT),
    RECORD("target",  TEXT,  ARGS, target,     RECORD_OMIT),
    RECORD("content", BYTES, ARGS, content,    RECORD_OMIT),
    RECORD("copy",    TEXT,  ARGS, copy,       RECORD_OMIT),
    RECORD("xattrs",  MAP,   ARGS, xattrs,     RECORD_OMIT),
    { 0 },
};
/* clang-format on */

const struct record_type image_type =
    RECORD_TYPE("image", ARGS, image_fields, 0, .check = check_image);
