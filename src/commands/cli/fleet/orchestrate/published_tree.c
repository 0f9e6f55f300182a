#include "commands/cli/fleet/orchestrate/published_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands/cli/fleet/link.h"
#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/tree.h"
#include "fleet/bus/identity.h"
#include "fleet/bus/mirror.h"
#include "fleet/bus/store.h"
#include "fleet/bus/tree_trust.h"

#define FETCH_NS (60 * CLOCK_SECOND)

struct tree_copy {
    bool is_done;
    const char *problem; /* of the last attempt; NULL: none */
    struct arena *arena;
};

static void on_tree_fetched(void *self, const struct mirror_sync *sync)
{
    struct tree_copy *copy = self;

    (void)sync;
    copy->problem = NULL;
    copy->is_done = true;
}

static void on_fetch_failed(void *self, const char *bucket, const char *problem)
{
    struct tree_copy *copy = self;

    (void)bucket;
    copy->problem = arena_strdup(copy->arena, problem);
}

static void on_fetch_ended(void *self)
{
    (void)self; /* the mirror tries again until the time is up */
}

/* Where the key is not here, nothing can be verified: then the connection is what is trusted. */
static struct tree_trust find_trust(const char *auth_dir)
{
    struct tree_trust trust = { .mode = TREE_TRUST_VERIFY };
    struct nats_nkey account;
    struct err ignored;

    if (identity_read_key(auth_dir, IDENTITY_ACCOUNT_SEED, &account, &ignored) < 0)
        return trust;
    trust.has_account = true;
    memcpy(trust.account, account.public_key, sizeof(trust.account));
    nats_nkey_done(&account);
    return trust;
}

static int fetch_tree(struct fleet *fleet, const struct tree_trust *trust, const char *folder,
                      struct err *err)
{
    struct tree_copy copy = { .arena = fleet->arena };
    struct mirror *mirror =
        mirror_new(&(struct mirror_options){ .loop = fleet->loop,
                                             .bucket = store_bucket_name(STORE_STATE_FILES),
                                             .folder = folder,
                                             .trust = trust,
                                             .synced = on_tree_fetched,
                                             .failed = on_fetch_failed,
                                             .ended = on_fetch_ended,
                                             .self = &copy,
                                             .hasty = true },
                   err);
    int result;

    if (!mirror)
        return -1;
    mirror_connect(mirror, &fleet->js);
    result = fleet_wait(fleet, &copy.is_done, FETCH_NS, err);
    mirror_free(mirror);
    return result < 0 && copy.problem ? err_set(err, ERR_INVALID, "%s", copy.problem) : result;
}

static int check_tree(const char *folder, struct err *err)
{
    struct fs_info info;

    if (fs_stat(folder, &info, err) < 0)
        return -1;
    return info.kind == FS_FOLDER ? 0
                                  : err_set(err, ERR_NOT_FOUND, "masters have published no states");
}

static int make_root(struct arena *arena, const char **ret_root, struct err *err)
{
    const char *parent = getenv("TMPDIR");
    char *root = arena_printf(arena, "%s/zester-states-XXXXXX",
                              parent && parent[0] == '/' ? parent : "/tmp");

    if (!mkdtemp(root))
        return err_sys(err, errno, "create the folder '%s'", root);
    *ret_root = root;
    return 0;
}

int published_tree_open(struct arena *arena, const struct fleet_options *options,
                        struct published_tree *ret, struct err *err)
{
    struct fleet_target target;
    struct tree_trust trust;
    struct fleet *fleet;
    int result;

    *ret = (struct published_tree){ 0 };
    if (fleet_find(arena, options, &target, err) < 0 || make_root(arena, &ret->root, err) < 0 ||
        fleet_open(arena, options, &fleet, err) < 0)
        return -1;
    trust = find_trust(target.auth_dir);
    ret->folder = path_join(arena, ret->root, "states");
    result = fetch_tree(fleet, &trust, ret->folder, err);
    fleet_close(fleet);
    if (result == 0)
        result = check_tree(ret->folder, err);
    return result < 0 ? err_wrap(err, "published states") : 0;
}

void published_tree_done(struct published_tree *tree)
{
    struct err ignored; /* it is in the folder for temporary files */

    if (tree->root)
        (void)tree_remove(tree->root, &ignored);
}
