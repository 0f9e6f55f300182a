#include "states/compile/tree.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/glob.h"
#include "core/base/map.h"
#include "core/base/suggest.h"
#include "states/compile/stamps.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

/* Texts up to this size are copied together. */
#define COPIED_MAX ((size_t)4 << 10)

/* Files that were read or added by tree_add: path to text. */
struct tree_cache {
    pthread_mutex_t lock;
    struct arena arena;
    VEC(struct arena) large; /* one for each text that is too large to copy */
    struct map files;        /* struct str *, in the arena */
    size_t bytes;            /* of all of them */
};

struct tree {
    char *root; /* resolved; NULL: in memory */
    struct tree_cache *cache;
    struct stamps *stamps; /* or NULL */
};

/* The forms of a reference, in the order in which they are tried. */
static const char *const ref_ends[] = { ".zy", "/init.zy", ".sls", "/init.sls" };

static const char *const schemes[] = { "salt://", "zester://" };

/* --- life ------------------------------------------------------------------- */

static struct tree *new_tree(char *root)
{
    struct tree *tree = mem_zalloc(sizeof(*tree));

    tree->root = root;
    tree->cache = mem_zalloc(sizeof(*tree->cache));
    (void)pthread_mutex_init(&tree->cache->lock, NULL);
    tree->cache->files = (struct map)MAP_INIT;
    return tree;
}

struct tree *tree_new(const char *root, struct err *err)
{
    char *real = realpath(root, NULL);
    struct fs_info info;

    if (!real) {
        (void)err_sys(err, errno, "open the folder '%s'", root);
        return NULL;
    }
    if (fs_stat(real, &info, err) == 0) {
        if (info.kind == FS_FOLDER)
            return new_tree(real);
        (void)err_set(err, ERR_INVALID, "'%s' is not a folder", root);
    }
    free(real);
    return NULL;
}

struct tree *tree_new_in_memory(void)
{
    return new_tree(NULL);
}

void tree_free(struct tree *tree)
{
    if (!tree)
        return;
    map_done(&tree->cache->files);
    arena_done(&tree->cache->arena);
    VEC_EACH (&tree->cache->large, arena)
        arena_done(arena);
    vec_done(&tree->cache->large);
    (void)pthread_mutex_destroy(&tree->cache->lock);
    free(tree->cache);
    free(tree->root);
    free(tree);
}

void tree_note(struct tree *tree, struct stamps *stamps)
{
    tree->stamps = stamps;
}

size_t tree_cached(const struct tree *tree)
{
    size_t bytes;

    (void)pthread_mutex_lock(&tree->cache->lock);
    bytes = tree->cache->bytes;
    (void)pthread_mutex_unlock(&tree->cache->lock);
    return bytes;
}

const char *tree_root(const struct tree *tree)
{
    return tree->root;
}

/* --- the cache ---------------------------------------------------------------- */

static bool cache_find(const struct tree *tree, const char *path, struct str *ret)
{
    const struct str *text;

    (void)pthread_mutex_lock(&tree->cache->lock);
    text = map_find(&tree->cache->files, str_from(path));
    (void)pthread_mutex_unlock(&tree->cache->lock);
    if (text)
        *ret = *text;
    return text;
}

/* Keep a copy, or the text itself with the arena that it fills, which is empty then. The first one
 * wins when two threads read the same file. */
static struct str cache_keep(struct tree_cache *cache, const char *path, struct str text,
                             struct arena *owner)
{
    struct str *kept;

    (void)pthread_mutex_lock(&cache->lock);
    kept = map_find(&cache->files, str_from(path));
    if (!kept) {
        kept = ARENA_NEW(&cache->arena, struct str);
        *kept = owner ? text : arena_str(&cache->arena, text);
        if (owner) {
            VEC_PUSH(&cache->large, *owner);
            *owner = (struct arena)ARENA_INIT;
        }
        (void)map_set(&cache->files, arena_str(&cache->arena, str_from(path)), kept);
        cache->bytes += text.n;
    }
    (void)pthread_mutex_unlock(&cache->lock);
    return *kept;
}

static bool cache_has_room(struct tree_cache *cache, size_t n)
{
    bool room;

    (void)pthread_mutex_lock(&cache->lock);
    room = n <= TREE_CACHED_MAX && cache->bytes + n <= TREE_CACHE_SIZE;
    (void)pthread_mutex_unlock(&cache->lock);
    return room;
}

void tree_add(struct tree *tree, const char *path, struct str text)
{
    assert(!tree->root);
    (void)cache_keep(tree->cache, path, text, NULL);
}

/* --- paths -------------------------------------------------------------------- */

bool tree_is_source(const char *source)
{
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (str_starts(str_from(source), str_from(schemes[i])))
            return true;
    return source[0] != '/' && !strstr(source, "://");
}

/* The path of a source inside the tree. */
static int find_source_path(struct arena *arena, const char *source, const char **ret_path,
                            struct err *err)
{
    struct str path = str_from(source);
    bool scheme = false;

    for (size_t i = 0; i < ARRAY_LEN(schemes) && !scheme; i++) {
        scheme = str_starts(path, str_from(schemes[i]));
        if (scheme)
            path = str_from_offset(path, strlen(schemes[i]));
    }
    if (scheme) {
        const size_t query = str_find(path, STR("?saltenv="), 0);

        if (query != STR_NONE)
            path = str_slice(path, 0, query);
    }
    const char *text = arena_strndup(arena, path.p, path.n);
    if (path_escapes(text))
        return err_set(err, ERR_INVALID, "'%s' is outside the state tree", source);
    *ret_path = path_normalise(arena, text);
    return 0;
}

/* The real path on disk; NULL when it does not exist. */
static int resolve_path(const struct tree *tree, struct arena *arena, const char *path,
                        const char **ret, struct err *err)
{
    const char *joined = path_join(arena, tree->root, path);
    char *real;

    stamps_add(tree->stamps, joined);
    real = realpath(joined, NULL);
    *ret = NULL;
    if (!real) {
        if (errno == ENOENT || errno == ENOTDIR)
            return 0;
        return err_sys(err, errno, "find '%s' in '%s'", path, tree->root);
    }
    if (path_is_below(real, tree->root))
        *ret = arena_strdup(arena, real);
    free(real);
    if (!*ret)
        return err_set(err, ERR_INVALID, "'%s' is a link that leads outside the state tree", path);
    return 0;
}

int tree_locate(const struct tree *tree, struct arena *arena, const char *source, const char **ret,
                struct err *err)
{
    const char *path;

    *ret = NULL;
    if (find_source_path(arena, source, &path, err) < 0)
        return -1;
    return tree->root ? resolve_path(tree, arena, path, ret, err) : 0;
}

/* --- reading ------------------------------------------------------------------- */

static int has_tree_file(const struct tree *tree, struct arena *arena, const char *path, bool *ret,
                         struct err *err)
{
    struct fs_info info = { .kind = FS_NONE };
    const char *real;
    struct str text;

    *ret = cache_find(tree, path, &text);
    if (*ret || !tree->root)
        return 0;
    if (resolve_path(tree, arena, path, &real, err) < 0 || (real && fs_stat(real, &info, err) < 0))
        return -1;
    *ret = info.kind == FS_FILE;
    return 0;
}

int tree_find(const struct tree *tree, struct arena *arena, struct str ref, const char **ret_path,
              struct err *err)
{
    char *stem = arena_strndup(arena, ref.p, ref.n);
    bool part_is_empty = true;

    *ret_path = NULL;
    for (size_t i = 0; i < ref.n; i++) {
        if (stem[i] == '/' || stem[i] == '\0' || (stem[i] == '.' && part_is_empty))
            return err_set(err, ERR_INVALID,
                           "'%.*s' is not a valid reference: expected names separated by dots, "
                           "such as a.b for a/b.zy",
                           STR_ARG(ref));
        part_is_empty = stem[i] == '.';
        if (part_is_empty)
            stem[i] = '/';
    }
    if (part_is_empty)
        return err_set(err, ERR_INVALID, "'%.*s' is not a valid reference: empty name",
                       STR_ARG(ref));
    for (size_t i = 0; i < ARRAY_LEN(ref_ends); i++) {
        const char *path = arena_printf(arena, "%s%s", stem, ref_ends[i]);
        bool there;

        if (has_tree_file(tree, arena, path, &there, err) < 0)
            return -1;
        if (there) {
            *ret_path = path;
            return 0;
        }
    }
    return 0;
}

int tree_read(const struct tree *tree, struct arena *arena, const char *source, struct str *ret,
              struct err *err)
{
    return tree_read_small(tree, arena, source, TREE_FILE_MAX, ret, err);
}

int tree_read_small(const struct tree *tree, struct arena *arena, const char *source, size_t max,
                    struct str *ret, struct err *err)
{
    AUTO_ARENA struct arena own = ARENA_INIT;
    const size_t cached = max < TREE_CACHED_MAX ? max : TREE_CACHED_MAX;
    const char *path, *real;
    struct str text;

    *ret = (struct str){ NULL, 0 };
    if (find_source_path(arena, source, &path, err) < 0)
        return -1;
    if (cache_find(tree, path, ret) || !tree->root)
        return 0;
    if (resolve_path(tree, arena, path, &real, err) < 0)
        return -1;
    if (!real)
        return 0;
    if (fs_read(&own, real, cached, &text, err) < 0)
        return err->code == ERR_LIMIT && cached < max ? fs_read(arena, real, max, ret, err) : -1;
    if (text.p && cache_has_room(tree->cache, text.n))
        *ret = cache_keep(tree->cache, path, text, text.n > COPIED_MAX ? &own : NULL);
    else if (text.p)
        *ret = arena_str(arena, text);
    return 0;
}

/* --- listing ------------------------------------------------------------------- */

static int list_memory(const struct tree *tree, struct arena *arena, const char *folder,
                       struct tree_names *names, struct err *err)
{
    const struct str prefix =
        str_is(str_from(folder), ".") ? STR("") : str_from(arena_printf(arena, "%s/", folder));

    MAP_EACH (&tree->cache->files, entry)
        if (str_starts(entry->key, prefix))
            VEC_PUSH_IN(arena, &names->list,
                        arena_strndup(arena, entry->key.p + prefix.n, entry->key.n - prefix.n));
    if (names->list.n == 0)
        return err_set(err, ERR_NOT_FOUND, "no folder '%s' in the state tree", folder);
    return 0;
}

/* Folders still to be read, with the path prefix of their files. */
struct pending {
    const char *real, *prefix;
    unsigned depth;
};

struct listing {
    const struct tree *tree;
    struct arena *arena;
    struct tree_names *names;
    VEC(struct pending) folders;
};

static int list_entry(struct listing *listing, const struct pending *in, const char *name,
                      struct err *err)
{
    struct arena *arena = listing->arena;
    const char *path = arena_printf(arena, "%s%s", in->prefix, name);
    const char *real = path_join(arena, in->real, name);
    struct fs_info info;

    if (fs_lstat(real, &info, err) < 0)
        return -1;
    if (info.kind == FS_LINK) {
        const char *inside = real + strlen(listing->tree->root) + 1;

        if (resolve_path(listing->tree, arena, inside, &real, err) < 0)
            return -1;
        if (!real)
            return 0; /* skip dangling links */
        if (fs_stat(real, &info, err) < 0)
            return -1;
    }
    if (info.kind == FS_FILE)
        VEC_PUSH_IN(arena, &listing->names->list, path);
    if (info.kind == FS_FOLDER)
        VEC_PUSH_IN(arena, &listing->folders,
                    (struct pending){ real, arena_printf(arena, "%s/", path), in->depth + 1 });
    if (listing->names->list.n > TREE_LIST_MAX)
        return err_set(err, ERR_LIMIT, "more than the limit of %d files below '%s'", TREE_LIST_MAX,
                       in->real);
    return 0;
}

static int list_folder(struct listing *listing, const struct pending *in, struct err *err)
{
    struct fs_names names = { .list = VEC_INIT };

    if (in->depth > TREE_DEPTH_MAX)
        return err_set(err, ERR_LIMIT, "folders exceed the limit of %d levels at '%s'",
                       TREE_DEPTH_MAX, in->real);
    if (fs_list(listing->arena, in->real, &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name)
        if (list_entry(listing, in, *name, err) < 0)
            return -1;
    return 0;
}

static int list_disk(const struct tree *tree, struct arena *arena, const char *folder,
                     struct tree_names *names, struct err *err)
{
    struct listing listing = { .tree = tree, .arena = arena, .names = names };
    struct fs_info info;
    const char *real;

    if (resolve_path(tree, arena, folder, &real, err) < 0)
        return -1;
    if (!real)
        return err_set(err, ERR_NOT_FOUND, "no folder '%s' in the state tree", folder);
    if (fs_stat(real, &info, err) < 0)
        return -1;
    if (info.kind != FS_FOLDER)
        return err_set(err, ERR_INVALID, "'%s' is a %s, not a folder", folder,
                       fs_kind_name(info.kind));
    VEC_PUSH_IN(arena, &listing.folders, (struct pending){ real, "", 0 });
    for (size_t i = 0; i < listing.folders.n; i++) {
        const struct pending next = listing.folders.p[i]; /* the vector grows in the loop */

        if (list_folder(&listing, &next, err) < 0)
            return -1;
    }
    return 0;
}

static int compare_entry_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int tree_list(const struct tree *tree, struct arena *arena, const char *source,
              struct tree_names *ret_names, struct err *err)
{
    struct tree_names names = { .list = VEC_INIT };
    const char *folder;

    if (find_source_path(arena, source, &folder, err) < 0)
        return -1;
    stamps_doubt(tree->stamps);
    if ((tree->root ? list_disk : list_memory)(tree, arena, folder, &names, err) < 0)
        return -1;
    if (names.list.n > 1)
        qsort(names.list.p, names.list.n, sizeof(*names.list.p), compare_entry_names);
    *ret_names = names;
    return 0;
}

/* --- did you mean ---------------------------------------------------------------- */

const char *tree_ref(struct arena *arena, const char *path)
{
    /* Longer suffixes first: a/init.zy is 'a', not 'a.init'. */
    for (size_t i = ARRAY_LEN(ref_ends); i-- > 0;) {
        const struct str end = str_from(ref_ends[i]), whole = str_from(path);

        if (!str_ends(whole, end) || whole.n == end.n)
            continue;
        char *ref = arena_strndup(arena, path, whole.n - end.n);
        for (char *p = ref; *p; p++)
            *p = *p == '/' ? '.' : *p;
        return ref;
    }
    return NULL;
}

int tree_match(const struct tree *tree, struct arena *arena, struct str pattern,
               struct tree_names *ret_refs, struct err *err)
{
    struct tree_names names;

    *ret_refs = (struct tree_names){ VEC_INIT };
    if (tree_list(tree, arena, ".", &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name) {
        const char *ref = tree_ref(arena, *name);

        if (ref && strcmp(ref, "top") != 0 && glob_match(pattern, str_from(ref)))
            VEC_PUSH_IN(arena, &ret_refs->list, ref);
    }
    return 0;
}

const char *tree_suggest(const struct tree *tree, struct arena *arena, struct str ref)
{
    struct tree_names names;
    struct suggest best;
    struct err ignored; /* a missing suggestion is not an error */

    suggest_init(&best, ref);
    if (tree_list(tree, arena, ".", &names, &ignored) < 0)
        return NULL;
    VEC_EACH (&names.list, name) {
        const char *candidate = tree_ref(arena, *name);

        if (candidate)
            suggest_offer(&best, str_from(candidate));
    }
    return suggest_best(&best).p;
}
