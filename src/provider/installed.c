#include "provider/installed.h"

#include <inttypes.h>
#include <pthread.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "provider/package_db.h"
#include "provider/package_manager.h"
#include "sys/fs.h"

#define STAMP_MAX 4096

/* The one list of the process: states of many threads ask for the same. */
static struct {
    pthread_mutex_t mutex;
    const struct package_manager *manager;
    struct package_db *db;
    struct buf stamp; /* what the databases looked like when they were read */
} cache = { .mutex = PTHREAD_MUTEX_INITIALIZER, .stamp = BUF_INIT(STAMP_MAX) };

static int take_stamp(const struct package_manager *manager, const struct package_host *host,
                      struct buf *stamp, struct err *err)
{
    buf_printf(stamp, "%s\n", host->root);
    for (const char *const *path = manager->databases; *path; path++) {
        struct fs_info info;

        if (fs_stat(arena_printf(host->tool.arena, "%s%s", host->root, *path), &info, err) < 0)
            return -1;
        buf_printf(stamp, "%" PRId64 " %" PRIu64 " %ju\n", info.mtime, info.size,
                   (uintmax_t)info.inode);
    }
    return 0;
}

static void drop(void)
{
    package_db_free(cache.db);
    cache.db = NULL;
    buf_done(&cache.stamp);
}

static int load(const struct package_manager *manager, const struct package_host *host,
                struct err *err)
{
    struct package_db *db = package_db_new();

    if (manager->load(host, db, err) < 0) {
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

    /* Before reading: a change in between is then seen the next time. */
    if (take_stamp(manager, host, &now, err) < 0)
        return -1;
    if (cache.db && cache.manager == manager && str_eq(buf_view(&now), buf_view(&cache.stamp)))
        return 0;
    drop();
    if (load(manager, host, err) < 0)
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
    drop();
    (void)pthread_mutex_unlock(&cache.mutex);
}
