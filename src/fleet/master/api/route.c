#include "fleet/master/api/route.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "core/http/route.h"

struct api_match api_route_find(const struct api_route *routes, struct arena *arena,
                                const char *method, const char *path)
{
    const char *allowed = NULL;
    struct str name;

    for (const struct api_route *route = routes; route->path; route++) {
        if (!http_route_matches_path(route->path, path, &name))
            continue;
        if (http_route_matches_method(route->method, method))
            return (struct api_match){ .route = route,
                                       .name = arena_strndup(arena, name.p, name.n),
                                       .status = API_OK };
        allowed = allowed ? arena_printf(arena, "%s, %s", allowed, route->method) : route->method;
    }
    return (struct api_match){ .name = "",
                               .status = allowed ? API_NOT_ALLOWED : API_NOT_FOUND,
                               .allowed = allowed };
}

int api_route_read_body(const struct api_route *route, struct arena *arena, struct str text,
                        const void **ret_body, struct diags *diags)
{
    const struct params_policy policy = { .strict = true, .noun = "key" };
    const size_t before = diags_count(diags);
    void *values = arena_zalloc(arena, route->body_size + 1);
    struct value body = value_map(value_map_new(arena, 0));

    *ret_body = values;
    if (str_trim(text).n > 0 && json_parse(arena, "body", text, &body, diags) < 0)
        return -1;
    if (body.kind != VALUE_MAP)
        return diag_add(diags, (struct place){ .file = "body" }, "must be an object, got %s",
                        value_describe(&body));
    (void)params_decode(arena, route->body ? route->body : params_none, &policy, &body, values,
                        diags);
    if (route->check)
        route->check(arena, values, &body, diags);
    return diags_count(diags) > before ? -1 : 0;
}

int api_route_read_query(const struct api_route *route, struct arena *arena,
                         const struct value *map, const void **ret_query, struct diags *diags)
{
    const struct params_policy policy = { .noun = "query parameter" };
    void *values = arena_zalloc(arena, route->query_size + 1);

    *ret_query = values;
    return params_decode(arena, route->query ? route->query : params_none, &policy, map, values,
                         diags);
}
