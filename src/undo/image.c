#include "undo/image.h"

#include <errno.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/sha256.h"
#include "data/value.h"
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
        if (fd_read(fd, chunk, CHUNK, &n, err) < 0)
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
    image->xattrs = map;
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
        return err_set(err, ERR_BUSY, "'%s' was replaced by somebody else meanwhile", site->path);
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

static int take(struct arena *arena, struct site *site, struct image *image, const char *folder,
                const char *copy, struct err *err)
{
    const enum fs_kind kind = image->info.kind;

    image->mark = kind_words[kind];
    if (kind == FS_LINK) {
        if (site_readlink(arena, site, &image->target, err) < 0)
            return -1;
        if (!image->target)
            return err_set(err, ERR_BUSY, "'%s' was replaced by somebody else meanwhile",
                           site->path);
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

    if (take(arena, site, &image, folder, copy, err) < 0)
        return err_wrap(err, "keep an image of '%s'", site->path);
    *ret_image = image;
    return 0;
}

/* --- on disk --------------------------------------------------------------------- */

static void put(struct arena *arena, struct value_map *map, const char *key, struct value v)
{
    value_map_set(arena, map, value_text(key), v);
}

struct value image_encode(struct arena *arena, const struct image *image)
{
    struct value_map *map = value_map_new(arena, 12);

    put(arena, map, "path", value_bytes(str_from(image->path)));
    put(arena, map, "whole", value_bool(image->whole));
    put(arena, map, "kind", value_text(kind_words[image->info.kind]));
    put(arena, map, "mark", value_bytes(str_from(image->mark)));
    if (image->info.kind != FS_NONE) {
        put(arena, map, "mode", value_int(image->info.mode));
        put(arena, map, "uid", value_int(image->info.uid));
        put(arena, map, "gid", value_int(image->info.gid));
        put(arena, map, "mtime", value_int(image->info.mtime));
        put(arena, map, "node", value_int((int64_t)image->info.node));
    }
    if (image->target)
        put(arena, map, "target", value_bytes(str_from(image->target)));
    if (image->content.p)
        put(arena, map, "content", value_bytes(image->content));
    if (image->copy)
        put(arena, map, "copy", value_text(image->copy));
    if (image->xattrs)
        put(arena, map, "xattrs", value_map(image->xattrs));
    return value_map(map);
}

/* A text without NUL inside; NULL when it is not there. */
static const char *get_text(const struct value *v, const char *key)
{
    const struct value *found = value_get(v, key);

    if (!found || (found->kind != VALUE_STR && found->kind != VALUE_BYTES))
        return NULL;
    return memchr(found->s.p, '\0', found->s.n) ? NULL : found->s.p;
}

static int64_t get_int(const struct value *v, const char *key)
{
    const struct value *found = value_get(v, key);

    return found && found->kind == VALUE_INT ? found->i : 0;
}

static int decode_kind(const struct value *v, enum fs_kind *ret, struct err *err)
{
    const char *word = get_text(v, "kind");

    for (enum fs_kind kind = FS_NONE; word && kind < FS_KINDS; kind++)
        if (strcmp(word, kind_words[kind]) == 0) {
            *ret = kind;
            return 0;
        }
    return err_set(err, ERR_INVALID, "an image without a kind that is known");
}

/* The name of a copy never leads out of its folder. */
static int decode_content(const struct value *v, struct image *image, struct err *err)
{
    const struct value *content = value_get(v, "content"), *xattrs = value_get(v, "xattrs");

    if (content && content->kind == VALUE_BYTES)
        image->content = content->s;
    image->copy = get_text(v, "copy");
    if (image->copy && (strchr(image->copy, '/') || image->copy[0] == '.' || !image->copy[0]))
        return err_set(err, ERR_INVALID, "'%s': a copy with the name '%s'", image->path,
                       image->copy);
    if (image->whole && image->info.kind == FS_FILE && !image->content.p && !image->copy)
        return err_set(err, ERR_INVALID, "'%s': an image without its content", image->path);
    if (xattrs && xattrs->kind == VALUE_MAP)
        image->xattrs = xattrs->map;
    return 0;
}

int image_decode(const struct value *v, struct image *ret_image, struct err *err)
{
    const struct value *whole = value_get(v, "whole");
    struct image image = { .path = get_text(v, "path"), .mark = get_text(v, "mark") };

    if (!image.path || image.path[0] != '/' || !image.mark)
        return err_set(err, ERR_INVALID, "an image without an absolute path and a mark");
    if (decode_kind(v, &image.info.kind, err) < 0)
        return -1;
    image.whole = whole && whole->kind == VALUE_BOOL && whole->b;
    image.info.mode = (mode_t)get_int(v, "mode") & 07777;
    image.info.uid = (uid_t)get_int(v, "uid");
    image.info.gid = (gid_t)get_int(v, "gid");
    image.info.mtime = get_int(v, "mtime");
    image.info.node = (dev_t)get_int(v, "node");
    image.target = get_text(v, "target");
    if (image.info.kind == FS_LINK && !image.target)
        return err_set(err, ERR_INVALID, "'%s': an image of a link without its target", image.path);
    if (decode_content(v, &image, err) < 0)
        return -1;
    *ret_image = image;
    return 0;
}
