#include "states/run/plan_store.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "core/base/vec.h"
#include "core/data/frame.h"
#include "core/data/record.h"
#include "states/run/plan_binding.h"
#include "states/state/outcome.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define PLAN_VERSION 2

struct stored_change {
    const char *name, *diff, *hash;
};

struct stored_plan {
    const char *id;
    struct {
        VEC(struct stored_change) list;
    } changes;
};

/* clang-format off */
static const struct record_field change_fields[] = {
    RECORD("name", TEXT, struct stored_change, name, RECORD_REQUIRED),
    RECORD("diff", TEXT, struct stored_change, diff, 0, .fallback_text = ""),
    RECORD("hash", TEXT, struct stored_change, hash, 0, .fallback_text = "", .since = 2),
    { 0 },
};
static const struct record_type change_type = RECORD_TYPE("change", struct stored_change, change_fields, 0);

static const struct record_field plan_fields[] = {
    RECORD("id",      TEXT, struct stored_plan, id, RECORD_REQUIRED),
    RECORD("changes", LIST, struct stored_plan, changes, 0, .inner = &change_type),
    { 0 },
};
static const struct record_type plan_type = RECORD_TYPE("plan", struct stored_plan, plan_fields, 0);
/* clang-format on */

/* --- age ---------------------------------------------------------------------------- */

static int compare_plan_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)b, *(const char *const *)a);
}

static bool is_old_plan(const char *name)
{
    struct ksuid id;
    struct err err;

    return ksuid_parse(str_from(name), &id, &err) < 0 ||
           id.seconds + PLAN_STORE_AGE < clock_wall() / CLOCK_SECOND;
}

/* Names sort by time: the newest come first. Drafts of a process that was killed go, too. */
static int prune_plans(struct arena *arena, const char *folder, struct err *err)
{
    struct fs_names names = { 0 };
    size_t kept = 0;

    if (fs_list(arena, folder, &names, err) < 0)
        return -1;
    if (names.list.n > 1)
        qsort(names.list.p, names.list.n, sizeof(names.list.p[0]), compare_plan_names);
    VEC_EACH (&names.list, name)
        if ((is_old_plan(*name) || ++kept > PLAN_STORE_MAX) &&
            fs_unlink(path_join(arena, folder, *name), err) < 0)
            return -1;
    return 0;
}

/* --- plans -------------------------------------------------------------------------- */

static int find_plan_path(struct arena *arena, const char *data_dir, const char *id,
                          const char **ret_folder, const char **ret_path, struct err *err)
{
    struct ksuid ksuid;

    if (ksuid_parse(str_from(id), &ksuid, err) < 0)
        return err_wrap(err, "'%.64s' is not a valid plan ID", id);
    *ret_folder = path_join(arena, data_dir, PLAN_STORE_FOLDER);
    *ret_path = path_join(arena, *ret_folder, id);
    return 0;
}

int plan_store_keep(const char *data_dir, const char *id, const struct run_result *result,
                    struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(PLAN_STORE_SIZE_MAX);
    struct stored_plan plan = { .id = id };
    const char *folder, *path;

    if (find_plan_path(&arena, data_dir, id, &folder, &path, err) < 0)
        return -1;
    VEC_EACH (&result->states, state)
        if (state->outcome == OUTCOME_CHANGED)
            VEC_PUSH_IN(&arena, &plan.changes.list,
                        ((struct stored_change){ state->name, arena_str(&arena, state->diff).p,
                                                 state->hash ? state->hash : "" }));
    if (record_append(&bytes, &plan_type, &plan, PLAN_VERSION, 0, err) < 0 ||
        fs_mkdirs(folder, 0700, err) < 0 || fs_replace(path, buf_view(&bytes), NULL, err) < 0)
        return -1;
    return prune_plans(&arena, folder, err);
}

static int decode_plan(struct arena *arena, const char *id, struct str bytes,
                       struct stored_plan *ret, struct err *err)
{
    struct frame_scan scan = { .bytes = bytes };
    struct frame frame;

    if (frame_next(&scan, &frame) != FRAME_WHOLE || scan.at != bytes.n)
        return err_set(err, ERR_INVALID, "the checksum does not match");
    if (frame.version > PLAN_VERSION)
        return err_set(err, ERR_UNSUPPORTED, "written by a newer version of zester");
    if (record_decode(arena, &plan_type, PLAN_VERSION, frame.payload, ret, err) < 0)
        return -1;
    return strcmp(ret->id, id) == 0 ? 0 : err_set(err, ERR_INVALID, "it is plan '%s'", ret->id);
}

int plan_store_find(struct arena *arena, const char *data_dir, const char *id,
                    struct plan_binding *ret_bound, struct err *err)
{
    const char *folder, *path;
    struct stored_plan plan;
    struct str bytes;

    if (find_plan_path(arena, data_dir, id, &folder, &path, err) < 0)
        return -1;
    if (fs_read(arena, path, PLAN_STORE_SIZE_MAX, &bytes, err) < 0)
        return -1;
    if (!bytes.p || is_old_plan(id))
        return err_set(err, ERR_NOT_FOUND,
                       "no plan '%s' is stored on this machine: its dry run failed, or the "
                       "plan has expired; nothing was changed",
                       id);
    if (decode_plan(arena, id, bytes, &plan, err) < 0)
        return err_wrap(err, "plan '%s' cannot be read", path);
    *ret_bound = (struct plan_binding){ .changes = MAP_INIT_IN(arena) };
    VEC_EACH (&plan.changes.list, change) {
        const struct plan_binding_change planned = { str_from(change->diff), change->hash };

        plan_binding_add(arena, ret_bound, change->name, &planned);
    }
    return 0;
}
