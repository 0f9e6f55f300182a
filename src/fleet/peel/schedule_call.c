#include "fleet/peel/schedule_call.h"

#include <stdarg.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/suggest.h"
#include "core/base/utf8.h"
#include "fleet/beacons/section.h"
#include "core/data/json.h"
#include "fleet/peel/scheduler.h"
#include "fleet/peel/schedule_admin.h"

/* Bytes of the text of mistakes, and of an entry in a message. */
#define TEXT_MAX ((size_t)64 << 10)

const struct schedule_entry_words schedule_entry_words[] = {
    [SCHEDULE_ENTRY_SCHEDULE] = { "schedule", "entry of the schedule", "the schedule" },
    [SCHEDULE_ENTRY_BEACON] = { "beacons", "beacon", "beacons" },
};

int schedule_call_fail(struct schedule_call *schedule_call, const char *fmt, ...)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    va_list args;

    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    schedule_call->error = buf_copy(&text, schedule_call->arena).p;
    return -1;
}

static int check_beacon(struct schedule_call *schedule_call, struct str name,
                        const struct value *section, struct diags *diags)
{
    const struct beacon_kind *kind = beacon_kind_find(name.p);
    struct suggest near;
    struct str best;

    if (kind)
        return section_read(schedule_call->arena, kind, section, diags) ? 0 : -1;
    suggest_init(&near, name);
    for (const struct beacon_kind *const *one = beacon_kind_table; *one; one++)
        suggest_offer(&near, str_from((*one)->name));
    best = suggest_best(&near);
    (void)diag_add(diags, (struct place){ 0 }, "there is no beacon '%s'", name.p);
    if (best.p)
        diag_hint(diags, "did you mean '%.*s'?", STR_ARG(best));
    return -1;
}

static int check_schedule_entry(struct schedule_call *schedule_call,
                                const struct schedule_entry *schedule_entry, struct diags *diags)
{
    return schedule_call->kind == SCHEDULE_ENTRY_SCHEDULE
               ? scheduler_check(schedule_call->arena, &schedule_entry->value, diags)
               : check_beacon(schedule_call, schedule_entry->name, &schedule_entry->value, diags);
}

const char *schedule_call_find_mistakes(struct schedule_call *schedule_call,
                                        const struct schedule_entry *schedule_entry)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    struct diags diags = DIAGS_INIT(schedule_call->arena);

    if (check_schedule_entry(schedule_call, schedule_entry, &diags) == 0)
        return NULL;
    diags_print(&diags, &text);
    return arena_str(schedule_call->arena, str_trim_right(buf_view(&text))).p;
}

int schedule_call_need_name(struct schedule_call *schedule_call)
{
    if (schedule_call->name.n == 0)
        return schedule_call_fail(
            schedule_call, "%s requires the name of a %s", schedule_call->call->function,
            schedule_call->kind == SCHEDULE_ENTRY_SCHEDULE ? "schedule entry" : "beacon");
    if (schedule_call->name.n > OVERLAY_NAME_MAX || !utf8_is_valid(schedule_call->name))
        return schedule_call_fail(schedule_call, "a name has at most %d bytes of UTF-8",
                                  OVERLAY_NAME_MAX);
    return 0;
}

const struct schedule_entry *schedule_call_need_entry(struct schedule_call *schedule_call)
{
    const struct schedule_entry *schedule_entry;

    if (schedule_call_need_name(schedule_call) < 0)
        return NULL;
    schedule_entry = schedule_entries_find(&schedule_call->now, schedule_call->name);
    if (!schedule_entry)
        (void)schedule_call_fail(schedule_call, "there is no %s '%s'; %s.list shows all",
                                 schedule_entry_words[schedule_call->kind].one,
                                 schedule_call->name.p,
                                 schedule_entry_words[schedule_call->kind].key);
    return schedule_entry;
}

int schedule_call_refuse_keys(struct schedule_call *schedule_call)
{
    if (schedule_call->given.map->count == 0)
        return 0;
    return schedule_call_fail(schedule_call, "%s has no argument '%s'",
                              schedule_call->call->function,
                              schedule_call->given.map->pairs[0].key.s.p);
}

const char *schedule_call_print_entry(struct schedule_call *schedule_call,
                                      const struct schedule_entry *schedule_entry)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    struct err err;

    if (!schedule_entry || json_print(&text, &schedule_entry->value, JSON_STYLE_COMPACT, &err) < 0)
        return "{...}";
    return buf_copy(&text, schedule_call->arena).p;
}
