#include "states/provider/package/installed.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/provider/package/db.h"
#include "states/provider/package/manager.h"
#include "core/sys/fs.h"

#define STAMP_MAX 4096
/* Real databases have a few megabytes. */
#define DATABASE_MAX ((size_t)256 << 20)

/* One list per process, shared by states in many threads. */
static struct {
    pthread_mutex_t mutex;
    const struct package_manager *manager;
    struct package_db *db;
    struct buf stamp; /* stamps of the databases when they were read */
} cache = { .mutex = PTHREAD_MUTEX_INITIALIZER, .stamp = BUF_INIT(STAMP_MAX) };

/* --- stamps ----------------------------------------------------------------------------------- */

static int stamp_path(const struct package_host *host, const char *path, struct buf *stamp,
                      struct err *err)
{
    struct fs_info info;

    if (fs_stat(arena_printf(host->tool.arena, "%s%s", host->root, path), &info, err) < 0)
        return -1;
    buf_printf(stamp, "%" PRId64 " %" PRIu64 " %ju\n", info.mtime, info.size,
               (uintmax_t)info.inode);
    return 0;
}

static int stamp_paths(const struct package_host *host, const char *const *paths, struct buf *stamp,
                       struct err *err)
{
    for (; paths && *paths; paths++)
        if (stamp_path(host, *paths, stamp, err) < 0)
            return -1;
    return 0;
}

static int take_database_stamp(const struct package_manager *manager,
                               const struct package_host *host, struct buf *stamp, struct err *err)
{
    buf_printf(stamp, "%s\n", host->root);
    if (stamp_paths(host, manager->installed_files, stamp, err) < 0 ||
        stamp_paths(host, manager->databases, stamp, err) < 0)
        return -1;
    if (manager->installed_folder && stamp_path(host, manager->installed_folder, stamp, err) < 0)
        return -1;
    if (manager->journal && stamp_path(host, manager->journal, stamp, err) < 0)
        return -1;
    for (const struct package_holds *holds = manager->holds; holds && holds->path; holds++)
        if (stamp_path(host, holds->path, stamp, err) < 0)
            return -1;
    return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int read_database_file(const struct package_host *host, const char *path,
                              struct arena *arena, struct str *ret, struct err *err)
{
    return fs_read(arena, arena_printf(arena, "%s%s", host->root, path), DATABASE_MAX, ret, err);
}

static int read_first(const struct package_host *host, const char *const *paths,
                      struct arena *arena, struct str *ret, struct err *err)
{
    for (const char *const *path = paths; *path; path++) {
        struct str text;

        if (read_database_file(host, *path, arena, &text, err) < 0)
            return -1;
        if (text.p) {
            *ret = text;
            return 0;
        }
    }
    return err_set(err, ERR_NOT_FOUND, "'%s%s' does not exist", host->root, paths[0]);
}

static int read_folder_names(const struct package_host *host, const char *folder,
                             struct arena *arena, struct str *ret, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(DATABASE_MAX);
    struct fs_names names;

    if (fs_list(arena, arena_printf(arena, "%s%s", host->root, folder), &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name)
        buf_printf(&text, "%s\n", *name);
    *ret = buf_copy(&text, arena);
    return 0;
}

static int compare_package_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The journal files, oldest first; others, such as a partly written one, are ignored. */
static int list_journal(const struct package_manager *manager, const struct package_host *host,
                        struct arena *arena, struct fs_names *ret, struct err *err)
{
    struct fs_names names = { 0 };

    *ret = (struct fs_names){ 0 };
    if (!manager->journal)
        return 0;
    if (fs_list(arena, arena_printf(arena, "%s%s", host->root, manager->journal), &names, err) < 0)
        return err->code == ERR_SYSTEM && err->errnum == ENOENT ? 0 : -1;
    VEC_EACH (&names.list, name)
        if ((*name)[strspn(*name, "0123456789")] == '\0')
            VEC_PUSH_IN(arena, &ret->list, *name);
    if (ret->list.n > 1)
        qsort(ret->list.p, ret->list.n, sizeof(ret->list.p[0]), compare_package_names);
    return 0;
}

/* The newest record of a package comes first, which is the one that counts. */
static int add_journal(const struct package_manager *manager, const struct package_host *host,
                       struct arena *arena, struct str *list, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(DATABASE_MAX);
    struct fs_names names;
    struct str part;

    if (list_journal(manager, host, arena, &names, err) < 0)
        return -1;
    if (names.list.n == 0)
        return 0;
    for (size_t i = names.list.n; i-- > 0;) {
        const char *path = arena_printf(arena, "%s/%s", manager->journal, names.list.p[i]);

        if (read_database_file(host, path, arena, &part, err) < 0)
            return -1;
        buf_add_str(&text, part.p ? part : STR(""));
        buf_add_text(&text, "\n\n");
    }
    buf_add_str(&text, *list);
    if (text.full)
        return err_set(err, ERR_LIMIT, "the list and its journal exceed the limit of %zu bytes",
                       DATABASE_MAX);
    *list = buf_copy(&text, arena);
    return 0;
}

bool installed_is_torn(const struct package_manager *manager, const struct package_host *host)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fs_names names;
    struct err ignored; /* the manager will report the problem */

    return list_journal(manager, host, &arena, &names, &ignored) == 0 && names.list.n > 0;
}

static int read_package_list(const struct package_manager *manager, const struct package_host *host,
                             struct arena *arena, struct str *ret, struct err *err)
{
    if (manager->installed_files)
        return read_first(host, manager->installed_files, arena, ret, err) < 0
                   ? -1
                   : add_journal(manager, host, arena, ret, err);
    if (manager->installed_folder)
        return read_folder_names(host, manager->installed_folder, arena, ret, err);
    return package_manager_ask(manager, host, manager->installed_command, NULL, ret, err);
}

static int fill_db(const struct package_manager *manager, const struct package_host *host,
                   struct package_db *db, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct str text;

    if (read_package_list(manager, host, &scratch, &text, err) < 0 ||
        manager->parse_installed(db, text, err) < 0)
        return -1;
    for (const struct package_holds *holds = manager->holds; holds && holds->path; holds++) {
        if (read_database_file(host, holds->path, &scratch, &text, err) < 0)
            return -1;
        if (text.p)
            holds->parse(db, text);
    }
    return 0;
}

static void drop_list(void)
{
    package_db_free(cache.db);
    cache.db = NULL;
    buf_done(&cache.stamp);
}

static int load_package_list(const struct package_manager *manager, const struct package_host *host,
                             struct err *err)
{
    struct package_db *db = package_db_new();

    if (fill_db(manager, host, db, err) < 0) {
        package_db_free(db);
        return err_wrap(err, "read the packages of %s", manager->name);
    }
    cache.db = db;
    cache.manager = manager;
    return 0;
}

static int bring_up_to_date(const struct package_manager *manager, const struct package_host *host,
                            struct err *err)
{
    AUTO_BUF struct buf now = BUF_INIT(STAMP_MAX);

    /* Taken before reading: a change in between is noticed the next time. */
    if (take_database_stamp(manager, host, &now, err) < 0)
        return -1;
    if (cache.db && cache.manager == manager && str_eq(buf_view(&now), buf_view(&cache.stamp)))
        return 0;
    drop_list();
    if (load_package_list(manager, host, err) < 0)
        return -1;
    buf_add_str(&cache.stamp, buf_view(&now));
    return 0;
}

int installed_lock(const struct package_manager *manager, const struct package_host *host,
                   const struct package_db **ret_db, struct err *err)
{
    (void)pthread_mutex_lock(&cache.mutex);
    if (bring_up_to_date(manager, host, err) < 0) {
        (void)pthread_mutex_unlock(&cache.mutex);
        return -1;
    }
    *ret_db = cache.db;
    return 0;
}

void installed_unlock(void)
{
    (void)pthread_mutex_unlock(&cache.mutex);
}

void installed_forget(void)
{
    (void)pthread_mutex_lock(&cache.mutex);
    drop_list();
    (void)pthread_mutex_unlock(&cache.mutex);
}
