#include "fleet/wire/event.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/data/time_text.h"

#define ARGS struct event

/* clang-format off */
static const struct record_field event_fields[] = {
    RECORD("id",     TEXT, ARGS, id, 0),
    RECORD("tag",    TEXT, ARGS, tag, 0),
    RECORD("data",   MAP,  ARGS, data, RECORD_OMIT),
    RECORD("ts",     TIME, ARGS, ts, 0),
    RECORD("v",      INT,  ARGS, v, RECORD_OMIT),
    RECORD("origin", TEXT, ARGS, origin, RECORD_OMIT, .fallback_text = ""),
    RECORD("depth",  INT,  ARGS, depth, RECORD_OMIT),
    { 0 },
};
/* clang-format on */

const struct record_type event_type = RECORD_TYPE("event", ARGS, event_fields, RECORD_LENIENT);

const char *event_origin_name(enum event_origin origin)
{
    static const char *const names[EVENT_ORIGINS] = { "peel", "master", "admin" };

    return names[origin];
}

/* --- subjects and tags ------------------------------------------------------------ */

static char *swap_chars(struct arena *arena, struct str text, char a, char b)
{
    char *copy = arena_strndup(arena, text.p, text.n);

    for (size_t i = 0; i < text.n; i++)
        if (copy[i] == a)
            copy[i] = b;
    return copy;
}

/* origin/tag */
static char *join_event_tag(struct arena *arena, const char *origin, const char *tag)
{
    const size_t first = strlen(origin), second = strlen(tag);
    char *key = arena_alloc(arena, first + 1 + second + 1);

    memcpy(key, origin, first + 1);
    key[first] = '/';
    memcpy(key + first + 1, tag, second + 1);
    return key;
}

bool event_parse_subject(struct arena *arena, struct str subject, struct event_source *ret_source)
{
    struct subject_names names;
    enum subject_kind kind;
    struct event_source source;

    if (!subject_parse(subject, &kind, &names) || names.tag.n > EVENT_TAG_MAX)
        return false;
    source = (struct event_source){
        .origin = arena_strndup(arena, names.peel.p ? names.peel.p : "", names.peel.n),
        .tag = swap_chars(arena, names.tag.p ? names.tag : STR(""), '.', '/'),
    };
    switch (kind) {
    case SUBJECT_EVENT_SEND: source.type = EVENT_FROM_PEEL; break;
    case SUBJECT_EVENT_BEACON:
        source.type = EVENT_FROM_PEEL;
        source.tag = arena_printf(arena, "beacon/%s/%s", source.origin, source.tag);
        break;
    case SUBJECT_EVENT_MASTER:
        source.type = EVENT_FROM_MASTER;
        source.origin = EVENT_ORIGIN_MASTER;
        break;
    case SUBJECT_EVENT_ADMIN:
        source.type = EVENT_FROM_ADMIN;
        source.origin = EVENT_ORIGIN_ADMIN;
        break;
    default: return false;
    }
    source.key = join_event_tag(arena, source.origin, source.tag);
    *ret_source = source;
    return true;
}

static bool is_segment(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-'))
            return false;
    }
    return text.n > 0;
}

bool event_tag_is_valid(struct str tag)
{
    if (tag.n == 0 || tag.n > EVENT_TAG_MAX)
        return false;
    while (tag.p)
        if (!is_segment(str_cut(&tag, '/')))
            return false;
    return true;
}

int event_tag_read(struct arena *arena, struct str text, const char **ret_tag, struct err *err)
{
    bool has_slash = text.n > 0 && memchr(text.p, '/', text.n);
    const char *tag = has_slash ? arena_strndup(arena, text.p, text.n)
                                : swap_chars(arena, text.p ? text : STR(""), '.', '/');

    if (!event_tag_is_valid(str_from(tag)))
        return err_set(err, ERR_INVALID,
                       "'%.*s' is not a valid tag: segments of letters, digits, '_' and '-' with "
                       "'/' between them",
                       STR_ARG(text));
    *ret_tag = tag;
    return 0;
}

int event_print_subject(struct buf *out, enum subject_kind kind, const char *peel, const char *tag,
                        struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct subject_names names = { .peel = str_from(peel ? peel : "") };

    if (!event_tag_is_valid(str_from(tag)))
        return err_set(err, ERR_INVALID, "'%s' is not a valid tag", tag);
    names.tag = str_from(swap_chars(&arena, str_from(tag), '/', '.'));
    return subject_print(out, kind, &names, err);
}

/* --- derived identities ----------------------------------------------------------- */

/* The parts with one zero byte between them, none at the end. */
static void hash_parts(const char *const *parts, size_t n, char text[static SHA256_HEX_SIZE])
{
    struct sha256 sha;

    sha256_init(&sha);
    for (size_t i = 0; i < n; i++)
        sha256_add(&sha, parts[i], strlen(parts[i]) + (i + 1 < n ? 1 : 0));
    sha256_end_hex(&sha, text);
}

static void print_event_jid(const char *const *parts, size_t n, char jid[static EVENT_JID_SIZE])
{
    char hex[SHA256_HEX_SIZE];
    const size_t prefix = sizeof(EVENT_JOB_PREFIX) - 1;

    hash_parts(parts, n, hex);
    memcpy(jid, EVENT_JOB_PREFIX, prefix);
    memcpy(jid + prefix, hex, EVENT_JID_SIZE - 1 - prefix);
    jid[EVENT_JID_SIZE - 1] = '\0';
}

void event_job_id(const char *origin, const char *event_id, const char *rule, const char *block,
                  char jid[static EVENT_JID_SIZE])
{
    const char *parts[] = { origin, event_id, rule, block };

    print_event_jid(parts, ARRAY_LEN(parts), jid);
}

void event_step_id(const char *jid, const char *state, size_t attempt,
                   char step[static EVENT_JID_SIZE])
{
    AUTO_BUF struct buf number = BUF_INIT(BUF_NO_LIMIT);
    const char *parts[] = { jid, state, NULL };

    buf_printf(&number, "%zu", attempt);
    parts[2] = buf_text(&number);
    print_event_jid(parts, ARRAY_LEN(parts), step);
}

void event_derived_id(const char *event_id, const char *rule, const char *block,
                      char id[static SHA256_HEX_SIZE])
{
    const char *parts[] = { event_id, rule, block };

    hash_parts(parts, ARRAY_LEN(parts), id);
}

/* --- shown ------------------------------------------------------------------------ */

static void put_event_text(struct arena *arena, struct value_map *map, const char *key,
                           const char *text)
{
    value_map_set(arena, map, value_text(key), value_text(text));
}

struct value event_describe(struct arena *arena, const struct event_source *source,
                            const struct event *event)
{
    AUTO_BUF struct buf ts = BUF_INIT(BUF_NO_LIMIT);
    struct value_map *map = value_map_new(arena, 8);

    time_print(&ts, event->ts);
    put_event_text(arena, map, "ts", buf_copy(&ts, arena).p);
    put_event_text(arena, map, "key", source->key);
    put_event_text(arena, map, "origin", source->origin);
    put_event_text(arena, map, "tag", source->tag);
    put_event_text(arena, map, "id", event->id ? event->id : "");
    if (event->depth > 0)
        value_map_set(arena, map, value_text("depth"), value_int(event->depth));
    if (event->origin && event->origin[0])
        put_event_text(arena, map, "provenance", event->origin);
    if (event->data.kind == VALUE_MAP && event->data.map->count > 0)
        value_map_set(arena, map, value_text("data"), event->data);
    return value_map(map);
}
