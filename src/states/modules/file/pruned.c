/* file.pruned - removes empty folders. */

#include "core/base/err.h"
#include "states/modules/file/removals.h"
#include "states/state/module.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/tree.h"

#define ARGS     struct pruned_args
#define DAYS_MAX 1000000
#define DAY      (INT64_C(86400) * CLOCK_SECOND)

struct pruned_args {
    const char *name;
    bool recurse, ignore_errors, has_age;
    int64_t older_than;
};

/* clang-format off */
static const struct param pruned_params[] = {
    PARAM("name", PATH, ARGS, name, "the folder", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("recurse", BOOL, ARGS, recurse, "also remove the empty folders in it"),
    PARAM("ignore_errors", BOOL, ARGS, ignore_errors, "keep folders that are not empty; otherwise they are an error"),
    PARAM("older_than", INT, ARGS, older_than, "only folders unchanged for this many days", PARAM_RANGE(0, DAYS_MAX), PARAM_GIVEN(ARGS, has_age)),
    { 0 },
};
/* clang-format on */

struct pruning {
    struct state_run *run;
    const struct pruned_args *want;
    int64_t now;
    const char *held; /* the latest path that stays: its parents stay too; NULL */
    const char *full; /* the first folder that is not empty; NULL */
    struct removals removals;
};

static bool is_held(const struct pruning *p, const char *folder)
{
    return p->held && path_is_below(p->held, folder);
}

static void leave_pruned_folder(struct pruning *p, const struct tree_entry *entry)
{
    const bool young = p->want->has_age && (p->now - entry->info.mtime) / DAY < p->want->older_than;
    const bool skipped = entry->depth > 0 && !p->want->recurse;

    if (is_held(p, entry->path) && !p->full)
        p->full = arena_strdup(p->run->arena, entry->path);
    if (is_held(p, entry->path) || young || skipped)
        p->held = arena_strdup(p->run->arena, entry->path);
    else
        removals_add(p->run, &p->removals, entry->path);
}

static int visit_pruned_entry(void *self, enum tree_step step, const struct tree_entry *entry,
                              struct err *err)
{
    struct pruning *p = self;

    (void)err;
    if (step == TREE_ENTRY)
        p->held = arena_strdup(p->run->arena, entry->path);
    if (step == TREE_LEAVE)
        leave_pruned_folder(p, entry);
    return 0;
}

static int find_pruned_removals(struct state_run *run, const struct pruned_args *want,
                                struct pruning *ret, struct err *err)
{
    const char *folder = path_normalise(run->arena, want->name);
    struct fs_info info;

    *ret = (struct pruning){ .run = run, .want = want, .now = clock_wall() };
    if (fs_lstat(folder, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        return 0;
    if (info.kind != FS_FOLDER)
        return err_set(err, ERR_INVALID, "%s is a %s, not a directory", want->name,
                       fs_kind_name(info.kind));
    if (tree_walk(folder, visit_pruned_entry, ret, err) < 0)
        return -1;
    if (ret->full && !want->ignore_errors)
        return err_set(err, ERR_INVALID, "directory %s is not empty", ret->full);
    return 0;
}

static int pruned_check(struct state_run *run, const void *args, struct err *err)
{
    const struct pruned_args *want = args;
    struct pruning pruning;

    if (find_pruned_removals(run, want, &pruning, err) < 0)
        return -1;
    removals_check(run, &pruning.removals, want->name);
    return 0;
}

static int pruned_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct pruned_args *want = args;
    struct pruning pruning;

    if (find_pruned_removals(run, want, &pruning, err) < 0)
        return -1;
    return removals_apply(run, &pruning.removals, want->name, err);
}

const struct module module_file_pruned = {
    .name = "file.pruned",
    .summary = "remove empty folders",
    .details = "Only empty folders are removed: a file keeps all its parent folders. If a folder "
               "is not empty, nothing is removed, unless `ignore_errors` is set.",
    .example = "name: ROOT/empty\nrecurse: true\n",
    .params = pruned_params,
    .args_size = sizeof(struct pruned_args),
    .flags = MODULE_REMOVES | MODULE_CLEANS,
    .check = pruned_check,
    .apply = pruned_apply,
};
