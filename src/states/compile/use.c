#include "states/compile/use.h"

#include "core/base/arena.h"
#include "core/data/params.h"
#include "core/graph/cycle.h"
#include "core/graph/dag.h"
#include "core/graph/levels.h"
#include "states/compile/decl.h"
#include "states/compile/lookup.h"
#include "states/state/module.h"
#include "states/compile/requisite.h"

struct use_edge {
    uint32_t from, to; /* `to` gets the arguments of `from` */
};

struct using
{
    struct arena *arena;
    struct decl_set *set;
    struct lookup lookup;
    struct diags *diags;
    VEC(struct use_edge) edges;
};

static void index_decls(struct using *using)
{
    lookup_init(&using->lookup, using->arena);
    VEC_EACH (&using->set->list, item) {
        const struct decl *decl = *item;

        lookup_add(&using->lookup, &(struct lookup_names){ .module = decl->module->name,
                                                           .id = decl->id,
                                                           .ref = decl->ref });
    }
    lookup_index(&using->lookup);
}

static int read_use_target(struct using *using, uint32_t number, const struct requisite_form *form,
                           const struct value *key, const struct value *id)
{
    const struct str text = decl_text(using->arena, id);
    const struct decl *decl = using->set->list.p[number];
    const struct requisite_item item = { .key = key, .id = text };
    struct plan_targets found;
    const char *unknown;

    if (!text.p || (key && key->kind != VALUE_STR))
        return value_diag(using->diags, id, "state \"%s\": %s must be the ID of a state, not %s",
                          decl->name, form->name, value_describe(id));
    if (requisite_find(using->arena, &using->lookup, &item, &found, &unknown) < 0) {
        const struct str near = lookup_suggest(&using->lookup, using->arena, str_from(unknown));

        (void)value_diag(using->diags, key ? key : id,
                         "state \"%s\" uses the arguments of unknown state \"%s\"", decl->name,
                         unknown);
        if (near.p)
            diag_hint(using->diags, "did you mean '%.*s'?", STR_ARG(near));
        return -1;
    }
    VEC_EACH (&found, other) {
        const struct use_edge edge = form->inverse ? (struct use_edge){ number, *other }
                                                   : (struct use_edge){ *other, number };

        if (edge.from != edge.to)
            VEC_PUSH_IN(using->arena, &using->edges, edge);
    }
    return 0;
}

static int read_use_item(struct using *using, uint32_t number, const struct requisite_form *form,
                         const struct value *item)
{
    int result = 0;

    if (item->kind != VALUE_MAP)
        return read_use_target(using, number, form, NULL, item);
    for (size_t i = 0; i < item->map->count; i++)
        result |= read_use_target(using, number, form, &item->map->pairs[i].key,
                                  &item->map->pairs[i].value);
    return result;
}

static int read_decl(struct using *using, uint32_t number)
{
    const struct value_map *args = using->set->list.p[number]->args;
    int result = 0;

    for (size_t i = 0; i < args->count; i++) {
        const struct requisite_form *form = requisite_form_find(args->pairs[i].key.s);
        const struct value *v = &args->pairs[i].value;

        if (!form || !form->use || v->kind == VALUE_NULL)
            continue;
        if (v->kind != VALUE_LIST)
            result |= read_use_item(using, number, form, v);
        for (size_t k = 0; v->kind == VALUE_LIST && k < v->list->count; k++)
            result |= read_use_item(using, number, form, &v->list->items[k]);
    }
    return result;
}

/* Is this argument already given, under any of its names? */
static bool has_argument(const struct decl *decl, struct str key)
{
    const struct param *param = params_find(decl->module->params, key);

    for (size_t i = 0; i < decl->args->count; i++) {
        const struct str own = decl->args->pairs[i].key.s;

        if (str_eq(own, key) || (param && params_find(decl->module->params, own) == param))
            return true;
    }
    return false;
}

/* The primary parameter is never taken over. */
static bool is_used_subject(const struct decl *decl, struct str key)
{
    const struct param *primary = params_find_primary(decl->module->params);

    return str_is(key, "name") || str_is(key, "names") ||
           (primary && param_is_called(primary, key));
}

static void copy_arguments(struct arena *arena, const struct decl *from, struct decl *to)
{
    for (size_t i = 0; i < from->args->count; i++) {
        const struct value_pair *pair = &from->args->pairs[i];

        if (!requisite_form_find(pair->key.s) && !is_used_subject(from, pair->key.s) &&
            !has_argument(to, pair->key.s))
            value_map_set(arena, to->args, pair->key, pair->value);
    }
}

static int apply_uses(struct using *using)
{
    struct dag *dag = dag_new(using->arena, (uint32_t) using->set->list.n);
    struct levels levels;
    struct cycle cycle;

    VEC_EACH (&using->edges, edge)
        dag_edge(dag, edge->from, edge->to, 0);
    dag_seal(dag);
    if (!levels_build(using->arena, dag, &levels) && cycle_find(using->arena, dag, 1, &cycle) > 0) {
        const struct decl *decl = using->set->list.p[cycle.nodes[0]];

        return value_diag(using->diags, &decl->where,
                          "state \"%s\" uses its own arguments, through \"%s\"", decl->name,
                          using->set->list.p[cycle.nodes[cycle.n - 1]]->name);
    }
    for (uint32_t i = 0; i < levels.resolved; i++) {
        const struct dag_links before = dag_before(dag, levels.order[i]);

        VEC_EACH (&before, link)
            copy_arguments(using->arena, using->set->list.p[link->node],
                           using->set->list.p[levels.order[i]]);
    }
    return 0;
}

static bool has_use(const struct decl_set *set)
{
    for (const struct requisite_form *form = requisite_forms; form->name; form++) {
        const struct value key = value_text(form->name);

        if (!form->use)
            continue;
        VEC_EACH (&set->list, decl)
            if (value_map_find((*decl)->args, &key))
                return true;
    }
    return false;
}

int use_apply(struct arena *arena, struct decl_set *set, struct diags *diags)
{
    struct using using = { .arena = arena, .set = set, .diags = diags };
    int result = 0;

    if (!has_use(set))
        return 0;
    index_decls(&using);
    for (uint32_t i = 0; i < set->list.n; i++)
        result |= read_decl(&using, i);
    return result < 0 ? -1 : apply_uses(&using);
}
