/* Functions that change the schedule and the beacons. */
#include "core/base/arena.h"
#include "fleet/peel/schedule_call.h"
#include "fleet/peel/schedule_admin.h"

/* `verbs`: "would add" and "added". What is changed must be right
 * afterwards; what its source says alone need not be. */
static int change_overlay(struct schedule_call *schedule_call, const struct overlay *wanted,
                          const char *const verbs[2])
{
    const struct schedule_entry *before =
        schedule_entries_find(&schedule_call->now, schedule_call->name);
    const struct schedule_entries then = schedule_call_merge(schedule_call, wanted);
    const struct schedule_entry *after = schedule_entries_find(&then, schedule_call->name);
    const bool is_ours = overlay_find(&wanted->parts[schedule_call->kind], schedule_call->name);
    const char *mistakes =
        after && is_ours ? schedule_call_find_mistakes(schedule_call, after) : NULL;
    const bool is_both = before && after;

    if (mistakes)
        return schedule_call_fail(schedule_call, "%s '%s' is not valid:\n%s",
                                  schedule_entry_words[schedule_call->kind].one,
                                  schedule_call->name.p, mistakes);
    schedule_call->said = value_text(arena_printf(
        schedule_call->arena, "%s '%s': %s%s%s", verbs[!schedule_call->call->test],
        schedule_call->name.p, schedule_call_print_entry(schedule_call, before ? before : after),
        is_both ? " -> " : "", is_both ? schedule_call_print_entry(schedule_call, after) : ""));
    return schedule_call->call->test ? 0 : schedule_call_adopt(schedule_call, wanted);
}

static int say_nothing_changed(struct schedule_call *schedule_call, const char *text)
{
    schedule_call->said = value_text(text);
    return 0;
}

int schedule_entry_add(struct schedule_call *schedule_call)
{
    static const char *const verbs[] = { "would add", "added" };
    struct overlay wanted = schedule_call_begin_change(schedule_call);
    struct overlay_entry *entry;

    if (schedule_call_need_name(schedule_call) < 0)
        return -1;
    if (schedule_entries_find(&schedule_call->now, schedule_call->name))
        return schedule_call_fail(
            schedule_call, "there is %s '%s' already; %s.modify changes it",
            schedule_call->kind == SCHEDULE_ENTRY_SCHEDULE ? "an entry" : "a beacon",
            schedule_call->name.p, schedule_entry_words[schedule_call->kind].key);
    entry =
        overlay_get(schedule_call->arena, &wanted.parts[schedule_call->kind], schedule_call->name);
    entry->is_whole = true;
    entry->keys = schedule_call->given;
    return change_overlay(schedule_call, &wanted, verbs);
}

/* One of the two is given, so the other no longer counts. */
static void replace_time(struct schedule_call *schedule_call, struct overlay_entry *entry)
{
    static const char *const times[] = { "interval", "cron" };

    for (size_t i = 0; i < 2 && schedule_call->kind == SCHEDULE_ENTRY_SCHEDULE; i++)
        if (value_get(&schedule_call->given, times[i]) &&
            !value_get(&schedule_call->given, times[1 - i]))
            value_map_set(schedule_call->arena, entry->keys.map, value_text(times[1 - i]),
                          value_null());
}

/* An entry of our own has no use for keys that take away. */
static void drop_nulls(struct overlay_entry *entry)
{
    for (size_t i = entry->keys.map->count; entry->is_whole && i-- > 0;)
        if (entry->keys.map->pairs[i].value.kind == VALUE_NULL) {
            const struct value key = entry->keys.map->pairs[i].key;

            (void)value_map_remove(entry->keys.map, &key);
        }
}

int schedule_entry_modify(struct schedule_call *schedule_call)
{
    static const char *const verbs[] = { "would change", "changed" };
    struct overlay wanted = schedule_call_begin_change(schedule_call);
    struct overlay_entry *entry;

    if (!schedule_call_need_entry(schedule_call))
        return -1;
    if (schedule_call->given.map->count == 0)
        return schedule_call_fail(schedule_call,
                                  "%s requires the keys to change, as in interval=1h",
                                  schedule_call->call->function);
    entry =
        overlay_get(schedule_call->arena, &wanted.parts[schedule_call->kind], schedule_call->name);
    for (size_t i = 0; i < schedule_call->given.map->count; i++)
        value_map_set(schedule_call->arena, entry->keys.map, schedule_call->given.map->pairs[i].key,
                      schedule_call->given.map->pairs[i].value);
    replace_time(schedule_call, entry);
    drop_nulls(entry);
    return change_overlay(schedule_call, &wanted, verbs);
}

int schedule_entry_delete(struct schedule_call *schedule_call)
{
    static const char *const verbs[] = { "would delete", "deleted" }, *const undo[] = {
        "would undo the changes of", "undid the changes of"
    };
    struct overlay wanted = schedule_call_begin_change(schedule_call);
    struct overlay_part *part = &wanted.parts[schedule_call->kind];
    struct overlay_entry *entry = overlay_find(part, schedule_call->name);
    bool is_whole;

    if (schedule_call_need_name(schedule_call) < 0 || schedule_call_refuse_keys(schedule_call) < 0)
        return -1;
    if (!entry) {
        const struct schedule_entry *schedule_entry = schedule_call_need_entry(schedule_call);

        return schedule_entry
                   ? schedule_call_fail(
                         schedule_call,
                         "'%s' is from the %s: delete it there, or use %s.%s to stop it on this "
                         "peel",
                         schedule_call->name.p, schedule_entry_source_text(schedule_entry),
                         schedule_entry_words[schedule_call->kind].key,
                         schedule_call->kind == SCHEDULE_ENTRY_SCHEDULE ? "disable_job"
                                                                        : "disable_beacon")
                   : -1;
    }
    is_whole = entry->is_whole;
    overlay_remove(part, entry);
    return change_overlay(schedule_call, &wanted, is_whole ? verbs : undo);
}

/* --- switches ----------------------------------------------------------------------- */

/* A change that says what the source says is none. */
static void set_enabled(struct schedule_call *schedule_call, struct overlay *wanted, bool on)
{
    const struct value key = value_text("enabled");
    struct overlay_part *part = &wanted->parts[schedule_call->kind];
    struct overlay_entry *entry = overlay_get(schedule_call->arena, part, schedule_call->name);
    const struct schedule_entry *schedule_entry;
    struct schedule_entries then;

    (void)value_map_remove(entry->keys.map, &key);
    then = schedule_call_merge(schedule_call, wanted);
    schedule_entry = schedule_entries_find(&then, schedule_call->name);
    if (schedule_entry && schedule_entry_is_enabled(schedule_entry) != on)
        value_map_set(schedule_call->arena, entry->keys.map, key, value_bool(on));
    if (entry->keys.map->count == 0 && !entry->is_whole)
        overlay_remove(part, entry);
}

static int switch_schedule_entry(struct schedule_call *schedule_call, bool on)
{
    static const char *const verbs[][2] = { { "would disable", "disabled" },
                                            { "would enable", "enabled" } };
    struct overlay wanted = schedule_call_begin_change(schedule_call);
    const struct schedule_entry *schedule_entry = schedule_call_need_entry(schedule_call);

    if (!schedule_entry || schedule_call_refuse_keys(schedule_call) < 0)
        return -1;
    if (schedule_entry_is_enabled(schedule_entry) == on)
        return say_nothing_changed(schedule_call,
                                   arena_printf(schedule_call->arena, "'%s' is %s already",
                                                schedule_call->name.p, verbs[on][1]));
    set_enabled(schedule_call, &wanted, on);
    return change_overlay(schedule_call, &wanted, verbs[on]);
}

int schedule_entry_enable(struct schedule_call *schedule_call)
{
    return switch_schedule_entry(schedule_call, true);
}

int schedule_entry_disable(struct schedule_call *schedule_call)
{
    return switch_schedule_entry(schedule_call, false);
}

static int switch_all(struct schedule_call *schedule_call, bool on)
{
    const char *word = on ? "enabled" : "disabled";
    struct overlay wanted = schedule_call_begin_change(schedule_call);
    const char *all = schedule_entry_words[schedule_call->kind].all;

    if (schedule_call_refuse_keys(schedule_call) < 0)
        return -1;
    if (schedule_call->name.n > 0)
        return schedule_call_fail(
            schedule_call, "%s is about all of them and takes no name: use %s%s",
            schedule_call->call->function, schedule_call->call->function,
            schedule_call->kind == SCHEDULE_ENTRY_SCHEDULE ? "_job" : "_beacon");
    if (schedule_call->now.is_on == on)
        return say_nothing_changed(schedule_call,
                                   arena_printf(schedule_call->arena, "%s: %s already", all, word));
    wanted.parts[schedule_call->kind].is_off = !on;
    schedule_call->said = value_text(arena_printf(
        schedule_call->arena, "%s: %s%s", all, schedule_call->call->test ? "would be " : "", word));
    return schedule_call->call->test ? 0 : schedule_call_adopt(schedule_call, &wanted);
}

int schedule_entry_enable_all(struct schedule_call *schedule_call)
{
    return switch_all(schedule_call, true);
}

int schedule_entry_disable_all(struct schedule_call *schedule_call)
{
    return switch_all(schedule_call, false);
}
