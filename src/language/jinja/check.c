#include "core/base/suggest.h"
#include "language/jinja/builtins.h"
#include "language/jinja/env.h"
#include "language/jinja/function.h"
#include "language/jinja/template.h"

static bool is_asked(const struct template *template, const struct name *name)
{
    VEC_EACH (&template->asked_names, asked)
        if (*asked == name)
            return true;
    return false;
}

static bool is_known_name(const struct template *template, struct name *name,
                          const char *const *known)
{
    const struct value global = env_global(template->jinja, name);

    for (; *known; known++)
        if (str_is(name->text, *known))
            return true;
    return !value_is_absent(&global) || is_asked(template, name);
}

static struct str suggest_known_name(const struct jinja *jinja, struct str name,
                                     const char *const *known)
{
    const struct builtins *builtins = jinja->options.builtins;
    struct suggest near;

    suggest_init(&near, name);
    for (; *known; known++)
        suggest_offer(&near, str_from(*known));
    return suggest_best(&near).p || !builtins ? suggest_best(&near)
                                              : builtins_suggest(builtins->globals, name);
}

static void report_unknown_name(const struct template *template, const struct node_name *node,
                                const char *const *known, struct diags *diags)
{
    const struct str text = node->name->text,
                     best = suggest_known_name(template->jinja, text, known);

    diag_add(diags, template_diag_place(template, node->node.at, diags), "'%.*s' is not defined",
             STR_ARG(text));
    diag_source(diags, template->text);
    if (best.p)
        diag_hint(diags, "did you mean '%.*s'?", STR_ARG(best));
}

int jinja_check(struct jinja *jinja, const char *name, struct str text, const char *const *known,
                struct diags *diags)
{
    const size_t before = diags_count(diags);
    struct template *template = template_new(jinja, name, text, true, diags);

    if (template && known)
        VEC_EACH (&template->free_names, node)
            if (!is_known_name(template, (*node)->name, known))
                report_unknown_name(template, *node, known, diags);
    template_free(template);
    return diags_count(diags) > before ? -1 : 0;
}
