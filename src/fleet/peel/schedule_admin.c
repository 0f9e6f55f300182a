#include "fleet/peel/schedule_admin.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/beacons/section.h"
#include "core/data/params.h"
#include "states/local/wish.h"
#include "fleet/peel/scheduler.h"
#include "fleet/peel/conf.h"
#include "fleet/peel/schedule_call.h"
#include "fleet/peel/beacon_runner.h"
#include "fleet/peel/snapshot.h"
#include "states/state/secrets.h"

struct schedule_admin {
    struct schedule_admin_options options;
    struct arena arena; /* of the overlay */
    struct overlay overlay;
};

/* --- what counts -------------------------------------------------------------------- */

static struct schedule_entries merge_entries(const struct schedule_admin *schedule_admin,
                                             struct arena *arena, enum schedule_entry_kind kind,
                                             const struct overlay *overlay,
                                             const struct value *settings)
{
    const struct peel_conf *conf = schedule_admin->options.conf;

    return schedule_entries_merge(
        arena, kind,
        &(struct schedule_entry_sources){
            .file = kind == SCHEDULE_ENTRY_SCHEDULE ? conf->schedule : conf->beacons,
            .settings = settings ? value_get(settings, schedule_entry_words[kind].key) : NULL,
            .overlay = &overlay->parts[kind] });
}

void schedule_admin_read(struct schedule_admin *schedule_admin)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *why;
    struct snapshot *settings =
        schedule_admin->options.settings(schedule_admin->options.self, &why);
    struct schedule_entries all[SCHEDULE_ENTRY_KINDS];

    for (size_t i = 0; i < SCHEDULE_ENTRY_KINDS; i++) {
        all[i] = merge_entries(schedule_admin, &arena, (enum schedule_entry_kind)i,
                               &schedule_admin->overlay, settings ? &settings->value : NULL);
        if (all[i].left_out > 0)
            log_error("%s: more than %d, the others are left out count=%zu",
                      schedule_entry_words[i].key, SCHEDULE_ENTRIES_MAX, all[i].left_out);
    }
    scheduler_read(schedule_admin->options.scheduler, &all[SCHEDULE_ENTRY_SCHEDULE]);
    beacon_runner_read(schedule_admin->options.beacon_runner, &all[SCHEDULE_ENTRY_BEACON]);
    snapshot_drop(settings);
}

/* --- calls -------------------------------------------------------------------------- */

struct overlay schedule_call_begin_change(struct schedule_call *schedule_call)
{
    return overlay_copy(schedule_call->arena, &schedule_call->schedule_admin->overlay);
}

struct schedule_entries schedule_call_merge(struct schedule_call *schedule_call,
                                            const struct overlay *overlay)
{
    return merge_entries(schedule_call->schedule_admin, schedule_call->arena, schedule_call->kind,
                         overlay, schedule_call->settings);
}

int schedule_call_adopt(struct schedule_call *schedule_call, const struct overlay *wanted)
{
    struct schedule_admin *schedule_admin = schedule_call->schedule_admin;
    struct arena arena = ARENA_INIT;
    struct overlay copy;
    struct err err;

    if (overlay_save(wanted, schedule_admin->options.conf->data_dir, &err) < 0)
        return schedule_call_fail(schedule_call, "nothing was changed: %s", err.text);
    copy = overlay_copy(&arena, wanted);
    arena_done(&schedule_admin->arena);
    schedule_admin->arena = arena;
    schedule_admin->overlay = copy;
    log_info("%s changed function=%s name=%s jid=%s", schedule_entry_words[schedule_call->kind].key,
             schedule_call->call->function, schedule_call->name.p, schedule_call->call->jid);
    schedule_admin_read(schedule_admin);
    return 0;
}

/* --- dispatch ----------------------------------------------------------------------- */

/* clang-format off */
static const struct row {
    const char *function;
    enum schedule_entry_kind kind;
    int (*run)(struct schedule_call *schedule_call);
} rows[] = {
    { "schedule.list",                SCHEDULE_ENTRY_SCHEDULE, schedule_entry_list },
    { "schedule.is_enabled",          SCHEDULE_ENTRY_SCHEDULE, schedule_entry_show_enabled },
    { "schedule.show_next_fire_time", SCHEDULE_ENTRY_SCHEDULE, schedule_entry_show_next },
    { "schedule.add",                 SCHEDULE_ENTRY_SCHEDULE, schedule_entry_add },
    { "schedule.modify",              SCHEDULE_ENTRY_SCHEDULE, schedule_entry_modify },
    { "schedule.delete",              SCHEDULE_ENTRY_SCHEDULE, schedule_entry_delete },
    { "schedule.enable_job",          SCHEDULE_ENTRY_SCHEDULE, schedule_entry_enable },
    { "schedule.disable_job",         SCHEDULE_ENTRY_SCHEDULE, schedule_entry_disable },
    { "schedule.enable",              SCHEDULE_ENTRY_SCHEDULE, schedule_entry_enable_all },
    { "schedule.disable",             SCHEDULE_ENTRY_SCHEDULE, schedule_entry_disable_all },
    { "schedule.run_job",             SCHEDULE_ENTRY_SCHEDULE, schedule_entry_run },
    { "beacons.list",                 SCHEDULE_ENTRY_BEACON,   schedule_entry_list },
    { "beacons.add",                  SCHEDULE_ENTRY_BEACON,   schedule_entry_add },
    { "beacons.modify",               SCHEDULE_ENTRY_BEACON,   schedule_entry_modify },
    { "beacons.delete",               SCHEDULE_ENTRY_BEACON,   schedule_entry_delete },
    { "beacons.enable_beacon",        SCHEDULE_ENTRY_BEACON,   schedule_entry_enable },
    { "beacons.disable_beacon",       SCHEDULE_ENTRY_BEACON,   schedule_entry_disable },
    { "beacons.enable",               SCHEDULE_ENTRY_BEACON,   schedule_entry_enable_all },
    { "beacons.disable",              SCHEDULE_ENTRY_BEACON,   schedule_entry_disable_all },
};
/* clang-format on */

static const struct row *find_schedule_row(const char *function)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].function, function) == 0)
            return &rows[i];
    return NULL;
}

bool schedule_admin_has(const char *function)
{
    return find_schedule_row(function) != NULL;
}

/* The name is the positional argument, or a pair. */
static struct str take_entry_name(struct schedule_call *schedule_call)
{
    const struct value key = value_text("name");
    const char *id = schedule_call->call->id;
    const char *name = value_get_text(&schedule_call->given, "name");

    if (id[0] && strcmp(id, "ad-hoc") != 0)
        return str_from(id);
    if (name)
        (void)value_map_remove(schedule_call->given.map, &key);
    return str_from(name ? name : "");
}

/* "enabled=false" of a command line is text. */
static void read_enabled_switch(struct schedule_call *schedule_call)
{
    struct {
        bool enabled;
    } args = { 0 };
    static const struct param row =
        PARAM("enabled", BOOL, __typeof__(args), enabled, "whether it counts");
    const struct params_policy policy = { 0 };
    struct diags ignored = DIAGS_INIT(schedule_call->arena);
    const struct value *given = value_get(&schedule_call->given, "enabled");

    if (given &&
        params_decode_one(schedule_call->arena, &row, &policy, given, &args, &ignored) == 0)
        value_map_set(schedule_call->arena, schedule_call->given.map, value_text("enabled"),
                      value_bool(args.enabled));
}

/* Salt's name for a section that is given whole. */
static void read_beacon_data(struct schedule_call *schedule_call)
{
    const struct value key = value_text("beacon_data");
    const struct value *data = value_map_find(schedule_call->given.map, &key);
    struct diags ignored = DIAGS_INIT(schedule_call->arena);
    struct value map;

    if (schedule_call->kind == SCHEDULE_ENTRY_BEACON && data &&
        section_map(schedule_call->arena, data, &map, &ignored) == 0 && map.kind == VALUE_MAP)
        schedule_call->given = value_copy(schedule_call->arena, &map);
}

static int read_schedule_args(struct schedule_call *schedule_call)
{
    struct diags diags = DIAGS_INIT(schedule_call->arena);
    struct err err;

    schedule_call->given = schedule_call->call->args.kind == VALUE_MAP
                               ? value_copy(schedule_call->arena, &schedule_call->call->args)
                               : value_map(value_map_new(schedule_call->arena, 0));
    if (wish_take_test(&schedule_call->given, &schedule_call->call->test, &diags) < 0) {
        (void)diags_to_err(&diags, &err);
        return schedule_call_fail(schedule_call, "%s", err.text);
    }
    for (size_t i = 0; i < schedule_call->given.map->count; i++)
        if (schedule_call->given.map->pairs[i].key.kind != VALUE_STR)
            return schedule_call_fail(schedule_call, "argument names must be text");
    schedule_call->name = take_entry_name(schedule_call);
    read_beacon_data(schedule_call);
    read_enabled_switch(schedule_call);
    return 0;
}

/* Settings may hold secrets, and entries are made of settings. */
static void mask_answer(struct schedule_call *schedule_call)
{
    struct secrets *secrets = secrets_new();

    if (schedule_call->settings)
        secrets_add_marked(secrets, schedule_call->settings);
    secrets_mask_value(secrets, schedule_call->arena, &schedule_call->said);
    if (schedule_call->error)
        schedule_call->error =
            arena_str(schedule_call->arena,
                      secrets_masked(secrets, schedule_call->arena, str_from(schedule_call->error)))
                .p;
    secrets_free(secrets);
}

void schedule_admin_run(struct schedule_admin *schedule_admin, struct arena *arena,
                        struct schedule_admin_call *call, struct value *ret_result,
                        const char **ret_error)
{
    const struct row *row = find_schedule_row(call->function);
    const char *why;
    struct snapshot *settings =
        schedule_admin->options.settings(schedule_admin->options.self, &why);
    struct schedule_call schedule_call = { .schedule_admin = schedule_admin,
                                           .scheduler = schedule_admin->options.scheduler,
                                           .arena = arena,
                                           .call = call,
                                           .kind = row->kind,
                                           .settings = settings ? &settings->value : NULL };

    schedule_call.now = schedule_call_merge(&schedule_call, &schedule_admin->overlay);
    if (read_schedule_args(&schedule_call) == 0)
        (void)row->run(&schedule_call);
    schedule_call.said =
        value_copy(arena, &schedule_call.said); /* names of entries are those of the settings */
    mask_answer(&schedule_call);
    snapshot_drop(settings);
    *ret_result = schedule_call.said;
    *ret_error = schedule_call.error;
}

/* --- life --------------------------------------------------------------------------- */

struct schedule_admin *schedule_admin_open(const struct schedule_admin_options *options)
{
    struct schedule_admin *schedule_admin = mem_zalloc(sizeof(*schedule_admin));
    struct err err;

    schedule_admin->options = *options;
    if (overlay_load(&schedule_admin->arena, options->conf->data_dir, &schedule_admin->overlay,
                     &err) < 0)
        log_error("changes of schedule and beacons cannot be read and are ignored error=%s",
                  err.text);
    return schedule_admin;
}

void schedule_admin_free(struct schedule_admin *schedule_admin)
{
    if (!schedule_admin)
        return;
    arena_done(&schedule_admin->arena);
    free(schedule_admin);
}
