/* file.touch - creates an empty file, or sets its times. */
#include <errno.h>
#include <math.h>
#include <sys/stat.h>

#include "core/base/err.h"
#include "core/base/number.h"
#include "core/data/scalar.h"
#include "states/modules/file/parent.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "core/sys/clock.h"

#define ARGS struct touch_args
/* Seconds that fit nanoseconds in 64 bits. */
#define SECONDS_MAX INT64_C(9000000000)

struct touch_args {
    const char *name;
    const struct value *atime, *mtime;
    bool makedirs;
};

/* clang-format off */
static const struct param touch_params[] = {
    PARAM("name", PATH, ARGS, name, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("atime", ANY, ARGS, atime, "time of the last access: seconds since 1970, or a date"),
    PARAM("mtime", ANY, ARGS, mtime, "time of the last modification, likewise"),
    PARAM("makedirs", BOOL, ARGS, makedirs, "create missing parent folders"),
    { 0 },
};
/* clang-format on */

/* --- times ------------------------------------------------------------------------------ */

static bool convert_time(double seconds, int64_t *ret_ns)
{
    if (!(fabs(seconds) < (double)SECONDS_MAX))
        return false;
    *ret_ns = (int64_t)(seconds * (double)CLOCK_SECOND);
    return true;
}

static bool read_touch_time(const struct value *v, int64_t *ret_ns)
{
    struct value parsed;
    struct err err;
    double seconds;

    if (v->kind == VALUE_STR && number_parse_double(v->s, &seconds, &err) == 0)
        return convert_time(seconds, ret_ns);
    if (v->kind == VALUE_STR && scalar_parse_time(v->s, &parsed))
        return read_touch_time(&parsed, ret_ns);
    if (v->kind == VALUE_DOUBLE)
        return convert_time(v->d, ret_ns);
    if (v->kind == VALUE_INT && v->i > -SECONDS_MAX && v->i < SECONDS_MAX) {
        *ret_ns = v->i * CLOCK_SECOND;
        return true;
    }
    if (v->kind == VALUE_TIME && v->t.seconds > -SECONDS_MAX && v->t.seconds < SECONDS_MAX) {
        *ret_ns = v->t.seconds * CLOCK_SECOND + v->t.nanoseconds;
        return true;
    }
    return false;
}

static int check_touch_time(const char *name, const struct value *v, struct diags *diags)
{
    int64_t ns;

    if (!v || v->kind == VALUE_NULL || read_touch_time(v, &ns))
        return 0;
    return value_diag(diags, v, "'%s' must be seconds since 1970 or a date, got %s", name,
                      value_describe(v));
}

static int touch_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct touch_args *want = args;
    const int a = check_touch_time("atime", want->atime, diags);
    const int m = check_touch_time("mtime", want->mtime, diags);

    (void)where;
    return a < 0 || m < 0 ? -1 : 0;
}

static bool is_touch_time(const struct value *want, struct timespec now)
{
    int64_t ns;

    if (!want || !read_touch_time(want, &ns))
        return true;
    return ns == (int64_t)now.tv_sec * CLOCK_SECOND + now.tv_nsec;
}

/* --- checking and applying --------------------------------------------------------------- */

static int find_touched_file(const char *path, bool *ret_exists, struct stat *st, struct err *err)
{
    *ret_exists = stat(path, st) == 0;
    if (!*ret_exists && errno != ENOENT && errno != ENOTDIR)
        return err_sys(err, errno, "stat '%s'", path);
    return 0;
}

static int touch_check(struct state_run *run, const void *args, struct err *err)
{
    const struct touch_args *want = args;
    struct stat st;
    bool exists;

    if (find_touched_file(want->name, &exists, &st, err) < 0)
        return -1;
    if (!exists) {
        if (parent_check_file(run, want->name, want->makedirs, err) < 0)
            return -1;
        state_differs(run, "file %s does not exist", want->name);
        state_made(run, "created %s", want->name);
        return 0;
    }
    if (!is_touch_time(want->atime, st.st_atim)) {
        state_differs(run, "atime differs for %s", want->name);
        state_made(run, "set atime of %s", want->name);
    }
    if (!is_touch_time(want->mtime, st.st_mtim)) {
        state_differs(run, "mtime differs for %s", want->name);
        state_made(run, "set mtime of %s", want->name);
    }
    if (run->forced && !want->atime && !want->mtime) {
        state_differs(run, "times of %s will be set to now", want->name);
        state_made(run, "set times of %s", want->name);
    }
    return 0;
}

/* The requested time, or `otherwise`. */
static int64_t choose_time(const struct value *want, int64_t otherwise)
{
    int64_t ns = otherwise;

    if (want)
        (void)read_touch_time(want, &ns);
    return ns;
}

static int64_t make_nanoseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * CLOCK_SECOND + time.tv_nsec;
}

static int touch_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct touch_args *want = args;
    const int64_t now = clock_wall();
    const bool fixed = want->atime || want->mtime;
    struct stat st;
    bool exists;

    if (find_touched_file(want->name, &exists, &st, err) < 0)
        return -1;
    if (!exists && parent_make_file(run, want->name, want->makedirs, NULL, err) < 0)
        return -1;
    if (exists && fixed && is_touch_time(want->atime, st.st_atim) &&
        is_touch_time(want->mtime, st.st_mtim)) {
        state_unchanged(run);
        return 0;
    }

    /* Forced by a watch, without times: set both to now, like touch(1). */
    const int64_t atime = exists && fixed ? make_nanoseconds(st.st_atim) : now;
    const int64_t mtime = exists && fixed ? make_nanoseconds(st.st_mtim) : now;
    if (change_touch(run, want->name, choose_time(want->atime, atime),
                     choose_time(want->mtime, mtime), err) < 0)
        return -1;
    state_say(run, "%s %s", exists ? "updated mtime of" : "created", want->name);
    state_detail(run, "path", "%s", want->name);
    state_detail(run, "action", "%s", exists ? "mtime" : "created");
    return 0;
}

const struct module module_file_touch = {
    .name = "file.touch",
    .summary = "create an empty file, or set its times",
    .details = "An existing file is unchanged unless times are given and differ. When a watched "
               "state changes, its times are set to now.",
    .example = "name: ROOT/flag\n",
    .params = touch_params,
    .args_size = sizeof(struct touch_args),
    .flags = MODULE_LOCAL | MODULE_EDITS,
    .validate = touch_validate,
    .check = touch_check,
    .apply = touch_apply,
};
