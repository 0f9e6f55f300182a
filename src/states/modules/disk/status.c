/* disk.status - a file system that is neither too full nor too empty. */
#include <errno.h>
#include <sys/statvfs.h>

#include "core/base/err.h"
#include "core/base/number.h"
#include "states/state/module.h"

#define ARGS struct status_args

struct status_args {
    const char *name;
    const char *maximum, *minimum;
    bool absolute, free;
};

/* clang-format off */
static const struct param status_params[] = {
    PARAM("name", PATH, ARGS, name, "a folder of the file system", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("maximum", STR, ARGS, maximum, "not more than this: percent, or with 'absolute' kilobytes", .flags = PARAM_FILLED),
    PARAM("minimum", STR, ARGS, minimum, "not less than this", .flags = PARAM_FILLED),
    PARAM("absolute", BOOL, ARGS, absolute, "the limits are kilobytes"),
    PARAM("free", BOOL, ARGS, free, "the limits apply to free space instead of used space"),
    { 0 },
};
/* clang-format on */

/* "80", "80%"; a number of kilobytes. */
static bool read_limit(const struct status_args *want, const char *text, uint64_t *ret)
{
    struct str digits = str_from(text);
    struct err ignored;

    if (!want->absolute && str_ends(digits, STR("%")))
        digits.n--;
    return number_parse_uint(digits, ret, &ignored) == 0 && (want->absolute || *ret <= 100);
}

static int status_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct status_args *want = args;
    const struct {
        const char *key, *text;
    } limits[] = { { "maximum", want->maximum }, { "minimum", want->minimum } };
    int result = 0;
    uint64_t limit;

    for (size_t i = 0; i < ARRAY_LEN(limits); i++)
        if (limits[i].text && !read_limit(want, limits[i].text, &limit))
            result =
                value_diag(diags, value_point(where, limits[i].key), "'%s' must be %s, got '%s'",
                           limits[i].key, want->absolute ? "a number of kilobytes" : "percent",
                           limits[i].text);
    if (!want->maximum && !want->minimum)
        result = value_diag(diags, where, "set 'maximum' or 'minimum'");
    return result;
}

/* Used or free space in kilobytes or percent, as df shows it. */
static int measure_disk(const struct status_args *want, uint64_t *ret, struct err *err)
{
    struct statvfs vfs;
    uint64_t used, free, all;

    if (statvfs(want->name, &vfs) < 0)
        return err_sys(err, errno, "look at the file system of '%s'", want->name);
    used = (uint64_t)vfs.f_frsize * (vfs.f_blocks - vfs.f_bfree) / 1024;
    free = (uint64_t)vfs.f_frsize * vfs.f_bavail / 1024;
    all = used + free;
    *ret = want->free ? free : used;
    if (!want->absolute)
        *ret = all == 0 ? 0 : (*ret * 100 + (want->free ? 0 : all - 1)) / all;
    return 0;
}

static int status_check(struct state_run *run, const void *args, struct err *err)
{
    const struct status_args *want = args;
    const char *unit = want->absolute ? " KB" : "%", *what = want->free ? "free" : "used";
    uint64_t now = 0, limit;

    if (measure_disk(want, &now, err) < 0)
        return -1;
    if (want->maximum && read_limit(want, want->maximum, &limit) && now > limit)
        return err_set(err, ERR_INVALID, "%s has %llu%s %s, above the maximum of %llu%s",
                       want->name, (unsigned long long)now, unit, what, (unsigned long long)limit,
                       unit);
    if (want->minimum && read_limit(want, want->minimum, &limit) && now < limit)
        return err_set(err, ERR_INVALID, "%s has %llu%s %s, below the minimum of %llu%s",
                       want->name, (unsigned long long)now, unit, what, (unsigned long long)limit,
                       unit);
    state_say(run, "%s has %llu%s %s", want->name, (unsigned long long)now, unit, what);
    return 0;
}

static int status_apply(struct state_run *run, const void *args, struct err *err)
{
    state_unchanged(run); /* a watched change asks again, and changes nothing */
    return status_check(run, args, err);
}

const struct module module_disk_status = {
    .name = "disk.status",
    .summary = "fail when a file system is too full, or not full enough",
    .example = "name: /\nmaximum: 100\n",
    .params = status_params,
    .args_size = sizeof(struct status_args),
    .validate = status_validate,
    .check = status_check,
    .apply = status_apply,
};
