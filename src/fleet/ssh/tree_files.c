#include "fleet/ssh/tree_files.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/digest.h"
#include "core/base/err.h"
#include "states/compile/tree.h"
#include "fleet/ssh/channel.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"

#define CHANGED "'%s' has changed while it was sent; try again"

/* --- sums ----------------------------------------------------------------------------- */

static int sum_file(const char *path, char sha256[static SHA256_HEX_SIZE], int64_t *ret_size,
                    struct err *err)
{
    AUTO_FD int fd = -1;
    char text[DIGEST_HEX_MAX];
    struct fs_info info;

    if (fs_open(path, &fd, &info, err) < 0)
        return -1;
    if (fd < 0 || info.kind != FS_FILE)
        return err_set(err, ERR_NOT_FOUND, "'%s' is not a file", path);
    if (fs_hash_fd(fd, path, digest_find(STR("sha256")), text, err) < 0)
        return -1;
    memcpy(sha256, text, SHA256_HEX_SIZE);
    *ret_size = (int64_t)info.size;
    return 0;
}

/* --- the tree --------------------------------------------------------------------------- */

static bool is_left_out(const char *path)
{
    struct str rest = str_from(path);

    while (rest.p) {
        const struct str part = str_cut(&rest, '/');

        if (str_starts(part, STR(".")) || str_eq_text(part, "__pycache__"))
            return true;
    }
    return false;
}

static int add_tree_file(struct arena *arena, struct ssh_tree *ssh_tree, const char *name,
                         struct err *err)
{
    struct ssh_file file = { .path = name };
    char *sum = arena_alloc(arena, SHA256_HEX_SIZE);
    const char *path;

    if (tree_locate(ssh_tree->tree, arena, name, &path, err) < 0)
        return -1;
    if (!path) /* removed meanwhile */
        return 0;
    if (sum_file(path, sum, &file.size, err) < 0)
        return -1;
    if (file.size > SSH_FILE_MAX)
        return err_set(err, ERR_LIMIT, "'%s' is larger than %lld bytes", path,
                       (long long)SSH_FILE_MAX);
    if (ssh_tree->files.n >= SSH_FILES_MAX)
        return err_set(err, ERR_LIMIT, "the tree of states has more than %d files", SSH_FILES_MAX);
    file.sha256 = sum;
    VEC_PUSH_IN(arena, &ssh_tree->files, file);
    return 0;
}

int ssh_tree_open(struct arena *arena, const char *folder, struct ssh_tree *ret, struct err *err)
{
    struct ssh_tree ssh_tree = { .tree = tree_new(folder, err) };
    struct tree_names names;

    if (!ssh_tree.tree)
        return -1;
    if (tree_list(ssh_tree.tree, arena, ".", &names, err) < 0) {
        tree_free(ssh_tree.tree);
        return -1;
    }
    VEC_EACH (&names.list, name)
        if (!is_left_out(*name) && add_tree_file(arena, &ssh_tree, *name, err) < 0) {
            tree_free(ssh_tree.tree);
            return -1;
        }
    *ret = ssh_tree;
    return 0;
}

void ssh_tree_close(struct ssh_tree *ssh_tree)
{
    tree_free(ssh_tree->tree);
    ssh_tree->tree = NULL;
}

/* --- sending ---------------------------------------------------------------------------- */

/* All of an open file, in frames or as it is. */
static int send_file(int fd, int64_t size, bool framed, struct ssh_channel *channel,
                     struct err *err)
{
    AUTO_BUF struct buf piece = BUF_INIT(SSH_PIECE_MAX);
    char *room = buf_reserve(&piece, SSH_PIECE_MAX);

    for (size_t n; size > 0; size -= (int64_t)n) {
        const size_t want = size < (int64_t)SSH_PIECE_MAX ? (size_t)size : SSH_PIECE_MAX;
        const struct str bytes = { room, want };

        if (fd_read(fd, room, want, &n, err) < 0)
            return -1;
        if (n < want)
            return err_set(err, ERR_BUSY, "it is shorter now");
        if ((framed ? ssh_channel_send(channel, SSH_PIECE, bytes, err)
                    : ssh_channel_write(channel, bytes, err)) < 0)
            return -1;
    }
    return 0;
}

static int send_path(const char *path, int64_t size, bool framed, struct ssh_channel *channel,
                     struct err *err)
{
    AUTO_FD int fd = -1;
    struct fs_info info;

    if (fs_open(path, &fd, &info, err) < 0)
        return -1;
    if (fd < 0 || (int64_t)info.size != size)
        return err_set(err, ERR_BUSY, CHANGED, path);
    if (send_file(fd, size, framed, channel, err) < 0)
        return err->code == ERR_BUSY ? err_set(err, ERR_BUSY, CHANGED, path) : -1;
    return 0;
}

int ssh_tree_send(const struct ssh_tree *ssh_tree, const struct ssh_file *file,
                  struct ssh_channel *channel, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path;

    if (tree_locate(ssh_tree->tree, &arena, file->path, &path, err) < 0)
        return -1;
    if (!path)
        return err_set(err, ERR_BUSY, CHANGED, file->path);
    return send_path(path, file->size, true, channel, err);
}

/* --- the program ------------------------------------------------------------------------ */

int ssh_program_read(const char *path, struct ssh_program *ret, struct err *err)
{
    int64_t size;

    *ret = (struct ssh_program){ .path = path };
    if (sum_file(path, ret->sha256, &size, err) < 0)
        return -1;
    ret->size = (size_t)size;
    return 0;
}

int ssh_program_send(const struct ssh_program *program, struct ssh_channel *channel,
                     struct err *err)
{
    return send_path(program->path, (int64_t)program->size, false, channel, err);
}
