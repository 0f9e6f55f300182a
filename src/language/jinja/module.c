/*
 * {% include %}, {% import %}, {% from %} and the tags that read data. A module is a template that
 * has run for its variables and macros; its text is kept, since an include without context and
 * `import_yaml` need it.
 */
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/yaml.h"
#include "language/jinja/container.h"
#include "language/jinja/context.h"
#include "language/jinja/env.h"
#include "language/jinja/eval.h"
#include "language/jinja/ops.h"
#include "language/jinja/template.h"

struct template_module {
    struct object object;
    const struct template *template;
    struct context *context;
    struct value text;
};

/* --- finding templates --------------------------------------------------------------------- */

/* A name that begins with "./" or "../" is relative to the folder of the template that contains it.
 */
static struct str make_full_name(struct eval *eval, struct str name)
{
    struct str folder = str_from(eval->now.template->name);

    if (!str_starts(name, STR("./")) && !str_starts(name, STR("../")))
        return name;
    while (folder.n > 0 && folder.p[folder.n - 1] != '/')
        folder.n--;
    while (str_starts(name, STR("./")) || str_starts(name, STR("../"))) {
        bool up = name.p[1] == '.';

        name = str_from_offset(name, up ? 3 : 2);
        if (!up)
            continue;
        if (folder.n > 0)
            folder.n--;
        while (folder.n > 0 && folder.p[folder.n - 1] != '/')
            folder.n--;
    }
    return str_from(arena_printf(eval->render.arena, "%.*s%.*s", STR_ARG(folder), STR_ARG(name)));
}

/* `*ret` is NULL when there is no such template. */
static int find_template(struct eval *eval, const struct value *name, const struct template **ret)
{
    struct template *template;

    if (value_is_undefined(name))
        return undefined_fail(&eval->render, name);
    if (name->kind != VALUE_STR)
        return render_fail(&eval->render, RENDER_TYPE, "a template is named by a text, not by %s",
                           op_type_name(name));
    if (env_load(eval->render.jinja, make_full_name(eval, name->s), &template, eval->diags) < 0) {
        /* the diagnostics have the reason; the rendering just adds the includes that led to it */
        render_fail(&eval->render, RENDER_SYNTAX, "cannot load '%.*s'", STR_ARG(name->s));
        eval->render.error_text = NULL;
        return -1;
    }
    *ret = template;
    return 0;
}

int eval_load(struct eval *eval, const struct value *name, const struct template **ret)
{
    if (find_template(eval, name, ret) < 0)
        return -1;
    if (*ret)
        return 0;
    return render_fail(&eval->render, RENDER_NOT_FOUND, "template '%.*s' not found",
                       STR_ARG(name->s));
}

static int fail_none_of(struct eval *eval, const struct value_list *names)
{
    AUTO_BUF struct buf text = BUF_INIT(ERR_TEXT_SIZE);

    for (size_t i = 0; i < names->count; i++)
        buf_printf(&text, "%s%.*s", i > 0 ? ", " : "", STR_ARG(names->items[i].s));
    if (names->count == 0)
        return render_fail(&eval->render, RENDER_NOT_FOUND,
                           "tried to select from an empty list of templates");
    return render_fail(&eval->render, RENDER_NOT_FOUND,
                       "none of the templates given were found: %s", buf_text(&text));
}

/* The first one that exists. */
static int find_first(struct eval *eval, const struct value *names, bool ignore_missing,
                      const struct template **ret)
{
    const struct value_list *list = container_list(&eval->render, names);

    *ret = NULL;
    for (size_t i = 0; i < list->count && !*ret; i++)
        if (find_template(eval, &list->items[i], ret) < 0)
            return -1;
    return *ret || ignore_missing ? 0 : fail_none_of(eval, list);
}

/* --- modules ----------------------------------------------------------------------------- */

static int module_get(struct render *render, struct object *object, struct str name,
                      struct value *ret, bool *ret_found)
{
    const struct context *context = ((const struct template_module *)object)->context;

    (void)render;
    *ret_found = false;
    for (size_t i = 0; i < context->vars.n; i++)
        if (context->vars.p[i].exported && str_eq(context->vars.p[i].name->text, name)) {
            *ret = context->vars.p[i].value;
            *ret_found = true;
        }
    return 0;
}

static int module_print(struct render *render, struct object *object, struct buf *out)
{
    (void)render;
    buf_add_str(out, ((const struct template_module *)object)->text.s);
    return 0;
}

static const struct object_type module_type = {
    .name = "TemplateModule",
    .get = module_get,
    .print = module_print,
};

static int run_with(struct eval *eval, const struct template *template, struct context *context,
                    const char *how)
{
    struct context *outer = eval->now.context;
    int rc;

    context_add_blocks(eval, context, template);
    eval->now.context = context;
    rc = eval_template(eval, template);
    eval->now.context = outer;
    if (rc < 0)
        render_note(&eval->render, "in '%s', %s here", template->name, how);
    return rc;
}

static struct template_module *find_module(const struct eval *eval, const struct template *template)
{
    for (size_t i = 0; i < eval->modules.n; i++)
        if (eval->modules.p[i]->template == template)
            return eval->modules.p[i];
    return NULL;
}

/* Without context: only what the host provides for this template. */
static struct context *new_module_context(struct eval *eval, const struct template *template)
{
    const struct jinja_options *options = eval->render.options;

    return context_new(eval, options->about
                                 ? options->about(options->user, template->name, eval->render.arena)
                                 : NULL);
}

/* Run `template` as a module. `locals` is NULL without context: then it runs once. */
static int make_module(struct eval *eval, const struct template *template,
                       const struct locals *locals, const char *how, struct template_module **ret)
{
    struct template_module *module = locals ? NULL : find_module(eval, template);
    size_t start = eval->out->n;

    if (module) {
        *ret = module;
        return 0;
    }
    module = ARENA_NEW(eval->render.arena, struct template_module);
    module->object.type = &module_type;
    module->template = template;
    module->context = locals ? context_derive(eval, eval->now.context, locals)
                             : new_module_context(eval, template);
    if (run_with(eval, template, module->context, how) < 0)
        return -1;
    module->text = eval_capture(eval, start, true);
    if (!locals)
        VEC_PUSH_IN(eval->render.arena, &eval->modules, module);
    *ret = module;
    return 0;
}

/* --- statements -------------------------------------------------------------------------- */

int eval_include(struct eval *eval, const struct node_include *node)
{
    const struct template *template;
    struct template_module *module;
    struct value name;
    int rc;

    if (eval_expression(eval, node->template, &name) < 0)
        return -1;
    eval->render.at = node->node.at;
    if (name.kind == VALUE_LIST)
        rc = find_first(eval, &name, node->ignore_missing, &template);
    else if (node->ignore_missing)
        rc = find_template(eval, &name, &template);
    else
        rc = eval_load(eval, &name, &template);
    if (rc < 0 || !template)
        return rc;
    if (node->with_context)
        return run_with(eval, template, context_derive(eval, eval->now.context, &node->locals),
                        "included");
    if (make_module(eval, template, NULL, "included", &module) < 0)
        return -1;
    return eval_write_text(eval, &module->text);
}

static int import_module(struct eval *eval, const struct node *node, const struct node *name_node,
                         const struct locals *locals, struct template_module **ret)
{
    const struct template *template;
    struct value name;

    if (eval_expression(eval, name_node, &name) < 0)
        return -1;
    eval->render.at = node->at;
    if (eval_load(eval, &name, &template) < 0)
        return -1;
    return make_module(eval, template, locals, "imported", ret);
}

int eval_import(struct eval *eval, const struct node_import *node)
{
    struct template_module *module;
    struct value value;

    if (import_module(eval, &node->node, node->template, node->with_context ? &node->locals : NULL,
                      &module) < 0)
        return -1;
    value = object_value(&module->object);
    if (node->load && eval_decode(eval, (enum decode)node->decode, module->template->name,
                                  &module->text, &value) < 0)
        return -1;
    *eval_slot(eval, node->target->slot) = value;
    if (node->toplevel)
        context_set(eval, eval->now.context, node->target->name, value, node->load);
    return 0;
}

static struct value not_exported(struct eval *eval, const struct node_from *node,
                                 const struct template_module *module, const struct name *name)
{
    struct place place = template_place(eval->now.template, node->node.at);

    return undefined_because(
        &eval->render, false,
        arena_printf(eval->render.arena,
                     "the template '%s' (imported on line %u in '%s') does not export the "
                     "requested name '%.*s'",
                     module->template->name, place.line, place.file, STR_ARG(name->text)));
}

int eval_from(struct eval *eval, const struct node_from *node)
{
    struct template_module *module;

    if (import_module(eval, &node->node, node->template, node->with_context ? &node->locals : NULL,
                      &module) < 0)
        return -1;
    for (uint32_t i = 0; i < node->count; i++) {
        struct value value;
        bool found;

        if (module_get(&eval->render, &module->object, node->names[i]->text, &value, &found) < 0)
            return -1;
        if (!found)
            value = not_exported(eval, node, module, node->names[i]);
        *eval_slot(eval, node->targets[i]->slot) = value;
        if (node->toplevel)
            context_set(eval, eval->now.context, node->targets[i]->name, value, false);
    }
    return 0;
}

/* --- data -------------------------------------------------------------------------------- */

int eval_decode(struct eval *eval, enum decode decode, const char *source, const struct value *text,
                struct value *ret)
{
    struct diags diags = DIAGS_INIT(eval->render.arena);
    struct value value;
    int rc = 0;

    if (decode == DECODE_TEXT) {
        *ret = *text;
        ret->flags &= (uint8_t)~VALUE_SAFE;
        /* Salt imports a text without its last line end. */
        if (source && eval->render.yaml == YAML_DIALECT_SALT && str_ends(text->s, STR("\n")))
            ret->s = arena_str(eval->render.arena, (struct str){ text->s.p, text->s.n - 1 });
        return 0;
    }
    if (decode == DECODE_YAML)
        rc = yaml_parse(eval->render.arena, source, text->s,
                        &(struct yaml_options){ .dialect = eval->render.yaml, .unordered = true },
                        &value, &diags);
    else
        rc = json_parse(eval->render.arena, source, text->s, &value, &diags);
    if (rc < 0) {
        AUTO_BUF struct buf place = BUF_INIT(BUF_NO_LIMIT);
        const struct diag *first = &diags.list.p[0];

        place_print(first->at, &place);
        return render_fail(&eval->render, RENDER_TYPE, "cannot read the text as %s: %s: %s",
                           decode == DECODE_YAML ? "YAML" : "JSON", buf_text(&place), first->text);
    }
    *ret = value;
    return 0;
}
