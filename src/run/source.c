#include "run/source.h"

#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/sha256.h"
#include "base/sha512.h"
#include "data/value.h"
#include "state/host.h"
#include "compile/tree.h"
#include "sys/fetch.h"
#include "sys/fs.h"
#include "sys/path.h"

#define FILE_SCHEME "file://"

/* --- hashes ------------------------------------------------------------------------- */

struct hash_kind {
    const char *name;
    size_t hex_size; /* with its NUL */
    void (*make)(const void *bytes, size_t n, char *text);
};

static void make_sha256(const void *bytes, size_t n, char *text)
{
    sha256_hex(bytes, n, text);
}

static void make_sha512(const void *bytes, size_t n, char *text)
{
    sha512_hex(bytes, n, text);
}

static const struct hash_kind hash_kinds[] = {
    { "sha256", SHA256_HEX_SIZE, make_sha256 },
    { "sha512", SHA512_HEX_SIZE, make_sha512 },
};

struct hash {
    const struct hash_kind *kind;
    struct str digits;
};

static bool fits(const struct hash_kind *kind, struct str name, struct str digits)
{
    if (digits.n + 1 != kind->hex_size || strspn(digits.p, "0123456789abcdefABCDEF") < digits.n)
        return false;
    return name.n == 0 || str_is(name, kind->name);
}

static int parse_hash(const char *text, struct hash *ret, struct err *err)
{
    struct str name = { "", 0 }, digits = str_trim(str_from(text));
    size_t cut = strcspn(text, "=:");

    if (text[cut]) {
        name = str_trim((struct str){ text, cut });
        digits = str_trim(str_from(text + cut + 1));
    }
    for (size_t i = 0; i < ARRAY_LEN(hash_kinds); i++)
        if (fits(&hash_kinds[i], name, digits)) {
            *ret = (struct hash){ &hash_kinds[i], digits };
            return 0;
        }
    return err_set(err, ERR_INVALID, "hash '%s': wants sha256=<64 digits> or sha512=<128 digits>",
                   text);
}

static int check_hash(const struct hash *hash, const char *source, struct str bytes,
                      struct err *err)
{
    char now[SHA512_HEX_SIZE];

    hash->kind->make(bytes.p, bytes.n, now);
    if (strncasecmp(now, hash->digits.p, hash->digits.n) == 0)
        return 0;
    return err_set(err, ERR_INVALID, "'%s' has %s %s, wanted %.*s", source, hash->kind->name, now,
                   STR_ARG(hash->digits));
}

/* --- reading ------------------------------------------------------------------------ */

static bool is_remote(const char *source)
{
    return strncasecmp(source, "http://", 7) == 0 || strncasecmp(source, "https://", 8) == 0;
}

/* What was fetched once is kept under its hash. A damaged copy is fetched again. */
static int read_remote(struct arena *arena, const struct state_host *host, const char *source,
                       const struct hash *hash, struct str *ret, struct err *err)
{
    const struct fetch_options options = { .size_max = SOURCE_SIZE_MAX,
                                           .timeout = SOURCE_TIMEOUT,
                                           .cancel = host->cancel };
    const char *folder = path_join(arena, host->data_dir, "fetched");
    const char *kept = path_join(arena, folder, arena_str(arena, hash->digits).p);
    const struct fs_replace_options private = { .attr = { 0600, FS_KEEP, FS_KEEP } };

    if (fs_read(arena, kept, SOURCE_SIZE_MAX, ret, err) == 0 && ret->p &&
        check_hash(hash, source, *ret, err) == 0)
        return 0;
    if (fetch(arena, source, &options, ret, err) < 0 || check_hash(hash, source, *ret, err) < 0)
        return -1;
    if (fs_mkdirs(folder, 0700, err) < 0)
        return -1;
    return fs_replace(kept, *ret, &private, err);
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
                       "source '%s': wants a path, salt://, zester://, http:// or https://",
                       source);
    if (!host->tree)
        return err_set(err, ERR_INVALID, "source '%s': there is no tree of states", source);
    return tree_read(host->tree, arena, source, ret, err);
}

int source_read(struct arena *arena, const struct state_host *host, const char *source,
                const char *hash, struct str *ret_bytes, struct err *err)
{
    struct hash want = { NULL, { NULL, 0 } };
    struct str bytes;

    if (hash && hash[0] && parse_hash(hash, &want, err) < 0)
        return err_wrap(err, "source '%s'", source);
    if (is_remote(source)) {
        if (!want.kind)
            return err_set(err, ERR_INVALID,
                           "source '%s': what comes over the network wants a hash; add "
                           "source_hash: sha256=<digits> (curl -fsSL '%s' | sha256sum)",
                           source, source);
        return read_remote(arena, host, source, &want, ret_bytes, err);
    }
    if (read_any(arena, host, source, &bytes, err) < 0)
        return -1;
    if (!bytes.p)
        return err_set(err, ERR_NOT_FOUND, "source '%s' is not there", source);
    if (want.kind && check_hash(&want, source, bytes, err) < 0)
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
            return err_set(err, ERR_NOT_FOUND, "source '%s' is no folder", source);
        if (list_local(&listing, "", 0, err) < 0)
            return -1;
    } else {
        if (!tree_is_source(source) || !host->tree)
            return err_set(err, ERR_INVALID, "source '%s': wants a folder of the tree or a path",
                           source);
        if (list_tree(&listing, host->tree, err) < 0)
            return -1;
    }
    *ret_list = listing.list;
    return 0;
}
