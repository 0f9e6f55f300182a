#include "fleet/peel/routine.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/beacons/section.h"
#include "core/data/params.h"
#include "states/local/wish.h"
#include "fleet/peel/agenda.h"
#include "fleet/peel/conf.h"
#include "fleet/peel/deed.h"
#include "fleet/peel/lookout.h"
#include "fleet/peel/snapshot.h"
#include "states/state/secrets.h"

struct routine {
    struct routine_options options;
    struct arena arena; /* of the overlay */
    struct overlay overlay;
};

/* --- what counts -------------------------------------------------------------------- */

static struct duties merge_duties(const struct routine *routine, struct arena *arena,
                                  enum duty_kind kind, const struct overlay *overlay,
                                  const struct value *settings)
{
    const struct peel_conf *conf = routine->options.conf;

    return duties_merge(arena, kind,
                        &(struct duty_sources){
                            .file = kind == DUTY_SCHEDULE ? conf->schedule : conf->beacons,
                            .settings = settings ? value_get(settings, duty_words[kind].key) : NULL,
                            .overlay = &overlay->parts[kind] });
}

void routine_read(struct routine *routine)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *why;
    struct snapshot *settings = routine->options.settings(routine->options.self, &why);
    struct duties all[DUTY_KINDS];

    for (size_t i = 0; i < DUTY_KINDS; i++) {
        all[i] = merge_duties(routine, &arena, (enum duty_kind)i, &routine->overlay,
                              settings ? &settings->value : NULL);
        if (all[i].left_out > 0)
            log_error("%s: more than %d, the others are left out count=%zu", duty_words[i].key,
                      DUTIES_MAX, all[i].left_out);
    }
    agenda_read(routine->options.agenda, &all[DUTY_SCHEDULE]);
    lookout_read(routine->options.lookout, &all[DUTY_BEACON]);
    snapshot_drop(settings);
}

/* --- calls -------------------------------------------------------------------------- */

struct overlay deed_begin_change(struct deed *deed)
{
    return overlay_copy(deed->arena, &deed->routine->overlay);
}

struct duties deed_merge(struct deed *deed, const struct overlay *overlay)
{
    return merge_duties(deed->routine, deed->arena, deed->kind, overlay, deed->settings);
}

int deed_adopt(struct deed *deed, const struct overlay *wanted)
{
    struct routine *routine = deed->routine;
    struct arena arena = ARENA_INIT;
    struct overlay copy;
    struct err err;

    if (overlay_save(wanted, routine->options.conf->data_dir, &err) < 0)
        return deed_fail(deed, "nothing was changed: %s", err.text);
    copy = overlay_copy(&arena, wanted);
    arena_done(&routine->arena);
    routine->arena = arena;
    routine->overlay = copy;
    log_info("%s changed function=%s name=%s jid=%s", duty_words[deed->kind].key,
             deed->call->function, deed->name.p, deed->call->jid);
    routine_read(routine);
    return 0;
}

/* --- dispatch ----------------------------------------------------------------------- */

/* clang-format off */
static const struct row {
    const char *function;
    enum duty_kind kind;
    int (*run)(struct deed *deed);
} rows[] = {
    { "schedule.list",                DUTY_SCHEDULE, duty_list },
    { "schedule.is_enabled",          DUTY_SCHEDULE, duty_show_enabled },
    { "schedule.show_next_fire_time", DUTY_SCHEDULE, duty_show_next },
    { "schedule.add",                 DUTY_SCHEDULE, duty_add },
    { "schedule.modify",              DUTY_SCHEDULE, duty_modify },
    { "schedule.delete",              DUTY_SCHEDULE, duty_delete },
    { "schedule.enable_job",          DUTY_SCHEDULE, duty_enable },
    { "schedule.disable_job",         DUTY_SCHEDULE, duty_disable },
    { "schedule.enable",              DUTY_SCHEDULE, duty_enable_all },
    { "schedule.disable",             DUTY_SCHEDULE, duty_disable_all },
    { "schedule.run_job",             DUTY_SCHEDULE, duty_run },
    { "beacons.list",                 DUTY_BEACON,   duty_list },
    { "beacons.add",                  DUTY_BEACON,   duty_add },
    { "beacons.modify",               DUTY_BEACON,   duty_modify },
    { "beacons.delete",               DUTY_BEACON,   duty_delete },
    { "beacons.enable_beacon",        DUTY_BEACON,   duty_enable },
    { "beacons.disable_beacon",       DUTY_BEACON,   duty_disable },
    { "beacons.enable",               DUTY_BEACON,   duty_enable_all },
    { "beacons.disable",              DUTY_BEACON,   duty_disable_all },
};
/* clang-format on */

static const struct row *find_row(const char *function)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].function, function) == 0)
            return &rows[i];
    return NULL;
}

bool routine_has(const char *function)
{
    return find_row(function) != NULL;
}

/* The name is the positional argument, or a pair. */
static struct str take_name(struct deed *deed)
{
    const struct value key = value_text("name");
    const char *id = deed->call->id;
    const char *name = value_get_text(&deed->given, "name");

    if (id[0] && strcmp(id, "ad-hoc") != 0)
        return str_from(id);
    if (name)
        (void)value_map_remove(deed->given.map, &key);
    return str_from(name ? name : "");
}

/* "enabled=false" of a command line is text. */
static void read_switch(struct deed *deed)
{
    struct {
        bool enabled;
    } args = { 0 };
    static const struct param row =
        PARAM("enabled", BOOL, __typeof__(args), enabled, "whether it counts");
    const struct params_policy policy = { 0 };
    struct diags ignored = DIAGS_INIT(deed->arena);
    const struct value *given = value_get(&deed->given, "enabled");

    if (given && params_decode_one(deed->arena, &row, &policy, given, &args, &ignored) == 0)
        value_map_set(deed->arena, deed->given.map, value_text("enabled"),
                      value_bool(args.enabled));
}

/* Salt's name for a section that is given whole. */
static void read_beacon_data(struct deed *deed)
{
    const struct value key = value_text("beacon_data");
    const struct value *data = value_map_find(deed->given.map, &key);
    struct diags ignored = DIAGS_INIT(deed->arena);
    struct value map;

    if (deed->kind == DUTY_BEACON && data && section_map(deed->arena, data, &map, &ignored) == 0 &&
        map.kind == VALUE_MAP)
        deed->given = value_copy(deed->arena, &map);
}

static int read_arguments(struct deed *deed)
{
    struct diags diags = DIAGS_INIT(deed->arena);
    struct err err;

    deed->given = deed->call->args.kind == VALUE_MAP ? value_copy(deed->arena, &deed->call->args)
                                                     : value_map(value_map_new(deed->arena, 0));
    if (wish_take_test(&deed->given, &deed->call->test, &diags) < 0) {
        (void)diags_to_err(&diags, &err);
        return deed_fail(deed, "%s", err.text);
    }
    for (size_t i = 0; i < deed->given.map->count; i++)
        if (deed->given.map->pairs[i].key.kind != VALUE_STR)
            return deed_fail(deed, "the name of an argument must be text");
    deed->name = take_name(deed);
    read_beacon_data(deed);
    read_switch(deed);
    return 0;
}

/* Settings may hold secrets, and entries are made of settings. */
static void mask_answer(struct deed *deed)
{
    struct secrets *secrets = secrets_new();

    if (deed->settings)
        secrets_add_marked(secrets, deed->settings);
    secrets_mask_value(secrets, deed->arena, &deed->said);
    if (deed->error)
        deed->error =
            arena_str(deed->arena, secrets_masked(secrets, deed->arena, str_from(deed->error))).p;
    secrets_free(secrets);
}

void routine_run(struct routine *routine, struct arena *arena, struct routine_call *call,
                 struct value *ret_result, const char **ret_error)
{
    const struct row *row = find_row(call->function);
    const char *why;
    struct snapshot *settings = routine->options.settings(routine->options.self, &why);
    struct deed deed = { .routine = routine,
                         .agenda = routine->options.agenda,
                         .arena = arena,
                         .call = call,
                         .kind = row->kind,
                         .settings = settings ? &settings->value : NULL };

    deed.now = deed_merge(&deed, &routine->overlay);
    if (read_arguments(&deed) == 0)
        (void)row->run(&deed);
    deed.said = value_copy(arena, &deed.said); /* names of entries are those of the settings */
    mask_answer(&deed);
    snapshot_drop(settings);
    *ret_result = deed.said;
    *ret_error = deed.error;
}

/* --- life --------------------------------------------------------------------------- */

struct routine *routine_open(const struct routine_options *options)
{
    struct routine *routine = mem_zalloc(sizeof(*routine));
    struct err err;

    routine->options = *options;
    if (overlay_load(&routine->arena, options->conf->data_dir, &routine->overlay, &err) < 0)
        log_error("changes of schedule and beacons cannot be read and are ignored error=%s",
                  err.text);
    return routine;
}

void routine_free(struct routine *routine)
{
    if (!routine)
        return;
    arena_done(&routine->arena);
    free(routine);
}
