#include "states/compile/compile.h"

#include "core/base/arena.h"
#include "core/base/map.h"
#include "core/data/secret_tag.h"
#include "states/compile/arrange.h"
#include "states/compile/awaited.h"
#include "states/compile/contest.h"
#include "states/compile/decl.h"
#include "states/compile/delegate.h"
#include "states/compile/dialect.h"
#include "states/state/managed.h"
#include "states/compile/generic.h"
#include "states/state/host.h"
#include "states/compile/listen.h"
#include "states/compile/load.h"
#include "states/compile/lookup.h"
#include "states/state/module.h"
#include "states/compile/names.h"
#include "states/compile/output.h"
#include "states/compile/pick.h"
#include "states/compile/plan.h"
#include "states/compile/renderer.h"
#include "states/compile/requisite.h"
#include "states/compile/top.h"
#include "states/compile/slot.h"
#include "states/compile/use.h"

/* The origin of a state of the plan. */
struct origin {
    const struct decl *decl;
    const struct value_map *args; /* all of them, requisites too */
    bool broken;                  /* a mistake was reported: do not decode it */
};

struct compiling {
    struct arena *arena;
    struct state_host *host;
    struct diags *diags, *warnings;
    struct load load;
    struct output_list *outputs;
    struct lookup lookup;
    struct map *names;
    struct map expanded; /* full names that `names` of Salt's files have given */
    VEC(struct plan_state) states;
    VEC(struct origin) origins;
    struct requisites requisites;
    const char *id; /* only these states and their requisites; NULL: all */
};

/* --- states --------------------------------------------------------------------------- */

static bool has_secret_argument(const struct module *module, const struct value_map *body)
{
    const bool looks_up = params_know_secrets(module->params);

    for (size_t i = 0; i < body->count; i++) {
        const struct param *param =
            looks_up ? params_find(module->params, body->pairs[i].key.s) : NULL;

        if (secret_tag_has(&body->pairs[i].value) || (param && (param->flags & PARAM_SECRET)))
            return true;
    }
    return false;
}

/* Choose where to report a mistake in a state: in dialects that allow it, an `own` mistake only
 * fails that state. */
static struct diags *choose_diags(struct compiling *c, const struct plan_state *state,
                                  struct diags *own)
{
    *own = (struct diags)DIAGS_INIT(c->arena);
    return state->dialect->fails_late ? own : c->diags;
}

static bool defer_mistakes(struct compiling *c, struct plan_state *state, const struct diags *own)
{
    if (own->list.n == 0)
        return false;
    if (!state->mistake)
        state->mistake = own->list.p[0].text;
    VEC_EACH (&own->list, diag)
        VEC_PUSH_IN(c->arena, &c->warnings->list, *diag);
    return true;
}

/* An empty primary parameter counts as not given: the ID is used. */
static void drop_empty_primary(const struct module *module, struct value_map *body)
{
    const struct param *primary = params_find_primary(module->params);

    for (size_t i = 0; primary && i < body->count; i++) {
        const struct value_pair pair = body->pairs[i];

        if (param_is_called(primary, pair.key.s) && pair.value.kind == VALUE_STR &&
            pair.value.s.n == 0) {
            (void)value_map_remove(body, &pair.key);
            return;
        }
    }
}

static void warn_eventless(struct compiling *c, const struct plan_state *state,
                           const struct value_map *args)
{
    const struct value key = value_text("fire_event");
    const struct value *where = value_map_find(args, &key);

    if (!where || !state->fire_event || c->host->fire)
        return;
    (void)value_diag(c->warnings, where, "'fire_event' has no effect here");
    diag_hint(c->warnings, "events are sent by the states of a fleet");
}

/* A run that may be repeated elsewhere must do nothing here. */
static void check_step(struct compiling *c, const struct plan_state *state, const struct decl *decl)
{
    if (!c->host->steps_only || (state->module->flags & MODULE_STEP))
        return;
    (void)value_diag(c->diags, &decl->where, "%s is not a step of an orchestration",
                     state->module->name);
    diag_hint(c->diags, "a reaction orchestrates fleet.state and fleet.function only");
}

static void add_compiled_state(struct compiling *c, const struct decl *decl,
                               const struct names_state *from)
{
    struct value_map *body = value_map_new(c->arena, from->args->count);
    struct origin origin = { .decl = decl, .args = from->args, .broken = decl->broken };
    struct plan_state state = {
        .name = from->id == decl->id
                    ? decl->name
                    : arena_printf(c->arena, "%s:%s", decl->module->name, from->id),
        .id = from->id,
        .ref = decl->ref,
        .files = decl->files,
        .at = value_place(&decl->where),
        .module = decl->module,
        .dialect = decl->dialect,
        .sequence = decl->sequence,
        .mistake = decl->mistake,
    };
    struct diags own, *diags = choose_diags(c, &state, &own);

    if (delegate_read(c->arena, decl, &state.module, &origin.args, diags) < 0) {
        origin.broken = true;
        state.shown = from->args;
    }
    check_step(c, &state, decl);
    (void)generic_read(c->arena, origin.args, &state, body, c->warnings, diags);
    warn_eventless(c, &state, origin.args);
    if (defer_mistakes(c, &state, &own)) {
        origin.broken = true;
        state.onlyif = state.unless = state.check_cmd = (struct plan_guards){ 0 };
    }
    if (origin.args != from->args)
        state.shown = from->args;
    drop_empty_primary(state.module, body);
    state.body = value_at(value_map(body), &decl->where);
    state.deferred = (c->outputs->list.n > 0 && output_has_mark(&state.body)) ||
                     (state.dialect->salt_attributes && slot_find(&state.body));
    state.secret = has_secret_argument(state.module, body);
    lookup_add(&c->lookup, &(struct lookup_names){ .module = decl->module->name,
                                                   .id = from->id,
                                                   .alias = from->alias,
                                                   .name = from->about,
                                                   .ref = decl->ref });
    VEC_PUSH_IN(c->arena, &c->states, state);
    VEC_PUSH_IN(c->arena, &c->origins, origin);
}

/* In Salt's files several IDs may have the same of their `names`: all but one of these states are
 * called by the ID as well. An ID of that text comes first. */
static void make_separate_name(struct compiling *c, const struct decl *decl,
                               struct names_state *state)
{
    struct str name;

    if (!state->alias || !decl->dialect->ignores_repeats)
        return;
    name = str_from(arena_printf(c->arena, "%s:%s", decl->module->name, state->id));
    if (!map_has(&c->load.decls.names, name) && !map_set(&c->expanded, name, state))
        return;
    state->about = state->id;
    state->id = arena_printf(c->arena, "%s: %s", decl->id, state->id);
}

static void build_states(struct compiling *c)
{
    c->expanded = (struct map)MAP_INIT_IN(c->arena);
    VEC_RESERVE_IN(c->arena, &c->states, c->load.decls.list.n);
    VEC_RESERVE_IN(c->arena, &c->origins, c->load.decls.list.n);
    VEC_RESERVE_IN(c->arena, &c->lookup.states, c->load.decls.list.n);
    VEC_EACH (&c->load.decls.list, decl) {
        struct names names;

        if ((*decl)->excluded)
            continue;
        (void)names_expand(c->arena, *decl, &names, c->diags);
        VEC_EACH (&names.list, state) {
            make_separate_name(c, *decl, state);
            add_compiled_state(c, *decl, state);
        }
        if (c->states.n > COMPILE_STATES_MAX) {
            (void)value_diag(c->diags, &(*decl)->where, "more than %d states in one run",
                             COMPILE_STATES_MAX);
            return;
        }
    }
}

/* By full name, once the states are final; if two share a name, the first. */
static void name_states(struct compiling *c)
{
    c->names = ARENA_NEW(c->arena, struct map);
    *c->names = (struct map)MAP_INIT_IN(c->arena);
    map_reserve(c->names, c->states.n);
    VEC_EACH (&c->states, state) {
        void **place = map_place(c->names, str_from(state->name));

        if (!*place)
            *place = state;
    }
}

static void index_compiled_states(struct compiling *c)
{
    name_states(c);
    VEC_EACH (&c->states, state) {
        const struct plan_state *other = map_find(c->names, str_from(state->name));

        if (other == state)
            continue;
        (void)diag_add(c->diags, state->at, "dag: duplicate state \"%s\"", state->name);
        diag_note(c->diags, other->at, "first here");
    }
    MAP_EACH (&c->load.refs, entry) {
        const struct load_file *file = entry->value;

        lookup_add_ref(&c->lookup, entry->key.p, file->ref);
    }
    MAP_EACH (&c->load.files, entry) {
        const struct load_file *file = entry->value;

        for (const struct load_file *by = file->includer; by; by = by->includer)
            lookup_add_below(&c->lookup, by->ref, file->ref);
    }
}

/* --- requisites -------------------------------------------------------------------------- */

/* Read the requisites of a state, or those it adds to others. Returns the number of the other kind.
 *  */
static size_t read_requisites(struct compiling *c, uint32_t number, bool inverse)
{
    const struct value_map *args = c->origins.p[number].args;
    size_t others = 0;

    for (size_t i = 0; i < args->count; i++) {
        const struct requisite_form *form = requisite_form_find(args->pairs[i].key.s);
        struct diags own;

        if (!form || form->use)
            continue;
        if (form->inverse != inverse) {
            others++;
            continue;
        }
        lookup_index(&c->lookup);
        c->requisites.diags = choose_diags(c, &c->states.p[number], &own);
        if (form->inverse) /* it would change other states */
            c->requisites.diags = c->diags;
        if (c->outputs->list.n > 0 && output_has_mark(&args->pairs[i].value))
            (void)value_diag(c->diags, &args->pairs[i].value,
                             "outputs() cannot be used in requisites");
        else
            (void)requisite_read(&c->requisites, number, form, &args->pairs[i].value);
        (void)defer_mistakes(c, &c->states.p[number], &own);
        c->requisites.diags = c->diags;
    }
    return others;
}

/* The states that produce and consume an output, for output_each. */
struct output_user {
    struct compiling *c;
    uint32_t state;
};

static void wait_for_output(void *user, struct output *output)
{
    const struct output_user *by = user;
    struct compiling *c = by->c;
    const struct plan_state *state = &c->states.p[by->state];
    const struct requisite_item wanted = { .id = str_from(output->target) };
    struct plan_targets found;
    const char *unknown;
    struct str near;

    lookup_index(&c->lookup);
    if (requisite_find(c->arena, &c->lookup, &wanted, &found, &unknown) < 0) {
        (void)diag_add(c->diags, output->at, "state \"%s\" uses outputs of unknown state \"%s\"",
                       state->name, output->target);
        near = lookup_suggest(&c->lookup, c->arena, str_from(output->target));
        if (!near.p)
            near = lookup_suggest_id(&c->lookup, str_from(output->target));
        if (near.p)
            diag_hint(c->diags, "did you mean '%.*s'?", STR_ARG(near));
    } else if (found.n > 1) {
        (void)diag_add(
            c->diags, output->at, "outputs('%s') is ambiguous: %zu states match: \"%s\", \"%s\"",
            output->target, found.n, c->states.p[found.p[0]].name, c->states.p[found.p[1]].name);
        diag_hint(c->diags, "use the full name of one of them");
    } else {
        output->state = found.p[0];
        (void)requisite_add(&c->requisites, by->state, REQUISITE_REQUIRE, found.p[0]);
    }
}

static void resolve_requisites(struct compiling *c)
{
    const uint32_t count = (uint32_t)c->states.n;
    size_t inverse = 0;

    c->requisites = (struct requisites){
        .arena = c->arena,
        .lookup = &c->lookup,
        .states = c->states.p,
        .sets = ARENA_ARRAY(c->arena, struct requisite_set *, count),
        .diags = c->diags,
    };
    for (uint32_t i = 0; i < count; i++) {
        struct output_user user = { c, i };

        inverse += read_requisites(c, i, false);
        if (c->states.p[i].deferred)
            output_each(c->outputs, &c->states.p[i].body, wait_for_output, &user);
    }
    /* The lists of a state begin with its own words; Salt's order depends on it. */
    for (uint32_t i = 0; i < count && inverse > 0; i++)
        (void)read_requisites(c, i, true);
    c->requisites.diags = c->diags;
    (void)requisite_seal(&c->requisites, c->states.p, count);
}

/* --- arguments -------------------------------------------------------------------------- */

static void decode_states(struct compiling *c)
{
    for (size_t i = 0; i < c->states.n; i++) {
        struct plan_state *state = &c->states.p[i];
        struct diags *unknown = plan_is_strict(state, c->host) ? NULL : c->warnings;
        struct diags own, *diags = choose_diags(c, state, &own);

        if (c->origins.p[i].broken)
            continue;
        if (state->deferred)
            (void)plan_check_given(c->arena, state, unknown, diags);
        else
            (void)plan_decode(c->arena, state, &state->body, unknown, &state->args, diags);
        if (defer_mistakes(c, state, &own))
            state->args = NULL;
    }
}

/* Report identical warnings once: formulas repeat themselves. */
static void drop_repeated_warnings(struct diags *warnings)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct map told = MAP_INIT_IN(&scratch);
    size_t kept = 0;

    for (size_t i = 0; i < warnings->list.n; i++) {
        void **place = map_place(&told, str_from(warnings->list.p[i].text));

        if (!*place)
            warnings->list.p[kept++] = warnings->list.p[i];
        *place = warnings;
    }
    warnings->list.n = kept;
}

/* Nothing runs, so mistakes that would fail one state only are reported now. */
static void report_warnings(struct compiling *c)
{
    VEC_EACH (&c->warnings->list, warning)
        VEC_PUSH_IN(c->arena, &c->diags->list, *warning);
}

/* Check arguments that are wrong whatever a missing file would have added. */
static void check_given(struct compiling *c)
{
    for (size_t i = 0; i < c->states.n; i++) {
        const struct plan_state *state = &c->states.p[i];

        if (!c->origins.p[i].broken)
            (void)plan_check_given(c->arena, state,
                                   plan_is_strict(state, c->host) ? NULL : c->warnings, c->diags);
    }
}

/* Only states that clean a folder need the paths of all states. */
static const struct managed *list_managed(const struct compiling *c)
{
    struct managed *managed = NULL;

    for (size_t i = 0; i < c->states.n && !managed; i++)
        if (value_get(&c->states.p[i].body, "clean") ||
            (c->states.p[i].module->flags & MODULE_CLEANS))
            managed = ARENA_NEW(c->arena, struct managed);
    if (!managed)
        return NULL;
    managed_init(managed, c->arena);
    for (size_t i = 0; i < c->states.n; i++)
        managed_add(managed, c->states.p[i].name, c->states.p[i].module, c->states.p[i].args);
    return managed;
}

/* --- selection --------------------------------------------------------------------------- */

static void pick_selected(struct compiling *c)
{
    struct plan_targets wanted;
    struct str near;

    if (!c->id)
        return;
    lookup_index(&c->lookup);
    wanted = lookup_id(&c->lookup, str_from(c->id));
    if (wanted.n > 0) {
        c->states.n =
            pick_states(c->arena, c->states.p, (uint32_t)c->states.n, &wanted, c->outputs);
        name_states(c);
        return;
    }
    (void)diag_add(c->diags, (struct place){ 0 }, "no state has the ID '%s'", c->id);
    near = lookup_suggest_id(&c->lookup, str_from(c->id));
    if (near.p)
        diag_hint(c->diags, "did you mean '%.*s'?", STR_ARG(near));
}

/* States that react at the end; the array may move, so names are indexed again. */
static void add_listeners(struct compiling *c)
{
    const uint32_t count = (uint32_t)c->states.n, more = listen_count(c->states.p, count);

    if (more == 0)
        return;
    for (uint32_t i = 0; i < more; i++)
        VEC_PUSH_IN(c->arena, &c->states, (struct plan_state){ 0 });
    listen_add(c->arena, c->states.p, count);
    name_states(c);
}

/* --- compiling --------------------------------------------------------------------------- */

static void begin_compile(struct compiling *c, struct arena *arena, struct state_host *host,
                          struct renderer **ret_renderer, struct diags *diags)
{
    *c = (struct compiling){ .arena = arena, .host = host, .diags = diags };
    c->warnings = ARENA_NEW(arena, struct diags);
    *c->warnings = (struct diags)DIAGS_INIT(arena);
    c->outputs = ARENA_NEW(arena, struct output_list);
    c->outputs->arena = arena;
    *ret_renderer = renderer_new(host, c->outputs);
    lookup_init(&c->lookup, arena);
    load_init(&c->load, arena, host, *ret_renderer, c->warnings, diags);
}

/* From declarations to the plan. `before` is the number of mistakes at the start. */
static int finish_compile(struct compiling *c, struct param_strs refs, size_t before,
                          const struct plan **ret)
{
    struct plan *plan = ARENA_NEW(c->arena, struct plan);
    uint32_t shown;

    /* With a missing file, most mistakes about requisites would be consequences of that. */
    if (c->load.broken) {
        build_states(c);
        check_given(c);
        return -1;
    }
    (void)load_finish(&c->load);
    (void)use_apply(c->arena, &c->load.decls, c->diags);
    awaited_add(&c->load.decls, c->diags);
    build_states(c);
    index_compiled_states(c);
    resolve_requisites(c);
    decode_states(c);
    pick_selected(c);
    shown = (uint32_t)c->states.n;
    add_listeners(c);
    if (c->states.n == 0 && diags_count(c->diags) == before)
        return diag_add(c->diags, (struct place){ 0 }, "no states built from request");
    *plan = (struct plan){
        .states = c->states.p,
        .count = (uint32_t)c->states.n,
        .listeners = (uint32_t)c->states.n - shown,
        .refs = refs,
        .outputs = c->outputs,
        .warnings = c->warnings,
        .names = c->names,
        .managed = list_managed(c),
        .marked = c->load.marked,
    };
    (void)arrange_plan(c->arena, plan, c->host, c->diags);
    drop_repeated_warnings(c->warnings);
    if (diags_count(c->diags) > before) {
        report_warnings(c);
        return -1;
    }
    contest_tell(plan, c->warnings);
    *ret = plan;
    return 0;
}

/* "a,b" is Salt's way to name two, "a.*" to name many: each is loaded, and the run can be
 * reverted by each. */
static struct param_strs load_each(struct compiling *c, struct param_strs refs,
                                   const struct value *const *where)
{
    VEC(const char *) each = VEC_INIT;

    for (size_t i = 0; i < refs.n; i++) {
        struct str rest = str_from(refs.p[i]);

        while (rest.p) {
            const struct value *at = where ? where[i] : NULL;
            struct tree_names found;

            if (load_match(&c->load, str_trim(str_cut(&rest, ',')), at, &found) < 0)
                continue;
            VEC_EACH (&found.list, ref) {
                (void)load_ref(&c->load, str_from(*ref), at);
                VEC_PUSH_IN(c->arena, &each, *ref);
            }
        }
    }
    return (struct param_strs){ each.n, each.p };
}

/* `where` are the places of the references; NULL: they come from the command line. */
static int compile_files(struct arena *arena, struct state_host *host,
                         const struct compile_wish *wish, const struct value *const *where,
                         const struct plan **ret, struct diags *diags)
{
    const size_t before = diags_count(diags), first = diags->list.n;
    struct renderer *renderer;
    struct param_strs refs;
    struct compiling c;
    int result;

    begin_compile(&c, arena, host, &renderer, diags);
    c.id = wish->id;
    refs = load_each(&c, wish->refs, where);
    if (wish->text.p)
        (void)load_text(&c.load, COMPILE_TEXT_NAME, wish->text);
    if (wish->exclude)
        load_exclude(&c.load, wish->exclude);
    result = finish_compile(&c, refs, before, ret);
    diags_sort(diags, first);
    renderer_free(renderer);
    return result;
}

/* Such a run can also be reverted by the name 'highstate'. */
static const struct plan *call_highstate(struct arena *arena, const struct plan *plan)
{
    struct plan *called = ARENA_NEW(arena, struct plan);
    const char **refs = ARENA_ARRAY(arena, const char *, plan->refs.n + 1);

    refs[0] = "highstate";
    for (size_t i = 0; i < plan->refs.n; i++)
        refs[i + 1] = plan->refs.p[i];
    *called = *plan;
    called->refs = (struct param_strs){ plan->refs.n + 1, refs };
    return called;
}

int compile_wish(struct arena *arena, struct state_host *host, const struct compile_wish *wish,
                 const struct plan **ret, struct diags *diags)
{
    struct compile_wish of_top = *wish;
    struct top_list top;

    if (wish->refs.n > 0 || wish->text.p)
        return compile_files(arena, host, wish, NULL, ret, diags);
    if (top_list(arena, host, &top, diags) < 0)
        return -1;
    of_top.refs = top.refs;
    if (compile_files(arena, host, &of_top, top.where, ret, diags) < 0)
        return -1;
    *ret = call_highstate(arena, *ret);
    return 0;
}

int compile_refs(struct arena *arena, struct state_host *host, struct param_strs refs,
                 const struct plan **ret, struct diags *diags)
{
    const struct compile_wish wish = { .refs = refs };

    return compile_files(arena, host, &wish, NULL, ret, diags);
}

int compile_top(struct arena *arena, struct state_host *host, const struct plan **ret,
                struct diags *diags)
{
    const struct compile_wish wish = { .id = NULL };

    return compile_wish(arena, host, &wish, ret, diags);
}

int compile_single(struct arena *arena, struct state_host *host, const char *module, const char *id,
                   const struct value *body, const struct plan **ret, struct diags *diags)
{
    const size_t before = diags_count(diags);
    const struct value name = value_text(module), id_value = value_text(id);
    const struct decl_file file = { .file = module, .ref = "", .dialect = &dialect_zy };
    const struct module *found = decl_module(name.s, &name, diags);
    struct renderer *renderer;
    struct compiling c;
    int result = -1;

    if (!found)
        return -1;
    begin_compile(&c, arena, host, &renderer, diags);
    if (decl_add(&c.load.decls, &file, &id_value, found, body, diags) == 0)
        result = finish_compile(&c, (struct param_strs){ 0 }, before, ret);
    renderer_free(renderer);
    return result;
}
