/* `depends_on:` - a list of names, a map of edges, or a list of both. The key `state` is for states
 * of this machine, unless a service has that name. */
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/number.h"
#include "core/base/suggest.h"
#include "language/lua/expr.h"
#include "kepler/config/config_read.h"
#include "kepler/config/script.h"

#define MS          INT64_C(1000000)
#define TIMEOUT_MAX (INT64_C(365) * 86400 * 1000 * MS)
#define CODES_COUNT 256 /* ranges of one filter */

struct edge_args {
    const char *condition;
    int64_t timeout;
    bool restart, allow_skipped, required;
    const struct value *exit_code;
};

#define ARGS struct edge_args
const struct param config_edge_params[] = {
    PARAM("condition", STR, ARGS, condition, "what to wait for", .default_text = CONDITION_DEFAULT),
    PARAM("timeout", DURATION, ARGS, timeout, "how long to wait", PARAM_RANGE(MS, TIMEOUT_MAX)),
    PARAM("restart", BOOL, ARGS, restart, "restart when the dependency restarts"),
    PARAM("exit_code", LIST, ARGS, exit_code, "codes and ranges such as \"5:10\""),
    PARAM("allow_skipped", BOOL, ARGS, allow_skipped, "a skipped dependency counts as met"),
    PARAM("required", BOOL, ARGS, required, "false: start without it if necessary",
          .default_text = "true"),
    { 0 },
};
#undef ARGS

struct edges {
    struct config_reader *reader;
    struct config_service *service;
    VEC(struct config_edge) list;
};

/* --- exit codes --------------------------------------------------------------------------- */

static int parse_range(struct str text, struct condition_range *ret)
{
    struct str last = text;
    struct str first = str_cut(&last, ':');
    struct err err;

    if (number_parse_int(first, &ret->first, &err) < 0)
        return -1;
    ret->last = ret->first;
    return last.p ? number_parse_int(last, &ret->last, &err) : 0;
}

static int read_exit_code(const struct value *v, struct condition_range *ret, struct diags *diags)
{
    struct condition_range range = { v->i, v->i };

    if (v->kind == VALUE_STR ? parse_range(v->s, &range) < 0 : v->kind != VALUE_INT) {
        (void)value_diag(diags, v, "'exit_code' must be numbers and ranges, got %s",
                         value_describe(v));
        diag_hint(diags, "write a range as text: \"5:10\"");
        return -1;
    }
    if (range.first > range.last)
        return value_diag(diags, v, "the range ends before it starts");
    if (range.first < CONDITION_NO_CODE || range.last > CONDITION_CODE_MAX)
        return value_diag(diags, v, "exit codes are numbers from 0 to %d", CONDITION_CODE_MAX);
    *ret = range;
    return 0;
}

static void warn_useless_codes(struct edges *e, const struct value *v, enum condition condition)
{
    AUTO_BUF struct buf others = BUF_INIT(BUF_NO_LIMIT);

    condition_print_names_with_codes(&others);
    (void)value_diag(e->reader->warned, v, "'exit_code' has no effect with '%s', only with %s",
                     condition_name(condition), buf_text(&others));
}

static int read_codes(struct edges *e, const struct value *v, struct config_edge *edge)
{
    struct diags *diags = e->reader->diags;
    struct condition_range *ranges;
    int result = 0;

    if (!condition_has_codes(edge->condition) && v->list->count > 0)
        warn_useless_codes(e, v, edge->condition);
    if (v->list->count > CODES_COUNT)
        return value_diag(diags, v, "'exit_code' has more than %d items", CODES_COUNT);
    ranges = ARENA_ARRAY(e->reader->arena, struct condition_range, v->list->count);
    for (size_t i = 0; i < v->list->count; i++)
        if (read_exit_code(&v->list->items[i], &ranges[i], diags) < 0)
            result = -1;
    edge->codes = (struct condition_codes){ ranges, v->list->count };
    return result;
}

/* --- one edge --------------------------------------------------------------------------------- */

static int read_condition(struct edges *e, const struct value *v, const char *word,
                          enum condition *ret)
{
    AUTO_BUF struct buf names = BUF_INIT(BUF_NO_LIMIT);
    struct diags *diags = e->reader->diags;
    const char *whole = arena_printf(e->reader->arena, "service_%s", word);
    enum condition meant;
    struct suggest suggest;

    if (condition_parse(str_from(word), ret) == 0)
        return 0;
    /* the spelling of other programs: 'healthy' for 'service_healthy' */
    suggest_init(&suggest, str_from(condition_parse(str_from(whole), &meant) == 0 ? whole : word));
    for (size_t i = 0; i < CONDITIONS; i++)
        suggest_offer(&suggest, str_from(condition_name((enum condition)i)));
    (void)value_diag(diags, v, "unknown condition '%s'", word);
    condition_print_names(&names);
    if (suggest_best(&suggest).p)
        diag_hint(diags, "did you mean '%.*s'?", STR_ARG(suggest_best(&suggest)));
    else
        diag_hint(diags, "known conditions: %s", buf_text(&names));
    return -1;
}

static int read_edge_options(struct edges *e, const struct value *v, const char *owner,
                             struct config_edge *edge)
{
    struct config_reader *r = e->reader;
    struct params_policy policy = config_policy(owner);
    struct edge_args args = { 0 };
    struct value evaluated;
    int result;

    if (script_eval(r->script, v, r->arena, &evaluated, r->diags) < 0)
        return -1;
    result = params_decode(r->arena, config_edge_params, &policy, &evaluated, &args, r->diags);
    if (!args.condition)
        return -1;
    edge->restart = args.restart;
    edge->allow_skipped = args.allow_skipped;
    edge->optional = !args.required;
    if (read_condition(e, value_get(&evaluated, "condition"), args.condition, &edge->condition) < 0)
        result = -1;
    /* Waiting for a failure is not a slow start. */
    if (args.timeout > 0 || condition_waits_for_trouble(edge->condition))
        edge->timeout = args.timeout;
    if (args.exit_code && read_codes(e, args.exit_code, edge) < 0)
        result = -1;
    return result;
}

/* The index of the service that `name` means. */
static bool find_edge_target(const struct edges *e, const struct value *name, uint32_t *ret)
{
    const void *found = map_find(e->reader->names, name->s);

    if (found)
        *ret = (uint32_t)((uintptr_t)found - 1);
    return found;
}

static int refuse_unknown_service(struct edges *e, const struct value *name)
{
    struct diags *diags = e->reader->diags;
    struct suggest suggest;

    suggest_init(&suggest, name->s);
    MAP_EACH (e->reader->names, entry)
        suggest_offer(&suggest, entry->key);
    (void)value_diag(diags, name, "service '%s' depends on unknown service '%.*s'",
                     e->service->name, STR_ARG(str_slice(name->s, 0, CONFIG_NAME_MAX)));
    if (suggest_best(&suggest).p)
        diag_hint(diags, "did you mean '%.*s'?", STR_ARG(suggest_best(&suggest)));
    return -1;
}

/* A dependency that need not be there. */
static int warn_unknown(struct edges *e, const struct value *name)
{
    (void)value_diag(e->reader->warned, name,
                     "service '%s' does not wait for '%.*s', which is not in this file and not "
                     "required",
                     e->service->name, STR_ARG(str_slice(name->s, 0, CONFIG_NAME_MAX)));
    return 0;
}

static int check_new_edge(struct edges *e, const struct value *name, uint32_t service)
{
    struct diags *diags = e->reader->diags;

    if (&e->reader->config->services[service] == e->service)
        return value_diag(diags, name, "service '%s' depends on itself", e->service->name);
    VEC_EACH (&e->list, edge)
        if (edge->service == service) {
            (void)value_diag(diags, name, "service '%s' lists '%.*s' twice", e->service->name,
                             STR_ARG(name->s));
            diag_note(diags, edge->at, "first here");
            return -1;
        }
    return 0;
}

static int add_service_edge(struct edges *e, const struct value *name, const struct value *options)
{
    struct config_reader *r = e->reader;
    struct config_edge edge = { .timeout = r->edge_timeout, .at = value_place(name) };
    const char *owner;
    bool known;
    int result = 0;

    if (name->kind != VALUE_STR || expr_is_dynamic(name))
        return value_diag(r->diags, name, "'depends_on' must be names of services, got %s",
                          name->kind == VALUE_STR ? "an expression" : value_describe(name));
    if (options && str_is(name->s, CONFIG_STATE_KEY) && !map_has(r->names, name->s))
        return config_states_read(r, options, e->service);
    known = find_edge_target(e, name, &edge.service);
    if (known && check_new_edge(e, name, edge.service) < 0)
        result = -1;
    owner = arena_printf(r->arena, "dependency '%.*s' of service '%s'", STR_ARG(name->s),
                         e->service->name);
    if (options && options->kind != VALUE_NULL && read_edge_options(e, options, owner, &edge) < 0)
        result = -1;
    if (!known)
        return edge.optional && result == 0 ? warn_unknown(e, name)
                                            : refuse_unknown_service(e, name);
    if (result == 0)
        VEC_PUSH_IN(r->arena, &e->list, edge);
    return result;
}

/* --- all forms --------------------------------------------------------------------------- */

static int add_edge_map(struct edges *e, const struct value *v)
{
    int result = 0;

    for (size_t i = 0; i < v->map->count; i++)
        if (add_service_edge(e, &v->map->pairs[i].key, &v->map->pairs[i].value) < 0)
            result = -1;
    return result;
}

static int add_edge_list(struct edges *e, const struct value *v)
{
    int result = 0;

    for (size_t i = 0; i < v->list->count; i++) {
        const struct value *item = &v->list->items[i];

        if ((item->kind == VALUE_MAP ? add_edge_map(e, item) : add_service_edge(e, item, NULL)) < 0)
            result = -1;
    }
    return result;
}

int config_edges_read(struct config_reader *reader, const struct value *v,
                      struct config_service *service)
{
    struct edges e = { .reader = reader, .service = service };
    int result;

    if (!v)
        return 0;
    if (value_tag(v) || (v->kind == VALUE_STR && expr_is_dynamic(v))) {
        (void)value_diag(reader->diags, v, "'depends_on' of service '%s' cannot be computed",
                         service->name);
        diag_hint(reader->diags, "names are fixed; the options of an edge may be expressions");
        return -1;
    }
    if (v->kind != VALUE_LIST && v->kind != VALUE_MAP)
        return value_diag(reader->diags, v, "'depends_on' must be a list or a map, got %s",
                          value_describe(v));
    result = v->kind == VALUE_MAP ? add_edge_map(&e, v) : add_edge_list(&e, v);
    service->edges = e.list.p;
    service->edge_count = e.list.n;
    return result;
}
