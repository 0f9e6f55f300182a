#include "fleet/wire/question.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/wire/peel_id.h"

/* clang-format off */

static const struct record_field resolve_fields[] = {
    RECORD("expr",       TEXT, struct question_resolve, expr, 0, .fallback_text = ""),
    RECORD("type",       TEXT, struct question_resolve, type, RECORD_OMIT, .fallback_text = ""),
    RECORD("basket",     TEXT, struct question_resolve, basket, RECORD_OMIT, .fallback_text = ""),
    RECORD("scope",      TEXT, struct question_resolve, scope, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

static const struct record_field resolved_fields[] = {
    RECORD("peels", TEXTS, struct question_resolved, peels, RECORD_OMIT),
    RECORD("basket", MAP,  struct question_resolved, basket, RECORD_OMIT),
    RECORD("err",   TEXT,  struct question_resolved, err, RECORD_OMIT, .fallback_text = ""),
    RECORD("invalid", BOOL, struct question_resolved, invalid, RECORD_OMIT),
    RECORD("pending", BOOL, struct question_resolved, pending, RECORD_OMIT),
    RECORD("warning", TEXT, struct question_resolved, warning, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

static const struct record_field settings_fields[] = {
    RECORD("peel", TEXT, struct question_settings, peel, RECORD_REQUIRED),
    RECORD("by",   TEXT, struct question_settings, by, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

static const struct record_field shown_fields[] = {
    RECORD("settings", MAP,  struct question_shown, settings, RECORD_OMIT),
    RECORD("err",      TEXT, struct question_shown, err, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

const struct record_type question_settings_type = RECORD_TYPE("settings request", struct question_settings, settings_fields, RECORD_LENIENT);
const struct record_type question_shown_type = RECORD_TYPE("settings reply", struct question_shown, shown_fields, RECORD_LENIENT);

static const struct record_field test_fields[] = {
    RECORD("key",  TEXT, struct question_test, key, 0, .fallback_text = ""),
    RECORD("data", MAP,  struct question_test, data, RECORD_OMIT),
    { 0 },
};

static const struct record_field retry_fields[] = {
    RECORD("id", TEXT, struct question_retry, id, 0, .fallback_text = ""),
    RECORD("operator", TEXT, struct question_retry, operator, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

static const struct record_field retried_fields[] = {
    RECORD("key", TEXT, struct question_retried, key, RECORD_OMIT, .fallback_text = ""),
    RECORD("seq", INT,  struct question_retried, seq, RECORD_OMIT),
    RECORD("err", TEXT, struct question_retried, err, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

static const struct record_field match_fields[] = {
    RECORD("rule",    TEXT,  struct question_match, rule, 0, .fallback_text = ""),
    RECORD("actions", TEXTS, struct question_match, actions, RECORD_OMIT),
    RECORD("errors",  TEXTS, struct question_match, errors, RECORD_OMIT),
    { 0 },
};

const struct record_type question_resolve_type = RECORD_TYPE("resolve request", struct question_resolve, resolve_fields, RECORD_LENIENT);
const struct record_type question_resolved_type = RECORD_TYPE("resolve reply", struct question_resolved, resolved_fields, RECORD_LENIENT);
const struct record_type question_test_type = RECORD_TYPE("test request", struct question_test, test_fields, RECORD_LENIENT);
const struct record_type question_retry_type = RECORD_TYPE("retry request", struct question_retry, retry_fields, RECORD_LENIENT);
const struct record_type question_retried_type = RECORD_TYPE("retry reply", struct question_retried, retried_fields, RECORD_LENIENT);
const struct record_type question_match_type = RECORD_TYPE("match", struct question_match, match_fields, RECORD_LENIENT);

static const struct record_field tested_fields[] = {
    RECORD("matched", LIST, struct question_tested, matched, 0, .inner = &question_match_type),
    RECORD("err",     TEXT, struct question_tested, err, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

const struct record_type question_tested_type = RECORD_TYPE("test reply", struct question_tested, tested_fields, RECORD_LENIENT);

/* clang-format on */

/* Ids as people write them. */
static struct value show_ids(struct arena *arena, const struct value *shared)
{
    struct value_map *map = value_map_new(arena, shared->map->count);

    for (size_t i = 0; i < shared->map->count; i++) {
        char name[PEEL_ID_SIZE];

        peel_id_decode(shared->map->pairs[i].key.s, name);
        value_map_set(arena, map, value_text(arena_strdup(arena, name)),
                      shared->map->pairs[i].value);
    }
    return value_map(map);
}

int question_shared(struct arena *arena, struct str answer, struct value *ret, struct err *err)
{
    struct question_resolved resolved;

    if (record_decode(arena, &question_resolved_type, 1, answer, &resolved, err) < 0)
        return -1;
    if (resolved.err[0])
        return err_set(err, ERR_INVALID, "%s", resolved.err);
    *ret = resolved.basket.kind == VALUE_MAP ? show_ids(arena, &resolved.basket)
                                             : value_map(value_map_new(arena, 0));
    return 0;
}
