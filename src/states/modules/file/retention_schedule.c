/* file.retention_schedule - removes old backups by a schedule. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/err.h"
#include "core/base/number.h"
#include "states/modules/file/removals.h"
#include "states/state/module.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define ARGS struct retention_args

struct retention_args {
    const char *name, *format;
    const struct value *retain;
};

/* clang-format off */
static const struct param retention_params[] = {
    PARAM("name", PATH, ARGS, name, "the folder", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("retain", MAP, ARGS, retain, "how many to keep: most_recent, and first_of_hour, _day, _week, _month, _year; a number, or 'all'", .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("strptime_format", STR, ARGS, format, "the format of the time in names, such as backup-%Y%m%d.tar; other files stay (default: all files, by modification time)", .flags = PARAM_FILLED),
    PARAM_REFUSED("timezone", "hours and days are those of UTC", .default_text = "UTC"),
    { 0 },
};
/* clang-format on */

/* The periods of which backups are kept: the common part of their time, for strftime. */
static const struct {
    const char *word, *period;
} rules[] = {
    { "most_recent", NULL },        { "first_of_hour", "%Y-%m-%d %H" },
    { "first_of_day", "%Y-%m-%d" }, { "first_of_week", "%G-%V" },
    { "first_of_month", "%Y-%m" },  { "first_of_year", "%Y" },
};
#define PERIOD_SIZE 24

static bool read_retention_count(const struct value *v, size_t *ret)
{
    struct err ignored;
    int64_t count;

    if (v->kind == VALUE_STR && str_is(v->s, "all")) {
        *ret = SIZE_MAX;
        return true;
    }
    if (v->kind == VALUE_STR && number_parse_int(v->s, &count, &ignored) == 0) {
        *ret = (size_t)count;
        return count >= 0;
    }
    *ret = v->kind == VALUE_INT && v->i >= 0 ? (size_t)v->i : 0;
    return v->kind == VALUE_INT && v->i >= 0;
}

static bool is_rule(const struct value *key)
{
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (key->kind == VALUE_STR && str_is(key->s, rules[i].word))
            return true;
    return false;
}

static int retention_schedule_validate(const void *args, const struct value *where,
                                       struct diags *diags)
{
    const struct retention_args *want = args;
    int result = 0;

    (void)where;
    for (size_t i = 0; i < want->retain->map->count; i++) {
        const struct value_pair *pair = &want->retain->map->pairs[i];
        size_t count;

        if (!is_rule(&pair->key))
            result = value_diag(diags, &pair->key,
                                "'retain' supports most_recent, first_of_hour, first_of_day, "
                                "first_of_week, first_of_month and first_of_year");
        else if (!read_retention_count(&pair->value, &count))
            result = value_diag(diags, &pair->value, "'%s' must be a number or 'all', got %s",
                                pair->key.s.p, value_describe(&pair->value));
    }
    return result;
}

/* --- backups ----------------------------------------------------------------------------- */

struct backup {
    const char *path;
    time_t time;
    bool kept;
};

struct backups {
    VEC(struct backup) list; /* the newest first */
};

static int compare_backups(const void *a, const void *b)
{
    const struct backup *one = a, *other = b;

    if (one->time != other->time)
        return one->time > other->time ? -1 : 1;
    return strcmp(other->path, one->path);
}

/* The time of a backup; false when it is not one. */
static bool find_time(const struct retention_args *want, const char *name,
                      const struct fs_info *info, time_t *ret)
{
    struct tm parts = { .tm_mday = 1 };
    const char *end;

    *ret = (time_t)(info->mtime / CLOCK_SECOND);
    if (!want->format)
        return true;
    end = strptime(name, want->format, &parts);
    *ret = timegm(&parts);
    return end && *end == '\0';
}

static int list_backups(struct state_run *run, const struct retention_args *want,
                        struct backups *ret, struct err *err)
{
    struct fs_names names;
    struct fs_info info;

    if (fs_stat(want->name, &info, err) < 0)
        return -1;
    if (info.kind != FS_FOLDER)
        return err_set(err, ERR_NOT_FOUND, "%s is not a directory", want->name);
    if (fs_list(run->arena, want->name, &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name) {
        struct backup backup = { .path = path_join(run->arena,
                                                   path_normalise(run->arena, want->name), *name) };

        if (fs_lstat(backup.path, &info, err) < 0)
            return -1;
        if (info.kind == FS_FILE && find_time(want, *name, &info, &backup.time))
            VEC_PUSH_IN(run->arena, &ret->list, backup);
    }
    if (ret->list.n > 1)
        qsort(ret->list.p, ret->list.n, sizeof(ret->list.p[0]), compare_backups);
    return 0;
}

static void print_period(const struct backup *backup, const char *format, char out[PERIOD_SIZE])
{
    /* The formats are those of the table. */
    size_t (*const print)(char *, size_t, const char *, const struct tm *) = strftime;
    struct tm parts;

    (void)gmtime_r(&backup->time, &parts);
    out[print(out, PERIOD_SIZE, format, &parts)] = '\0';
}

/* The oldest of each of the newest `count` periods. */
static void keep_firsts(struct backups *backups, const char *format, size_t count)
{
    char period[PERIOD_SIZE], next[PERIOD_SIZE];

    for (size_t i = 0; i < backups->list.n && count > 0; i++) {
        print_period(&backups->list.p[i], format, period);
        if (i + 1 < backups->list.n)
            print_period(&backups->list.p[i + 1], format, next);
        if (i + 1 < backups->list.n && strcmp(period, next) == 0)
            continue;
        backups->list.p[i].kept = true;
        count--;
    }
}

static void keep_newest(struct backups *backups, size_t count)
{
    for (size_t i = 0; i < backups->list.n && i < count; i++)
        backups->list.p[i].kept = true;
}

static int find_retention_removals(struct state_run *run, const struct retention_args *want,
                                   struct removals *ret, struct err *err)
{
    struct backups backups = { .list = VEC_INIT };
    size_t count;

    if (list_backups(run, want, &backups, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        const struct value *v = value_get(want->retain, rules[i].word);

        if (!v || !read_retention_count(v, &count))
            continue;
        if (rules[i].period)
            keep_firsts(&backups, rules[i].period, count);
        else
            keep_newest(&backups, count);
    }
    VEC_EACH (&backups.list, backup)
        if (!backup->kept)
            removals_add(run, ret, backup->path);
    return 0;
}

static int retention_schedule_check(struct state_run *run, const void *args, struct err *err)
{
    const struct retention_args *want = args;
    struct removals removals = { .list = VEC_INIT };

    if (find_retention_removals(run, want, &removals, err) < 0)
        return -1;
    removals_check(run, &removals, want->name);
    return 0;
}

static int retention_schedule_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct retention_args *want = args;
    struct removals removals = { .list = VEC_INIT };

    if (find_retention_removals(run, want, &removals, err) < 0)
        return -1;
    return removals_apply(run, &removals, want->name, err);
}

const struct module module_file_retention_schedule = {
    .name = "file.retention_schedule",
    .summary = "remove old backups by a schedule",
    .details =
        "`most_recent: 5` keeps the newest five; `first_of_day: 7` keeps the oldest one of each of "
        "the last seven days that have one, and so on. Backups that no rule keeps are removed.",
    .example = "name: ROOT/backups\nretain:\n  most_recent: 1\nstrptime_format: backup-%Y%m%d\n",
    .params = retention_params,
    .args_size = sizeof(struct retention_args),
    .flags = MODULE_CLEANS,
    .validate = retention_schedule_validate,
    .check = retention_schedule_check,
    .apply = retention_schedule_apply,
};
