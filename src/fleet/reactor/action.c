#include "fleet/reactor/action.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/number.h"
#include "core/base/suggest.h"
#include "core/data/json.h"
#include "core/data/params.h"
#include "core/data/words.h"
#include "fleet/reactor/action_reader.h"
#include "fleet/wire/event.h"
#include "fleet/wire/outcome.h"

int action_read_fields(const struct action_reader *r, const struct param *table, void *args)
{
    const struct params_policy policy = { .owner = r->name, .noun = "field" };

    return params_decode(r->arena, table, &policy, r->body, args, r->diags);
}

struct value action_value(const struct value *v)
{
    return v ? *v : value_null();
}

/* --- enroll, event.send, log -------------------------------------------------------------- */

#undef FIELDS
#define FIELDS struct action_enroll

static const struct param enroll_params[] = {
    PARAM("id", STR, FIELDS, id, "the enrollment", .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("require_peel", STR, FIELDS, require_peel, "a pattern that the peel's id must match",
          .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("reason", STR, FIELDS, reason, "recorded with the decision"),
    { 0 },
};

static const char *const decision_names[] = { "approve", "reject", "revoke" };

const char *action_decision_name(enum action_decision decision)
{
    return decision_names[decision];
}

static int read_enroll(const struct action_reader *r, struct action *action)
{
    const char *word = strchr(r->name, '.') + 1;

    action->kind = ACTION_ENROLL;
    action->enroll = (struct action_enroll){ 0 };
    if (action_read_fields(r, enroll_params, &action->enroll) < 0)
        return -1;
    if (!action->enroll.reason)
        action->enroll.reason = "";
    for (size_t i = 0; i < ARRAY_LEN(decision_names); i++)
        if (strcmp(decision_names[i], word) == 0)
            action->enroll.decision = (enum action_decision)i;
    return 0;
}

struct send_fields {
    const char *tag;
    const struct value *data;
};

#undef FIELDS
#define FIELDS struct send_fields

static const struct param send_params[] = {
    PARAM("tag", STR, FIELDS, tag, "of the new event", .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("data", MAP, FIELDS, data, "of the new event"),
    { 0 },
};

static int read_send(const struct action_reader *r, struct action *action)
{
    struct send_fields fields = { 0 };

    action->kind = ACTION_SEND;
    if (action_read_fields(r, send_params, &fields) < 0)
        return -1;
    if (!event_tag_is_valid(str_from(fields.tag))) {
        value_diag(r->diags, value_point(r->body, "tag"), "'%s' is not a valid tag", fields.tag);
        diag_hint(r->diags, "segments of letters, digits, '_' and '-' with '/' between them");
        return -1;
    }
    action->send = (struct action_send){ fields.tag, action_value(fields.data) };
    return 0;
}

struct log_fields {
    const char *message;
};

#undef FIELDS
#define FIELDS struct log_fields

static const struct param log_params[] = {
    PARAM("message", STR, FIELDS, message, "the text", .flags = PARAM_REQUIRED),
    { 0 },
};

static int read_log(const struct action_reader *r, struct action *action)
{
    struct log_fields fields = { 0 };

    action->kind = ACTION_LOG;
    if (action_read_fields(r, log_params, &fields) < 0)
        return -1;
    action->message = fields.message;
    return 0;
}

/* --- blocks ---------------------------------------------------------------------------- */

/* clang-format off */
static const struct verb {
    const char *name;
    int (*read)(const struct action_reader *reader, struct action *action);
    const struct param *params;
    size_t fields_size;
    const char *scalar; /* the field that a scalar stands for; NULL: none */
} verbs[] = {
    { "dispatch.module", action_read_module, action_module_params, sizeof(struct action_dispatch_fields), NULL },
    { "dispatch.state",  action_read_state,  action_state_params,  sizeof(struct action_dispatch_fields), NULL },
    { "enroll.approve",  read_enroll, enroll_params, sizeof(struct action_enroll), NULL },
    { "enroll.reject",   read_enroll, enroll_params, sizeof(struct action_enroll), NULL },
    { "enroll.revoke",   read_enroll, enroll_params, sizeof(struct action_enroll), NULL },
    { "event.send",      read_send,   send_params,   sizeof(struct send_fields), NULL },
    { "orchestrate",     action_read_orchestrate, action_orchestrate_params, sizeof(struct action_orchestrate_fields), "sls" },
    { "log",             read_log,    log_params,    sizeof(struct log_fields), "message" },
    { ACTION_LOCAL,      action_read_local,  action_local_params,  sizeof(struct action_local_fields), NULL },
};
/* clang-format on */

static const struct verb *find_action_verb(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (verbs[i].read == action_read_local ? str_starts(name, STR(ACTION_LOCAL))
                                               : str_is(name, verbs[i].name))
            return &verbs[i];
    return NULL;
}

static int refuse_verb(struct diags *diags, const struct value *key)
{
    struct suggest near;

    value_diag(diags, key, "no action '%.*s'", STR_ARG(key->s));
    suggest_init(&near, key->s);
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (verbs[i].read != action_read_local)
            suggest_offer(&near, str_from(verbs[i].name));
    if (suggest_best(&near).p)
        diag_hint(diags, "did you mean '%.*s'?", STR_ARG(suggest_best(&near)));
    return -1;
}

/* A list of maps with one key each is a map. */
static int flatten_action(struct arena *arena, const struct value *v, struct value *ret,
                          struct diags *diags)
{
    *ret = *v;
    if (v->kind != VALUE_LIST)
        return 0;
    *ret = value_at(value_map(value_map_new(arena, v->list->count)), v);
    for (size_t i = 0; i < v->list->count; i++) {
        const struct value *item = &v->list->items[i];

        if (!value_is(item, VALUE_MAP) || item->map->count != 1)
            return value_diag(diags, item, "expected a map with one key, found %s",
                              value_is(item, VALUE_MAP) ? "another number" : value_describe(item));
        if (value_map_find(ret->map, &item->map->pairs[0].key))
            return value_diag(diags, &item->map->pairs[0].key, "duplicate key");
        value_map_set(arena, ret->map, item->map->pairs[0].key, item->map->pairs[0].value);
    }
    return 0;
}

/* The fields of an action as a map. */
static int read_action_body(struct arena *arena, const struct verb *verb, const struct value *v,
                            struct value *ret, struct diags *diags)
{
    if (verb->scalar && v->kind != VALUE_MAP && v->kind != VALUE_LIST) {
        *ret = value_at(value_map(value_map_new(arena, 1)), v);
        value_map_set(arena, ret->map, value_at(value_text(verb->scalar), v), *v);
        return 0;
    }
    if (flatten_action(arena, v, ret, diags) < 0)
        return -1;
    if (ret->kind != VALUE_MAP && ret->kind != VALUE_NULL)
        return value_diag(diags, v, "expected a map of fields, found %s", value_describe(v));
    return 0;
}

/* The one action of a block; a pair of `arena` or of the block. */
static int find_action_pair(struct arena *arena, const struct value *body,
                            const struct value_pair **ret_pair, struct diags *diags)
{
    struct value map;

    if (flatten_action(arena, body, &map, diags) < 0)
        return -1;
    if (map.kind != VALUE_MAP || map.map->count != 1)
        return value_diag(diags, body, "expected one action, found %s",
                          map.kind == VALUE_MAP ? (map.map->count > 1 ? "several" : "none")
                                                : value_describe(body));
    if (!value_is(&map.map->pairs[0].key, VALUE_STR))
        return value_diag(diags, &map.map->pairs[0].key, "expected an action, found %s",
                          value_describe(&map.map->pairs[0].key));
    *ret_pair = &map.map->pairs[0];
    return 0;
}

/* A block: its verb, where that stands, and the fields. */
struct block {
    const struct verb *verb;
    const struct value_pair *pair;
    struct value fields;
};

static int open_block(struct arena *arena, const struct value *body, struct block *ret,
                      struct diags *diags)
{
    *ret = (struct block){ 0 };
    if (find_action_pair(arena, body, &ret->pair, diags) < 0 || !ret->pair)
        return -1;
    ret->verb = find_action_verb(ret->pair->key.s);
    if (!ret->verb)
        return refuse_verb(diags, &ret->pair->key);
    return read_action_body(arena, ret->verb, &ret->pair->value, &ret->fields, diags);
}

static const char *print_block_id(struct arena *arena, const struct value *id)
{
    AUTO_BUF struct buf name = BUF_INIT(BUF_NO_LIMIT);

    (void)words_print(&name, id);
    return buf_copy(&name, arena).p;
}

int action_read(struct arena *arena, const struct value *id, const struct value *body,
                const struct value *groups, struct action *ret_action, struct diags *diags)
{
    struct block block;

    if (!value_is_textual(id) && id->kind != VALUE_INT)
        return value_diag(diags, id, "expected the name of a block, found %s", value_describe(id));
    if (open_block(arena, body, &block, diags) < 0)
        return -1;
    *ret_action = (struct action){
        .block = print_block_id(arena, id),
        .name = arena_strndup(arena, block.pair->key.s.p, block.pair->key.s.n),
        .key = &block.pair->key,
    };
    const struct action_reader reader = {
        .arena = arena,
        .name = ret_action->name,
        .body = &block.fields,
        .where = ret_action->key,
        .groups = groups,
        .diags = diags,
    };
    return block.verb->read(&reader, ret_action);
}

int action_check(struct arena *arena, const struct value *body, struct diags *diags)
{
    const size_t before = diags_count(diags);
    struct diags rest = DIAGS_INIT(arena);
    struct block block;

    if (open_block(arena, body, &block, diags) == 0) {
        const struct params_policy policy = {
            .owner = block.pair->key.s.p,
            .noun = "field",
            .unknown = diags,
        };

        (void)params_decode(arena, block.verb->params, &policy, &block.fields,
                            arena_zalloc(arena, block.verb->fields_size), &rest);
    }
    return diags_count(diags) > before ? -1 : 0;
}

const char *action_summary(struct arena *arena, const struct action *action)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    size_t n;

    action_print(action, &out);
    n = out.n < OUTCOME_WHAT_MAX ? out.n : OUTCOME_WHAT_MAX;
    while (n < out.n && n > 0 && ((unsigned char)out.p[n] & 0xc0) == 0x80) /* a whole character */
        n--;
    return arena_strndup(arena, buf_text(&out), n);
}

bool action_is_written(const struct action *action)
{
    struct words_cursor cursor = { 0 };
    struct str text = words_written(action->key, &cursor);
    const struct str name = str_from(action->name);
    const bool is_local = str_starts(name, STR(ACTION_LOCAL));

    if (text.n > 0 && (text.p[0] == '\'' || text.p[0] == '"'))
        text = str_from_offset(text, 1);
    return str_starts(text, is_local ? STR(ACTION_LOCAL) : name);
}

/* --- printing --------------------------------------------------------------------------- */

static void print_action_value(const struct value *v, const char *word, struct buf *out)
{
    struct err err;

    if (v->kind == VALUE_NULL)
        return;
    buf_printf(out, " %s ", word);
    (void)json_print(out, v, 0, &err); /* what cannot be shown is left out */
}

static void print_times(const struct action_dispatch *dispatch, struct buf *out)
{
    buf_add_text(out, ", timeout ");
    number_print_duration(dispatch->timeout, out);
    if (dispatch->max_targets > 0)
        buf_printf(out, ", at most %lld targets", (long long)dispatch->max_targets);
    if (dispatch->wait)
        buf_add_text(out, ", and wait");
}

static void print_dispatch(const struct action_dispatch *dispatch, struct buf *out)
{
    buf_printf(out, "dispatch %s", dispatch->function);
    if (dispatch->state_id[0])
        buf_printf(out, " %s", dispatch->state_id);
    buf_printf(out, " on '%s'", dispatch->expr);
    print_action_value(&dispatch->args, "with", out);
    print_times(dispatch, out);
}

static void print_orchestrate(const struct action_dispatch *dispatch, struct buf *out)
{
    const struct value *peel_settings = value_get(&dispatch->args, "pillar");

    buf_printf(out, "orchestrate %s", value_get_text(&dispatch->args, "mods"));
    if (peel_settings)
        print_action_value(peel_settings, "with", out);
    if (value_get(&dispatch->args, "test"))
        buf_add_text(out, " as a dry run");
    print_times(dispatch, out);
}

void action_print(const struct action *action, struct buf *out)
{
    buf_printf(out, "%s: ", action->block);
    switch (action->kind) {
    case ACTION_DISPATCH:
        if (action->dispatch.by_master)
            print_orchestrate(&action->dispatch, out);
        else
            print_dispatch(&action->dispatch, out);
        break;
    case ACTION_ENROLL:
        buf_printf(out, "%s %s if the peel matches '%s'", action->name, action->enroll.id,
                   action->enroll.require_peel);
        if (action->enroll.reason[0])
            buf_printf(out, ", reason '%s'", action->enroll.reason);
        break;
    case ACTION_SEND:
        buf_printf(out, "event.send %s", action->send.tag);
        print_action_value(&action->send.data, "with", out);
        break;
    case ACTION_LOG: buf_printf(out, "log '%s'", action->message); break;
    }
}
