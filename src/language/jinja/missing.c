#include "language/jinja/missing.h"

#include "core/base/suggest.h"
#include "language/jinja/builtins.h"
#include "language/jinja/context.h"
#include "language/jinja/env.h"
#include "language/jinja/eval.h"
#include "language/jinja/template.h"

/* The whole template: no statement of it has failed. */
#define NOWHERE UINT32_MAX

/* A walk over the statements before the place `at`, in the scopes around it. */
struct search {
    struct str word;
    uint32_t at;
    struct suggest near;
    bool exported; /* the template exports `word` */
    bool ended;    /* `word` was set in a loop that has ended */
};

/* `past`: in a loop that has ended. `exports`: importers see it. */
static void note_missing_name(struct search *search, const struct name *name, bool past,
                              bool exports)
{
    const bool same = str_eq(name->text, search->word);

    search->exported |= same && exports && !past;
    search->ended |= same && past;
    if (!past && !same)
        suggest_offer(&search->near, name->text);
}

static void note_target(struct search *search, const struct node *target, bool past, bool exports)
{
    if (target->kind == NODE_NAME)
        note_missing_name(search, ((const struct node_name *)target)->name, past, exports);
    if (target->kind != NODE_TUPLE && target->kind != NODE_LIST)
        return;
    const struct nodes *items = &((const struct node_list *)target)->items;
    for (uint32_t i = 0; i < items->n; i++)
        note_target(search, items->p[i], past, exports);
}

static void note_targets(struct search *search, struct nodes targets)
{
    for (uint32_t i = 0; i < targets.n; i++)
        note_target(search, targets.p[i], false, false);
}

static void walk_body(struct search *search, struct nodes body, bool past);

/* The names that the statement assigns in its own scope. */
static void note_assigned(struct search *search, const struct node *node, bool past)
{
    if (node->kind == NODE_SET) {
        const struct node_set *set = (const struct node_set *)node;

        note_target(search, set->target, past, set->toplevel);
    } else if (node->kind == NODE_SET_BLOCK) {
        const struct node_set_block *set = (const struct node_set_block *)node;

        note_target(search, set->target, past, set->toplevel);
    } else if (node->kind == NODE_MACRO) {
        const struct node_macro *macro = (const struct node_macro *)node;

        note_missing_name(search, macro->name, past, macro->toplevel);
    } else if (node->kind == NODE_IMPORT) {
        const struct node_import *import = (const struct node_import *)node;

        note_missing_name(search, import->target->name, past, import->toplevel && import->load);
    } else if (node->kind == NODE_FROM) {
        const struct node_from *from = (const struct node_from *)node;

        for (uint32_t i = 0; i < from->count; i++)
            note_missing_name(search, from->targets[i]->name, past, false);
    }
}

/* The statement contains the place: the names it sets for its body, and the body. */
static void walk_inside(struct search *search, const struct node *node)
{
    if (node->kind == NODE_FOR) {
        note_target(search, ((const struct node_for *)node)->target, false, false);
        walk_body(search, ((const struct node_for *)node)->body, false);
    } else if (node->kind == NODE_MACRO || node->kind == NODE_CALL_BLOCK) {
        note_targets(search, ((const struct node_macro *)node)->params);
        walk_body(search, ((const struct node_macro *)node)->body, false);
    } else if (node->kind == NODE_WITH) {
        note_targets(search, ((const struct node_with *)node)->targets);
        walk_body(search, ((const struct node_with *)node)->body, false);
    } else if (node->kind == NODE_SET_BLOCK) {
        walk_body(search, ((const struct node_set_block *)node)->body, false);
    } else if (node->kind == NODE_FILTER_BLOCK) {
        walk_body(search, ((const struct node_filter_block *)node)->body, false);
    } else if (node->kind == NODE_BLOCK) {
        walk_body(search, ((const struct node_block *)node)->body, false);
    } else if (node->kind == NODE_AUTOESCAPE) {
        walk_body(search, ((const struct node_autoescape *)node)->body, false);
    }
}

/* `if` has no scope: its assignments are visible after it, too. */
static void walk_branches(struct search *search, const struct node_if *node, bool past)
{
    for (uint32_t i = 0; i < node->count; i++)
        walk_body(search, node->branches[i].body, past);
    walk_body(search, node->otherwise, past);
}

static void walk_body(struct search *search, struct nodes body, bool past)
{
    for (uint32_t i = 0; i < body.n && body.p[i]->at <= search->at; i++) {
        const struct node *node = body.p[i];
        const bool last = i + 1 == body.n || body.p[i + 1]->at > search->at;

        note_assigned(search, node, past);
        if (node->kind == NODE_IF)
            walk_branches(search, (const struct node_if *)node, past);
        else if (last && !past && search->at != NOWHERE)
            walk_inside(search, node);
        else if (node->kind == NODE_FOR)
            walk_body(search, ((const struct node_for *)node)->body, true);
    }
}

static bool is_exported(const struct template *template, struct str word)
{
    struct search search = { .word = word, .at = NOWHERE };

    suggest_init(&search.near, word);
    walk_body(&search, template->body, false);
    return search.exported;
}

/* Is `name` ("web/map.jinja") in a folder that the other's path is in as well? */
static bool is_neighbour(struct str name, struct str other)
{
    const size_t end = str_find_char(name, '/', 0);
    struct str part;

    if (end == STR_NONE)
        return true;
    while (other.p) {
        part = str_cut(&other, '/');
        if (other.p && str_eq(part, str_slice(name, 0, end)))
            return true;
    }
    return false;
}

static bool explain_import(struct eval *eval, struct str word)
{
    const struct template *here = eval->now.template;

    MAP_EACH (&eval->render.jinja->loaded, entry) {
        const struct template *other = entry->value;

        if (other == here || !is_neighbour(entry->key, str_from(here->name)) ||
            !is_exported(other, word))
            continue;
        render_hint(&eval->render, "'%s' defines it: {%% from '%s' import %.*s with context %%}",
                    other->name, other->name, STR_ARG(word));
        return true;
    }
    return false;
}

/* For a template imported without context: would the name exist with it? */
static bool explain_context(struct eval *eval, struct str word)
{
    if (eval->now.context->base == eval->base || eval->now.template == eval->main)
        return false;
    if (!(eval->base && value_get_str(eval->base, word)) && !is_exported(eval->main, word))
        return false;
    render_hint(&eval->render, "'%s' has it: import this template 'with context'",
                eval->main->name);
    return true;
}

static void offer_context(struct eval *eval, struct suggest *near)
{
    const struct jinja_options *options = eval->render.options;
    const struct context *context = eval->now.context;

    VEC_EACH (&context->vars, variable)
        suggest_offer(near, variable->name->text);
    VEC_EACH (&context->handed, variable)
        suggest_offer(near, variable->name->text);
    if (context->base && context->base->kind == VALUE_MAP)
        for (size_t i = 0; i < context->base->map->count; i++)
            if (context->base->map->pairs[i].key.kind == VALUE_STR)
                suggest_offer(near, context->base->map->pairs[i].key.s);
    if (options->builtins)
        suggest_offer(near, builtins_suggest(options->builtins->globals, near->word));
    MAP_EACH (&eval->render.jinja->names.map, entry) {
        const struct name *name = entry->value;

        if (name->global_known && !value_is_absent(&name->global))
            suggest_offer(near, name->text);
    }
}

void missing_explain(struct render *render, struct str name)
{
    struct eval *eval = eval_of(render);
    struct search search = { .word = name, .at = render->at };
    struct str best;

    suggest_init(&search.near, name);
    walk_body(&search, eval->now.template->body, false);
    offer_context(eval, &search.near);
    best = suggest_best(&search.near);
    if (search.ended)
        render_hint(render, "it is set in a loop and ends with it: set a member of a namespace()");
    else if (!explain_context(eval, name) && !explain_import(eval, name) && best.p)
        render_hint(render, "did you mean '%.*s'?", STR_ARG(best));
}
