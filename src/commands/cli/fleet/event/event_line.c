#include "commands/cli/fleet/event/event_line.h"

#include "commands/cli/shared/local_time.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/glob.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "core/data/yaml_dump.h"
#include "fleet/nats/conn.h"
#include "fleet/wire/event.h"

#define KEY_WIDTH 44
/* "2026-11-19 " */
#define DATE_WIDTH 11

static void print_event_data(struct buf *out, const struct value *data)
{
    struct err err;

    if (data->kind == VALUE_MAP && data->map->count > 0)
        (void)json_print(out, data, JSON_STYLE_TEXT, &err); /* what has no JSON is left out */
}

static void print_event_line(struct arena *arena, struct buf *out, bool has_date,
                             const struct event_source *source, const struct event *event)
{
    const struct str time = str_from(local_time_text(arena, event->ts));
    const size_t date = has_date || time.n <= DATE_WIDTH ? 0 : DATE_WIDTH;

    buf_printf(out, "%s  %-*s  ", time.p + date, KEY_WIDTH, source->key);
    if (event->depth > 0)
        buf_printf(out, "depth=%d  ", event->depth);
    print_event_data(out, &event->data);
    buf_cut(out, str_trim_right(buf_view(out)).n);
    buf_add_char(out, '\n');
}

static void print_event_record(struct arena *arena, enum fleet_format format, struct buf *out,
                               const struct value *record)
{
    struct err err;

    if (format == FLEET_JSON) {
        (void)json_print(out, record, JSON_STYLE_TEXT, &err);
        buf_add_char(out, '\n');
    } else {
        buf_add_text(out, "---\n");
        (void)yaml_dump(arena, out, record, &err);
    }
}

bool event_line_print(struct arena *arena, const struct event_line_style *style,
                      const struct nats_msg *msg, struct buf *out)
{
    struct event_source source;
    struct event event;
    struct value record;
    struct err err;

    if (!event_parse_subject(arena, msg->subject, &source) ||
        record_decode(arena, &event_type, 0, msg->payload, &event, &err) < 0 ||
        (style->pattern.p && !glob_match(style->pattern, str_from(source.key))))
        return false;
    if (style->format == FLEET_TEXT) {
        print_event_line(arena, out, style->has_date, &source, &event);
        return true;
    }
    record = event_describe(arena, &source, &event);
    print_event_record(arena, style->format, out, &record);
    return true;
}
