/* timezone.system - sets the system time zone. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/edit/lines.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define ARGS struct system_args

#define ZONES    "/usr/share/zoneinfo"
#define FILE_MAX ((size_t)64 << 10)

struct system_args {
    const char *name, *root;
    enum param_tristate utc;
};

/* clang-format off */
static const struct param system_params[] = {
    PARAM("name", STR, ARGS, name, "the zone: Europe/Berlin", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("utc", TRISTATE, ARGS, utc, "the hardware clock is in UTC, or in local time (default: leave as is; in a Salt file: UTC, and false leaves it as is)"),
    PARAM("root", PATH, ARGS, root, "the root folder, for images", .default_text = "/"),
    { 0 },
};
/* clang-format on */

static int system_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct system_args *want = args;

    if (validate_text("name", want->name, VALIDATE_WORD, where, diags) < 0)
        return -1;
    if (path_escapes(want->name))
        return value_diag(diags, value_point(where, "name"),
                          "'name' is not a valid time zone: '%s'", want->name);
    return 0;
}

static const char *make_root_path(struct state_run *run, const struct system_args *want,
                                  const char *path)
{
    return path_join(run->arena, want->root, path);
}

/* --- reading ----------------------------------------------------------------------------- */

/* The part of a link target after zoneinfo/; NULL: not a zone. */
static const char *read_zone_of_link(const char *target)
{
    const char *at = target ? strstr(target, "zoneinfo/") : NULL;

    return at ? at + strlen("zoneinfo/") : NULL;
}

struct clocks {
    const char *zone; /* by the link; NULL: none, or a copy of a file */
    const char *file; /* by /etc/timezone; NULL: there is none */
    struct str adjtime;
    bool is_local; /* the hardware clock */
};

static bool is_clock_local(struct str adjtime)
{
    struct line line = { STR(""), STR("") };

    for (int i = 0; i < 3; i++)
        if (!lines_next(&adjtime, &line))
            return false;
    return str_is(str_trim(line.text), "LOCAL");
}

static int read_zone_name(struct state_run *run, const struct system_args *want, struct clocks *ret,
                          struct err *err)
{
    const char *target;
    struct str file;

    *ret = (struct clocks){ 0 };
    if (fs_readlink(run->arena, make_root_path(run, want, "etc/localtime"), &target, err) < 0 ||
        fs_read(run->arena, make_root_path(run, want, "etc/timezone"), FILE_MAX, &file, err) < 0 ||
        fs_read(run->arena, make_root_path(run, want, "etc/adjtime"), FILE_MAX, &ret->adjtime,
                err) < 0)
        return -1;
    ret->zone = read_zone_of_link(target);
    if (file.p)
        ret->file = arena_str(run->arena, str_trim(file)).p;
    ret->is_local = ret->adjtime.p && is_clock_local(ret->adjtime);
    return 0;
}

static const char *find_current_zone(const struct clocks *now)
{
    return now->zone ? now->zone : now->file ? now->file : "unknown";
}

static bool is_zone(const struct system_args *want, const struct clocks *now)
{
    return now->zone && strcmp(now->zone, want->name) == 0 &&
           (!now->file || strcmp(now->file, want->name) == 0);
}

/* As in Salt, a clock of a Salt file is set to UTC unless that is switched off, and never to local
 * time. */
static enum param_tristate choose_utc(const struct state_run *run, const struct system_args *want)
{
    if (!run->salt)
        return want->utc;
    return want->utc == PARAM_IS_FALSE ? PARAM_IS_UNSET : PARAM_IS_TRUE;
}

static bool is_clock(const struct state_run *run, const struct system_args *want,
                     const struct clocks *now)
{
    const enum param_tristate utc = choose_utc(run, want);

    return utc == PARAM_IS_UNSET || (utc == PARAM_IS_FALSE) == now->is_local;
}

static int check_zone(struct state_run *run, const struct system_args *want, struct err *err)
{
    struct fs_info info;

    if (fs_stat(path_join(run->arena, make_root_path(run, want, &ZONES[1]), want->name), &info,
                err) < 0)
        return -1;
    if (info.kind == FS_FILE)
        return 0;
    return err_set(err, ERR_NOT_FOUND, "no time zone '%s' in " ZONES "%s", want->name,
                   info.kind == FS_FOLDER ? ": it is a group of zones" : " (is tzdata installed?)");
}

static int system_check(struct state_run *run, const void *args, struct err *err)
{
    const struct system_args *want = args;
    struct clocks now;
    struct err missing;

    if (read_zone_name(run, want, &now, err) < 0)
        return -1;
    if (!is_zone(want, &now)) {
        state_differs(run, "timezone mismatch: current=\"%s\", desired=\"%s\"",
                      find_current_zone(&now), want->name);
        state_made(run, "timezone %s -> %s", find_current_zone(&now), want->name);
        if (check_zone(run, want, &missing) < 0)
            state_differs(run, "%s; an earlier state must install it (apply fails otherwise)",
                          missing.text);
    }
    if (!is_clock(run, want, &now)) {
        state_differs(run, "the hardware clock shows %s", now.is_local ? "local time" : "UTC");
        state_made(run, "hardware clock set to %s", now.is_local ? "UTC" : "local time");
    }
    if (!run->differs)
        state_say(run, "timezone is already %s", want->name);
    return 0;
}

/* --- changing ------------------------------------------------------------------------------ */

static int set_zone(struct state_run *run, const struct system_args *want, const struct clocks *now,
                    struct err *err)
{
    const char *text = arena_printf(run->arena, "%s\n", want->name);

    if (check_zone(run, want, err) < 0 ||
        change_symlink(run, arena_printf(run->arena, ZONES "/%s", want->name),
                       make_root_path(run, want, "etc/localtime"), err) < 0)
        return -1;
    if (now->file &&
        change_write(run, make_root_path(run, want, "etc/timezone"), str_from(text), NULL, err) < 0)
        return -1;
    state_say(run, "set timezone from \"%s\" to \"%s\"", find_current_zone(now), want->name);
    return 0;
}

/* The third line of adjtime holds the mode. */
static int set_clock(struct state_run *run, const struct system_args *want,
                     const struct clocks *now, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(FILE_MAX);
    struct str rest = now->adjtime.p ? now->adjtime : STR("");
    struct line line;

    for (int i = 0; i < 2; i++) {
        const bool has = lines_next(&rest, &line);

        lines_add(&out, has ? line.text : i == 0 ? STR("0.0 0 0.0") : STR("0"), STR("\n"));
    }
    buf_add_text(&out, now->is_local ? "UTC\n" : "LOCAL\n");
    state_say(run, "the hardware clock shows %s", now->is_local ? "UTC" : "local time");
    return change_write(run, make_root_path(run, want, "etc/adjtime"), buf_view(&out), NULL, err);
}

static int system_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct system_args *want = args;
    struct clocks now;

    if (read_zone_name(run, want, &now, err) < 0)
        return -1;
    if (is_zone(want, &now) && is_clock(run, want, &now)) {
        state_unchanged(run);
        return 0;
    }
    if (!is_zone(want, &now) && set_zone(run, want, &now, err) < 0)
        return -1;
    if (!is_clock(run, want, &now) && set_clock(run, want, &now, err) < 0)
        return -1;
    state_detail(run, "timezone", "%s", want->name);
    state_detail(run, "previous", "%s", find_current_zone(&now));
    return 0;
}

const struct module module_timezone_system = {
    .name = "timezone.system",
    .summary = "the system time zone",
    .details = "Sets the link /etc/localtime, and /etc/timezone where there is one.",
    .example = "name: Europe/Berlin\nutc: true\n",
    .params = system_params,
    .args_size = sizeof(struct system_args),
    .validate = system_validate,
    .check = system_check,
    .apply = system_apply,
};
