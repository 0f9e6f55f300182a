#include "states/run/source.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "states/compile/tree.h"
#include "states/run/fetched.h"
#include "states/state/source_hash.h"
#include "core/sys/fd.h"
#include "core/sys/fetch.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/site.h"

#define FILE_SCHEME "file://"

/* --- reading ------------------------------------------------------------------------ */

static bool is_remote_source(const char *source)
{
    return strncasecmp(source, "http://", 7) == 0 || strncasecmp(source, "https://", 8) == 0;
}

static int fetch_source(struct arena *arena, const struct state_host *host, const char *source,
                        struct str *ret, struct err *err)
{
    const struct fetch_options options = { .size_max = SOURCE_SIZE_MAX,
                                           .timeout = SOURCE_TIMEOUT,
                                           .cancel = host->cancel };

    return fetch(arena, source, &options, ret, err);
}

/* Downloads are cached under their hash. A damaged copy is fetched again. */
static int find_remote(struct arena *arena, const struct state_host *host, const char *source,
                       const struct source_hash *hash, struct source_content *ret, struct err *err)
{
    *ret = (struct source_content){ .file = fetched_find(arena, host, hash) };
    if (ret->file)
        return 0;
    if (!host->test)
        return fetched_make(arena, host, source, hash, &ret->file, err);
    if (fetch_source(arena, host, source, &ret->text, err) < 0)
        return -1;
    return source_hash_check(hash, source, ret->text, err);
}

static int read_remote_source(struct arena *arena, const struct state_host *host,
                              const char *source, const struct source_hash *hash, struct str *ret,
                              struct err *err)
{
    struct source_content content;

    if (find_remote(arena, host, source, hash, &content, err) < 0)
        return -1;
    if (content.file && fs_read(arena, content.file, SOURCE_SIZE_MAX, &content.text, err) < 0)
        return -1;
    if (!content.text.p)
        return err_set(err, ERR_BUSY, "'%s' was removed by another process", content.file);
    *ret = content.text;
    return 0;
}

/* Without the scheme of a file of this machine. */
static const char *skip_scheme(const char *source)
{
    const size_t n = strlen(FILE_SCHEME);

    return strncmp(source, FILE_SCHEME, n) == 0 ? source + n : source;
}

static int read_any_source(struct arena *arena, const struct state_host *host, const char *source,
                           size_t max, struct str *ret, struct err *err)
{
    source = skip_scheme(source);
    if (source[0] == '/')
        return fs_read(arena, source, max, ret, err);
    if (!tree_is_source(source))
        return err_set(err, ERR_INVALID,
                       "source '%s': must be a path, salt://, zester://, http:// or https://",
                       source);
    if (!host->tree)
        return err_set(err, ERR_INVALID, "source '%s': no state tree", source);
    return tree_read_small(host->tree, arena, source, max < TREE_FILE_MAX ? max : TREE_FILE_MAX,
                           ret, err);
}

/* A checksum file is not verified: the state trusts it. */
static int read_checksums(struct arena *arena, const struct state_host *host, const char *source,
                          const struct source_trust *trust, struct source_hash *ret,
                          struct err *err)
{
    struct str checksums;

    if (is_remote_source(trust->hash)
            ? fetch_source(arena, host, trust->hash, &checksums, err) < 0
            : read_any_source(arena, host, trust->hash, SOURCE_SIZE_MAX, &checksums, err) < 0)
        return -1;
    if (!checksums.p)
        return err_set(err, ERR_NOT_FOUND, "it does not exist");
    return source_hash_find(checksums, trust->name ? trust->name : source, ret, err);
}

static int find_hash(struct arena *arena, const struct state_host *host, const char *source,
                     const struct source_trust *trust, struct source_hash *ret, struct err *err)
{
    *ret = (struct source_hash){ 0 };
    if (!trust->hash || !trust->hash[0] || source_hash_parse(str_from(trust->hash), ret))
        return 0;
    if (!strchr(trust->hash, '/'))
        return err_set(err, ERR_INVALID,
                       "source '%s': hash '%s': must be sha256=<64 digits>, sha512=<128 digits>, "
                       "the same with sha1 or md5, or a file of checksums",
                       source, trust->hash);
    if (read_checksums(arena, host, source, trust, ret, err) < 0)
        return err_wrap(err, "checksums '%s' of '%s'", trust->hash, source);
    return 0;
}

/* Read a local file; ERR_LIMIT above `max` bytes. */
static int read_local_source(struct arena *arena, const struct state_host *host, const char *source,
                             const struct source_hash *want, size_t max, struct str *ret_bytes,
                             struct err *err)
{
    struct str bytes;

    if (read_any_source(arena, host, source, max, &bytes, err) < 0)
        return -1;
    if (!bytes.p)
        return err_set(err, ERR_NOT_FOUND, "source '%s' does not exist", source);
    if (want->kind && source_hash_check(want, source, bytes, err) < 0)
        return -1;
    *ret_bytes = bytes;
    return 0;
}

int source_read(struct arena *arena, const struct state_host *host, const char *source,
                const struct source_trust *trust, struct str *ret_bytes, struct err *err)
{
    struct source_hash want;

    if (find_hash(arena, host, source, trust, &want, err) < 0)
        return -1;
    if (is_remote_source(source)) {
        if (want.kind)
            return read_remote_source(arena, host, source, &want, ret_bytes, err);
        if (trust->skip_verify)
            return fetch_source(arena, host, source, ret_bytes, err);
        return err_set(err, ERR_INVALID,
                       "source '%s': a source from the network requires a hash; add "
                       "source_hash: sha256=<digits> (curl -fsSL '%s' | sha256sum)",
                       source, source);
    }
    return read_local_source(arena, host, source, &want, SOURCE_SIZE_MAX, ret_bytes, err);
}

/* --- large sources ------------------------------------------------------------------ */

int source_locate(struct arena *arena, const struct state_host *host, const char *source,
                  const char **ret_path, struct err *err)
{
    source = skip_scheme(source);
    *ret_path = source[0] == '/' ? source : NULL;
    if (*ret_path || !host->tree || !tree_is_source(source))
        return 0;
    return tree_locate(host->tree, arena, source, ret_path, err);
}

/* Is the file safe from other users between hashing and reading? */
static bool is_guarded(const char *path, const struct fs_info *info)
{
    AUTO_SITE struct site site = SITE_INIT;
    struct err ignored; /* then it is not trusted */

    return (info->uid == 0 || info->uid == geteuid()) && (info->mode & (S_IWGRP | S_IWOTH)) == 0 &&
           site_walk(&site, path, SITE_FOLLOW, &ignored) == 0 && site_is_guarded(&site);
}

/* It is too large for the memory. */
static int open_large(struct arena *arena, const struct state_host *host, const char *source,
                      const struct source_hash *want, struct source_content *ret, struct err *err)
{
    AUTO_FD int fd = -1;
    struct fs_info info;

    if (source_locate(arena, host, source, &ret->file, err) < 0 ||
        fs_open(ret->file, &fd, &info, err) < 0)
        return -1;
    if (info.kind != FS_FILE)
        return err_set(err, ERR_BUSY, "source '%s' was replaced by another process", source);
    ret->size = info.size;
    if (!want->kind)
        return 0;
    if (is_guarded(ret->file, &info))
        return source_hash_check_fd(want, source, fd, err);
    ret->file = NULL;
    return read_local_source(arena, host, source, want, SOURCE_SIZE_MAX, &ret->text, err);
}

static int get_local(struct arena *arena, const struct state_host *host, const char *source,
                     const struct source_hash *want, struct source_content *ret, struct err *err)
{
    if (read_local_source(arena, host, source, want, SOURCE_HELD_MAX, &ret->text, err) == 0) {
        ret->size = ret->text.n;
        return 0;
    }
    return err->code == ERR_LIMIT ? open_large(arena, host, source, want, ret, err) : -1;
}

/* A small one is more useful in memory. */
static int hold_small(struct arena *arena, struct source_content *content, struct err *err)
{
    struct fs_info info;

    if (fs_stat(content->file, &info, err) < 0)
        return -1;
    content->size = info.size;
    if (info.size > SOURCE_HELD_MAX)
        return 0;
    if (fs_read(arena, content->file, SOURCE_SIZE_MAX, &content->text, err) < 0)
        return -1;
    if (!content->text.p)
        return err_set(err, ERR_BUSY, "'%s' was removed by another process", content->file);
    content->file = NULL;
    return 0;
}

static int get_remote(struct arena *arena, const struct state_host *host, const char *source,
                      const struct source_hash *want, struct source_content *ret, struct err *err)
{
    if (find_remote(arena, host, source, want, ret, err) < 0)
        return -1;
    ret->size = ret->text.n;
    return ret->file ? hold_small(arena, ret, err) : 0;
}

int source_get(struct arena *arena, const struct state_host *host, const char *source,
               const struct source_trust *trust, struct source_content *ret, struct err *err)
{
    struct source_hash want;

    *ret = (struct source_content){ 0 };
    if (find_hash(arena, host, source, trust, &want, err) < 0)
        return -1;
    if (!is_remote_source(source))
        return get_local(arena, host, source, &want, ret, err);
    if (want.kind)
        return get_remote(arena, host, source, &want, ret, err);
    if (source_read(arena, host, source, trust, &ret->text, err) < 0)
        return -1;
    ret->size = ret->text.n;
    return 0;
}

/* --- listing ------------------------------------------------------------------------ */

struct listing {
    struct arena *arena;
    struct value_list *list;
    const char *root;
};

static int list_local(struct listing *listing, const char *relative, unsigned depth,
                      struct err *err)
{
    const char *folder = path_join(listing->arena, listing->root, relative);
    struct fs_names names;

    if (depth > SOURCE_LIST_DEPTH)
        return err_set(err, ERR_LIMIT, "list '%s': deeper than the limit of %d folders", folder,
                       SOURCE_LIST_DEPTH);
    if (fs_list(listing->arena, folder, &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name) {
        const char *path = path_join(listing->arena, relative, *name);
        struct fs_info info;

        if (fs_lstat(path_join(listing->arena, listing->root, path), &info, err) < 0)
            return -1;
        if (info.kind == FS_FOLDER) {
            if (list_local(listing, path, depth + 1, err) < 0)
                return -1;
            continue;
        }
        if (listing->list->count == SOURCE_LIST_MAX)
            return err_set(err, ERR_LIMIT, "list '%s': more than the limit of %d files",
                           listing->root, SOURCE_LIST_MAX);
        value_list_push(listing->arena, listing->list, value_text(path));
    }
    return 0;
}

static int list_tree(struct listing *listing, const struct tree *tree, struct err *err)
{
    struct tree_names names = { 0 };

    if (tree_list(tree, listing->arena, listing->root, &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name)
        value_list_push(listing->arena, listing->list, value_text(*name));
    return 0;
}

int source_list(struct arena *arena, const struct state_host *host, const char *source,
                struct value_list **ret_list, struct err *err)
{
    struct listing listing = { arena, value_list_new(arena, 0), source };
    struct fs_info info;

    listing.root = skip_scheme(source);
    if (listing.root[0] == '/') {
        if (fs_stat(listing.root, &info, err) < 0)
            return -1;
        if (info.kind != FS_FOLDER)
            return err_set(err, ERR_NOT_FOUND, "source '%s' is not a folder", source);
        if (list_local(&listing, "", 0, err) < 0)
            return -1;
    } else {
        if (!tree_is_source(source) || !host->tree)
            return err_set(err, ERR_INVALID, "source '%s': must be a folder of the tree or a path",
                           source);
        if (list_tree(&listing, host->tree, err) < 0)
            return -1;
    }
    *ret_list = listing.list;
    return 0;
}
