#include "reactor/action.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/suggest.h"
#include "data/json.h"
#include "data/params.h"
#include "data/words.h"
#include "wire/event.h"
#include "wire/outcome.h"

#define LOCAL_PREFIX "local."
#define SECOND       NUMBER_NS_PER_S
#define TIMEOUT      (60 * SECOND)

#define STATE_APPLY     "state.apply"
#define STATE_HIGHSTATE "state.highstate"

/* Functions that take longer than others. */
static const struct {
    const char *function;
    int64_t timeout;
} slow_functions[] = {
    { STATE_APPLY, 300 * SECOND },
    { STATE_HIGHSTATE, 600 * SECOND },
};

/* What a field of a block is read with. */
struct reader {
    struct arena *arena;
    const char *name;          /* of the action */
    const struct value *body;  /* the fields: a map */
    const struct value *where; /* of the action, for mistakes */
    const struct value *groups;
    struct diags *diags;
};

static int read_fields(const struct reader *r, const struct param *table, void *args)
{
    const struct params_policy policy = { .owner = r->name, .noun = "field" };

    return params_decode(r->arena, table, &policy, r->body, args, r->diags);
}

/* --- dispatch ---------------------------------------------------------------------- */

/* A family and a name: ^[a-z0-9_]+\.[a-z0-9_]+$ */
static bool is_function(const char *text)
{
    size_t dots = 0;

    for (const char *p = text; *p; p++) {
        if (*p == '.' && p > text && p[1] != '\0' && dots++ == 0)
            continue;
        if (!((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '_'))
            return false;
    }
    return dots == 1;
}

static int64_t timeout_of(const char *function, int64_t given)
{
    if (given > 0)
        return given;
    for (size_t i = 0; i < ARRAY_LEN(slow_functions); i++)
        if (strcmp(slow_functions[i].function, function) == 0)
            return slow_functions[i].timeout;
    return TIMEOUT;
}

static int read_type(const struct reader *r, const char *key, const char *word,
                     enum target_type *ret_type)
{
    const char *nearest = NULL;

    *ret_type = TARGET_COMPOUND;
    /* A glob is what an expression is without words like `and`. */
    if (!word || strcmp(word, target_type_name(TARGET_GLOB)) == 0)
        return 0;
    if (target_type_find(str_from(word), ret_type, &nearest))
        return 0;
    value_diag(r->diags, value_point(r->body, key), "no target type '%s'", word);
    if (nearest)
        diag_hint(r->diags, "did you mean '%s'?", nearest);
    return -1;
}

/* `target` and `type` are set; check them, and make the expression. */
static int check_target(const struct reader *r, const char *key, struct action_dispatch *dispatch)
{
    const struct target_options options = {
        .groups = r->groups,
        .where = value_point(r->body, key),
        .any_group = !r->groups,
    };
    const struct target *target;

    dispatch->expr = target_fold(r->arena, dispatch->target, dispatch->type);
    return target_parse(r->arena, str_from(dispatch->target), dispatch->type, &options, &target,
                        r->diags);
}

static int check_function(const struct reader *r, const struct value *where, const char *function)
{
    if (is_function(function))
        return 0;
    value_diag(r->diags, where, "'%s' is not a function", function);
    diag_hint(r->diags, "module.name, in lower case letters, digits and '_'");
    return -1;
}

static struct value value_or_null(const struct value *v)
{
    return v ? *v : value_null();
}

/* Of dispatch.module and dispatch.state. */
struct dispatch_fields {
    const char *target, *target_type, *function, *state_id, *sls;
    const struct value *args;
    int64_t timeout, max_targets;
    bool highstate, wait;
};

#define FIELDS struct dispatch_fields

/* clang-format off */
#define TARGET_FIELDS                                                                               \
    PARAM("target",      STR, FIELDS, target, "which peels", .flags = PARAM_REQUIRED | PARAM_FILLED), \
    PARAM("target_type", STR, FIELDS, target_type, "how the target is meant"),                      \
    PARAM("args",        MAP, FIELDS, args, "arguments"),                                           \
    PARAM("timeout",     DURATION, FIELDS, timeout, "of the job", PARAM_RANGE(1, INT64_MAX)),       \
    PARAM("max_targets", INT, FIELDS, max_targets, "the most peels", PARAM_RANGE(1, INT64_MAX)),    \
    PARAM("wait",        BOOL, FIELDS, wait, "later blocks run when the job has ended")

static const struct param module_params[] = {
    TARGET_FIELDS,
    PARAM("function",    STR, FIELDS, function, "module.function", .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("state_id",    STR, FIELDS, state_id, "the bare argument"),
    { 0 },
};
static const struct param state_params[] = {
    TARGET_FIELDS,
    PARAM("sls",         STR, FIELDS, sls, "states to apply", .flags = PARAM_FILLED),
    PARAM("highstate",   BOOL, FIELDS, highstate, "apply the states of the top file"),
    { 0 },
};
/* clang-format on */

static int finish_dispatch(const struct reader *r, const struct dispatch_fields *fields,
                           const char *const keys[static 2], struct action *action)
{
    struct action_dispatch *dispatch = &action->dispatch;

    action->kind = ACTION_DISPATCH;
    *dispatch = (struct action_dispatch){
        .target = fields->target,
        .function = fields->function,
        .args = value_or_null(fields->args),
        .state_id = fields->state_id ? fields->state_id : "",
        .timeout = timeout_of(fields->function, fields->timeout),
        .max_targets = fields->max_targets,
        .wait = fields->wait,
    };
    if (dispatch->wait && dispatch->timeout > ACTION_WAIT_MAX)
        return value_diag(r->diags, value_point(r->body, "timeout"),
                          "a job that is waited for may take 30 minutes at most");
    if (read_type(r, keys[1], fields->target_type, &dispatch->type) < 0)
        return -1;
    return check_target(r, keys[0], dispatch);
}

static const char *const module_keys[] = { "target", "target_type" };

static int read_module(const struct reader *r, struct action *action)
{
    struct dispatch_fields fields = { 0 };
    int result;

    if (read_fields(r, module_params, &fields) < 0)
        return -1;
    result = check_function(r, value_point(r->body, "function"), fields.function);
    return finish_dispatch(r, &fields, module_keys, action) < 0 ? -1 : result;
}

/* --- dispatch.state ------------------------------------------------------------------ */

/* `mods`, with the other arguments on top. */
static const struct value *merge_mods(struct arena *arena, const char *sls,
                                      const struct value *args)
{
    struct value *all = ARENA_NEW(arena, struct value);

    *all = value_map(value_map_new(arena, 1));
    value_map_set(arena, all->map, value_text("mods"), value_text(sls));
    for (size_t i = 0; args && i < args->map->count; i++)
        value_map_set(arena, all->map, args->map->pairs[i].key, args->map->pairs[i].value);
    return all;
}

static int read_state(const struct reader *r, struct action *action)
{
    struct dispatch_fields fields = { 0 };

    if (read_fields(r, state_params, &fields) < 0)
        return -1;
    if (fields.sls && fields.highstate)
        return value_diag(r->diags, value_point(r->body, "highstate"),
                          "'sls' and 'highstate' are mutually exclusive");
    if (!fields.sls && !fields.highstate)
        return value_diag(r->diags, r->where, "'sls' or 'highstate' is missing");
    fields.function = fields.sls ? STATE_APPLY : STATE_HIGHSTATE;
    if (fields.sls)
        fields.args = merge_mods(r->arena, fields.sls, fields.args);
    return finish_dispatch(r, &fields, module_keys, action);
}

/* --- local.<function> ------------------------------------------------------------------ */

struct local_fields {
    const char *tgt, *tgt_type;
    struct param_strs arg;
    const struct value *kwarg;
    int64_t timeout;
};

#undef FIELDS
#define FIELDS struct local_fields

/* clang-format off */
static const struct param local_params[] = {
    PARAM("tgt",      STR,  FIELDS, tgt, "which peels", .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("tgt_type", STR,  FIELDS, tgt_type, "how the target is meant"),
    PARAM("arg",      STRS, FIELDS, arg, "the bare argument"),
    PARAM("kwarg",    MAP,  FIELDS, kwarg, "arguments"),
    PARAM("timeout",  DURATION, FIELDS, timeout, "of the job", PARAM_RANGE(1, INT64_MAX)),
    { 0 },
};
/* clang-format on */

static int read_local(const struct reader *r, struct action *action)
{
    static const char *const keys[] = { "tgt", "tgt_type" };
    struct local_fields fields = { 0 };
    struct dispatch_fields module;

    if (read_fields(r, local_params, &fields) < 0)
        return -1;
    if (fields.arg.n > 1) {
        value_diag(r->diags, value_point(r->body, "arg"), "more than one bare argument");
        diag_hint(r->diags, "use 'kwarg' for arguments with names");
        return -1;
    }
    module = (struct dispatch_fields){
        .target = fields.tgt,
        .target_type = fields.tgt_type,
        .function = r->name + strlen(LOCAL_PREFIX),
        .args = fields.kwarg,
        .state_id = fields.arg.n > 0 ? fields.arg.p[0] : NULL,
        .timeout = fields.timeout,
    };
    if (check_function(r, r->where, module.function) < 0)
        return -1;
    return finish_dispatch(r, &module, keys, action);
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

static int read_enroll(const struct reader *r, struct action *action)
{
    const char *word = strchr(r->name, '.') + 1;

    action->kind = ACTION_ENROLL;
    action->enroll = (struct action_enroll){ 0 };
    if (read_fields(r, enroll_params, &action->enroll) < 0)
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

static int read_send(const struct reader *r, struct action *action)
{
    struct send_fields fields = { 0 };

    action->kind = ACTION_SEND;
    if (read_fields(r, send_params, &fields) < 0)
        return -1;
    if (!event_tag_is_valid(str_from(fields.tag))) {
        value_diag(r->diags, value_point(r->body, "tag"), "'%s' is not a valid tag", fields.tag);
        diag_hint(r->diags, "segments of letters, digits, '_' and '-' with '/' between them");
        return -1;
    }
    action->send = (struct action_send){ fields.tag, value_or_null(fields.data) };
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

static int read_log(const struct reader *r, struct action *action)
{
    struct log_fields fields = { 0 };

    action->kind = ACTION_LOG;
    if (read_fields(r, log_params, &fields) < 0)
        return -1;
    action->message = fields.message;
    return 0;
}

/* --- blocks ---------------------------------------------------------------------------- */

/* clang-format off */
static const struct verb {
    const char *name;
    int (*read)(const struct reader *reader, struct action *action);
    const struct param *params;
    size_t fields_size;
    const char *scalar; /* the field that a scalar stands for; NULL: none */
} verbs[] = {
    { "dispatch.module", read_module, module_params, sizeof(struct dispatch_fields), NULL },
    { "dispatch.state",  read_state,  state_params,  sizeof(struct dispatch_fields), NULL },
    { "enroll.approve",  read_enroll, enroll_params, sizeof(struct action_enroll), NULL },
    { "enroll.reject",   read_enroll, enroll_params, sizeof(struct action_enroll), NULL },
    { "enroll.revoke",   read_enroll, enroll_params, sizeof(struct action_enroll), NULL },
    { "event.send",      read_send,   send_params,   sizeof(struct send_fields), NULL },
    { "log",             read_log,    log_params,    sizeof(struct log_fields), "message" },
    { LOCAL_PREFIX,      read_local,  local_params,  sizeof(struct local_fields), NULL },
};
/* clang-format on */

static const struct verb *find_verb(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (verbs[i].read == read_local ? str_starts(name, STR(LOCAL_PREFIX))
                                        : str_is(name, verbs[i].name))
            return &verbs[i];
    return NULL;
}

static int refuse_verb(struct diags *diags, const struct value *key)
{
    struct suggest near;

    value_diag(diags, key, "no action '%.*s'", STR_ARG(key->s));
    if (str_is(key->s, "orchestrate")) {
        diag_hint(diags, "operators run 'zester orchestrate'; a reaction has 'wait: true'");
        return -1;
    }
    suggest_init(&near, key->s);
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (verbs[i].read != read_local)
            suggest_offer(&near, str_from(verbs[i].name));
    if (suggest_best(&near).p)
        diag_hint(diags, "did you mean '%.*s'?", STR_ARG(suggest_best(&near)));
    return -1;
}

/* A list of maps with one key each is a map. */
static int flatten(struct arena *arena, const struct value *v, struct value *ret,
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
static int read_body(struct arena *arena, const struct verb *verb, const struct value *v,
                     struct value *ret, struct diags *diags)
{
    if (verb->scalar && v->kind != VALUE_MAP && v->kind != VALUE_LIST) {
        *ret = value_at(value_map(value_map_new(arena, 1)), v);
        value_map_set(arena, ret->map, value_at(value_text(verb->scalar), v), *v);
        return 0;
    }
    if (flatten(arena, v, ret, diags) < 0)
        return -1;
    if (ret->kind != VALUE_MAP && ret->kind != VALUE_NULL)
        return value_diag(diags, v, "expected a map of fields, found %s", value_describe(v));
    return 0;
}

/* The one action of a block; a pair of `arena` or of the block. */
static int find_pair(struct arena *arena, const struct value *body,
                     const struct value_pair **ret_pair, struct diags *diags)
{
    struct value map;

    if (flatten(arena, body, &map, diags) < 0)
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
    if (find_pair(arena, body, &ret->pair, diags) < 0 || !ret->pair)
        return -1;
    ret->verb = find_verb(ret->pair->key.s);
    if (!ret->verb)
        return refuse_verb(diags, &ret->pair->key);
    return read_body(arena, ret->verb, &ret->pair->value, &ret->fields, diags);
}

static const char *print_id(struct arena *arena, const struct value *id)
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
        .block = print_id(arena, id),
        .name = arena_strndup(arena, block.pair->key.s.p, block.pair->key.s.n),
        .key = &block.pair->key,
    };
    const struct reader reader = {
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
    const bool is_local = str_starts(name, STR(LOCAL_PREFIX));

    if (text.n > 0 && (text.p[0] == '\'' || text.p[0] == '"'))
        text = str_from_offset(text, 1);
    return str_starts(text, is_local ? STR(LOCAL_PREFIX) : name);
}

/* --- printing --------------------------------------------------------------------------- */

static void print_value(const struct value *v, const char *word, struct buf *out)
{
    struct err err;

    if (v->kind == VALUE_NULL)
        return;
    buf_printf(out, " %s ", word);
    (void)json_print(out, v, 0, &err); /* what cannot be shown is left out */
}

static void print_dispatch(const struct action_dispatch *dispatch, struct buf *out)
{
    buf_printf(out, "%s", dispatch->function);
    if (dispatch->state_id[0])
        buf_printf(out, " %s", dispatch->state_id);
    buf_printf(out, " on '%s'", dispatch->expr);
    print_value(&dispatch->args, "with", out);
    buf_add_text(out, ", timeout ");
    number_print_duration(dispatch->timeout, out);
    if (dispatch->max_targets > 0)
        buf_printf(out, ", at most %lld targets", (long long)dispatch->max_targets);
    if (dispatch->wait)
        buf_add_text(out, ", and wait");
}

void action_print(const struct action *action, struct buf *out)
{
    buf_printf(out, "%s: ", action->block);
    switch (action->kind) {
    case ACTION_DISPATCH:
        buf_add_text(out, "dispatch ");
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
        print_value(&action->send.data, "with", out);
        break;
    case ACTION_LOG: buf_printf(out, "log '%s'", action->message); break;
    }
}
