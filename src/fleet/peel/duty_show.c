/* Functions that show the schedule and the beacons, and the one that runs an entry. */
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/time_text.h"
#include "fleet/peel/agenda.h"
#include "fleet/peel/deed.h"
#include "fleet/peel/routine.h"
#include "core/sys/clock.h"

static const char *print_time(struct arena *arena, int64_t wall)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    time_print(&text, (struct value_time){ wall / CLOCK_SECOND, 0 });
    return buf_copy(&text, arena).p;
}

static void put_text(struct deed *deed, struct value_map *map, const char *key, const char *text)
{
    value_map_set(deed->arena, map, value_text(key), value_text(text));
}

static struct value describe_duty(struct deed *deed, const struct duty *duty)
{
    struct value_map *map = value_map_new(deed->arena, 5);
    const char *mistakes = deed_find_mistakes(deed, duty);
    const int64_t next =
        deed->kind == DUTY_SCHEDULE ? agenda_find_next(deed->agenda, duty->name) : 0;

    put_text(deed, map, "source", duty_source_text(duty));
    value_map_set(deed->arena, map, value_text("enabled"), value_bool(duty_is_enabled(duty)));
    if (next > 0)
        put_text(deed, map, "next", print_time(deed->arena, next));
    if (mistakes)
        put_text(deed, map, "error", mistakes);
    value_map_set(deed->arena, map, value_text("entry"), value_copy(deed->arena, &duty->value));
    return value_map(map);
}

int duty_list(struct deed *deed)
{
    struct value_map *entries = value_map_new(deed->arena, deed->now.list.n);
    struct value_map *map = value_map_new(deed->arena, 2);

    if (deed_refuse_keys(deed) < 0)
        return -1;
    VEC_EACH (&deed->now.list, duty)
        value_map_set(deed->arena, entries, value_str(duty->name), describe_duty(deed, duty));
    value_map_set(deed->arena, map, value_text("enabled"), value_bool(deed->now.is_on));
    value_map_set(deed->arena, map, value_text("entries"), value_map(entries));
    deed->said = value_map(map);
    return 0;
}

int duty_show_enabled(struct deed *deed)
{
    const struct duty *duty = deed->name.n > 0 ? deed_need_duty(deed) : NULL;

    if (deed->error || deed_refuse_keys(deed) < 0)
        return -1;
    deed->said = value_bool(deed->now.is_on && (!duty || duty_is_enabled(duty)));
    return 0;
}

int duty_show_next(struct deed *deed)
{
    const struct duty *duty = deed_need_duty(deed);
    int64_t next;

    if (!duty || deed_refuse_keys(deed) < 0)
        return -1;
    next = agenda_find_next(deed->agenda, duty->name);
    deed->said = value_text(next > 0                 ? print_time(deed->arena, next)
                            : !deed->now.is_on       ? "never: the schedule is disabled"
                            : !duty_is_enabled(duty) ? "never: the entry is disabled"
                            : deed_find_mistakes(deed, duty)
                                ? "never: the entry has errors"
                                : "not known: counted from the end of the run under way");
    return 0;
}

/* --- running an entry --------------------------------------------------------------- */

static bool take_force(struct deed *deed)
{
    const struct value key = value_text("force");
    const struct value *force = value_map_find(deed->given.map, &key);
    const bool is_forced =
        force && (value_is(force, VALUE_BOOL)
                      ? force->b
                      : value_is(force, VALUE_STR) && strcasecmp(force->s.p, "true") == 0);

    (void)value_map_remove(deed->given.map, &key);
    return is_forced;
}

int duty_run(struct deed *deed)
{
    const struct duty *duty = deed_need_duty(deed);
    const bool is_forced = take_force(deed);
    const char *jid;
    struct err err;

    if (!duty || deed_refuse_keys(deed) < 0)
        return -1;
    if (!duty_is_enabled(duty) && !is_forced)
        return deed_fail(deed, "'%s' is disabled; force=true runs it all the same", deed->name.p);
    if (deed->call->test) {
        deed->said = value_text(arena_printf(deed->arena, "would run '%s': %s", deed->name.p,
                                             deed_print_entry(deed, duty)));
        return 0;
    }
    if (agenda_run(deed->agenda, deed->name, &jid, &err) < 0)
        return deed_fail(deed, "%s", err.text);
    deed->said =
        value_text(arena_printf(deed->arena, "'%s' begun, its run is %s", deed->name.p, jid));
    return 0;
}
