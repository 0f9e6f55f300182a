/*
 * Only types and numbers of libarchive's headers are used; the functions come from
 * the table below, filled by dlopen.
 */
#include "states/modules/archive/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/library.h"
#include "states/state/module.h"
#include "core/sys/cancel.h"
#include "core/sys/fd.h"
#include "core/sys/path.h"
#include "core/sys/tree.h"
#include "core/sys/pool.h"

#define LIBRARY    "libarchive.so.13"
#define READ_BLOCK ((size_t)64 << 10)
/* Bytes written between two checks for a cancel. */
#define PIECE_MAX ((size_t)8 << 20)

static struct {
    struct archive *(*read_new)(void);
    int (*read_filters)(struct archive *a);
    int (*read_format)(struct archive *a, int format);
    int (*read_passphrase)(struct archive *a, const char *text);
    int (*read_open)(struct archive *a, const void *bytes, size_t n);
    int (*read_open_fd)(struct archive *a, int fd, size_t block);
    int (*read_next)(struct archive *a, struct archive_entry **entry);
    int (*read_block)(struct archive *a, const void **bytes, size_t *n, la_int64_t *offset);
    int (*read_free)(struct archive *a);
    struct archive *(*disk_new)(void);
    int (*disk_options)(struct archive *a, int flags);
    int (*write_header)(struct archive *a, struct archive_entry *entry);
    la_ssize_t (*write_block)(struct archive *a, const void *bytes, size_t n, la_int64_t offset);
    int (*write_finish)(struct archive *a);
    int (*write_close)(struct archive *a);
    int (*write_free)(struct archive *a);
    const char *(*error)(struct archive *a);
    int (*errnum)(struct archive *a);
    const char *(*path)(struct archive_entry *entry);
    const char *(*path_utf8)(struct archive_entry *entry);
    const char *(*hardlink)(struct archive_entry *entry);
    mode_t (*filetype)(struct archive_entry *entry);
    int (*is_encrypted)(struct archive_entry *entry);
    int (*has_encrypted)(struct archive *a);
    int (*format)(struct archive *a);
    void (*set_path)(struct archive_entry *entry, const char *path);
    void (*set_hardlink)(struct archive_entry *entry, const char *path);
    void (*set_uid)(struct archive_entry *entry, la_int64_t id);
    void (*set_gid)(struct archive_entry *entry, la_int64_t id);
    void (*set_uname)(struct archive_entry *entry, const char *name);
    void (*set_gname)(struct archive_entry *entry, const char *name);
} api;

static const struct library_symbol symbols[] = {
    { "archive_read_new", &api.read_new },
    { "archive_read_support_filter_all", &api.read_filters },
    { "archive_read_support_format_by_code", &api.read_format },
    { "archive_read_add_passphrase", &api.read_passphrase },
    { "archive_read_open_memory", &api.read_open },
    { "archive_read_open_fd", &api.read_open_fd },
    { "archive_read_next_header", &api.read_next },
    { "archive_read_data_block", &api.read_block },
    { "archive_read_free", &api.read_free },
    { "archive_write_disk_new", &api.disk_new },
    { "archive_write_disk_set_options", &api.disk_options },
    { "archive_write_header", &api.write_header },
    { "archive_write_data_block", &api.write_block },
    { "archive_write_finish_entry", &api.write_finish },
    { "archive_write_close", &api.write_close },
    { "archive_write_free", &api.write_free },
    { "archive_error_string", &api.error },
    { "archive_errno", &api.errnum },
    { "archive_entry_pathname", &api.path },
    { "archive_entry_pathname_utf8", &api.path_utf8 },
    { "archive_entry_hardlink", &api.hardlink },
    { "archive_entry_filetype", &api.filetype },
    { "archive_entry_is_encrypted", &api.is_encrypted },
    { "archive_read_has_encrypted_entries", &api.has_encrypted },
    { "archive_format", &api.format },
    { "archive_entry_set_pathname", &api.set_path },
    { "archive_entry_set_hardlink", &api.set_hardlink },
    { "archive_entry_set_uid", &api.set_uid },
    { "archive_entry_set_gid", &api.set_gid },
    { "archive_entry_set_uname", &api.set_uname },
    { "archive_entry_set_gname", &api.set_gname },
};
static struct library library = { LIBRARY, symbols, ARRAY_LEN(symbols), NULL, 0 };

/* The library runs in the C locale and warns of names that are not ASCII, which are kept as
 * they are. Any other warning is a failure: it may mean a failed write. */
#define WARNS_OF_NAME "can't be converted"

/* --- one archive ---------------------------------------------------------------------------- */

struct unpacking {
    struct arena *arena;
    const struct unpack_options *options;
    struct archive *reader, *writer; /* writer NULL: list only */
    int fd;                          /* the file of a large archive; -1: in memory */
    uint64_t bytes;
};

static int set_archive_error(const struct unpacking *u, struct archive *a, struct err *err)
{
    const char *why = api.error(a);

    if (a == u->writer && api.errnum(a) > 0)
        return err_sys(err, api.errnum(a), "archive '%s': %s", u->options->name,
                       why ? why : "cannot be written");
    return err_set(err, ERR_INVALID, "archive '%s': %s", u->options->name,
                   why ? why : "cannot be read");
}

/* The supported formats. The library has more: it reads any text as a list of files (mtree),
 * and an empty file, as a failed download leaves it, as an empty archive. */
static const struct {
    int format;
    enum unpack_format wish; /* value of 'archive_format'; UNPACK_ANY: cannot be chosen */
    const char *name;
} known[] = {
    { ARCHIVE_FORMAT_TAR, UNPACK_TAR, "tar" },     { ARCHIVE_FORMAT_ZIP, UNPACK_ZIP, "zip" },
    { ARCHIVE_FORMAT_7ZIP, UNPACK_7ZIP, "7zip" },  { ARCHIVE_FORMAT_RAR, UNPACK_RAR, "rar" },
    { ARCHIVE_FORMAT_RAR_V5, UNPACK_RAR, "rar" },  { ARCHIVE_FORMAT_CPIO, UNPACK_CPIO, "cpio" },
    { ARCHIVE_FORMAT_ISO9660, UNPACK_ANY, "iso" }, { ARCHIVE_FORMAT_AR, UNPACK_ANY, "ar" },
    { ARCHIVE_FORMAT_XAR, UNPACK_ANY, "xar" },     { ARCHIVE_FORMAT_LHA, UNPACK_ANY, "lha" },
    { ARCHIVE_FORMAT_CAB, UNPACK_ANY, "cab" },
};

static const char *format_name(const struct unpacking *u)
{
    const int format = api.format(u->reader) & ARCHIVE_FORMAT_BASE_MASK;

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (known[i].format == format)
            return known[i].name;
    return "archive";
}

/* Only zip can be decrypted by the library. */
static int refuse_encrypted(const struct unpacking *u, struct err *err)
{
    const bool zip = strcmp(format_name(u), "zip") == 0;

    if (zip && !u->options->password)
        return err_set(err, ERR_UNSUPPORTED, "archive '%s' is encrypted: set 'password'",
                       u->options->name);
    if (!zip)
        return err_set(err, ERR_UNSUPPORTED,
                       "archive '%s' is an encrypted %s archive; only encrypted zip archives are "
                       "supported, decrypt it first",
                       u->options->name, format_name(u));
    return 0;
}

static int open_archive(struct unpacking *u, const struct source_content *archive, struct err *err)
{
    struct fs_info info;
    int rc;

    if (archive->file && fs_open(archive->file, &u->fd, &info, err) < 0)
        return -1;
    if (archive->file && (u->fd < 0 || info.kind != FS_FILE))
        return err_set(err, ERR_BUSY, "archive '%s' was replaced by another process",
                       u->options->name);
    rc = archive->file ? api.read_open_fd(u->reader, u->fd, READ_BLOCK)
                       : api.read_open(u->reader, archive->text.p, archive->text.n);
    return rc == ARCHIVE_OK ? 0 : set_archive_error(u, u->reader, err);
}

static int open_archive_reader(struct unpacking *u, const struct source_content *archive,
                               struct err *err)
{
    const enum unpack_format wish = u->options->format;

    (void)api.read_filters(u->reader); /* a filter that is not built in is reported when it is
                                        * needed */
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (wish == UNPACK_ANY || wish == known[i].wish)
            (void)api.read_format(u->reader, known[i].format);
    if (u->options->password)
        (void)api.read_passphrase(u->reader, u->options->password);
    return open_archive(u, archive, err);
}

/* Without its leading components; NULL when nothing is left. */
static const char *strip_path(const char *path, unsigned parts)
{
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    for (; parts > 0; parts--) {
        while (*path != '\0' && *path != '/')
            path++;
        while (*path == '/')
            path++;
    }
    return *path == '\0' || (path[0] == '.' && path[1] == '\0') ? NULL : path;
}

/* The path of an entry below the folder; NULL: skip it. */
static int find_member_path(const struct unpacking *u, const char *given, const char **ret,
                            struct err *err)
{
    const char *path;

    if (!given)
        return err_set(err, ERR_INVALID, "archive '%s' contains a name that is not valid text",
                       u->options->name);
    if (path_escapes(given))
        return err_set(err, ERR_INVALID, "archive '%s' would write outside its folder: '%s'",
                       u->options->name, given);
    path = strip_path(given, u->options->strip);
    *ret = path ? path_normalise(u->arena, path) : NULL;
    return 0;
}

static enum fs_kind get_member_kind(struct archive_entry *entry)
{
    if (api.hardlink(entry))
        return FS_FILE;
    switch (api.filetype(entry)) {
    case AE_IFREG: return FS_FILE;
    case AE_IFDIR: return FS_FOLDER;
    case AE_IFLNK: return FS_LINK;
    default: return FS_NONE;
    }
}

/* One block may be a whole file. */
static int write_pieces(struct unpacking *u, const char *bytes, size_t n, la_int64_t offset,
                        struct err *err)
{
    for (size_t done = 0, piece; done < n; done += piece) {
        piece = n - done < PIECE_MAX ? n - done : PIECE_MAX;
        if (cancel_is_raised(u->options->cancel))
            return err_set(err, ERR_CANCELED, "canceled while extracting '%s'", u->options->name);
        if (api.write_block(u->writer, bytes + done, piece, offset + (la_int64_t)done) < ARCHIVE_OK)
            return set_archive_error(u, u->writer, err);
    }
    return 0;
}

static int copy_data(struct unpacking *u, struct err *err)
{
    la_int64_t offset;
    const void *bytes;
    size_t n;

    for (;;) {
        const int rc = api.read_block(u->reader, &bytes, &n, &offset);

        if (rc == ARCHIVE_EOF)
            return 0;
        if (rc != ARCHIVE_OK)
            return set_archive_error(u, u->reader, err);
        u->bytes += n;
        if (u->bytes > UNPACK_BYTES_MAX)
            return err_set(err, ERR_LIMIT, "archive '%s' exceeds the limit of %llu bytes",
                           u->options->name, (unsigned long long)UNPACK_BYTES_MAX);
        if (write_pieces(u, bytes, n, offset, err) < 0)
            return -1;
    }
}

static int write_archive_member(struct unpacking *u, struct archive_entry *entry, const char *path,
                                struct err *err)
{
    const struct unpack_options *options = u->options;
    const char *link = api.hardlink(entry), *target = NULL;

    if (link && find_member_path(u, link, &target, err) < 0)
        return -1;
    if (link && !target)
        return err_set(err, ERR_INVALID, "archive '%s': '%s' links to an entry that was skipped",
                       options->name, path);
    if (target)
        api.set_hardlink(entry, path_join(u->arena, options->folder, target));
    api.set_path(entry, path_join(u->arena, options->folder, path));
    if (options->uid != FS_KEEP || options->gid != FS_KEEP) {
        api.set_uname(entry, NULL);
        api.set_gname(entry, NULL);
        api.set_uid(entry, options->uid != FS_KEEP ? options->uid : geteuid());
        api.set_gid(entry, options->gid != FS_KEEP ? options->gid : getegid());
    }
    if (api.write_header(u->writer, entry) != ARCHIVE_OK)
        return set_archive_error(u, u->writer, err);
    if (copy_data(u, err) < 0)
        return -1;
    return api.write_finish(u->writer) != ARCHIVE_OK ? set_archive_error(u, u->writer, err) : 0;
}

/* Deeper ones could neither be merged into a folder nor reverted: core/sys/tree.h. */
static int check_member_depth(const struct unpacking *u, const char *path, enum fs_kind kind,
                              struct err *err)
{
    int folders = kind == FS_FOLDER ? 1 : 0;

    for (const char *p = path; *p; p++)
        folders += *p == '/';
    return folders < TREE_DEPTH_MAX
               ? 0
               : err_set(err, ERR_LIMIT, "archive '%s' is deeper than the limit of %d folders",
                         u->options->name, TREE_DEPTH_MAX - 1);
}

static int read_archive_member(struct unpacking *u, struct archive_entry *entry,
                               struct unpack_entries *ret, struct err *err)
{
    const enum fs_kind kind = get_member_kind(entry);
    const char *given = api.path(entry), *path;

    if (u->writer && api.is_encrypted(entry) && refuse_encrypted(u, err) < 0)
        return -1;
    if (find_member_path(u, given ? given : api.path_utf8(entry), &path, err) < 0)
        return -1;
    if (!path)
        return 0;
    if (kind == FS_NONE)
        return err_set(err, ERR_UNSUPPORTED, "archive '%s' contains a device, pipe or socket: '%s'",
                       u->options->name, path);
    if (ret->list.n >= UNPACK_ENTRIES_MAX)
        return err_set(err, ERR_LIMIT, "archive '%s' exceeds the limit of %zu entries",
                       u->options->name, UNPACK_ENTRIES_MAX);
    if (check_member_depth(u, path, kind, err) < 0)
        return -1;
    VEC_PUSH_IN(u->arena, &ret->list, ((struct unpack_entry){ path, kind }));
    return u->writer ? write_archive_member(u, entry, path, err) : 0;
}

static bool is_member_allowed(const struct unpacking *u, int rc)
{
    const char *why = rc == ARCHIVE_WARN ? api.error(u->reader) : NULL;

    return rc == ARCHIVE_OK || (why && strstr(why, WARNS_OF_NAME));
}

static int read_whole_archive(struct unpacking *u, const struct source_content *archive,
                              struct unpack_entries *ret, struct err *err)
{
    struct archive_entry *entry;

    if (open_archive_reader(u, archive, err) < 0)
        return -1;
    for (;;) {
        const int rc = api.read_next(u->reader, &entry);

        ret->format = format_name(u);
        if (rc == ARCHIVE_EOF)
            return u->writer && api.write_close(u->writer) != ARCHIVE_OK
                       ? set_archive_error(u, u->writer, err)
                       : 0;
        if (!is_member_allowed(u, rc) && api.has_encrypted(u->reader) > 0 &&
            refuse_encrypted(u, err) < 0)
            return -1;
        if (!is_member_allowed(u, rc))
            return set_archive_error(u, u->reader, err);
        if (cancel_is_raised(u->options->cancel))
            return err_set(err, ERR_CANCELED, "canceled while reading '%s'", u->options->name);
        if (read_archive_member(u, entry, ret, err) < 0)
            return -1;
    }
}

static int process_archive(struct arena *arena, const struct source_content *archive,
                           const struct unpack_options *options, bool write,
                           struct unpack_entries *ret, struct err *err)
{
    struct unpacking u = { .arena = arena, .options = options, .fd = -1 };
    const bool own = options->uid != FS_KEEP || options->gid != FS_KEEP;
    int result;

    if (!library_get(&library))
        return err_set(err, ERR_UNSUPPORTED, "archive '%s': cannot load %s (install libarchive13)",
                       options->name, LIBRARY);
    *ret = (struct unpack_entries){ .list = VEC_INIT };
    u.reader = api.read_new();
    u.writer = write ? api.disk_new() : NULL;
    if (u.writer)
        (void)api.disk_options(u.writer, ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_PERM |
                                             ARCHIVE_EXTRACT_SECURE_SYMLINKS |
                                             ARCHIVE_EXTRACT_SECURE_NODOTDOT |
                                             (own ? ARCHIVE_EXTRACT_OWNER : 0));
    pool_block_begin();
    result = read_whole_archive(&u, archive, ret, err);
    if (u.writer)
        (void)api.write_free(u.writer);
    (void)api.read_free(u.reader);
    fd_close(&u.fd);
    pool_block_end();
    return result;
}

int unpack_list(struct arena *arena, const struct source_content *archive,
                const struct unpack_options *options, struct unpack_entries *ret, struct err *err)
{
    return process_archive(arena, archive, options, false, ret, err);
}

int unpack(struct arena *arena, const struct source_content *archive,
           const struct unpack_options *options, struct unpack_entries *ret, struct err *err)
{
    return process_archive(arena, archive, options, true, ret, err);
}
