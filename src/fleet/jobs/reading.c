#include "fleet/jobs/reading.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/data/json.h"
#include "core/data/value.h"

#define API_PREFIX "$JS.API."
/* The key of a body that asks for the last message of a subject. */
#define LAST_OF "last_by_subj"
/* Without a request for so long, the server forgets a consumer. */
#define INACTIVE_NS INT64_C(30000000000)

enum subject_tail { STREAM_ONLY, READER, CONSUMER };

/* clang-format off */
static const struct {
    const char *words;
    enum subject_tail names;
} verbs[READING_VERBS] = {
    [READING_STREAM_INFO]     = { "STREAM.INFO.", STREAM_ONLY },
    [READING_MESSAGE]         = { "STREAM.MSG.GET.", STREAM_ONLY },
    [READING_CONSUMER_CREATE] = { "CONSUMER.CREATE.", READER },
    [READING_CONSUMER_NEXT]   = { "CONSUMER.MSG.NEXT.", READER },
    [READING_CONSUMER_DELETE] = { "CONSUMER.DELETE.", READER },
    [READING_CONSUMER_INFO]   = { "CONSUMER.INFO.", CONSUMER },
};

/* Fields that a reader may choose. */
static const struct {
    const char *key;
    enum value_kind kind;
} choices[] = {
    { "deliver_policy", VALUE_STR },
    { "replay_policy",  VALUE_STR },
    { "opt_start_seq",  VALUE_INT },
    { "opt_start_time", VALUE_STR },
    { "filter_subject", VALUE_STR },
    { "headers_only",   VALUE_BOOL },
};
/* clang-format on */

/* A letter and a number that cannot be guessed. */
static bool is_reader_name(struct str name)
{
    if (name.n < 2 || name.p[0] != 'o')
        return false;
    for (size_t i = 1; i < name.n; i++)
        if (!strchr("0123456789abcdef", name.p[i]) || name.p[i] == '\0')
            return false;
    return true;
}

static bool parse_reading_names(struct str rest, enum subject_tail names, struct reading *reading)
{
    reading->stream = str_cut(&rest, '.');
    if (names == STREAM_ONLY)
        return !rest.p;
    if (!rest.p)
        return false;
    reading->consumer = str_cut(&rest, '.');
    return !rest.p && (names == CONSUMER || is_reader_name(reading->consumer));
}

bool reading_parse(struct str tokens, struct reading *ret_reading)
{
    for (size_t i = 0; i < READING_VERBS; i++) {
        struct reading reading = { .verb = (enum reading_verb)i };
        const struct str words = str_from(verbs[i].words);

        if (!str_starts(tokens, words))
            continue;
        if (!parse_reading_names(str_from_offset(tokens, words.n), verbs[i].names, &reading))
            return false;
        *ret_reading = reading;
        return true;
    }
    return false;
}

void reading_print_subject(const struct reading *reading, struct buf *out)
{
    buf_add_text(out, API_PREFIX);
    buf_add_text(out, verbs[reading->verb].words);
    buf_add_str(out, reading->stream);
    if (reading->consumer.n > 0) {
        buf_add_char(out, '.');
        buf_add_str(out, reading->consumer);
    }
}

static void put_reading_value(struct arena *arena, struct value_map *map, const char *key,
                              struct value v)
{
    value_map_set(arena, map, value_text(key), v);
}

/* Servers read keys without regard to case and take the last of equal ones: so no byte of what was
 * asked for goes on, only values of known keys. */
static int make_config(struct arena *arena, const struct reading *reading,
                       const struct value *asked, struct value *ret, struct err *err)
{
    struct value_map *map = value_map_new(arena, 12);

    for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
        const struct value *v = value_get(asked, choices[i].key);

        if (v && v->kind != choices[i].kind)
            return err_set(err, ERR_INVALID, "'%s' of a consumer has another kind", choices[i].key);
        if (v)
            put_reading_value(arena, map, choices[i].key, *v);
    }
    put_reading_value(arena, map, "name", value_str(reading->consumer));
    put_reading_value(arena, map, "ack_policy", value_text("none"));
    put_reading_value(arena, map, "inactive_threshold", value_int(INACTIVE_NS));
    put_reading_value(arena, map, "num_replicas", value_int(1));
    put_reading_value(arena, map, "mem_storage", value_bool(true));
    *ret = value_map(map);
    return 0;
}

bool reading_narrow(struct arena *arena, struct str body, struct reading *reading)
{
    struct value asked;
    const char *subject;
    struct err err;

    if (reading->verb != READING_MESSAGE || json_decode(arena, body, &asked, &err) < 0)
        return false;
    subject = value_get_text(&asked, LAST_OF);
    if (!subject || !subject[0])
        return false;
    reading->subject = str_from(subject);
    return true;
}

/* Anew, since servers would take another key of the same meaning. */
static int print_narrow(struct arena *arena, const struct reading *reading, struct buf *out,
                        struct err *err)
{
    struct value_map *map = value_map_new(arena, 1);
    const struct value whole = value_map(map);

    put_reading_value(arena, map, LAST_OF, value_str(reading->subject));
    return json_print(out, &whole, JSON_STYLE_COMPACT, err);
}

int reading_print_body(struct arena *arena, const struct reading *reading, struct str body,
                       struct buf *out, struct err *err)
{
    struct value asked, config, whole;
    struct value_map *map;

    if (reading->subject.n > 0)
        return print_narrow(arena, reading, out, err);
    if (reading->verb != READING_CONSUMER_CREATE) {
        buf_add_str(out, body);
        return 0;
    }
    if (json_decode(arena, body, &asked, err) < 0 ||
        make_config(arena, reading, value_get(&asked, "config"), &config, err) < 0)
        return -1;
    map = value_map_new(arena, 2);
    put_reading_value(arena, map, "stream_name", value_str(reading->stream));
    put_reading_value(arena, map, "config", config);
    whole = value_map(map);
    return json_print(out, &whole, JSON_STYLE_COMPACT, err);
}
