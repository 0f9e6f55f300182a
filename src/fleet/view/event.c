#include "fleet/view/event.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/data/value.h"
#include "core/sys/clock.h"
#include "fleet/wire/exec.h"

static void put_event_view_text(struct arena *arena, struct value_map *map, const char *key,
                                const char *text)
{
    value_map_set(arena, map, value_text(key), value_text(text));
}

int fleet_event_make(struct arena *arena, struct str tag, struct value data, int64_t now,
                     struct fleet_event *ret, struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(BUF_NO_LIMIT);

    *ret = (struct fleet_event){ 0 };
    ksuid_new(now / CLOCK_SECOND, ret->id);
    ret->event = (struct event){
        .id = ret->id,
        .data = data,
        .ts = { now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) },
        .v = EXEC_PROTOCOL,
        .origin = "",
    };
    if (event_tag_read(arena, tag, &ret->event.tag, err) < 0 ||
        event_print_subject(&subject, SUBJECT_EVENT_ADMIN, NULL, ret->event.tag, err) < 0)
        return -1;
    ret->subject = buf_copy(&subject, arena).p;
    ret->key = arena_printf(arena, EVENT_ORIGIN_ADMIN "/%s", ret->event.tag);
    return 0;
}

struct value fleet_event_receipt(struct arena *arena, const struct fleet_event *sent)
{
    struct value_map *map = value_map_new(arena, 4);

    put_event_view_text(arena, map, "id", sent->id);
    put_event_view_text(arena, map, "tag", sent->event.tag);
    put_event_view_text(arena, map, "match_key", sent->key);
    put_event_view_text(arena, map, "subject", sent->subject);
    return value_map(map);
}
