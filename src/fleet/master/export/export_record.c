#include "fleet/master/export/export_record.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/master/export/export_conf.h"
#include "fleet/wire/event.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"
#include "fleet/wire/peel_id.h"

/* Maximum length of foreign ids. */
#define ID_MAX 128

const char *export_kind_name(enum export_kind kind)
{
    static const char *const names[EXPORT_KINDS] = {
        [EXPORT_EVENTS] = "event",
        [EXPORT_RETURNS] = "return",
        [EXPORT_JOBS] = "job",
    };

    return names[kind];
}

/* The id goes into a header: a peel must not inject others. */
static bool is_plain_header_value(const char *id)
{
    const size_t n = strlen(id);

    return n > 0 && n <= ID_MAX &&
           strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:") == n;
}

/* A peel chooses only the ids of its own events. */
static bool describe_exported_event(struct arena *arena, const struct export_conf *conf,
                                    const struct export_message *message, const char **ret_id,
                                    struct value *ret)
{
    struct event_source source;
    struct event event;
    struct err err;

    if (!event_parse_subject(arena, message->subject, &source) ||
        !export_conf_matches(conf, source.key) ||
        record_decode(arena, &event_type, 0, message->payload, &event, &err) < 0)
        return false;
    *ret_id =
        event.id && is_plain_header_value(event.id)
            ? arena_printf(arena, "%s/%s", source.origin, event.id)
            : arena_printf(arena, "%s/seq-%llu", source.origin, (unsigned long long)message->seq);
    *ret = event_describe(arena, &source, &event);
    return true;
}

static bool describe_return(struct arena *arena, const struct export_message *message,
                            const char **ret_id, struct value *ret)
{
    struct exec_return result;
    struct err err;

    if (message->payload.n == 0 ||
        record_decode(arena, &exec_return_type, 1, message->payload, &result, &err) < 0 ||
        !is_plain_header_value(result.jid) || !peel_id_is_valid(str_from(result.peel_id)))
        return false;
    *ret_id = arena_printf(arena, "%s/%s/%llu", result.jid, result.peel_id,
                           (unsigned long long)message->seq);
    *ret = record_value(arena, &exec_return_type, &result);
    value_map_set(arena, ret->map, value_text("peel_id"),
                  value_text(peel_id_name(arena, result.peel_id)));
    return true;
}

static bool describe_job(struct arena *arena, const struct export_message *message,
                         const char **ret_id, struct value *ret)
{
    struct job job;
    struct err err;

    if (message->payload.n == 0 ||
        record_decode(arena, &job_type, 1, message->payload, &job, &err) < 0 ||
        !job_status_is_final(job.status) || !is_plain_header_value(job.jid))
        return false;
    *ret_id = arena_printf(arena, "%s/%llu", job.jid, (unsigned long long)message->seq);
    *ret = job_describe(arena, &job);
    return true;
}

/* The content is not valid JSON, or too large: export the record without it. */
static void print_rest(struct arena *arena, struct value *v, struct buf *json)
{
    static const char *const contents[] = { "data", "return_data", "args", "metadata" };
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(contents); i++) {
        const struct value key = value_text(contents[i]);

        (void)value_map_remove(v->map, &key);
    }
    value_map_set(arena, v->map, value_text("left_out"),
                  value_text("the content cannot be written as JSON, or is too large"));
    buf_clear(json);
    (void)json_print(json, v, JSON_STYLE_TEXT, &err);
}

bool export_record_make(struct arena *arena, enum export_kind kind, const struct export_conf *conf,
                        const struct export_message *message, struct export_record *ret)
{
    AUTO_ARENA struct arena work = ARENA_INIT;
    AUTO_BUF struct buf json = BUF_INIT(EXPORT_RECORD_MAX);
    const char *id = "";
    struct value v;
    struct err err;

    if (kind == EXPORT_EVENTS    ? !describe_exported_event(&work, conf, message, &id, &v)
        : kind == EXPORT_RETURNS ? !describe_return(&work, message, &id, &v)
                                 : !describe_job(&work, message, &id, &v))
        return false;
    value_map_set(&work, v.map, value_text("export_id"), value_text(id));
    if (json_print(&json, &v, JSON_STYLE_TEXT, &err) < 0 || json.full)
        print_rest(&work, &v, &json);
    *ret = (struct export_record){ arena_strdup(arena, id), buf_copy(&json, arena) };
    return true;
}
