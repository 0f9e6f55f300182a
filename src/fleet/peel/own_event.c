#include "fleet/peel/own_event.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/state/secrets.h"
#include "core/sys/clock.h"
#include "fleet/wire/exec.h"

/* An event is read by masters, operators and everyone who reacts to it. */
static struct value mask_data(struct arena *arena, const struct own_event_wish *wish)
{
    struct value data = wish->data;
    struct secrets *secrets;

    if (data.kind != VALUE_MAP || data.map->count == 0)
        return value_null();
    if (!wish->settings)
        return data;
    secrets = secrets_new();
    secrets_add_marked(secrets, wish->settings);
    secrets_mask_value(secrets, arena, &data);
    secrets_free(secrets);
    return data;
}

int own_event_make(struct arena *arena, const struct own_event_wish *wish, struct own_event *ret,
                   struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);
    const int64_t now = clock_wall();
    const char *tag;

    if (event_tag_read(arena, str_from(wish->tag), &tag, err) < 0 ||
        event_print_subject(&subject, wish->kind, wish->peel, tag, err) < 0)
        return -1;
    if (wish->kind == SUBJECT_EVENT_BEACON)
        tag = arena_printf(arena, "beacon/%s/%s", wish->peel, tag);
    ksuid_new(now / CLOCK_SECOND, ret->id);
    ret->event = (struct event){
        .tag = tag,
        .data = mask_data(arena, wish),
        .ts = { now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) },
        .v = EXEC_PROTOCOL,
        .origin = "",
        .depth = wish->depth,
    };
    ret->subject = buf_copy(&subject, arena).p;
    ret->key = arena_printf(arena, "%s/%s", wish->peel, tag);
    return 0;
}

int own_event_encode(const struct own_event *own, struct buf *out, struct err *err)
{
    struct event event = own->event;

    event.id = own->id;
    return record_encode(out, &event_type, &event, err);
}
