#include "states/modules/pkg/packages_index.h"

#include <pthread.h>
#include <string.h>

#include "core/base/err.h"
#include "states/modules/pkg/packages.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "states/state/pause.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/site.h"

/* How long an index that this process refreshed counts as fresh. */
#define VALID_NS (60 * CLOCK_SECOND)
/* How long to wait for another process that has the index locked. */
#define TRIES    120
#define PAUSE_NS CLOCK_SECOND

/* When this process last refreshed the index. */
static struct {
    pthread_mutex_t mutex;
    int64_t at;
} refreshed = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static int64_t find_last_refresh(void)
{
    int64_t at;

    (void)pthread_mutex_lock(&refreshed.mutex);
    at = refreshed.at;
    (void)pthread_mutex_unlock(&refreshed.mutex);
    return at;
}

static bool is_younger(int64_t at, int64_t age)
{
    const int64_t now = clock_wall();

    return at != 0 && at <= now && now - at < age;
}

/* By any process: file times show it. */
static int is_index_valid(struct packages *packages, int64_t age, bool *ret, struct err *err)
{
    *ret = is_younger(find_last_refresh(), age);
    for (const char *const *path = packages->manager->index; !*ret && *path; path++) {
        struct fs_info info;

        if (fs_stat(*path, &info, err) < 0)
            return -1;
        *ret = info.kind != FS_NONE && is_younger(info.mtime, age);
    }
    return 0;
}

/* A manager that found nothing new leaves no trace: leave one for the next process. */
static void note_refresh(struct packages *packages)
{
    const int64_t now = clock_wall();

    (void)pthread_mutex_lock(&refreshed.mutex);
    refreshed.at = now;
    (void)pthread_mutex_unlock(&refreshed.mutex);
    for (const char *const *path = packages->manager->index; *path; path++) {
        AUTO_SITE struct site site = SITE_INIT;
        struct err ignored; /* at worst it is refreshed once more */

        if (site_walk(&site, *path, SITE_FOLLOW, &ignored) == 0 && site.info.kind == FS_FOLDER)
            (void)site_set_times(&site, site.info.mtime, now, &ignored);
    }
}

static int run_refresh(struct packages *packages, const struct packages_index *how, struct err *err)
{
    const struct package_request request = { .action = PACKAGE_REFRESH, .list = how->list };

    for (int i = 0; i < TRIES; i++) {
        if (package_request_run(packages->manager, &packages->host, &request, err) == 0) {
            if (!how->list)
                note_refresh(packages);
            return 0;
        }
        /* apt waits for its other locks, but not for this one. */
        if (!strstr(err->text, "Could not get lock") ||
            !pause_for(packages->run->host->cancel, PAUSE_NS))
            break;
    }
    return err_wrap(err, "refresh the package index");
}

int packages_index_refresh(struct packages *packages, const struct packages_index *how,
                           struct err *err)
{
    bool valid = false;

    if (packages->run->test)
        return err_set(err, ERR_UNSUPPORTED, "a dry run never refreshes the index");
    if (!how->asked && is_younger(find_last_refresh(), VALID_NS))
        return 0;
    if (how->valid > 0 && is_index_valid(packages, how->valid, &valid, err) < 0)
        return -1;
    return valid ? 0 : run_refresh(packages, how, err);
}
