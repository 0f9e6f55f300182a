/* file.tidied - removes files by age, size or name. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/err.h"
#include "core/base/matcher.h"
#include "states/modules/file/removals.h"
#include "states/state/module.h"
#include "core/sys/clock.h"
#include "core/sys/path.h"
#include "core/sys/tree.h"

#define ARGS    struct tidied_args
#define AGE_MAX 1000000
#define DAY     (INT64_C(86400) * CLOCK_SECOND)

enum criterion { CRITERION_BOTH, CRITERION_AGE, CRITERION_SIZE };
enum clock_of { CLOCK_ATIME, CLOCK_MTIME, CLOCK_CTIME };

struct tidied_args {
    const char *name;
    struct param_strs matches, exclude;
    int64_t age, size;
    bool has_age, has_size, rmdirs, rmlinks, full_path_match;
    int operator, only, clock;
    bool has_only;
};

/* clang-format off */
static const struct param tidied_params[] = {
    PARAM("name", PATH, ARGS, name, "the folder", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("age", INT, ARGS, age, "files of at least this age in days", PARAM_RANGE(0, AGE_MAX), PARAM_GIVEN(ARGS, has_age)),
    PARAM("size", SIZE, ARGS, size, "files of at least this size; does not apply to folders and links", PARAM_GIVEN(ARGS, has_size)),
    PARAM("age_size_logical_operator", CHOICE, ARGS, operator, "with both: 'or' if one is enough", .choices = "OR|AND", .default_text = "OR"),
    PARAM("age_size_only", CHOICE, ARGS, only, "only one of the two criteria counts", .choices = "age|size", PARAM_GIVEN(ARGS, has_only)),
    PARAM("matches", STRS, ARGS, matches, "only names that match one of these patterns at the start (default: all)"),
    PARAM("exclude", STRS, ARGS, exclude, "never names that match one of these patterns at the start"),
    PARAM("full_path_match", BOOL, ARGS, full_path_match, "match the patterns against the whole path"),
    PARAM("rmdirs", BOOL, ARGS, rmdirs, "also remove matching folders with their contents"),
    PARAM("rmlinks", BOOL, ARGS, rmlinks, "also remove links", .default_text = "true"),
    PARAM("time_comparison", CHOICE, ARGS, clock, "the age is since the last access (atime), change of the content (mtime), or of anything (ctime)", .choices = "atime|mtime|ctime", .default_text = "atime"),
    PARAM_REFUSED("followlinks", "a link could lead out of the folder"),
    { 0 },
};
/* clang-format on */

struct patterns {
    const struct matcher **p;
    size_t n;
};

static int compile_tidy_patterns(struct arena *arena, struct param_strs texts, struct patterns *ret,
                                 struct err *err)
{
    ret->p = ARENA_ARRAY(arena, const struct matcher *, texts.n);
    for (ret->n = 0; ret->n < texts.n; ret->n++)
        if (matcher_new(arena, str_from(texts.p[ret->n]), MATCHER_ANCHORED, &ret->p[ret->n], NULL,
                        err) < 0)
            return -1;
    return 0;
}

static int tidied_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct tidied_args *want = args;
    struct patterns patterns;
    struct err err;

    if (compile_tidy_patterns(diags->arena, want->matches, &patterns, &err) < 0)
        return value_diag(diags, value_point(where, "matches"), "'matches': invalid %s", err.text);
    if (compile_tidy_patterns(diags->arena, want->exclude, &patterns, &err) < 0)
        return value_diag(diags, value_point(where, "exclude"), "'exclude': invalid %s", err.text);
    return 0;
}

/* --- selection ------------------------------------------------------------------------------- */

struct tidying {
    struct state_run *run;
    const struct tidied_args *want;
    struct patterns matches, exclude;
    int64_t now;
    struct removals removals;
};

static int is_name_untidy(const struct patterns *patterns, const char *name, bool *ret,
                          struct err *err)
{
    *ret = false;
    for (size_t i = 0; i < patterns->n && !*ret; i++)
        if (matcher_find(patterns->p[i], str_from(name), 0, NULL, ret, err) < 0)
            return -1;
    return 0;
}

static bool is_entry_old(const struct tidying *t, const struct stat *st)
{
    const struct timespec times[] = {
        [CLOCK_ATIME] = st->st_atim, [CLOCK_MTIME] = st->st_mtim, [CLOCK_CTIME] = st->st_ctim
    };
    const struct timespec time = times[t->want->clock];

    return (t->now - ((int64_t)time.tv_sec * CLOCK_SECOND + time.tv_nsec)) / DAY >= t->want->age;
}

/* A missing criterion does not count; without any, every file is removed. */
static bool is_removal_due(const struct tidying *t, const struct stat *st)
{
    const struct tidied_args *want = t->want;
    const bool by_age = want->has_age && !(want->has_only && want->only + 1 == CRITERION_SIZE);
    const bool by_size = want->has_size && !(want->has_only && want->only + 1 == CRITERION_AGE);
    const bool large = S_ISREG(st->st_mode) && st->st_size >= want->size;

    if (by_age && by_size)
        return want->operator== 0 ? is_entry_old(t, st) || large : is_entry_old(t, st) && large;
    if (by_age)
        return is_entry_old(t, st);
    return !by_size || large;
}

static bool is_eligible(const struct tidied_args *want, enum fs_kind kind)
{
    return kind == FS_FOLDER ? want->rmdirs : kind == FS_LINK ? want->rmlinks : true;
}

static int visit_untidy_entry(void *self, enum tree_step step, const struct tree_entry *entry,
                              struct err *err)
{
    struct tidying *t = self;
    const char *name = t->want->full_path_match ? entry->path : entry->name;
    bool matched = t->want->matches.n == 0, excluded;
    struct stat st;

    if (step == TREE_ENTER || entry->depth == 0 || !is_eligible(t->want, entry->info.kind))
        return 0;
    if (fstatat(entry->folder, entry->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : err_sys(err, errno, "stat '%s'", entry->path);
    if ((!matched && is_name_untidy(&t->matches, name, &matched, err) < 0) ||
        is_name_untidy(&t->exclude, name, &excluded, err) < 0)
        return -1;
    if (matched && !excluded && is_removal_due(t, &st))
        removals_add(t->run, &t->removals, entry->path);
    return 0;
}

static int find_untidy_entries(struct state_run *run, const struct tidied_args *want,
                               struct tidying *ret, struct err *err)
{
    const char *folder = path_normalise(run->arena, want->name);
    struct fs_info info;

    *ret = (struct tidying){ .run = run, .want = want, .now = clock_wall() };
    if (compile_tidy_patterns(run->arena, want->matches, &ret->matches, err) < 0 ||
        compile_tidy_patterns(run->arena, want->exclude, &ret->exclude, err) < 0 ||
        fs_stat(folder, &info, err) < 0)
        return -1;
    if (info.kind != FS_FOLDER)
        return err_set(err, ERR_NOT_FOUND, "%s is not a directory", want->name);
    return tree_walk(folder, visit_untidy_entry, ret, err);
}

static int tidied_check(struct state_run *run, const void *args, struct err *err)
{
    const struct tidied_args *want = args;
    struct tidying tidying;

    if (find_untidy_entries(run, want, &tidying, err) < 0)
        return -1;
    removals_check(run, &tidying.removals, want->name);
    return 0;
}

static int tidied_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct tidied_args *want = args;
    struct tidying tidying;

    if (find_untidy_entries(run, want, &tidying, err) < 0)
        return -1;
    return removals_apply(run, &tidying.removals, want->name, err);
}

const struct module module_file_tidied = {
    .name = "file.tidied",
    .summary = "remove files of a folder by age, size or name",
    .details =
        "Removes files that match `matches`, do not match `exclude`, and have the given age or "
        "size; a missing criterion does not count. What other states of the run manage stays.",
    .example = "name: ROOT/source\nmatches:\n  - b$\n",
    .params = tidied_params,
    .args_size = sizeof(struct tidied_args),
    .flags = MODULE_CLEANS | MODULE_EDITS,
    .validate = tidied_validate,
    .check = tidied_check,
    .apply = tidied_apply,
};
