#include "kepler/logs/jsonline.h"

#include <string.h>
#include <strings.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/data/json.h"
#include "core/data/scalar.h"
#include "core/data/value.h"

/* In the order in which they are looked for. */
static const char *const message_names[] = {
    "msg", "message", "body", "text", "log", "err", "error"
};
static const char *const level_names[] = { "level",     "severity",  "log_level", "loglevel",
                                           "levelname", "log.level", "priority" };
static const char *const time_names[] = { "time", "timestamp",  "ts",       "datetime",
                                          "date", "@timestamp", "logged_at" };

static const struct {
    const char *name;
    enum jsonline_level level;
} levels[] = {
    /* the name of each level first */
    { "trace", JSONLINE_TRACE },  { "debug", JSONLINE_DEBUG },    { "info", JSONLINE_INFO },
    { "warn", JSONLINE_WARN },    { "error", JSONLINE_ERROR },    { "fatal", JSONLINE_FATAL },
    { "warning", JSONLINE_WARN }, { "critical", JSONLINE_FATAL }, { "emergency", JSONLINE_FATAL },
    { "alert", JSONLINE_FATAL },  { "err", JSONLINE_ERROR },      { "crit", JSONLINE_FATAL },
    { "emerg", JSONLINE_FATAL },  { "panic", JSONLINE_FATAL },    { "notice", JSONLINE_INFO },
};

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)
#define TIME_LAST 9.2e18 /* nanoseconds that fit */

/* Seconds, milliseconds, microseconds or nanoseconds, by their size: 1e11 is the year 5138 in
 * seconds and 1973 in milliseconds, and so on. */
static const struct {
    double from;
    int64_t unit;
} units[] = { { 1e17, 1 }, { 1e14, NS_PER_US }, { 1e11, NS_PER_MS }, { 0, NS_PER_S } };

const char *jsonline_level_name(enum jsonline_level level)
{
    return levels[level].name;
}

bool jsonline_level_find(struct str text, enum jsonline_level *ret_level)
{
    for (size_t i = 0; i < ARRAY_LEN(levels); i++)
        if (text.n == strlen(levels[i].name) && strncasecmp(text.p, levels[i].name, text.n) == 0) {
            *ret_level = levels[i].level;
            return true;
        }
    return false;
}

enum jsonline_level jsonline_level_parse(struct str text)
{
    enum jsonline_level level = JSONLINE_INFO;

    (void)jsonline_level_find(text, &level);
    return level;
}

/* --- times ---------------------------------------------------------------------------- */

static int64_t find_time_unit(double number)
{
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (number >= units[i].from)
            return units[i].unit;
    return NS_PER_S;
}

static bool time_of_number(double number, int64_t *ret_time)
{
    const int64_t unit = find_time_unit(number);
    int64_t whole, rest;

    if (!(number >= 0) || number * (double)unit > TIME_LAST)
        return false;
    whole = (int64_t)number;
    rest = (int64_t)((number - (double)whole) * (double)unit);
    /* A number of this size is exact to a fraction of a microsecond: 0.1 is not 0.099999. */
    *ret_time = whole * unit + (rest + NS_PER_US / 2) / NS_PER_US * NS_PER_US;
    return true;
}

/* The same without rounding. */
static bool time_of_int(int64_t number, int64_t *ret_time)
{
    const int64_t unit = find_time_unit((double)number);

    if (number < 0 || number > INT64_MAX / unit)
        return false;
    *ret_time = number * unit;
    return true;
}

static bool time_of_text(struct str text, int64_t *ret_time)
{
    struct value v;

    if (!scalar_parse_time(text, &v) || v.t.seconds < 0 || v.t.seconds >= INT64_MAX / NS_PER_S)
        return false;
    *ret_time = v.t.seconds * NS_PER_S + v.t.nanoseconds;
    return true;
}

static bool read_json_time(const struct value *v, int64_t *ret_time)
{
    switch (v->kind) {
    case VALUE_INT: return time_of_int(v->i, ret_time);
    case VALUE_DOUBLE: return time_of_number(v->d, ret_time);
    case VALUE_STR: return time_of_text(v->s, ret_time);
    default: return false;
    }
}

/* --- members -------------------------------------------------------------------------- */

static bool is_json_text(const struct value *v)
{
    return v->kind == VALUE_STR;
}

static bool is_json_time(const struct value *v)
{
    int64_t time;

    return read_json_time(v, &time);
}

/* The first of `names` that is there and fits. */
static const struct value *find_json_key(const struct value *object, const char *const *names,
                                         size_t count, bool (*fits)(const struct value *v))
{
    for (size_t i = 0; i < count; i++) {
        const struct value *v = value_get(object, names[i]);

        if (v && fits(v))
            return v;
    }
    return NULL;
}

static const struct value_map *copy_other_members(struct arena *arena,
                                                  const struct value_map *members,
                                                  const struct value *const taken[static 3])
{
    struct value_map *rest = value_map_new(arena, members->count);

    for (size_t i = 0; i < members->count; i++) {
        const struct value *v = &members->pairs[i].value;

        if (v != taken[0] && v != taken[1] && v != taken[2])
            value_map_set(arena, rest, members->pairs[i].key, *v);
    }
    return rest;
}

bool jsonline_parse(struct arena *arena, struct str line, struct jsonline *ret)
{
    const struct value *message, *level, *time;
    struct value object;
    struct err err;

    if (line.n == 0 || line.p[0] != '{' || line.n > JSONLINE_MAX)
        return false;
    if (json_decode_lenient(arena, line, &object, &err) < 0 || object.kind != VALUE_MAP)
        return false;
    message = find_json_key(&object, message_names, ARRAY_LEN(message_names), is_json_text);
    level = find_json_key(&object, level_names, ARRAY_LEN(level_names), is_json_text);
    time = find_json_key(&object, time_names, ARRAY_LEN(time_names), is_json_time);
    *ret = (struct jsonline){
        .message = message ? message->s : line,
        .has_level = level != NULL,
        .level = level ? jsonline_level_parse(level->s) : JSONLINE_INFO,
        .has_time = time != NULL,
        .attributes =
            copy_other_members(arena, object.map, (const struct value *[]){ message, level, time }),
    };
    if (time)
        (void)read_json_time(time, &ret->time);
    return true;
}
