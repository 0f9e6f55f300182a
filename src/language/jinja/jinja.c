#include "language/jinja/jinja.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "language/jinja/builtins.h"
#include "language/jinja/context.h"
#include "language/jinja/env.h"
#include "language/jinja/eval.h"
#include "language/jinja/function.h"
#include "language/jinja/missing.h"
#include "language/jinja/template.h"

static const struct jinja_limits default_limits = {
    .template_bytes = (size_t)4 << 20,
    .output_bytes = (size_t)64 << 20,
    .memory_bytes = (size_t)512 << 20,
    .nesting = 200,
    .recursion = 200,
    .steps = 50000000,
    .nanoseconds = INT64_C(30000000000),
};

#define LIMIT_OR_DEFAULT(limits, field)                                                            \
    ((limits).field = (limits).field > 0 ? (limits).field : default_limits.field)

static void fill_limits(struct jinja_limits *limits)
{
    LIMIT_OR_DEFAULT(*limits, template_bytes);
    LIMIT_OR_DEFAULT(*limits, output_bytes);
    LIMIT_OR_DEFAULT(*limits, memory_bytes);
    LIMIT_OR_DEFAULT(*limits, nesting);
    LIMIT_OR_DEFAULT(*limits, recursion);
    LIMIT_OR_DEFAULT(*limits, steps);
    LIMIT_OR_DEFAULT(*limits, nanoseconds);
}

bool jinja_is_plain(struct str text)
{
    size_t at = 0;

    if (str_find_char(text, '\r', 0) != STR_NONE)
        return false;
    while ((at = str_find_char(text, '{', at)) != STR_NONE && ++at < text.n)
        if (strchr("%{#", text.p[at]) && text.p[at] != '\0')
            return false;
    return true;
}

struct jinja *jinja_new(const struct jinja_options *options)
{
    struct jinja *jinja = mem_zalloc(sizeof(*jinja));

    jinja->options = *options;
    fill_limits(&jinja->options.limits);
    names_init(&jinja->names, &jinja->arena, jinja->options.builtins);
    signatures_init(&jinja->signatures, &jinja->arena);
    return jinja;
}

static void free_templates(struct map *map)
{
    MAP_EACH (map, entry)
        template_free(entry->value);
    map_done(map);
}

static void free_retired(struct jinja *jinja)
{
    VEC_EACH (&jinja->retired, template)
        template_free(*template);
    vec_done(&jinja->retired);
}

void jinja_free(struct jinja *jinja)
{
    if (!jinja)
        return;
    free_templates(&jinja->loaded);
    free_templates(&jinja->given);
    free_retired(jinja);
    arena_done(&jinja->values);
    arena_done(&jinja->arena);
    free(jinja);
}

/* --- globals ---------------------------------------------------------------------------- */

void jinja_add_global(struct jinja *jinja, const char *name, struct value value)
{
    struct name *known = names_get(&jinja->names, str_from(name));

    known->global = value;
    known->global_known = true;
}

void jinja_add_functions(struct jinja *jinja, const struct function *functions, void *user)
{
    for (; functions->name; functions++)
        jinja_add_global(jinja, functions->name, function_value_in(&jinja->arena, functions, user));
}

static const struct function *find_global(const struct jinja *jinja, struct str name)
{
    const struct builtins *builtins = jinja->options.builtins;

    return builtins ? builtins_find(builtins->globals, name) : NULL;
}

struct value env_global(struct jinja *jinja, struct name *name)
{
    if (!name->global_known) {
        const struct function *function = find_global(jinja, name->text);

        name->global = function ? function_value_in(&jinja->arena, function, NULL) : value_absent();
        name->global_known = true;
    }
    return name->global;
}

/* --- templates ---------------------------------------------------------------------------- */

int env_load(struct jinja *jinja, struct str name, struct template **ret, struct diags *diags)
{
    struct str text = { NULL, 0 };
    struct err err;

    *ret = map_find(&jinja->loaded, name);
    if (*ret || !jinja->options.load)
        return 0;
    if (jinja->options.load(jinja->options.user, name, &jinja->arena, &text, &err) < 0) {
        struct place place = { .file = arena_strndup(diags->arena, name.p, name.n) };

        return diag_err(diags, place, &err);
    }
    if (!text.p)
        return 0;

    const char *kept = arena_strndup(&jinja->arena, name.p, name.n);
    *ret = template_new(jinja, kept, text, false, diags);
    if (!*ret)
        return -1;
    map_set(&jinja->loaded, str_from(kept), *ret);
    return 0;
}

/* The template of a text of the host; parsed again only when the text has changed. */
static struct template *given_template(struct jinja *jinja, const char *name, struct str text,
                                       struct diags *diags)
{
    struct template *old = map_find(&jinja->given, str_from(name));
    struct template *template;

    if (old && template_is(old, text))
        return old;
    template = template_new(jinja, name, text, true, diags);
    if (!template)
        return NULL;
    if (old) {
        map_remove(&jinja->given, str_from(old->name)); /* the key is freed with the old one */
        VEC_PUSH(&jinja->retired, old);
    }
    map_set(&jinja->given, str_from(template->name), template);
    return template;
}

/* Diagnostics may outlive the environment. */
static struct place copy_place(const struct diags *diags, struct place place)
{
    if (place.file)
        place.file = arena_strdup(diags->arena, place.file);
    return place;
}

/* --- running --------------------------------------------------------------------------------- */

static int run_template(struct jinja *jinja, const struct template *template,
                        const struct value *context, struct buf *out, struct trace *trace,
                        struct diags *diags)
{
    int rc;

    jinja->running++;
    rc = eval_run(jinja, template, context, out, trace, diags);
    if (--jinja->running == 0)
        free_retired(jinja);
    return rc;
}

int jinja_render(struct jinja *jinja, const char *name, struct str text,
                 const struct value *context, struct buf *out, struct diags *diags)
{
    return jinja_render_traced(jinja, name, text, context, out, NULL, diags);
}

int jinja_render_traced(struct jinja *jinja, const char *name, struct str text,
                        const struct value *context, struct buf *out, struct trace *trace,
                        struct diags *diags)
{
    const struct template *template = given_template(jinja, name, text, diags);

    return template ? run_template(jinja, template, context, out, trace, diags) : -1;
}

/* Report the error, and the includes and calls that led to it. */
static void report_error(struct eval *eval)
{
    const struct render *render = &eval->render;

    if (render->error_text) {
        diag_add(eval->diags, copy_place(eval->diags, render->error_place), "%s",
                 render->error_text);
        if (render->error_template)
            diag_source(eval->diags, render->error_template->text);
        if (render->error_hint)
            diag_hint(eval->diags, "%s", render->error_hint);
    }
    for (size_t i = 0; i < render->notes.n; i++)
        diag_note(eval->diags, copy_place(eval->diags, render->notes.p[i].at), "%s",
                  render->notes.p[i].text);
}

int eval_run(struct jinja *jinja, const struct template *template, const struct value *base,
             struct buf *out, struct trace *trace, struct diags *diags)
{
    AUTO_ARENA struct arena inner = ARENA_INIT; /* for a rendering started by a host function */
    struct arena *arena = jinja->running > 1 ? &inner : &jinja->values;
    struct eval eval = {
        .out = out,
        .main = template,
        .base = base,
        .diags = diags,
        .serial = ++jinja->serial,
        .trace = trace,
    };
    size_t start = out->n, max = out->max;
    int rc;

    render_init(&eval.render, jinja, &jinja->options, arena);
    eval.render.explain = missing_explain;
    eval.render.yaml = jinja->options.salt ? YAML_DIALECT_SALT : yaml_dialect_of(template->name);
    if (max - start > jinja->options.limits.output_bytes)
        out->max = start + jinja->options.limits.output_bytes;
    eval.now.context = context_new(&eval, base);
    context_add_blocks(&eval, eval.now.context, template);
    rc = eval_template(&eval, template);
    out->max = max;
    if (rc < 0) {
        buf_cut(out, start);
        out->full = false;
        report_error(&eval);
    }
    arena_clear(arena);
    return rc;
}
