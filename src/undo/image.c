#include "undo/image.h"

#include <errno.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/sha256.h"
#include "data/record.h"
#include "sys/cancel.h"
#include "sys/fd.h"
#include "sys/draft.h"
#include "sys/path.h"
#include "sys/site.h"

#define CHUNK ((size_t)64 << 10)
/* The kernel's own limits on extended attributes. */
#define XATTR_LIST_SIZE  65536
#define XATTR_VALUE_SIZE 65536

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

/* Of what is open, which `fd_path` leads to. */
static int take_xattrs(struct arena *arena, const char *fd_path, struct image *image,
                       struct err *err)
{
    AUTO_FREE char *names = NULL, *bytes = NULL;
    struct value_map *map;
    ssize_t n = listxattr(fd_path, NULL, 0);

    if (n <= 0)
        return 0; /* none, or a file system without them */
    names = mem_alloc(XATTR_LIST_SIZE);
    bytes = mem_alloc(XATTR_VALUE_SIZE);
    n = listxattr(fd_path, names, XATTR_LIST_SIZE);
    if (n < 0)
        return err_sys(err, errno, "list the attributes of '%s'", image->path);
    map = value_map_new(arena, 1);
    for (const char *name = names; name < names + n; name += strlen(name) + 1) {
        ssize_t size = getxattr(fd_path, name, bytes, XATTR_VALUE_SIZE);

        if (size >= 0)
            value_map_set(arena, map, value_text(arena_strdup(arena, name)),
                          value_bytes(arena_str(arena, str_bytes(bytes, (size_t)size))));
    }
    image->xattrs = value_map(map);
    return 0;
}

static int copy_file(struct arena *arena, int fd, struct image *image, const char *folder,
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
    return copy_file(arena, fd, image, folder, err);
}

/* All of it from one open file: content, owner, mode and extended attributes belong together. */
static int take_file(struct arena *arena, struct site *site, struct image *image,
                     const char *folder, const char *copy, struct err *err)
{
    char fd_path[SITE_FD_PATH_SIZE];
    AUTO_FD int fd = -1;

    if (site_peek(site, &fd, err) < 0)
        return -1;
    if (fd < 0 || site->info.kind != FS_FILE)
        return err_set(err, ERR_BUSY, "'%s' was replaced by another process", site->path);
    image->info = site->info;
    site_fd_path(fd, fd_path);
    if (take_content(arena, fd, image, folder, copy, err) < 0)
        return -1;
    return take_xattrs(arena, fd_path, image, err);
}

static int take_folder(struct arena *arena, const struct site *site, struct image *image,
                       struct err *err)
{
    char fd_path[SITE_FD_PATH_SIZE];
    AUTO_FD int fd = -1;

    if (site_hold(site, &fd, err) < 0)
        return -1;
    site_fd_path(fd, fd_path);
    return take_xattrs(arena, fd_path, image, err);
}

static int take_image(struct arena *arena, struct site *site, struct image *image,
                      const char *folder, const char *copy, struct err *err)
{
    const enum fs_kind kind = image->info.kind;

    image->mark = kind_words[kind];
    if (kind == FS_LINK) {
        if (site_readlink(arena, site, &image->target, err) < 0)
            return -1;
        if (!image->target)
            return err_set(err, ERR_BUSY, "'%s' was replaced by another process", site->path);
        image->mark = arena_printf(arena, "link:%s", image->target);
        return 0;
    }
    if (kind == FS_FILE)
        return image->whole ? take_file(arena, site, image, folder, copy, err) : 0;
    return kind == FS_FOLDER ? take_folder(arena, site, image, err) : 0;
}

int image_take(struct arena *arena, struct site *site, enum image_extent extent, const char *folder,
               const char *copy, struct image *ret_image, struct err *err)
{
    struct image image = { .path = site->path, .whole = extent == IMAGE_WHOLE, .info = site->info };

    if (take_image(arena, site, &image, folder, copy, err) < 0)
        return err_wrap(err, "keep an image of '%s'", site->path);
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
    RECORD("target",  TEXT,  ARGS, target,     RECORD_OMIT),
    RECORD("content", BYTES, ARGS, content,    RECORD_OMIT),
    RECORD("copy",    TEXT,  ARGS, copy,       RECORD_OMIT),
    RECORD("xattrs",  MAP,   ARGS, xattrs,     RECORD_OMIT),
    { 0 },
};
/* clang-format on */

const struct record_type image_type =
    RECORD_TYPE("image", ARGS, image_fields, 0, .check = check_image);
