#include "states/compile/generic.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/number.h"
#include "core/base/suggest.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "states/compile/dialect.h"
#include "states/compile/guards.h"
#include "states/state/module.h"
#include "states/compile/output.h"
#include "states/compile/plan.h"
#include "states/compile/requisite.h"
#include "states/compile/slot.h"
#include "core/sys/clock.h"

#define ARGS struct generic_args

#define RETRY_ATTEMPTS_MAX 100000
#define RETRY_INTERVAL_MAX (INT64_C(86400) * 1000000000)
#define ORDER_MAX          1000000000
#define UMASK_MAX          0777

struct generic_args {
    const struct value *onlyif, *unless, *check_cmd, *order, *retry, *name;
    struct param_strs creates;
    bool failhard, reload_modules, has_umask;
    const char *runas;
    mode_t umask;
    enum param_tristate test;
    enum param_tristate parallel;
    enum param_tristate implied_order;
    enum param_tristate onfail_stop;
    const struct value *fire_event;
    bool reload_grains;
};

/* None of them is required or has a default: they are decoded only where one is given. */
/* clang-format off */
static const struct param generic_params[] = {
    PARAM("onlyif", ANY, ARGS, onlyif, "run only if every command exits with 0 and every function returns true"),
    PARAM("unless", ANY, ARGS, unless, "skip if a command exits with 0 or a function returns true"),
    PARAM("check_cmd", ANY, ARGS, check_cmd, "commands that must succeed afterwards"),
    PARAM("creates", STRS, ARGS, creates, "paths; if all exist, nothing is done"),
    PARAM("order", ANY, ARGS, order, "position in the level: a number, first or last"),
    PARAM("retry", ANY, ARGS, retry, "retries after a failure: N, or attempts and interval"),
    PARAM("failhard", BOOL, ARGS, failhard, "end the run if it fails"),
    PARAM("runas", STR, ARGS, runas, "the user that runs its programs, onlyif, unless and check_cmd"),
    PARAM("umask", MODE, ARGS, umask, "umask of new files and folders, and of commands", PARAM_GIVEN(ARGS, has_umask)),
    PARAM("test", TRISTATE, ARGS, test, "true: only report what would change"),
    PARAM("parallel", TRISTATE, ARGS, parallel, "false: no other state of the level runs at the same time"),
    PARAM("implied_order", TRISTATE, ARGS, implied_order, "false: no implied requisites"),
    PARAM("fire_event", ANY, ARGS, fire_event, "true, or the end of a tag: send its result as an event, in a fleet"),
    PARAM("onfail_stop", TRISTATE, ARGS, onfail_stop, "false: if it succeeds, the failures of its onfail targets do not fail the run"),
    PARAM("reload_grains", BOOL, ARGS, reload_grains, "collect facts again once it has run"),
    PARAM("reload_modules", BOOL, ARGS, reload_modules, "ignored: modules need not be reloaded"),
    PARAM("name", ANY, ARGS, name, "the primary parameter, if it is not the ID"),
    { 0 },
};

struct retry_args {
    int64_t attempts, interval, splay;
};

static const struct param retry_params[] = {
    PARAM("attempts", INT, struct retry_args, attempts, "number of retries",
          .default_text = "1", PARAM_RANGE(0, RETRY_ATTEMPTS_MAX)),
    PARAM("interval", DURATION, struct retry_args, interval, "seconds between them",
          PARAM_RANGE(0, RETRY_INTERVAL_MAX)),
    PARAM("splay", DURATION, struct retry_args, splay, "random extra delay, up to this many seconds",
          PARAM_RANGE(0, RETRY_INTERVAL_MAX)),
    { 0 },
};

/* Salt attributes without effect here: a mistake in .zy files, a warning in .sls files. */
static const struct { const char *key, *hint; } refused[] = {
    { "aggregate", "package states are always combined; others cannot be" },
    { "reload_pillar", "settings are read before a run" },
    { "require_sls", "write 'require: [{sls: ...}]'" },
    { "saltenv", "there is only one tree" },
};

/* clang-format on */

bool generic_has(struct str key)
{
    return params_find(generic_params, key) || str_is(key, "names") || requisite_form_find(key);
}

void generic_offer(struct suggest *suggest)
{
    for (const struct param *param = generic_params; param->name; param++)
        suggest_offer(suggest, str_from(param->name));
    suggest_offer(suggest, STR("names"));
    for (const struct requisite_form *form = requisite_forms; form->name; form++)
        if (!form->internal)
            suggest_offer(suggest, str_from(form->name));
}

/* Where attributes without effect are reported, and whether as a mistake. */
struct idle {
    struct diags *diags;
    int result;
};

static struct idle choose_idle_diags(const struct plan_state *state, struct diags *warnings,
                                     struct diags *diags)
{
    return state->dialect->salt_attributes ? (struct idle){ warnings, 0 }
                                           : (struct idle){ diags, -1 };
}

/* --- order and retry ------------------------------------------------------------------- */

/* On the command line, every number is text. */
static bool is_plain_number(const struct value *v)
{
    struct err ignored;
    int64_t number;

    return v->kind == VALUE_STR && number_parse_int(v->s, &number, &ignored) == 0;
}

static int read_order(struct arena *arena, const struct value *v, int64_t *ret, struct diags *diags)
{
    static const struct param number = {
        .name = "order", .kind = PARAM_INT, .min = -ORDER_MAX, .max = ORDER_MAX
    };

    if (!v || v->kind == VALUE_NULL)
        return 0;
    if (v->kind == VALUE_STR && str_is(v->s, "first")) {
        *ret = PLAN_ORDER_FIRST;
    } else if (v->kind == VALUE_STR && str_is(v->s, "last")) {
        *ret = PLAN_ORDER_LAST;
    } else if (v->kind == VALUE_DOUBLE && v->d >= -ORDER_MAX && v->d <= ORDER_MAX) {
        *ret = (int64_t)v->d;
    } else if (v->kind == VALUE_INT || is_plain_number(v)) {
        return params_decode_one(arena, &number, &(struct params_policy){ 0 }, v, ret, diags);
    } else {
        (void)value_diag(diags, v, "'order' must be a number, 'first' or 'last'");
        return -1;
    }
    return 0;
}

/* Salt's spelling of the default. With false it would run what succeeds again; here a success stays
 * one, and a failure is final, as there. */
static int check_until(const struct value *v, struct idle idle, bool *ret_once, struct diags *diags)
{
    const struct value *until = value_get(v, "until");

    *ret_once = false;
    if (!until || (until->kind == VALUE_BOOL && until->b))
        return 0;
    if (idle.result == 0 && until->kind == VALUE_BOOL) {
        *ret_once = true;
        (void)value_diag(idle.diags, until, "retry: with 'until: false' the state runs once");
        return 0;
    }
    (void)value_diag(diags, until, "retry: 'until' can only be true");
    diag_hint(diags, "a state is tried again while it fails");
    return -1;
}

/* In Salt's files anything else means its defaults. */
static bool is_misshapen_retry(const struct value *v, struct idle idle)
{
    if (idle.result < 0 || v->kind == VALUE_MAP || v->kind == VALUE_BOOL || v->kind == VALUE_INT ||
        is_plain_number(v))
        return false;
    (void)value_diag(idle.diags, v, "'retry' must be a map, not %s: it is tried twice, %s",
                     value_describe(v), "30 seconds apart");
    diag_hint(idle.diags, "write 'attempts' and 'interval' below it, without dashes");
    return true;
}

static int read_retry_option(struct arena *arena, const struct value *v,
                             const struct dialect *dialect, struct plan_retry *ret,
                             struct idle idle, struct diags *diags)
{
    static const char *const checked[] = { "until", NULL };
    const struct params_policy policy = { .owner = "retry", .allowed = checked };
    struct retry_args args = { 0 };
    struct value map = { 0 };
    bool once;

    if (!v || v->kind == VALUE_NULL || (v->kind == VALUE_BOOL && !v->b))
        return 0;
    if (v->kind == VALUE_MAP) {
        map = *v;
    } else if (v->kind == VALUE_BOOL || is_misshapen_retry(v, idle)) {
        map = value_at(value_map(value_map_new(arena, 1)), v); /* once more, as in Salt */
    } else if (v->kind == VALUE_INT || v->kind == VALUE_STR) {
        map = value_at(value_map(value_map_new(arena, 1)), v);
        value_map_set(arena, map.map, value_at(value_text("attempts"), v), *v);
    } else {
        return value_diag(diags, v, "'retry' must be true, a number, or a map with 'attempts'");
    }
    if (check_until(&map, idle, &once, diags) < 0 ||
        params_decode(arena, retry_params, &policy, &map, &args, diags) < 0)
        return -1;
    if (dialect->attempts_total && value_get(&map, "attempts") && args.attempts > 0)
        args.attempts--;
    if (!value_get(&map, "interval"))
        args.interval = dialect->retry_interval * CLOCK_SECOND;
    *ret = (struct plan_retry){ once ? 0 : args.attempts, args.interval, args.splay };
    return 0;
}

/* True stands for the subject of the state; a text is used as it is. */
static int read_fire_event(const struct value *v, const char **ret, struct diags *diags)
{
    if (!v || v->kind == VALUE_NULL || (v->kind == VALUE_BOOL && !v->b))
        return 0;
    if (v->kind != VALUE_BOOL && (v->kind != VALUE_STR || v->s.n == 0))
        return value_diag(diags, v, "'fire_event' must be true or a tag");
    *ret = v->kind == VALUE_STR ? v->s.p : "";
    return 0;
}

/* --- splitting ------------------------------------------------------------------------- */

/* The hint for a Salt attribute without effect; NULL: not one of them. */
static const char *find_refused(struct str key)
{
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        if (str_is(key, refused[i].key))
            return refused[i].hint;
    return NULL;
}

static int refuse_key(const struct value_pair *pair, const char *hint, struct idle idle)
{
    const struct value *key = &pair->key;

    if (str_is(key->s, "saltenv") && value_is(&pair->value, VALUE_STR) &&
        str_is(pair->value.s, "base"))
        return 0; /* the one tree */
    (void)value_diag(idle.diags, key, "'%s' has no effect here", key->s.p);
    diag_hint(idle.diags, "%s", hint);
    return idle.result;
}

/* Salt's files may have slots; here outputs() does that. */
static int check_slots(struct arena *arena, const struct plan_state *state, const struct value *v,
                       struct diags *diags)
{
    const struct value *slot = slot_find(v);

    if (!slot)
        return 0;
    if (state->dialect->salt_attributes)
        return slot_check(arena, v, diags);
    (void)value_diag(diags, slot, "slots are for .sls files");
    diag_hint(diags, "use outputs('cmd.run:id').stdout for the output of an earlier state, or {{ "
                     "salt['mod.fun'](...) }} for a call before the run");
    return -1;
}

static int split_key(struct arena *arena, const struct value_map *args,
                     const struct plan_state *state, struct value_map *generic,
                     struct value_map *body, struct idle idle, struct diags *diags)
{
    const struct module *module = state->module;
    int result = 0;

    for (size_t i = 0; i < args->count; i++) {
        const struct value_pair *pair = &args->pairs[i];
        const struct str key = pair->key.s;

        if (requisite_form_find(key) || str_is(key, "names"))
            continue;
        result |= check_slots(arena, state, &pair->value, diags);
        if (params_find(module->params, key)) {
            value_map_set(arena, body, pair->key, pair->value);
        } else if (params_find(generic_params, key)) {
            value_map_set(arena, generic, pair->key, pair->value);
            if (output_has_mark(&pair->value) || slot_find(&pair->value))
                result |= value_diag(diags, &pair->value,
                                     "%s can be used in arguments of the module, not in '%s'",
                                     slot_find(&pair->value) ? "slots" : "outputs()", key.p);
        } else if (find_refused(key)) {
            result |= refuse_key(pair, find_refused(key), idle);
        } else {
            value_map_set(arena, body, pair->key, pair->value);
        }
    }
    return result;
}

/* For a module without a parameter `name`, it is the primary parameter. */
static void add_name_argument(struct arena *arena, const struct module *module,
                              const struct value *name, struct value_map *body)
{
    const struct param *primary = params_find_primary(module->params);

    if (name && !primary) /* unused, but shown as it was written */
        value_map_set(arena, body, value_at(value_text("name"), name), *name);
    if (!name || !primary || name->kind == VALUE_NULL)
        return;
    for (size_t i = 0; i < body->count; i++)
        if (param_is_called(primary, body->pairs[i].key.s))
            return;
    value_map_set(arena, body, value_at(value_text(primary->name), name), *name);
}

/* Guards of a module with its own `runas` run as that user too. */
static const char *find_module_user(const struct module *module, const struct value_map *body)
{
    const struct value key = value_text("runas");
    const struct value *user = value_map_find(body, &key);

    return user && user->kind == VALUE_STR && params_find(module->params, key.s) ? user->s.p : NULL;
}

/* Most states run programs; these only touch files. */
static bool runs_programs(const struct module *module)
{
    static const char *const files_only[] = { "file.", "ini.", "host.", "test.", "environ." };

    for (size_t i = 0; i < ARRAY_LEN(files_only); i++)
        if (str_starts(str_from(module->name), str_from(files_only[i])))
            return false;
    return true;
}

static int check_sense(const struct generic_args *args, const struct plan_state *state,
                       const struct value *where, struct idle idle, struct diags *diags)
{
    int result = 0;

    if (args->test == PARAM_IS_FALSE) {
        (void)value_diag(idle.diags, where, "'test: false' has no effect here");
        diag_hint(idle.diags, "a dry run never acts");
        result = idle.result;
    }
    if (args->has_umask && args->umask > UMASK_MAX) {
        (void)value_diag(diags, where, "'umask' must be at most 0777, got %04o",
                         (unsigned)args->umask);
        return -1;
    }
    if (args->runas && !runs_programs(state->module) &&
        state->onlyif.n + state->unless.n + state->check_cmd.n == 0) {
        (void)value_diag(idle.diags, where, "'runas' has no effect here: '%s' has no command",
                         state->module->name);
        result |= idle.result;
    }
    return result;
}

static int read_guards(struct arena *arena, const struct generic_args *got,
                       struct plan_state *state, const struct value_map *body,
                       struct diags *warnings, struct diags *diags)
{
    const struct guards_owner owner = {
        .arena = arena,
        .options = state->dialect->salt_attributes ? body : NULL,
        .runas = state->guard_user,
        .warnings = warnings,
        .diags = diags,
    };

    return guards_read(&owner, got->onlyif, "onlyif", &state->onlyif) |
           guards_read(&owner, got->unless, "unless", &state->unless) |
           guards_read_commands(&owner, got->check_cmd, "check_cmd", &state->check_cmd);
}

int generic_read(struct arena *arena, const struct value_map *args, struct plan_state *state,
                 struct value_map *ret_body, struct diags *warnings, struct diags *diags)
{
    const struct params_policy policy = { .noun = "attribute" };
    const struct idle idle = choose_idle_diags(state, warnings, diags);
    struct value_map *map = value_map_new(arena, 0); /* most have none */
    const struct value generic = value_map(map);
    struct generic_args got = { 0 };
    int result = split_key(arena, args, state, map, ret_body, idle, diags);

    if (map->count > 0)
        result |= params_decode(arena, generic_params, &policy, &generic, &got, diags);
    state->guard_user = got.runas ? got.runas : find_module_user(state->module, ret_body);
    result |= read_guards(arena, &got, state, ret_body, warnings, diags);
    result |= read_order(arena, got.order, &state->order, diags);
    result |= read_retry_option(arena, got.retry, state->dialect, &state->retry, idle, diags);
    result |= read_fire_event(got.fire_event, &state->fire_event, diags);
    if (map->count > 0)
        result |= check_sense(&got, state, &map->pairs[0].key, idle, diags);
    add_name_argument(arena, state->module, got.name, ret_body);
    state->has_order = got.order && got.order->kind != VALUE_NULL;
    state->parallel = got.parallel == PARAM_IS_TRUE;
    state->no_implied = got.implied_order == PARAM_IS_FALSE;
    state->handles = got.onfail_stop == PARAM_IS_FALSE;
    state->reload_facts = got.reload_grains || state->module->flags & MODULE_FACTS;
    state->creates = got.creates;
    state->failhard = got.failhard;
    state->dry = got.test == PARAM_IS_TRUE;
    state->alone = got.parallel == PARAM_IS_FALSE;
    state->has_umask = got.has_umask;
    state->umask = got.umask;
    state->tool_user = got.runas;
    return result;
}
