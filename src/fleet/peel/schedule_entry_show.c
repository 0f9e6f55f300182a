/* Functions that show the schedule and the beacons, and the one that runs an entry. */
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/time_text.h"
#include "fleet/peel/scheduler.h"
#include "fleet/peel/schedule_call.h"
#include "fleet/peel/schedule_admin.h"
#include "core/sys/clock.h"

static const char *print_entry_time(struct arena *arena, int64_t wall)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    time_print(&text, (struct value_time){ wall / CLOCK_SECOND, 0 });
    return buf_copy(&text, arena).p;
}

static void put_entry_text(struct schedule_call *schedule_call, struct value_map *map,
                           const char *key, const char *text)
{
    value_map_set(schedule_call->arena, map, value_text(key), value_text(text));
}

static struct value describe_schedule_entry(struct schedule_call *schedule_call,
                                            const struct schedule_entry *schedule_entry)
{
    struct value_map *map = value_map_new(schedule_call->arena, 5);
    const char *mistakes = schedule_call_find_mistakes(schedule_call, schedule_entry);
    const int64_t next = schedule_call->kind == SCHEDULE_ENTRY_SCHEDULE
                             ? scheduler_find_next(schedule_call->scheduler, schedule_entry->name)
                             : 0;

    put_entry_text(schedule_call, map, "source", schedule_entry_source_text(schedule_entry));
    value_map_set(schedule_call->arena, map, value_text("enabled"),
                  value_bool(schedule_entry_is_enabled(schedule_entry)));
    if (next > 0)
        put_entry_text(schedule_call, map, "next", print_entry_time(schedule_call->arena, next));
    if (mistakes)
        put_entry_text(schedule_call, map, "error", mistakes);
    value_map_set(schedule_call->arena, map, value_text("entry"),
                  value_copy(schedule_call->arena, &schedule_entry->value));
    return value_map(map);
}

int schedule_entry_list(struct schedule_call *schedule_call)
{
    struct value_map *entries = value_map_new(schedule_call->arena, schedule_call->now.list.n);
    struct value_map *map = value_map_new(schedule_call->arena, 2);

    if (schedule_call_refuse_keys(schedule_call) < 0)
        return -1;
    VEC_EACH (&schedule_call->now.list, schedule_entry)
        value_map_set(schedule_call->arena, entries, value_str(schedule_entry->name),
                      describe_schedule_entry(schedule_call, schedule_entry));
    value_map_set(schedule_call->arena, map, value_text("enabled"),
                  value_bool(schedule_call->now.is_on));
    value_map_set(schedule_call->arena, map, value_text("entries"), value_map(entries));
    schedule_call->said = value_map(map);
    return 0;
}

int schedule_entry_show_enabled(struct schedule_call *schedule_call)
{
    const struct schedule_entry *schedule_entry =
        schedule_call->name.n > 0 ? schedule_call_need_entry(schedule_call) : NULL;

    if (schedule_call->error || schedule_call_refuse_keys(schedule_call) < 0)
        return -1;
    schedule_call->said = value_bool(
        schedule_call->now.is_on && (!schedule_entry || schedule_entry_is_enabled(schedule_entry)));
    return 0;
}

int schedule_entry_show_next(struct schedule_call *schedule_call)
{
    const struct schedule_entry *schedule_entry = schedule_call_need_entry(schedule_call);
    int64_t next;

    if (!schedule_entry || schedule_call_refuse_keys(schedule_call) < 0)
        return -1;
    next = scheduler_find_next(schedule_call->scheduler, schedule_entry->name);
    schedule_call->said =
        value_text(next > 0                    ? print_entry_time(schedule_call->arena, next)
                   : !schedule_call->now.is_on ? "never: the schedule is disabled"
                   : !schedule_entry_is_enabled(schedule_entry) ? "never: the entry is disabled"
                   : schedule_call_find_mistakes(schedule_call, schedule_entry)
                       ? "never: the entry has errors"
                       : "not known: counted from the end of the run under way");
    return 0;
}

/* --- running an entry --------------------------------------------------------------- */

static bool take_force(struct schedule_call *schedule_call)
{
    const struct value key = value_text("force");
    const struct value *force = value_map_find(schedule_call->given.map, &key);
    const bool is_forced =
        force && (value_is(force, VALUE_BOOL)
                      ? force->b
                      : value_is(force, VALUE_STR) && strcasecmp(force->s.p, "true") == 0);

    (void)value_map_remove(schedule_call->given.map, &key);
    return is_forced;
}

int schedule_entry_run(struct schedule_call *schedule_call)
{
    const struct schedule_entry *schedule_entry = schedule_call_need_entry(schedule_call);
    const bool is_forced = take_force(schedule_call);
    const char *jid;
    struct err err;

    if (!schedule_entry || schedule_call_refuse_keys(schedule_call) < 0)
        return -1;
    if (!schedule_entry_is_enabled(schedule_entry) && !is_forced)
        return schedule_call_fail(schedule_call,
                                  "'%s' is disabled; force=true runs it all the same",
                                  schedule_call->name.p);
    if (schedule_call->call->test) {
        schedule_call->said = value_text(
            arena_printf(schedule_call->arena, "would run '%s': %s", schedule_call->name.p,
                         schedule_call_print_entry(schedule_call, schedule_entry)));
        return 0;
    }
    if (scheduler_run(schedule_call->scheduler, schedule_call->name, &jid, &err) < 0)
        return schedule_call_fail(schedule_call, "%s", err.text);
    schedule_call->said = value_text(arena_printf(schedule_call->arena, "'%s' begun, its run is %s",
                                                  schedule_call->name.p, jid));
    return 0;
}
