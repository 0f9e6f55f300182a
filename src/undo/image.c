#include "undo/image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/sha256.h"
#include "data/value.h"
#include "sys/fd.h"
#include "sys/path.h"

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

static int mark_file(struct arena *arena, const char *path, const char **ret, struct err *err)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0)
        return err_sys(err, errno, "open '%s'", path);
    if (image_mark_fd(arena, fd, ret, err) < 0)
        return err_wrap(err, "'%s'", path);
    return 0;
}

static int mark_of(struct arena *arena, const char *path, enum fs_kind kind, const char **ret,
                   struct err *err)
{
    const char *target;

    if (kind == FS_FILE)
        return mark_file(arena, path, ret, err);
    *ret = kind_words[kind];
    if (kind != FS_LINK)
        return 0;
    if (fs_readlink(arena, path, &target, err) < 0)
        return -1;
    *ret = arena_printf(arena, "link:%s", target ? target : "");
    return 0;
}

int image_mark(struct arena *arena, const char *path, const char **ret_mark, struct err *err)
{
    struct fs_info info;

    if (fs_lstat(path, &info, err) < 0)
        return -1;
    return mark_of(arena, path, info.kind, ret_mark, err);
}

/* --- taking ---------------------------------------------------------------------- */

static int take_xattrs(struct arena *arena, struct image *image, struct err *err)
{
    AUTO_FREE char *names = NULL, *bytes = NULL;
    struct value_map *map;
    ssize_t n = llistxattr(image->path, NULL, 0);

    if (n <= 0)
        return 0; /* none, or a file system without them */
    names = mem_alloc(XATTR_LIST_SIZE);
    bytes = mem_alloc(XATTR_VALUE_SIZE);
    n = llistxattr(image->path, names, XATTR_LIST_SIZE);
    if (n < 0)
        return err_sys(err, errno, "list the attributes of '%s'", image->path);
    map = value_map_new(arena, 1);
    for (const char *name = names; name < names + n; name += strlen(name) + 1) {
        ssize_t size = lgetxattr(image->path, name, bytes, XATTR_VALUE_SIZE);

        if (size >= 0)
            value_map_set(arena, map, value_text(arena_strdup(arena, name)),
                          value_bytes(arena_str(arena, str_bytes(bytes, (size_t)size))));
    }
    image->xattrs = map;
    return 0;
}

static int take_file(struct arena *arena, struct image *image, const char *folder, const char *copy,
                     struct err *err)
{
    const struct fs_replace_options options = { .attr = { 0600, FS_KEEP, FS_KEEP } };

    if (image->info.size <= IMAGE_INLINE_MAX) {
        if (fs_read(arena, image->path, IMAGE_INLINE_MAX, &image->content, err) == 0) {
            if (!image->content.p)
                return err_set(err, ERR_NOT_FOUND, "'%s' vanished", image->path);
            image->mark = image_mark_content(arena, image->content);
            return 0;
        }
        if (err->code != ERR_LIMIT) /* it may have grown meanwhile */
            return -1;
    }
    image->content = (struct str){ NULL, 0 };
    image->copy = copy;
    if (fs_copy(image->path, path_join(arena, folder, copy), &options, err) < 0)
        return -1;
    return mark_file(arena, path_join(arena, folder, copy), &image->mark, err);
}

int image_take(struct arena *arena, const char *path, enum image_extent extent, const char *folder,
               const char *copy, struct image *ret_image, struct err *err)
{
    struct image image = { .path = path, .whole = extent == IMAGE_WHOLE };

    if (fs_lstat(path, &image.info, err) < 0)
        return err_wrap(err, "keep an image of '%s'", path);
    image.mark = kind_words[image.info.kind];
    if (image.info.kind == FS_FILE && image.whole &&
        take_file(arena, &image, folder, copy, err) < 0)
        return err_wrap(err, "keep an image of '%s'", path);
    if (image.info.kind == FS_LINK) {
        if (fs_readlink(arena, path, &image.target, err) < 0)
            return err_wrap(err, "keep an image of '%s'", path);
        image.mark = arena_printf(arena, "link:%s", image.target ? image.target : "");
    }
    if ((image.info.kind == FS_FILE || image.info.kind == FS_FOLDER) &&
        take_xattrs(arena, &image, err) < 0)
        return -1;
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
