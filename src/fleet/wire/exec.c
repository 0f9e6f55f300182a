#include "fleet/wire/exec.h"

#include "core/base/arena.h"
#include "core/base/err.h"

/* clang-format off */

static const struct record_field request_fields[] = {
    RECORD("v",      INT,  struct exec_request, v, RECORD_OMIT),
    RECORD("jid",    TEXT, struct exec_request, jid, 0, .fallback_text = ""),
    RECORD("module", TEXT, struct exec_request, module, 0, .fallback_text = ""),
    RECORD("id",     TEXT, struct exec_request, id, 0, .fallback_text = ""),
    RECORD("args",   MAP,  struct exec_request, args, RECORD_NIL),
    RECORD("epoch",  INT,  struct exec_request, epoch, RECORD_OMIT | RECORD_WIDE),
    RECORD("rdepth", INT,  struct exec_request, rdepth, RECORD_OMIT),
    RECORD("plan",   TEXT, struct exec_request, plan, RECORD_OMIT, .fallback_text = ""),
    RECORD("timeout", INT, struct exec_request, timeout, RECORD_OMIT),
    RECORD("window", TEXT, struct exec_request, window, RECORD_OMIT, .fallback_text = ""),
    RECORD("user",   TEXT, struct exec_request, user, RECORD_OMIT, .fallback_text = ""),
    RECORD("secret_args", MAP, struct exec_request, secret_args, RECORD_OMIT),
    { 0 },
};

static const struct record_field result_fields[] = {
    RECORD("name",        TEXT, struct exec_result, name, 0, .fallback_text = ""),
    RECORD("changed",     BOOL, struct exec_result, changed, 0),
    RECORD("diff",        TEXT, struct exec_result, diff, 0, .fallback_text = ""),
    RECORD("duration",    INT,  struct exec_result, duration, RECORD_WIDE),
    RECORD("details",     MAP,  struct exec_result, details, RECORD_NIL),
    RECORD("error",       TEXT, struct exec_result, error, RECORD_OMIT, .fallback_text = ""),
    RECORD("skipped",     BOOL, struct exec_result, skipped, RECORD_OMIT),
    RECORD("skip_reason", TEXT, struct exec_result, skip_reason, RECORD_OMIT, .fallback_text = ""),
    RECORD("cause",       TEXT, struct exec_result, cause, RECORD_OMIT, .fallback_text = ""),
    RECORD("level",       INT,  struct exec_result, level, RECORD_OMIT),
    RECORD("needs",       ANY,  struct exec_result, needs, RECORD_OMIT),
    RECORD("place",       TEXT, struct exec_result, place, RECORD_OMIT, .fallback_text = ""),
    RECORD("value",       ANY,  struct exec_result, value, RECORD_OMIT),
    RECORD("would_change_again", TEXT, struct exec_result, again, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

/* The encoding before and after the data. */
#define RETURN_HEAD(ARGS) \
    RECORD("jid",         TEXT, ARGS, jid, 0, .fallback_text = ""), \
    RECORD("peel_id",     TEXT, ARGS, peel_id, 0, .fallback_text = ""), \
    RECORD("success",     BOOL, ARGS, success, 0)
#define RETURN_TAIL(ARGS) \
    RECORD("error",       TEXT, ARGS, error, RECORD_OMIT, .fallback_text = ""), \
    RECORD("duration",    INT,  ARGS, duration, RECORD_WIDE), \
    RECORD("timestamp",   TIME, ARGS, timestamp, 0)

static const struct record_field return_fields[] = {
    RETURN_HEAD(struct exec_return),
    RECORD("return_data", MAP,  struct exec_return, return_data, RECORD_NIL),
    RETURN_TAIL(struct exec_return),
    RECORD("unreachable", BOOL, struct exec_return, unreachable, RECORD_OMIT),
    RECORD("queued",      BOOL, struct exec_return, queued, RECORD_OMIT),
    RECORD("overdue",     BOOL, struct exec_return, overdue, RECORD_OMIT),
    { 0 },
};

static const struct record_field ack_fields[] = {
    RECORD("jid",       TEXT, struct exec_ack, jid, 0, .fallback_text = ""),
    RECORD("peel_id",   TEXT, struct exec_ack, peel_id, 0, .fallback_text = ""),
    RECORD("timestamp", TIME, struct exec_ack, timestamp, 0),
    RECORD("not_before", TIME, struct exec_ack, not_before, RECORD_OMIT),
    { 0 },
};

static const char *const progress_words[] = {
    [EXEC_QUEUED] = "queued",
    [EXEC_STARTED] = "started",
    [EXEC_STATE] = "state",
};
_Static_assert(ARRAY_LEN(progress_words) == EXEC_PROGRESS_KINDS, "every kind has a word");

static const struct record_field progress_fields[] = {
    RECORD("jid",       TEXT, struct exec_progress, jid, 0, .fallback_text = ""),
    RECORD("peel_id",   TEXT, struct exec_progress, peel_id, 0, .fallback_text = ""),
    RECORD("type",      WORD, struct exec_progress, type, RECORD_REQUIRED, RECORD_WORDS(progress_words)),
    RECORD("text",      TEXT, struct exec_progress, text, RECORD_OMIT, .fallback_text = ""),
    RECORD("done",      INT,  struct exec_progress, done, RECORD_OMIT),
    RECORD("total",     INT,  struct exec_progress, total, RECORD_OMIT),
    RECORD("result",    MAP,  struct exec_progress, result, RECORD_OMIT),
    RECORD("timestamp", TIME, struct exec_progress, timestamp, 0),
    { 0 },
};

const struct record_type exec_progress_type = RECORD_TYPE("progress", struct exec_progress, progress_fields, RECORD_LENIENT);
const struct record_type exec_request_type = RECORD_TYPE("exec request", struct exec_request, request_fields, RECORD_LENIENT);
const struct record_type exec_result_type = RECORD_TYPE("state result", struct exec_result, result_fields, RECORD_LENIENT);
const struct record_type exec_return_type = RECORD_TYPE("return", struct exec_return, return_fields, RECORD_LENIENT);
const struct record_type exec_ack_type = RECORD_TYPE("ack", struct exec_ack, ack_fields, RECORD_LENIENT);

static const struct record_field response_fields[] = {
    RECORD("v",       INT,  struct exec_response, v, RECORD_OMIT),
    RECORD("peel_id", TEXT, struct exec_response, peel_id, 0, .fallback_text = ""),
    RECORD("jid",     TEXT, struct exec_response, jid, 0, .fallback_text = ""),
    RECORD("success", BOOL, struct exec_response, success, 0),
    RECORD("test",    BOOL, struct exec_response, test, RECORD_OMIT),
    RECORD("results", LIST, struct exec_response, results, 0, .inner = &exec_result_type),
    RECORD("error",   TEXT, struct exec_response, error, RECORD_OMIT, .fallback_text = ""),
    RECORD("looked",  BOOL, struct exec_response, looked, RECORD_OMIT),
    RECORD("would_change_again", INT, struct exec_response, again, RECORD_OMIT),
    { 0 },
};

const struct record_type exec_response_type = RECORD_TYPE("exec response", struct exec_response, response_fields, RECORD_LENIENT);

static const struct record_field answer_fields[] = {
    RETURN_HEAD(struct exec_answer),
    RECORD("return_data", STRUCT, struct exec_answer, response, 0, .inner = &exec_response_type),
    RETURN_TAIL(struct exec_answer),
    { 0 },
};
const struct record_type exec_answer_type = RECORD_TYPE("return", struct exec_answer, answer_fields, RECORD_LENIENT);

/* clang-format on */

bool exec_return_is_made_up(const struct exec_return *ret)
{
    return ret->unreachable || ret->overdue;
}

bool exec_return_is_of(const struct exec_return *ret, struct str jid, struct str peel)
{
    return str_is(peel, ret->peel_id) && (ret->jid[0] == '\0' || str_is(jid, ret->jid));
}

/* --- secret arguments --------------------------------------------------------------- */

/* The map under a key, which is made if it is missing; NULL: something else is there. */
static struct value_map *enter_map(struct arena *arena, struct value_map *map, struct str name)
{
    const struct value key = value_str(name);
    const struct value *there = value_map_find(map, &key);

    if (there)
        return there->kind == VALUE_MAP ? there->map : NULL;
    value_map_set(arena, map, key, value_map(value_map_new(arena, 1)));
    return value_map_find(map, &key)->map;
}

static int lay_secret(struct arena *arena, struct value_map *args, struct str path,
                      struct value secret, struct err *err)
{
    struct str rest = path, name;
    struct value key;

    for (name = str_cut(&rest, '.'); rest.p && name.n > 0; name = str_cut(&rest, '.')) {
        args = enter_map(arena, args, name);
        if (!args)
            return err_set(err, ERR_INVALID, "secret argument '%.*s': '%.*s' is not a map",
                           STR_ARG(path), (int)(name.p + name.n - path.p), path.p);
    }
    if (name.n == 0 || rest.p)
        return err_set(err, ERR_INVALID, "'%.*s' is not the name of an argument", STR_ARG(path));
    key = value_str(name);
    if (value_map_find(args, &key))
        return err_set(err, ERR_INVALID, "argument '%.*s' is given twice", STR_ARG(path));
    secret.flags |= VALUE_SECRET | VALUE_QUOTED;
    value_map_set(arena, args, key, secret);
    return 0;
}

int exec_lay_secrets(struct arena *arena, const struct value *args, const struct value *secrets,
                     struct value *ret, struct err *err)
{
    struct value all =
        args->kind == VALUE_MAP ? value_copy(arena, args) : value_map(value_map_new(arena, 2));
    const struct value given = value_copy(arena, secrets);

    for (size_t i = 0; given.kind == VALUE_MAP && i < given.map->count; i++) {
        const struct value_pair *pair = &given.map->pairs[i];

        if (pair->key.kind != VALUE_STR || pair->value.kind != VALUE_STR)
            return err_set(err, ERR_INVALID, "a secret argument is not a text");
        if (lay_secret(arena, all.map, pair->key.s, pair->value, err) < 0)
            return -1;
    }
    *ret = all;
    return 0;
}
