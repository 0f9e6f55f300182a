#include "language/jinja/context.h"

#include "core/base/arena.h"
#include "language/jinja/container.h"
#include "language/jinja/env.h"
#include "language/jinja/eval.h"
#include "language/jinja/function.h"
#include "language/jinja/template.h"

struct context *context_new(struct eval *eval, const struct value *base)
{
    struct context *context = ARENA_NEW(eval->render.arena, struct context);

    context->base = base;
    return context;
}

static struct context_variable *find_context_variable(struct context_variable *list, size_t n,
                                                      const struct name *name)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].name == name)
            return &list[i];
    return NULL;
}

static void hand_variable(struct eval *eval, struct context *context, struct name *name,
                          struct value value)
{
    struct context_variable *old =
        find_context_variable(context->handed.p, context->handed.n, name);

    if (old)
        old->value = value;
    else
        VEC_PUSH_IN(eval->render.arena, &context->handed,
                    (struct context_variable){ .name = name, .value = value });
}

struct context *context_derive(struct eval *eval, const struct context *from,
                               const struct locals *locals)
{
    struct context *context = ARENA_NEW(eval->render.arena, struct context);

    context->base = from->base;
    if (from->vars.n == 0 && locals->count == 0) {
        context->handed.p = from->handed.p;
        context->handed.n = from->handed.n;
        context->handed.cap = from->handed.n; /* full: a push would move, not overwrite */
        return context;
    }
    for (size_t i = 0; i < from->handed.n; i++)
        VEC_PUSH_IN(eval->render.arena, &context->handed, from->handed.p[i]);
    for (size_t i = 0; i < from->vars.n; i++)
        hand_variable(eval, context, from->vars.p[i].name, from->vars.p[i].value);
    for (uint32_t i = 0; i < locals->count; i++) {
        struct value value = *eval_slot(eval, locals->items[i].slot);

        if (!value_is_absent(&value))
            hand_variable(eval, context, locals->items[i].name, value);
    }
    return context;
}

/* The rendering's map is searched once for each name. */
static struct value find_base(struct eval *eval, const struct context *context, struct name *name)
{
    if (context->base != eval->base) {
        const struct value *found = value_get_str(context->base, name->text);

        return found ? *found : value_absent();
    }
    if (name->serial != eval->serial) {
        const struct value *found = value_get_str(eval->base, name->text);

        name->serial = eval->serial;
        name->found = found ? *found : value_absent();
    }
    return name->found;
}

struct value context_find(struct eval *eval, const struct context *context, struct name *name)
{
    const struct context_variable *variable =
        find_context_variable(context->vars.p, context->vars.n, name);

    if (!variable)
        variable = find_context_variable(context->handed.p, context->handed.n, name);
    if (variable)
        return variable->value;
    if (context->base) {
        struct value found = find_base(eval, context, name);

        if (!value_is_absent(&found))
            return found;
    }
    return env_global(eval->render.jinja, name);
}

static void list_variable(struct eval *eval, struct value_map *map, struct str name,
                          const struct value *v)
{
    if (v->kind != VALUE_OBJECT)
        value_map_set(eval->render.arena, map, value_str(name), *v);
}

struct value context_all(struct eval *eval, const struct context *context)
{
    struct value_map *map = container_new_map(&eval->render, 8);

    for (size_t i = 0; context->base && i < context->base->map->count; i++) {
        const struct value_pair *pair = &context->base->map->pairs[i];

        if (pair->key.kind == VALUE_STR)
            list_variable(eval, map, pair->key.s, &pair->value);
    }
    VEC_EACH (&context->handed, variable)
        list_variable(eval, map, variable->name->text, &variable->value);
    VEC_EACH (&context->vars, variable)
        list_variable(eval, map, variable->name->text, &variable->value);
    return value_map(map);
}

void context_set(struct eval *eval, struct context *context, struct name *name, struct value value,
                 bool exported)
{
    struct context_variable *old = find_context_variable(context->vars.p, context->vars.n, name);

    exported = exported && name->text.p[0] != '_';
    if (old) {
        old->value = value;
        old->exported = exported;
        return;
    }
    VEC_PUSH_IN(eval->render.arena, &context->vars,
                (struct context_variable){ .name = name, .value = value, .exported = exported });
}

struct block_stack *context_find_blocks(const struct context *context, const struct name *name)
{
    for (size_t i = 0; i < context->blocks.n; i++)
        if (context->blocks.p[i]->name == name)
            return context->blocks.p[i];
    return NULL;
}

void context_add_blocks(struct eval *eval, struct context *context, const struct template *template)
{
    struct arena *arena = eval->render.arena;

    for (size_t i = 0; i < template->block_count; i++) {
        const struct node_block *block = template->blocks[i];
        struct block_stack *stack = context_find_blocks(context, block->name);

        if (!stack) {
            stack = ARENA_NEW(arena, struct block_stack);
            stack->name = block->name;
            VEC_PUSH_IN(arena, &context->blocks, stack);
        }
        VEC_PUSH_IN(arena, &stack->refs, (struct block_ref){ block, template });
    }
}
