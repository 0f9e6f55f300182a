/* Functions that change the schedule and the beacons. */
#include "core/base/arena.h"
#include "fleet/peel/deed.h"
#include "fleet/peel/routine.h"

/* `verbs`: "would add" and "added". What is changed must be right
 * afterwards; what its source says alone need not be. */
static int change_overlay(struct deed *deed, const struct overlay *wanted,
                          const char *const verbs[2])
{
    const struct duty *before = duties_find(&deed->now, deed->name);
    const struct duties then = deed_merge(deed, wanted);
    const struct duty *after = duties_find(&then, deed->name);
    const bool is_ours = overlay_find(&wanted->parts[deed->kind], deed->name);
    const char *mistakes = after && is_ours ? deed_find_mistakes(deed, after) : NULL;
    const bool is_both = before && after;

    if (mistakes)
        return deed_fail(deed, "%s '%s' is not valid:\n%s", duty_words[deed->kind].one,
                         deed->name.p, mistakes);
    deed->said = value_text(
        arena_printf(deed->arena, "%s '%s': %s%s%s", verbs[!deed->call->test], deed->name.p,
                     deed_print_entry(deed, before ? before : after), is_both ? " -> " : "",
                     is_both ? deed_print_entry(deed, after) : ""));
    return deed->call->test ? 0 : deed_adopt(deed, wanted);
}

static int say_nothing_changed(struct deed *deed, const char *text)
{
    deed->said = value_text(text);
    return 0;
}

int duty_add(struct deed *deed)
{
    static const char *const verbs[] = { "would add", "added" };
    struct overlay wanted = deed_begin_change(deed);
    struct overlay_entry *entry;

    if (deed_need_name(deed) < 0)
        return -1;
    if (duties_find(&deed->now, deed->name))
        return deed_fail(deed, "there is %s '%s' already; %s.modify changes it",
                         deed->kind == DUTY_SCHEDULE ? "an entry" : "a beacon", deed->name.p,
                         duty_words[deed->kind].key);
    entry = overlay_get(deed->arena, &wanted.parts[deed->kind], deed->name);
    entry->is_whole = true;
    entry->keys = deed->given;
    return change_overlay(deed, &wanted, verbs);
}

/* One of the two is given, so the other no longer counts. */
static void replace_time(struct deed *deed, struct overlay_entry *entry)
{
    static const char *const times[] = { "interval", "cron" };

    for (size_t i = 0; i < 2 && deed->kind == DUTY_SCHEDULE; i++)
        if (value_get(&deed->given, times[i]) && !value_get(&deed->given, times[1 - i]))
            value_map_set(deed->arena, entry->keys.map, value_text(times[1 - i]), value_null());
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

int duty_modify(struct deed *deed)
{
    static const char *const verbs[] = { "would change", "changed" };
    struct overlay wanted = deed_begin_change(deed);
    struct overlay_entry *entry;

    if (!deed_need_duty(deed))
        return -1;
    if (deed->given.map->count == 0)
        return deed_fail(deed, "%s requires the keys to change, as in interval=1h",
                         deed->call->function);
    entry = overlay_get(deed->arena, &wanted.parts[deed->kind], deed->name);
    for (size_t i = 0; i < deed->given.map->count; i++)
        value_map_set(deed->arena, entry->keys.map, deed->given.map->pairs[i].key,
                      deed->given.map->pairs[i].value);
    replace_time(deed, entry);
    drop_nulls(entry);
    return change_overlay(deed, &wanted, verbs);
}

int duty_delete(struct deed *deed)
{
    static const char *const verbs[] = { "would delete", "deleted" }, *const undo[] = {
        "would undo the changes of", "undid the changes of"
    };
    struct overlay wanted = deed_begin_change(deed);
    struct overlay_part *part = &wanted.parts[deed->kind];
    struct overlay_entry *entry = overlay_find(part, deed->name);
    bool is_whole;

    if (deed_need_name(deed) < 0 || deed_refuse_keys(deed) < 0)
        return -1;
    if (!entry) {
        const struct duty *duty = deed_need_duty(deed);

        return duty ? deed_fail(
                          deed,
                          "'%s' is from the %s: delete it there, or use %s.%s to stop it on this "
                          "peel",
                          deed->name.p, duty_source_text(duty), duty_words[deed->kind].key,
                          deed->kind == DUTY_SCHEDULE ? "disable_job" : "disable_beacon")
                    : -1;
    }
    is_whole = entry->is_whole;
    overlay_remove(part, entry);
    return change_overlay(deed, &wanted, is_whole ? verbs : undo);
}

/* --- switches ----------------------------------------------------------------------- */

/* A change that says what the source says is none. */
static void set_enabled(struct deed *deed, struct overlay *wanted, bool on)
{
    const struct value key = value_text("enabled");
    struct overlay_part *part = &wanted->parts[deed->kind];
    struct overlay_entry *entry = overlay_get(deed->arena, part, deed->name);
    const struct duty *duty;
    struct duties then;

    (void)value_map_remove(entry->keys.map, &key);
    then = deed_merge(deed, wanted);
    duty = duties_find(&then, deed->name);
    if (duty && duty_is_enabled(duty) != on)
        value_map_set(deed->arena, entry->keys.map, key, value_bool(on));
    if (entry->keys.map->count == 0 && !entry->is_whole)
        overlay_remove(part, entry);
}

static int switch_duty(struct deed *deed, bool on)
{
    static const char *const verbs[][2] = { { "would disable", "disabled" },
                                            { "would enable", "enabled" } };
    struct overlay wanted = deed_begin_change(deed);
    const struct duty *duty = deed_need_duty(deed);

    if (!duty || deed_refuse_keys(deed) < 0)
        return -1;
    if (duty_is_enabled(duty) == on)
        return say_nothing_changed(
            deed, arena_printf(deed->arena, "'%s' is %s already", deed->name.p, verbs[on][1]));
    set_enabled(deed, &wanted, on);
    return change_overlay(deed, &wanted, verbs[on]);
}

int duty_enable(struct deed *deed)
{
    return switch_duty(deed, true);
}

int duty_disable(struct deed *deed)
{
    return switch_duty(deed, false);
}

static int switch_all(struct deed *deed, bool on)
{
    const char *word = on ? "enabled" : "disabled";
    struct overlay wanted = deed_begin_change(deed);
    const char *all = duty_words[deed->kind].all;

    if (deed_refuse_keys(deed) < 0)
        return -1;
    if (deed->name.n > 0)
        return deed_fail(deed, "%s is about all of them and takes no name: use %s%s",
                         deed->call->function, deed->call->function,
                         deed->kind == DUTY_SCHEDULE ? "_job" : "_beacon");
    if (deed->now.is_on == on)
        return say_nothing_changed(deed, arena_printf(deed->arena, "%s: %s already", all, word));
    wanted.parts[deed->kind].is_off = !on;
    deed->said = value_text(
        arena_printf(deed->arena, "%s: %s%s", all, deed->call->test ? "would be " : "", word));
    return deed->call->test ? 0 : deed_adopt(deed, &wanted);
}

int duty_enable_all(struct deed *deed)
{
    return switch_all(deed, true);
}

int duty_disable_all(struct deed *deed)
{
    return switch_all(deed, false);
}
