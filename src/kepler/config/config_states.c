/* `depends_on: {state: ...}` - states of this machine: a name, a list of names, or a map of names
 * with options. */
#include "core/base/diag.h"
#include "kepler/config/config_read.h"
#include "kepler/config/script.h"
#include "language/lua/expr.h"

#define MS          INT64_C(1000000)
#define TIMEOUT_MAX (INT64_C(365) * 86400 * 1000 * MS)

struct state_args {
    int64_t timeout;
    bool restart;
};

#define ARGS struct state_args
const struct param config_state_params[] = {
    PARAM("timeout", DURATION, ARGS, timeout, "how long to wait", PARAM_RANGE(MS, TIMEOUT_MAX)),
    PARAM("restart", BOOL, ARGS, restart, "restart when the state changed something"),
    { 0 },
};
#undef ARGS

struct states {
    struct config_reader *reader;
    struct config_service *service;
    VEC(struct config_state) list;
};

static int read_state_options(struct states *s, const struct value *v, struct config_state *state)
{
    struct config_reader *r = s->reader;
    const struct params_policy policy = config_policy(arena_printf(
        r->arena, "state '%s' in 'depends_on' of service '%s'", state->name, s->service->name));
    struct state_args args = { 0 };
    struct value evaluated;

    if (script_eval(r->script, v, r->arena, &evaluated, r->diags) < 0 ||
        params_decode(r->arena, config_state_params, &policy, &evaluated, &args, r->diags) < 0)
        return -1;
    state->restart = args.restart;
    if (args.timeout > 0)
        state->timeout = args.timeout;
    return 0;
}

static int check_state_name(struct states *s, const struct value *name)
{
    struct diags *diags = s->reader->diags;

    if (name->kind != VALUE_STR || expr_is_dynamic(name))
        return value_diag(diags, name, "'state' must be names of states, got %s",
                          name->kind == VALUE_STR ? "an expression" : value_describe(name));
    if (name->s.n == 0 || name->s.n > CONFIG_STATE_MAX)
        return value_diag(diags, name, "names of states have 1 to %d bytes", CONFIG_STATE_MAX);
    VEC_EACH (&s->list, state)
        if (str_is(name->s, state->name)) {
            (void)value_diag(diags, name, "service '%s' lists state '%.*s' twice", s->service->name,
                             STR_ARG(name->s));
            diag_note(diags, state->at, "first here");
            return -1;
        }
    if (s->list.n == CONFIG_STATES_MAX)
        return value_diag(diags, name, "a service can wait for %d states at most",
                          CONFIG_STATES_MAX);
    return 0;
}

static int add_config_state(struct states *s, const struct value *name, const struct value *options)
{
    struct config_reader *r = s->reader;
    struct config_state state = { .timeout = r->edge_timeout, .at = value_place(name) };

    if (check_state_name(s, name) < 0)
        return -1;
    state.name = arena_str(r->arena, name->s).p;
    if (options && options->kind != VALUE_NULL && read_state_options(s, options, &state) < 0)
        return -1;
    VEC_PUSH_IN(r->arena, &s->list, state);
    return 0;
}

static int add_state_map(struct states *s, const struct value *v)
{
    int result = 0;

    for (size_t i = 0; i < v->map->count; i++)
        if (add_config_state(s, &v->map->pairs[i].key, &v->map->pairs[i].value) < 0)
            result = -1;
    return result;
}

static int add_state_item(struct states *s, const struct value *item)
{
    return item->kind == VALUE_MAP ? add_state_map(s, item) : add_config_state(s, item, NULL);
}

int config_states_read(struct config_reader *reader, const struct value *v,
                       struct config_service *service)
{
    struct states s = { .reader = reader, .service = service };
    int result = 0;

    for (size_t i = 0; i < service->state_count; i++) /* in an earlier item of a list */
        VEC_PUSH_IN(reader->arena, &s.list, service->states[i]);
    if (v->kind != VALUE_LIST) {
        result = add_state_item(&s, v);
    } else {
        for (size_t i = 0; i < v->list->count; i++)
            if (add_state_item(&s, &v->list->items[i]) < 0)
                result = -1;
    }
    service->states = s.list.p;
    service->state_count = s.list.n;
    return result;
}
