#include "fleet/master/files/tree_set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/hex.h"
#include "core/data/msgpack.h"
#include "core/data/record.h"
#include "fleet/master/files/tree_sums.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/tree.h"
#include "fleet/wire/fileset.h"

#define MADE_KEY "=" /* prefix of keys derived from paths */

struct walk {
    struct arena *arena;
    const struct tree_set_options *options;
    struct tree_set *set;
    size_t bytes;
};

static bool is_hidden_file(const char *name)
{
    return name[0] == '.' || strcmp(name, "__pycache__") == 0;
}

/* Is some part of the path below the folder hidden? */
static bool has_hidden_part(const char *path)
{
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += part[0] == '/';
        if (part[0] == '.' || strncmp(part, "__pycache__/", strlen("__pycache__/")) == 0)
            return true;
    }
    return false;
}

const char *tree_set_key(struct arena *arena, const char *prefix, const char *path,
                         const char **ret_path)
{
    const char *plain = arena_printf(arena, "%s%s", prefix, path);
    char *hex;

    *ret_path = "";
    if (nats_kv_is_key(plain) && plain[0] != '_' && plain[0] != '=')
        return plain;
    hex = arena_alloc(arena, HEX_SIZE(strlen(path)));
    hex_write(path, strlen(path), hex);
    *ret_path = path;
    return arena_printf(arena, "%s" MADE_KEY "%s", prefix, hex);
}

/* --- contents ----------------------------------------------------------------------- */

static int read_small(struct walk *walk, int fd, const char *name, struct tree_set_file *file,
                      struct err *err)
{
    struct str bytes;

    if (fs_read_fd(walk->arena, fd, name, FILESET_INLINE_MAX, &bytes, err) < 0)
        return -1;
    walk->bytes += bytes.n;
    if (walk->bytes > TREE_SET_BYTES_MAX)
        return err_set(err, ERR_LIMIT, "more than %zu bytes in one tree", TREE_SET_BYTES_MAX);
    file->bytes = bytes;
    file->size = bytes.n;
    sha256_hex(bytes.p, bytes.n, file->sha256);
    return 0;
}

static size_t find_longest_marker(const char *const *markers)
{
    size_t longest = 0;

    for (; markers && *markers; markers++)
        longest = strlen(*markers) > longest ? strlen(*markers) : longest;
    return longest;
}

/* NULL: none found. */
static const char *find_marker(const char *const *markers, struct str text)
{
    for (; markers && *markers; markers++)
        if (str_find(text, str_from(*markers), 0) != STR_NONE)
            return *markers;
    return NULL;
}

/* Computes the sum and size of a file, and finds markers, also across two blocks. */
static int sum_large(int fd, const char *const *markers, struct tree_set_file *file,
                     const char **ret_marker, struct err *err)
{
    static const size_t part = (size_t)1 << 16;
    const size_t longest = find_longest_marker(markers);
    const size_t keep = longest ? longest - 1 : 0;
    char *room = mem_alloc(keep + part);
    size_t kept = 0;
    struct sha256 sum;
    ssize_t got;

    sha256_init(&sum);
    file->size = 0;
    *ret_marker = NULL;
    while ((got = read(fd, room + kept, part)) > 0) {
        const struct str seen = { room, kept + (size_t)got };

        sha256_add(&sum, room + kept, (size_t)got);
        file->size += (size_t)got;
        if (!*ret_marker)
            *ret_marker = find_marker(markers, seen);
        kept = seen.n < keep ? seen.n : keep;
        memmove(room, room + seen.n - kept, kept);
    }
    free(room);
    if (got < 0)
        return err_sys(err, errno, "cannot read");
    sha256_end_hex(&sum, file->sha256);
    return 0;
}

/* A file being read. */
struct file_reading {
    int64_t began;              /* wall time */
    struct fs_info info, after; /* before and after the reading */
    const char *marker;         /* marker found in it; NULL: none */
};

static int read_open_file(struct walk *walk, int fd, const char *name, struct tree_set_file *file,
                          struct file_reading *reading, struct err *err)
{
    file->is_large = reading->info.size > FILESET_INLINE_MAX;
    return file->is_large ? sum_large(fd, walk->options->markers, file, &reading->marker, err)
                          : read_small(walk, fd, name, file, err);
}

static int read_tree_file(struct walk *walk, const struct tree_entry *entry,
                          struct tree_set_file *file, struct file_reading *reading, struct err *err)
{
    AUTO_FD int fd = openat(entry->folder, entry->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat before, after;

    reading->began = clock_wall();
    if (fd < 0 || fstat(fd, &before) < 0)
        return err_sys(err, errno, "cannot open");
    fs_info_from(&before, &reading->info);
    walk->set->read++;
    if (read_open_file(walk, fd, entry->name, file, reading, err) < 0)
        return -1;
    if (fstat(fd, &after) < 0)
        return err_sys(err, errno, "cannot stat");
    fs_info_from(&after, &reading->after);
    return 0;
}

/* --- remembered sums ---------------------------------------------------------------- */

static bool find_sum(const struct walk *walk, const struct tree_entry *entry,
                     struct tree_set_file *file)
{
    struct tree_sum sum;

    if (!walk->options->sums ||
        !tree_sums_find(walk->options->sums, entry->path, &entry->info, &sum))
        return false;
    memcpy(file->sha256, sum.sha256, sizeof(file->sha256));
    file->size = sum.size;
    file->is_large = sum.is_large;
    return true;
}

/* Unless it changed during the reading. */
static void keep_sum(const struct walk *walk, const struct tree_set_file *file,
                     const struct file_reading *reading)
{
    struct tree_sum sum = { .size = file->size, .is_large = file->is_large };

    if (!walk->options->sums || reading->info.mtime != reading->after.mtime ||
        reading->info.ctime != reading->after.ctime || reading->info.size != reading->after.size)
        return;
    memcpy(sum.sha256, file->sha256, sizeof(sum.sha256));
    tree_sums_keep(walk->options->sums, file->file, &reading->info, reading->began, &sum);
}

/* Transforms the content for publication. */
static int prepare_file(struct walk *walk, const char *below, const char *marker,
                        struct tree_set_file *file, struct err *why)
{
    const struct tree_set_options *options = walk->options;

    if (marker)
        return err_set(why, ERR_LIMIT, "files of more than %zu bytes cannot have %s values",
                       FILESET_INLINE_MAX, marker);
    if (!options->prepare || !file->bytes.p)
        return 0;
    if (options->prepare(options->self, walk->arena, below, &file->bytes, why) < 0)
        return -1;
    file->size = file->bytes.n;
    sha256_hex(file->bytes.p, file->bytes.n, file->sha256);
    return 0;
}

static int add_tree_file(struct walk *walk, const struct tree_entry *entry, const char *below,
                         struct err *err)
{
    struct tree_set_file file = { 0 };
    struct file_reading reading = { 0 };
    struct err why;

    file.key = tree_set_key(walk->arena, walk->options->prefix, arena_strdup(walk->arena, below),
                            &file.path);
    file.file = arena_strdup(walk->arena, entry->path);
    if (walk->set->files.n >= TREE_SET_FILES_MAX)
        return err_set(err, ERR_LIMIT, "more than %d files", TREE_SET_FILES_MAX);
    if (!find_sum(walk, entry, &file)) {
        if (read_tree_file(walk, entry, &file, &reading, err) < 0)
            return err_wrap(err, "%s", entry->path);
        if (prepare_file(walk, below, reading.marker, &file, &why) < 0) {
            VEC_PUSH_IN(walk->arena, &walk->set->refused,
                        arena_printf(walk->arena, "%s: %s", entry->path, why.text));
            return 0;
        }
        keep_sum(walk, &file, &reading);
    }
    VEC_PUSH_IN(walk->arena, &walk->set->files, file);
    return 0;
}

static int visit_tree_entry(void *self, enum tree_step step, const struct tree_entry *entry,
                            struct err *err)
{
    struct walk *walk = self;
    const char *below = entry->path + strlen(walk->options->folder);

    below += below[0] == '/';
    if (step != TREE_ENTRY || entry->depth == 0 || is_hidden_file(entry->name) ||
        has_hidden_part(below) || entry->info.kind != FS_FILE)
        return 0;
    return add_tree_file(walk, entry, below, err);
}

static int compare_tree_files(const void *a, const void *b)
{
    return strcmp(((const struct tree_set_file *)a)->key, ((const struct tree_set_file *)b)->key);
}

int tree_set_read(struct arena *arena, const struct tree_set_options *options,
                  struct tree_set *ret_set, struct err *err)
{
    struct walk walk = { .arena = arena, .options = options, .set = ret_set };

    *ret_set = (struct tree_set){ 0 };
    if (access(options->folder, F_OK) < 0)
        return errno == ENOENT ? 0 : err_sys(err, errno, "%s", options->folder);
    if (options->sums)
        tree_sums_begin(options->sums);
    if (tree_walk(options->folder, visit_tree_entry, &walk, err) < 0)
        return -1;
    if (options->sums)
        tree_sums_end(options->sums);
    if (ret_set->files.n > 1)
        qsort(ret_set->files.p, ret_set->files.n, sizeof(ret_set->files.p[0]), compare_tree_files);
    return 0;
}

int tree_set_manifest(struct arena *arena, const struct tree_set *set, bool is_bare,
                      struct str *ret_manifest, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct fileset_manifest manifest = { .revision = set->canary };
    struct value v;

    VEC_EACH (&set->files, file)
        VEC_PUSH_IN(arena, &manifest.files.list,
                    (struct fileset_file){ .key = file->key,
                                           .sha256 = file->sha256,
                                           .path = file->path,
                                           .size = file->is_large ? (int64_t)file->size : 0 });
    v = record_value(arena, &fileset_manifest_type, &manifest);
    if (is_bare)
        v = *value_get(&v, "files");
    if (msgpack_encode(&bytes, &v, err) < 0)
        return -1;
    *ret_manifest = buf_copy(&bytes, arena);
    return 0;
}

int tree_set_sum(struct arena *arena, const struct tree_set *set, bool is_bare,
                 char ret_sum[static SHA256_HEX_SIZE], struct err *err)
{
    struct str manifest;

    if (tree_set_manifest(arena, set, is_bare, &manifest, err) < 0)
        return -1;
    sha256_hex(manifest.p, manifest.n, ret_sum);
    return 0;
}
