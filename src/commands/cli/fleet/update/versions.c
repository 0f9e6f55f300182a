#include "commands/cli/fleet/update/versions.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"
#include "fleet/bus/store.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/link.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/object.h"
#include "core/sys/clock.h"
#include "core/sys/draft.h"
#include "core/sys/fd.h"
#include "fleet/update/seal.h"

#define MANIFEST_MAX ((size_t)16 << 10)
#define PIECE        ((size_t)64 << 10)
#define BINARY_MODE  0755

static const char *print_manifest_key(struct arena *arena, const struct update_manifest *manifest)
{
    return arena_printf(arena, "%s.%s.%s.%s", update_component_name(manifest->component),
                        manifest->goos, manifest->goarch, manifest->version);
}

/* --- reading ---------------------------------------------------------------------------- */

struct listing {
    struct arena *arena;
    struct update_versions *versions;
};

static void on_manifest_entry(void *self, const struct nats_kv_entry *entry)
{
    struct listing *listing = self;
    struct update_manifest manifest;
    struct err err;

    if (record_decode(listing->arena, &update_manifest_type, 1,
                      arena_str(listing->arena, entry->value), &manifest, &err) == 0)
        VEC_PUSH_IN(listing->arena, &listing->versions->list, manifest);
}

static int compare_manifests(const void *a, const void *b)
{
    const struct update_manifest *left = a, *right = b;
    int order = (int)left->component - (int)right->component;

    if (order == 0)
        order = update_version_compare(left->version, right->version);
    return order ? order : strcmp(left->goarch, right->goarch);
}

int update_versions_read(struct fleet *fleet, struct update_versions *ret, struct err *err)
{
    struct listing listing = { fleet->arena, ret };

    *ret = (struct update_versions){ 0 };
    if (fleet_bucket_each(fleet, STORE_UPDATE_MANIFESTS, NULL, on_manifest_entry, &listing, err) <
        0)
        return -1;
    if (ret->list.n > 0)
        qsort(ret->list.p, ret->list.n, sizeof(ret->list.p[0]), compare_manifests);
    return 0;
}

/* --- one operation ---------------------------------------------------------------------- */

struct act {
    struct arena *arena;
    bool is_done;
    struct nats_error error; /* `has_failed` */
    bool has_failed;
    struct str value;
    uint64_t revision;
};

/* In the arena: the bus may call back after the wait. */
static struct act *begin_version_act(struct fleet *fleet)
{
    struct act *act = ARENA_NEW(fleet->arena, struct act);

    *act = (struct act){ .arena = fleet->arena };
    return act;
}

static void finish_act(struct act *act, const struct nats_error *error)
{
    act->is_done = true;
    act->has_failed = error != NULL;
    if (error)
        act->error = *error;
}

static void on_version_written(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)revision;
    finish_act(self, error);
}

static void on_binary_stored(void *self, const struct nats_error *error,
                             const struct nats_object_info *info)
{
    (void)info;
    finish_act(self, error);
}

static void on_manifest_read(void *self, const struct nats_error *error,
                             const struct nats_kv_entry *entry)
{
    struct act *act = self;

    if (entry) {
        act->value = arena_str(act->arena, entry->value);
        act->revision = entry->revision;
    }
    finish_act(act, error);
}

static int wait_for_act(struct fleet *fleet, struct act *act, int64_t timeout, struct err *err)
{
    if (fleet_wait(fleet, &act->is_done, timeout, err) < 0)
        return -1;
    return act->has_failed ? nats_error_to_err(&act->error, err) : 0;
}

static struct nats_kv manifests_of(const struct fleet *fleet)
{
    return (struct nats_kv){ .js = fleet->js,
                             .bucket = store_bucket_name(STORE_UPDATE_MANIFESTS),
                             .indirect = true,
                             .settled = true };
}

/* The stored manifest; false when there is none. */
static int read_stored_manifest(struct fleet *fleet, const char *key, int64_t timeout,
                                bool *ret_found, struct update_manifest *ret,
                                uint64_t *ret_revision, struct err *err)
{
    const struct nats_kv kv = manifests_of(fleet);
    struct act *act = begin_version_act(fleet);

    *ret_found = false;
    if (nats_kv_get(&kv, key, on_manifest_read, act, err) < 0)
        return -1;
    if (wait_for_act(fleet, act, timeout, err) < 0)
        return act->has_failed && act->error.fault == NATS_FAULT_NOT_FOUND ? 0 : -1;
    *ret_found = true;
    *ret_revision = act->revision;
    return record_decode(fleet->arena, &update_manifest_type, 1, act->value, ret, err);
}

/* --- publishing ------------------------------------------------------------------------- */

static int measure_file(struct arena *arena, int fd, const char *file,
                        struct update_manifest *manifest, struct err *err)
{
    AUTO_FREE char *piece = mem_alloc(PIECE);
    char hash[SHA256_HEX_SIZE];
    struct sha256 sha;
    ssize_t n;

    sha256_init(&sha);
    manifest->size = 0;
    while ((n = read(fd, piece, PIECE)) > 0 || (n < 0 && errno == EINTR)) {
        manifest->size += n > 0 ? n : 0;
        if (manifest->size > UPDATE_SIZE_MAX)
            return err_set(err, ERR_LIMIT, "'%s' has more than %" PRId64 " bytes", file,
                           UPDATE_SIZE_MAX);
        sha256_add(&sha, piece, n > 0 ? (size_t)n : 0);
    }
    if (n < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return err_sys(err, errno, "read '%s'", file);
    if (manifest->size == 0)
        return err_set(err, ERR_INVALID, "'%s' is empty", file);
    sha256_end_hex(&sha, hash);
    manifest->sha256 = arena_strdup(arena, hash);
    return 0;
}

static int put_binary(struct fleet *fleet, int fd, const char *name, int64_t timeout,
                      struct err *err)
{
    const struct nats_objects objects = { .js = fleet->js, .bucket = STORE_BINARIES };
    struct act *act = begin_version_act(fleet);

    if (nats_object_put(&objects, &(struct nats_object_put){ .name = name, .fd = fd },
                        on_binary_stored, act, err) < 0 ||
        wait_for_act(fleet, act, timeout, err) < 0)
        return err_wrap(err, "store the binary");
    return 0;
}

static int write_signed_manifest(struct fleet *fleet, const struct update_manifest *manifest,
                                 uint64_t revision, int64_t timeout, struct err *err)
{
    const struct nats_kv kv = manifests_of(fleet);
    const char *key = print_manifest_key(fleet->arena, manifest);
    AUTO_BUF struct buf bytes = BUF_INIT(MANIFEST_MAX);
    struct act *act = begin_version_act(fleet);
    int result;

    if (record_encode(&bytes, &update_manifest_type, manifest, err) < 0)
        return -1;
    result =
        revision == 0
            ? nats_kv_create(&kv, key, buf_view(&bytes), on_version_written, act, err)
            : nats_kv_update(&kv, key, buf_view(&bytes), revision, on_version_written, act, err);
    if (result < 0 || wait_for_act(fleet, act, timeout, err) < 0)
        return err_wrap(err, "store the manifest");
    return 0;
}

/* A version that nodes have seen never changes its content. */
static int check_new_version(struct fleet *fleet, const struct update_manifest *manifest,
                             int64_t timeout, bool *ret_is_there, struct err *err)
{
    struct update_manifest stored;
    uint64_t revision;

    if (read_stored_manifest(fleet, print_manifest_key(fleet->arena, manifest), timeout,
                             ret_is_there, &stored, &revision, err) < 0)
        return -1;
    if (*ret_is_there && strcmp(stored.sha256, manifest->sha256) != 0)
        return err_set(err, ERR_BUSY,
                       "version '%s' is published with other content; choose another version, or "
                       "unpublish it",
                       manifest->version);
    return 0;
}

int update_versions_publish(struct fleet *fleet, const char *file, const struct nats_nkey *key,
                            struct update_manifest *manifest, int64_t timeout, struct err *err)
{
    AUTO_FD int fd = open(file, O_RDONLY | O_CLOEXEC);
    const int64_t now = clock_wall();
    bool is_there;

    if (fd < 0)
        return err_sys(err, errno, "open '%s'", file);
    if (measure_file(fleet->arena, fd, file, manifest, err) < 0)
        return -1;
    manifest->object_key =
        arena_printf(fleet->arena, "%s/%s/%s/%s", update_component_name(manifest->component),
                     manifest->goos, manifest->goarch, manifest->version);
    manifest->published = (struct value_time){ now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) };
    seal_sign(fleet->arena, manifest, key);
    if (check_new_version(fleet, manifest, timeout, &is_there, err) < 0)
        return -1;
    if (is_there)
        return 0;
    if (put_binary(fleet, fd, manifest->object_key, timeout, err) < 0)
        return -1;
    return write_signed_manifest(fleet, manifest, 0, timeout, err);
}

int update_versions_change(struct fleet *fleet, const struct update_manifest *manifest,
                           update_change_fn *change, int64_t number, int64_t timeout,
                           struct err *err)
{
    struct update_manifest stored;
    uint64_t revision;
    bool is_there;

    if (read_stored_manifest(fleet, print_manifest_key(fleet->arena, manifest), timeout, &is_there,
                             &stored, &revision, err) < 0)
        return -1;
    if (!is_there)
        return err_set(err, ERR_NOT_FOUND, "version '%s' is not published", manifest->version);
    change(&stored, number);
    return write_signed_manifest(fleet, &stored, revision, timeout, err);
}

static void set_promotion(struct update_manifest *manifest, int64_t round)
{
    manifest->promoted = true;
    if (manifest->promotions > 0)
        round++;
    manifest->promotions = round > 0 ? (int32_t)round : 1;
}

int update_versions_promote(struct fleet *fleet, const struct update_manifest *manifest,
                            int64_t timeout, struct err *err)
{
    struct update_versions all;
    int64_t round = 0;

    if (update_versions_read(fleet, &all, err) < 0)
        return -1;
    VEC_EACH (&all.list, other)
        if (other->component == manifest->component && other->promotions > round &&
            strcmp(other->version, manifest->version) == 0)
            round = other->promotions;
    return update_versions_change(fleet, manifest, set_promotion, round, timeout, err);
}

int update_versions_switch(struct fleet *fleet, const struct update_switch *set, int64_t timeout,
                           struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(MANIFEST_MAX);

    if (record_encode(&bytes, &update_switch_type, set, err) < 0)
        return -1;
    return fleet_bucket_put(fleet, STORE_UPDATE_MANIFESTS, UPDATE_SWITCH_KEY, buf_view(&bytes),
                            timeout, err);
}

int update_versions_remove(struct fleet *fleet, const struct update_manifest *manifest,
                           int64_t timeout, struct err *err)
{
    const struct nats_kv kv = manifests_of(fleet);
    const struct nats_objects objects = { .js = fleet->js, .bucket = STORE_BINARIES };
    struct act *act = begin_version_act(fleet), *object = begin_version_act(fleet);

    if (nats_kv_delete(&kv, print_manifest_key(fleet->arena, manifest), 0, on_version_written, act,
                       err) < 0 ||
        wait_for_act(fleet, act, timeout, err) < 0)
        return -1;
    if (nats_object_delete(&objects, manifest->object_key, on_binary_stored, object, err) < 0)
        return -1;
    if (wait_for_act(fleet, object, timeout, err) < 0 &&
        !(object->has_failed && object->error.fault == NATS_FAULT_NOT_FOUND))
        return -1;
    return 0;
}

/* --- fetching --------------------------------------------------------------------------- */

struct fetching {
    struct act act;
    struct draft draft;
    struct sha256 sha;
    struct err err;
    bool cannot_write;
};

static void on_binary_data(void *self, struct str data)
{
    struct fetching *fetching = self;

    sha256_add(&fetching->sha, data.p, data.n);
    if (!fetching->cannot_write && draft_add(&fetching->draft, data, &fetching->err) < 0)
        fetching->cannot_write = true;
}

static void on_binary_fetched(void *self, const struct nats_error *error,
                              const struct nats_object_info *info)
{
    (void)info;
    finish_act(&((struct fetching *)self)->act, error);
}

static int finish_version_fetch(struct fetching *fetching, const struct update_manifest *manifest,
                                struct err *err)
{
    char hash[SHA256_HEX_SIZE];

    if (fetching->cannot_write) {
        *err = fetching->err;
        return -1;
    }
    sha256_end_hex(&fetching->sha, hash);
    if (strcmp(hash, manifest->sha256) != 0)
        return err_set(err, ERR_INVALID,
                       "the binary of version '%s' does not have the hash of its "
                       "manifest",
                       manifest->version);
    return draft_commit(&fetching->draft, err);
}

int update_versions_fetch(struct fleet *fleet, const struct update_manifest *manifest,
                          const char *file, int64_t timeout, struct err *err)
{
    const struct nats_objects objects = { .js = fleet->js, .bucket = STORE_BINARIES };
    const struct fs_replace_options how = { .attr = { BINARY_MODE, FS_KEEP, FS_KEEP },
                                            .fresh = true };
    struct fetching *fetching = ARENA_NEW(fleet->arena, struct fetching);
    int result;

    *fetching = (struct fetching){ 0 };
    if (draft_open(&fetching->draft, file, &how, err) < 0)
        return -1;
    sha256_init(&fetching->sha);
    result = nats_object_get(&objects, manifest->object_key, on_binary_data, on_binary_fetched,
                             fetching, err);
    if (result == 0)
        result = wait_for_act(fleet, &fetching->act, timeout, err);
    if (result == 0)
        result = finish_version_fetch(fetching, manifest, err);
    draft_done(&fetching->draft);
    return result;
}
