#include "fleet/peel/deed.h"

#include <stdarg.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/suggest.h"
#include "core/base/utf8.h"
#include "fleet/beacons/section.h"
#include "core/data/json.h"
#include "fleet/peel/agenda.h"
#include "fleet/peel/routine.h"

/* Of the text of mistakes, and of an entry in a message. */
#define TEXT_MAX ((size_t)64 << 10)

const struct duty_words duty_words[] = {
    [DUTY_SCHEDULE] = { "schedule", "entry of the schedule", "the schedule" },
    [DUTY_BEACON] = { "beacons", "beacon", "beacons" },
};

int deed_fail(struct deed *deed, const char *fmt, ...)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    va_list args;

    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    deed->error = buf_copy(&text, deed->arena).p;
    return -1;
}

static int check_beacon(struct deed *deed, struct str name, const struct value *section,
                        struct diags *diags)
{
    const struct beacon_kind *kind = beacon_kind_find(name.p);
    struct suggest near;
    struct str best;

    if (kind)
        return section_read(deed->arena, kind, section, diags) ? 0 : -1;
    suggest_init(&near, name);
    for (const struct beacon_kind *const *one = beacon_kind_table; *one; one++)
        suggest_offer(&near, str_from((*one)->name));
    best = suggest_best(&near);
    (void)diag_add(diags, (struct place){ 0 }, "there is no beacon '%s'", name.p);
    if (best.p)
        diag_hint(diags, "did you mean '%.*s'?", STR_ARG(best));
    return -1;
}

static int check_duty(struct deed *deed, const struct duty *duty, struct diags *diags)
{
    return deed->kind == DUTY_SCHEDULE ? agenda_check(deed->arena, &duty->value, diags)
                                       : check_beacon(deed, duty->name, &duty->value, diags);
}

const char *deed_find_mistakes(struct deed *deed, const struct duty *duty)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    struct diags diags = DIAGS_INIT(deed->arena);

    if (check_duty(deed, duty, &diags) == 0)
        return NULL;
    diags_print(&diags, &text);
    return arena_str(deed->arena, str_trim_right(buf_view(&text))).p;
}

int deed_need_name(struct deed *deed)
{
    if (deed->name.n == 0)
        return deed_fail(deed, "%s requires the name of a %s", deed->call->function,
                         deed->kind == DUTY_SCHEDULE ? "schedule entry" : "beacon");
    if (deed->name.n > OVERLAY_NAME_MAX || !utf8_is_valid(deed->name))
        return deed_fail(deed, "a name has at most %d bytes of UTF-8", OVERLAY_NAME_MAX);
    return 0;
}

const struct duty *deed_need_duty(struct deed *deed)
{
    const struct duty *duty;

    if (deed_need_name(deed) < 0)
        return NULL;
    duty = duties_find(&deed->now, deed->name);
    if (!duty)
        (void)deed_fail(deed, "there is no %s '%s'; %s.list shows all", duty_words[deed->kind].one,
                        deed->name.p, duty_words[deed->kind].key);
    return duty;
}

int deed_refuse_keys(struct deed *deed)
{
    if (deed->given.map->count == 0)
        return 0;
    return deed_fail(deed, "%s has no argument '%s'", deed->call->function,
                     deed->given.map->pairs[0].key.s.p);
}

const char *deed_print_entry(struct deed *deed, const struct duty *duty)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    struct err err;

    if (!duty || json_print(&text, &duty->value, JSON_STYLE_COMPACT, &err) < 0)
        return "{...}";
    return buf_copy(&text, deed->arena).p;
}
