/* json_query: JMESPath over the data of a template. */
#include "language/jinja/filters/filter.h"

#include "core/base/err.h"
#include "core/data/value.h"
#include "language/jinja/filters/plain.h"
#include "language/jinja/render.h"
#include "language/jmespath/jmespath.h"

static int filter_json_query(struct render *render, const struct bound_args *bound,
                             struct value *ret)
{
    struct jmespath search = { .arena = render->arena };
    struct value data;
    struct err err;

    if (bound->args[1].kind != VALUE_STR)
        return render_fail(render, RENDER_TYPE, "json_query expects an expression as text");
    if (plain_value(render, &bound->args[0], &data) < 0)
        return -1;
    if (jmespath_search(&search, bound->args[1].s, &data, ret, &err) < 0)
        return render_fail(render, err.code == ERR_LIMIT ? RENDER_LIMIT : RENDER_TYPE,
                           "json_query: %s", err.text);
    return render_step(render, search.steps);
}

/* clang-format off */
const struct function filter_query_functions[] = {
    { "json_query", "value, expression", filter_json_query, "what a JMESPath expression finds in the data" },
    { 0 },
};
/* clang-format on */
