#include "master/api/route.h"

#include "base/arena.h"
#include "base/diag.h"
#include "data/json.h"
#include "data/value.h"
#include "http/route.h"

enum { STATUS_OK = 200, STATUS_NOT_FOUND = 404, STATUS_METHOD = 405 };

const struct api_route *api_route_find(const struct api_route *routes, struct arena *arena,
                                       const char *method, const char *path, const char **ret_name,
                                       int *ret_status, const char **ret_allowed)
{
    const char *allowed = NULL;
    struct str name;

    for (const struct api_route *route = routes; route->path; route++) {
        if (!http_route_matches_path(route->path, path, &name))
            continue;
        if (http_route_matches_method(route->method, method)) {
            *ret_name = arena_strndup(arena, name.p, name.n);
            *ret_status = STATUS_OK;
            return route;
        }
        allowed = allowed ? arena_printf(arena, "%s, %s", allowed, route->method) : route->method;
    }
    *ret_status = allowed ? STATUS_METHOD : STATUS_NOT_FOUND;
    *ret_allowed = allowed;
    return NULL;
}

static int read_params(const struct param *table, size_t size, struct arena *arena,
                       const struct params_policy *policy, const struct value *map,
                       const void **ret, struct diags *diags)
{
    void *values = size > 0 ? arena_zalloc(arena, size) : NULL;

    *ret = values;
    return params_decode(arena, table ? table : params_none, policy, map, values, diags);
}

int api_route_read_body(const struct api_route *route, struct arena *arena, struct str text,
                        const void **ret_body, struct diags *diags)
{
    const struct params_policy policy = { .strict = true, .noun = "key" };
    const size_t before = diags_count(diags);
    struct value body = value_map(value_map_new(arena, 0));

    if (str_trim(text).n > 0 && json_parse(arena, "body", text, &body, diags) < 0)
        return -1;
    if (body.kind != VALUE_MAP)
        return diag_add(diags, (struct place){ .file = "body" }, "must be an object, got %s",
                        value_describe(&body));
    (void)read_params(route->body, route->body_size, arena, &policy, &body, ret_body, diags);
    if (route->check)
        route->check(arena, *ret_body, &body, diags);
    return diags_count(diags) > before ? -1 : 0;
}

int api_route_read_query(const struct api_route *route, struct arena *arena,
                         const struct value *map, const void **ret_query, struct diags *diags)
{
    const struct params_policy policy = { .noun = "query parameter" };

    return read_params(route->query, route->query_size, arena, &policy, map, ret_query, diags);
}
