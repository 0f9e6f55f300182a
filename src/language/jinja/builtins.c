#include "language/jinja/builtins.h"

#include "core/base/suggest.h"
#include "language/jinja/function.h"

/* Names are looked up when a template is compiled, once for each use: a walk over a hundred short
 * names is cheap compared with parsing the text. */
const struct function *builtins_find(function_tables tables, struct str name)
{
    for (; tables && *tables && name.n > 0; tables++)
        for (const struct function *f = *tables; f->name; f++)
            if (f->name[0] == name.p[0] && str_is(name, f->name))
                return f;
    return NULL;
}

struct str builtins_suggest(function_tables tables, struct str name)
{
    struct suggest near;

    suggest_init(&near, name);
    for (; tables && *tables; tables++)
        for (const struct function *f = *tables; f->name; f++)
            suggest_offer(&near, str_from(f->name));
    return suggest_best(&near);
}

const struct function *builtins_method(const struct builtins *builtins, const struct value *v,
                                       struct str name)
{
    if (!builtins)
        return NULL;
    if (v->kind == VALUE_LIST && v->flags & VALUE_TUPLE)
        return builtins_find(builtins->tuple, name);
    return builtins_find(builtins->methods[v->kind], name);
}
