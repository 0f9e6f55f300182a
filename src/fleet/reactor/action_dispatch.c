/* Actions that become jobs: of peels, or of a master. */
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/mem.h"
#include "core/base/number.h"
#include "fleet/reactor/action_reader.h"
#include "fleet/wire/job.h"

#define SECOND  NUMBER_NS_PER_S
#define TIMEOUT (60 * SECOND)

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

/* A family and a name: ^[a-z0-9_]+\.[a-z0-9_]+$ */
static bool is_function_name(const char *text)
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
    for (size_t i = 0; function && i < ARRAY_LEN(slow_functions); i++)
        if (strcmp(slow_functions[i].function, function) == 0)
            return slow_functions[i].timeout;
    return TIMEOUT;
}

static int read_type(const struct action_reader *r, const char *key, const char *word,
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
static int check_action_target(const struct action_reader *r, const char *key,
                               struct action_dispatch *dispatch)
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

static int check_action_function(const struct action_reader *r, const struct value *where,
                                 const char *function)
{
    if (is_function_name(function))
        return 0;
    value_diag(r->diags, where, "'%s' is not a function", function);
    diag_hint(r->diags, "module.name, in lower case letters, digits and '_'");
    return -1;
}

#define FIELDS struct action_dispatch_fields

/* clang-format off */
#define TARGET_FIELDS                                                                               \
    PARAM("target",      STR, FIELDS, target, "which peels", .flags = PARAM_REQUIRED | PARAM_FILLED), \
    PARAM("target_type", STR, FIELDS, target_type, "how the target is meant"),                      \
    PARAM("args",        MAP, FIELDS, args, "arguments"),                                           \
    PARAM("timeout",     DURATION, FIELDS, timeout, "of the job", PARAM_RANGE(1, INT64_MAX)),       \
    PARAM("max_targets", INT, FIELDS, max_targets, "the most peels", PARAM_RANGE(1, INT64_MAX)),    \
    PARAM("wait",        BOOL, FIELDS, wait, "later blocks run after the job")

const struct param action_module_params[] = {
    TARGET_FIELDS,
    PARAM("function",    STR, FIELDS, function, "module.function", .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("state_id",    STR, FIELDS, state_id, "the bare argument"),
    { 0 },
};
const struct param action_state_params[] = {
    TARGET_FIELDS,
    PARAM("sls",         STR, FIELDS, sls, "states to apply", .flags = PARAM_FILLED),
    PARAM("highstate",   BOOL, FIELDS, highstate, "apply the states of the top file"),
    { 0 },
};
/* clang-format on */

static int check_wait(const struct action_reader *r, const struct action_dispatch *dispatch)
{
    if (!dispatch->wait || dispatch->timeout <= ACTION_WAIT_MAX)
        return 0;
    return value_diag(r->diags, value_point(r->body, "timeout"),
                      "a job that is waited for may take 30 minutes at most");
}

/* Fields that could not be read were reported, and are NULL here: the others are checked. */
static int finish_dispatch(const struct action_reader *r,
                           const struct action_dispatch_fields *fields,
                           const char *const keys[static 2], struct action *action)
{
    struct action_dispatch *dispatch = &action->dispatch;
    int result;

    action->kind = ACTION_DISPATCH;
    *dispatch = (struct action_dispatch){
        .target = fields->target,
        .function = fields->function,
        .args = action_value(fields->args),
        .state_id = fields->state_id ? fields->state_id : "",
        .timeout = timeout_of(fields->function, fields->timeout),
        .max_targets = fields->max_targets,
        .wait = fields->wait,
    };
    result = check_wait(r, dispatch);
    if (read_type(r, keys[1], fields->target_type, &dispatch->type) < 0)
        return -1;
    if (dispatch->target && dispatch->target[0] && check_action_target(r, keys[0], dispatch) < 0)
        return -1;
    return result;
}

static const char *const module_keys[] = { "target", "target_type" };

int action_read_module(const struct action_reader *r, struct action *action)
{
    struct action_dispatch_fields fields = { 0 };
    int result = action_read_fields(r, action_module_params, &fields);

    if (fields.function && fields.function[0] &&
        check_action_function(r, value_point(r->body, "function"), fields.function) < 0)
        result = -1;
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

int action_read_state(const struct action_reader *r, struct action *action)
{
    struct action_dispatch_fields fields = { 0 };
    int result = action_read_fields(r, action_state_params, &fields);

    if (fields.sls && fields.highstate)
        result = value_diag(r->diags, value_point(r->body, "highstate"),
                            "'sls' and 'highstate' are mutually exclusive");
    else if (!fields.sls && !fields.highstate &&
             (result == 0 || (!value_get(r->body, "sls") && !value_get(r->body, "highstate"))))
        result = value_diag(r->diags, r->where, "'sls' or 'highstate' is missing");
    fields.function = fields.sls ? STATE_APPLY : STATE_HIGHSTATE;
    if (fields.sls)
        fields.args = merge_mods(r->arena, fields.sls, fields.args);
    return finish_dispatch(r, &fields, module_keys, action) < 0 ? -1 : result;
}

/* --- local.<function> ------------------------------------------------------------------ */

#undef FIELDS
#define FIELDS struct action_local_fields

/* clang-format off */
const struct param action_local_params[] = {
    PARAM("tgt",      STR,  FIELDS, tgt, "which peels", .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("tgt_type", STR,  FIELDS, tgt_type, "how the target is meant"),
    PARAM("arg",      STRS, FIELDS, arg, "the bare argument"),
    PARAM("kwarg",    MAP,  FIELDS, kwarg, "arguments"),
    PARAM("timeout",  DURATION, FIELDS, timeout, "of the job", PARAM_RANGE(1, INT64_MAX)),
    { 0 },
};
/* clang-format on */

int action_read_local(const struct action_reader *r, struct action *action)
{
    static const char *const keys[] = { "tgt", "tgt_type" };
    struct action_local_fields fields = { 0 };
    struct action_dispatch_fields module;
    int result = action_read_fields(r, action_local_params, &fields);

    if (fields.arg.n > 1) {
        result = value_diag(r->diags, value_point(r->body, "arg"), "more than one bare argument");
        diag_hint(r->diags, "use 'kwarg' for arguments with names");
    }
    module = (struct action_dispatch_fields){
        .target = fields.tgt,
        .target_type = fields.tgt_type,
        .function = r->name + strlen(ACTION_LOCAL),
        .args = fields.kwarg,
        .state_id = fields.arg.n > 0 ? fields.arg.p[0] : NULL,
        .timeout = fields.timeout,
    };
    if (check_action_function(r, r->where, module.function) < 0)
        result = -1;
    return finish_dispatch(r, &module, keys, action) < 0 ? -1 : result;
}

/* --- orchestrate --------------------------------------------------------------------------- */

#undef FIELDS
#define FIELDS struct action_orchestrate_fields

/* clang-format off */
const struct param action_orchestrate_params[] = {
    PARAM("sls",     STRS, FIELDS, sls, "the states to run", .flags = PARAM_REQUIRED | PARAM_FILLED, .aliases = "mods"),
    PARAM("pillar",  MAP,  FIELDS, peel_settings, "settings that the states see", .aliases = "settings"),
    PARAM("timeout", DURATION, FIELDS, timeout, "of the whole run", PARAM_RANGE(1, ACTION_ORCHESTRATE_MAX)),
    PARAM("test",    BOOL, FIELDS, test, "a dry run"),
    PARAM("wait",    BOOL, FIELDS, wait, "later blocks run when it has ended"),
    { 0 },
};
/* clang-format on */

/* Words with dots between them: it names a file, and comes through a template. */
static bool is_reaction_ref(struct str text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

    while (text.p) {
        const struct str word = str_cut(&text, '.');

        if (word.n == 0)
            return false;
        for (size_t i = 0; i < word.n; i++)
            if (!memchr(letters, word.p[i], sizeof(letters) - 1))
                return false;
    }
    return true;
}

static int check_refs(const struct action_reader *r, const char *refs)
{
    struct str rest = str_from(refs);

    while (rest.p) {
        const struct str ref = str_cut(&rest, ',');

        if (is_reaction_ref(ref))
            continue;
        value_diag(r->diags, value_point(r->body, "sls"), "'%.*s' is not a reference to states",
                   STR_ARG(ref));
        diag_hint(r->diags, "words of letters, digits, '_' and '-' with dots between them");
        return -1;
    }
    return 0;
}

static const char *join_refs(struct arena *arena, const struct param_strs *refs)
{
    AUTO_BUF struct buf mods = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < refs->n; i++)
        buf_printf(&mods, "%s%s", i > 0 ? "," : "", refs->p[i]);
    return buf_copy(&mods, arena).p;
}

static struct value orchestrate_args(struct arena *arena, const char *refs,
                                     const struct action_orchestrate_fields *fields)
{
    const struct value args = value_map(value_map_new(arena, 3));

    value_map_set(arena, args.map, value_text("mods"), value_text(refs));
    if (fields->peel_settings)
        value_map_set(arena, args.map, value_text("pillar"), *fields->peel_settings);
    if (fields->test)
        value_map_set(arena, args.map, value_text("test"), value_bool(true));
    return args;
}

int action_read_orchestrate(const struct action_reader *r, struct action *action)
{
    struct action_orchestrate_fields fields = { 0 };
    const char *refs;

    action->kind = ACTION_DISPATCH;
    if (action_read_fields(r, action_orchestrate_params, &fields) < 0)
        return -1;
    refs = join_refs(r->arena, &fields.sls);
    if (check_refs(r, refs) < 0)
        return -1;
    action->dispatch = (struct action_dispatch){
        .target = JOB_TARGET_MASTER,
        .expr = JOB_TARGET_MASTER,
        .function = JOB_ORCHESTRATE,
        .args = orchestrate_args(r->arena, refs, &fields),
        .state_id = "",
        .timeout = fields.timeout > 0 ? fields.timeout : ACTION_ORCHESTRATE,
        .wait = fields.wait,
        .by_master = true,
    };
    return check_wait(r, &action->dispatch);
}
