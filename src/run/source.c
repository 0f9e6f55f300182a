#include "run/source.h"

#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/err.h"
#include "data/value.h"
#include "state/host.h"
#include "state/module.h"
#include "compile/tree.h"
#include "run/fetched.h"
#include "run/source_hash.h"
#include "sys/fetch.h"
#include "sys/fs.h"
#include "sys/path.h"

#define FILE_SCHEME "file://"

/* --- reading ------------------------------------------------------------------------ */

static bool is_remote(const char *source)
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

/* What was fetched once is kept under its hash. A damaged copy is fetched again. */
static int read_remote(struct arena *arena, const struct state_host *host, const char *source,
                       const struct source_hash *hash, struct str *ret, struct err *err)
{
    fetched_find(arena, host, hash->digits, ret);
    if (ret->p && source_hash_check(hash, source, *ret, err) == 0)
        return 0;
    if (fetch_source(arena, host, source, ret, err) < 0 ||
        source_hash_check(hash, source, *ret, err) < 0)
        return -1;
    return fetched_keep(arena, host, hash->digits, *ret, err);
}

static int read_any(struct arena *arena, const struct state_host *host, const char *source,
                    struct str *ret, struct err *err)
{
    if (strncmp(source, FILE_SCHEME, strlen(FILE_SCHEME)) == 0)
        source += strlen(FILE_SCHEME);
    if (source[0] == '/')
        return fs_read(arena, source, SOURCE_SIZE_MAX, ret, err);
    if (!tree_is_source(source))
        return err_set(err, ERR_INVALID,
                       "source '%s': must be a path, salt://, zester://, http:// or https://",
                       source);
    if (!host->tree)
        return err_set(err, ERR_INVALID, "source '%s': no state tree", source);
    return tree_read(host->tree, arena, source, ret, err);
}

/* A file of checksums comes as it is: who names it trusts it. */
static int read_checksums(struct arena *arena, const struct state_host *host, const char *source,
                          const struct source_trust *trust, struct source_hash *ret,
                          struct err *err)
{
    struct str checksums;

    if (is_remote(trust->hash) ? fetch_source(arena, host, trust->hash, &checksums, err) < 0
                               : read_any(arena, host, trust->hash, &checksums, err) < 0)
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

int source_read(struct arena *arena, const struct state_host *host, const char *source,
                const struct source_trust *trust, struct str *ret_bytes, struct err *err)
{
    struct source_hash want;
    struct str bytes;

    if (find_hash(arena, host, source, trust, &want, err) < 0)
        return -1;
    if (is_remote(source)) {
        if (want.kind)
            return read_remote(arena, host, source, &want, ret_bytes, err);
        if (trust->skip_verify)
            return fetch_source(arena, host, source, ret_bytes, err);
        return err_set(err, ERR_INVALID,
                       "source '%s': a source from the network requires a hash; add "
                       "source_hash: sha256=<digits> (curl -fsSL '%s' | sha256sum)",
                       source, source);
    }
    if (read_any(arena, host, source, &bytes, err) < 0)
        return -1;
    if (!bytes.p)
        return err_set(err, ERR_NOT_FOUND, "source '%s' does not exist", source);
    if (want.kind && source_hash_check(&want, source, bytes, err) < 0)
        return -1;
    *ret_bytes = bytes;
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

    if (strncmp(source, FILE_SCHEME, strlen(FILE_SCHEME)) == 0)
        listing.root += strlen(FILE_SCHEME);
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
