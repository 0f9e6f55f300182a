#include "fleet/master/api/manual.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/sha256.h"
#include "core/data/html.h"
#include "fleet/master/api/handlers.h"

#define OPENAPI_VERSION "3.0.3"

/* Errors shared by all calls. */
static const struct {
    enum api_status status;
    const char *words;
} failures[] = {
    { API_BAD, "mistakes in the request; `errors` has all of them" },
    { API_UNAUTHORIZED, "missing or wrong token" },
    { API_FORBIDDEN, "permission denied for this token" },
    { API_NOT_FOUND, "not found" },
    { API_CONFLICT, "not in its current state" },
    { API_TOO_LARGE, "the body is larger than 1 MiB" },
    { API_UNFIT, "no peel matches the target, or the answer would be too large" },
    { API_LIMITED, "too many requests with a wrong token" },
    { API_UNAVAILABLE, "the bus, or this master, cannot do it now; try again" },
};

/* --- OpenAPI ------------------------------------------------------------------------ */

static void put_manual_value(struct arena *arena, struct value map, const char *key, struct value v)
{
    value_map_set(arena, map.map, value_text(key), v);
}

static void put_manual_text(struct arena *arena, struct value map, const char *key,
                            const char *text)
{
    put_manual_value(arena, map, key, value_text(text));
}

static struct value new_map(struct arena *arena)
{
    return value_map(value_map_new(arena, 4));
}

/* The JSON Schema type of each kind. */
static const char *find_schema_type(enum param_kind kind)
{
    switch (kind) {
    case PARAM_BOOL:
    case PARAM_TRISTATE: return "boolean";
    case PARAM_INT:
    case PARAM_SIZE: return "integer";
    case PARAM_DOUBLE: return "number";
    case PARAM_STRS:
    case PARAM_LIST: return "array";
    case PARAM_STRMAP:
    case PARAM_MAP: return "object";
    default: return "string";
    }
}

static struct value make_typed_schema(struct arena *arena, const char *type)
{
    const struct value map = new_map(arena);

    put_manual_text(arena, map, "type", type);
    return map;
}

static struct value make_param_default(const struct param *param)
{
    if (param->kind == PARAM_BOOL)
        return value_bool(strcmp(param->default_text, "true") == 0);
    if (param->kind == PARAM_INT)
        return value_int(strtoll(param->default_text, NULL, 10));
    return value_text(param->default_text);
}

static struct value make_schema(struct arena *arena, const struct param *param)
{
    const struct value schema = make_typed_schema(arena, find_schema_type(param->kind));

    if (param->kind == PARAM_STRS)
        put_manual_value(arena, schema, "items", make_typed_schema(arena, "string"));
    if (param->kind == PARAM_STRMAP)
        put_manual_value(arena, schema, "additionalProperties", make_typed_schema(arena, "string"));
    if (param->kind == PARAM_DURATION)
        put_manual_text(arena, schema, "example", "90s");
    if (param->kind == PARAM_INT && param->min < param->max) {
        put_manual_value(arena, schema, "minimum", value_int(param->min));
        put_manual_value(arena, schema, "maximum", value_int(param->max));
    }
    if (param->default_text)
        put_manual_value(arena, schema, "default", make_param_default(param));
    return schema;
}

static void add_parameter(struct arena *arena, struct value_list *list, const char *name,
                          const char *place, const struct param *param)
{
    const struct value map = new_map(arena);

    put_manual_text(arena, map, "name", name);
    put_manual_text(arena, map, "in", place);
    put_manual_value(arena, map, "required",
                     value_bool(!param || (param->flags & PARAM_REQUIRED) != 0));
    if (param)
        put_manual_text(arena, map, "description", param->doc);
    put_manual_value(arena, map, "schema",
                     param ? make_schema(arena, param) : make_typed_schema(arena, "string"));
    value_list_push(arena, list, map);
}

static struct value make_parameters(struct arena *arena, const struct api_route *route)
{
    struct value_list *list = value_list_new(arena, 4);
    const char *brace = strchr(route->path, '{');

    if (brace)
        add_parameter(arena, list, arena_strndup(arena, brace + 1, strcspn(brace + 1, "}")), "path",
                      NULL);
    for (const struct param *param = route->query; param && param->name; param++)
        add_parameter(arena, list, param->name, "query", param);
    return value_list(list);
}

static struct value make_media_content(struct arena *arena, const char *type, struct value schema)
{
    const struct value content = new_map(arena), media = new_map(arena);

    put_manual_value(arena, media, "schema", schema);
    put_manual_value(arena, content, type, media);
    return content;
}

static struct value make_body_doc(struct arena *arena, const struct api_route *route)
{
    const struct value body = new_map(arena), schema = make_typed_schema(arena, "object");
    const struct value properties = new_map(arena);
    struct value_list *required = value_list_new(arena, 2);

    for (const struct param *param = route->body; param->name; param++) {
        const struct value property = make_schema(arena, param);

        put_manual_text(arena, property, "description", param->doc);
        put_manual_value(arena, properties, param->name, property);
        if (param->flags & PARAM_REQUIRED)
            value_list_push(arena, required, value_text(param->name));
    }
    put_manual_value(arena, schema, "properties", properties);
    put_manual_value(arena, schema, "additionalProperties", value_bool(false));
    if (required->count > 0)
        put_manual_value(arena, schema, "required", value_list(required));
    put_manual_value(arena, body, "required", value_bool(required->count > 0));
    put_manual_value(arena, body, "content", make_media_content(arena, "application/json", schema));
    return body;
}

static struct value make_reference(struct arena *arena, const char *name)
{
    const struct value map = new_map(arena);

    put_manual_text(arena, map, "$ref", name);
    return map;
}

static const char *print_status_code(struct arena *arena, enum api_status status)
{
    return arena_printf(arena, "%d", (int)status);
}

static struct value make_responses(struct arena *arena, const struct api_route *route)
{
    const struct value all = new_map(arena), good = new_map(arena);

    put_manual_text(arena, good, "description", route->details);
    put_manual_value(
        arena, good, "content",
        make_media_content(arena, route->is_stream ? "text/event-stream" : "application/json",
                           route->is_stream ? make_typed_schema(arena, "string") : new_map(arena)));
    put_manual_value(arena, all, print_status_code(arena, route->status), good);
    for (size_t i = 0; i < ARRAY_LEN(failures) && !route->is_open; i++) {
        const struct value bad = new_map(arena);

        put_manual_text(arena, bad, "description", failures[i].words);
        put_manual_value(arena, bad, "content",
                         make_media_content(arena, "application/json",
                                            make_reference(arena, "#/components/schemas/Error")));
        put_manual_value(arena, all, print_status_code(arena, failures[i].status), bad);
    }
    return all;
}

static struct value make_operation(struct arena *arena, const struct api_route *route)
{
    const struct value operation = new_map(arena);

    put_manual_text(arena, operation, "summary", route->summary);
    put_manual_value(arena, operation, "parameters", make_parameters(arena, route));
    if (route->body)
        put_manual_value(arena, operation, "requestBody", make_body_doc(arena, route));
    put_manual_value(arena, operation, "responses", make_responses(arena, route));
    if (route->is_open)
        put_manual_value(arena, operation, "security", value_list(value_list_new(arena, 0)));
    return operation;
}

static struct value make_paths(struct arena *arena, const struct api_route *routes)
{
    const struct value paths = new_map(arena);

    for (const struct api_route *route = routes; route->path; route++) {
        const char *method = strcmp(route->method, "GET") == 0 ? "get" : "post";
        const struct value *known = value_get(&paths, route->path);
        const struct value item = known ? *known : new_map(arena);

        put_manual_value(arena, item, method, make_operation(arena, route));
        put_manual_value(arena, paths, route->path, item);
    }
    return paths;
}

static struct value make_components(struct arena *arena)
{
    const struct value components = new_map(arena), schemas = new_map(arena);
    const struct value schemes = new_map(arena), bearer = make_typed_schema(arena, "http");
    const struct value error = make_typed_schema(arena, "object"), properties = new_map(arena);
    const struct value errors = make_typed_schema(arena, "array");

    put_manual_value(arena, errors, "items", make_typed_schema(arena, "string"));
    put_manual_value(arena, properties, "error", make_typed_schema(arena, "string"));
    put_manual_value(arena, properties, "errors", errors);
    put_manual_value(arena, error, "properties", properties);
    put_manual_value(arena, schemas, "Error", error);
    put_manual_text(arena, bearer, "scheme", "bearer");
    put_manual_value(arena, schemes, "bearer", bearer);
    put_manual_value(arena, components, "schemas", schemas);
    put_manual_value(arena, components, "securitySchemes", schemes);
    return components;
}

struct value api_manual_openapi(struct arena *arena, const struct api_route *routes)
{
    const struct value document = new_map(arena), info = new_map(arena), need = new_map(arena);
    struct value_list *security = value_list_new(arena, 1);

    put_manual_text(arena, info, "title", "zester");
    put_manual_text(arena, info, "version", ZESTER_VERSION);
    put_manual_value(arena, need, "bearer", value_list(value_list_new(arena, 0)));
    value_list_push(arena, security, need);
    put_manual_text(arena, document, "openapi", OPENAPI_VERSION);
    put_manual_value(arena, document, "info", info);
    put_manual_value(arena, document, "security", value_list(security));
    put_manual_value(arena, document, "paths", make_paths(arena, routes));
    put_manual_value(arena, document, "components", make_components(arena));
    return document;
}

/* --- the page ----------------------------------------------------------------------- */

static const char style[] =
    "body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}"
    "h2{font-size:1em;margin:2.5em 0 .3em;border-top:1px solid #ddd;padding-top:1em}"
    "h2 b{display:inline-block;min-width:3.5em;color:#06c}"
    "code,h2{font-family:monospace}code{background:#f4f4f4;padding:0 .2em}"
    "table{border-collapse:collapse;margin:.5em 0}"
    "td,th{text-align:left;vertical-align:top;padding:.1em 1em .1em 0}th{color:#666}";

/* Text with `code` in it. */
static void add_html_words(struct buf *out, const char *text)
{
    struct str rest = str_from(text);
    bool is_code = false;

    while (rest.p) {
        const struct str part = str_cut(&rest, '`');

        html_add(out, part);
        if (rest.p)
            buf_add_text(out, is_code ? "</code>" : "<code>");
        is_code = !is_code;
    }
}

static void add_html_cell(struct buf *out, const char *text)
{
    buf_add_text(out, "<td>");
    add_html_words(out, text);
    buf_add_text(out, "</td>");
}

static void add_params(struct buf *out, const char *title, const struct param *table)
{
    if (!table || !table->name)
        return;
    buf_printf(out, "<table><tr><th>%s</th><th></th><th></th></tr>\n", title);
    for (const struct param *param = table; param->name; param++) {
        buf_add_text(out, "<tr><td><code>");
        html_add_text(out, param->name);
        buf_add_text(out, "</code></td>");
        add_html_cell(out, param->flags & PARAM_REQUIRED ? "required"
                           : param->default_text         ? param->default_text
                                                         : "");
        add_html_cell(out, param->doc);
        buf_add_text(out, "</tr>\n");
    }
    buf_add_text(out, "</table>\n");
}

static void add_route(struct buf *out, const struct api_route *route)
{
    buf_printf(out, "<h2><b>%s</b> ", route->method);
    html_add_text(out, route->path);
    buf_add_text(out, "</h2>\n<p>");
    add_html_words(out, route->summary);
    buf_printf(out, "</p>\n<p>%d: ", (int)route->status);
    add_html_words(out, route->details);
    buf_add_text(out, "</p>\n");
    add_params(out, "query", route->query);
    add_params(out, "body", route->body);
}

void api_manual_page(const struct api_route *routes, struct buf *out)
{
    buf_printf(out,
               "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
               "<title>zester %s: the fleet over HTTPS</title><style>%s</style></head>\n<body>"
               "<h1>zester: the fleet over HTTPS</h1>\n"
               "<p>Every call but this page needs <code>Authorization: Bearer TOKEN</code>. Bodies "
               "are JSON objects of up to 1 MiB. Errors are <code>{\"error\": ...}</code>. For "
               "programs: <a href=\"openapi.json\">openapi.json</a>.</p>\n<table>",
               ZESTER_VERSION, style);
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        buf_printf(out, "<tr><td>%d</td>", (int)failures[i].status);
        add_html_cell(out, failures[i].words);
        buf_add_text(out, "</tr>\n");
    }
    buf_add_text(out, "</table>\n");
    for (const struct api_route *route = routes; route->path; route++)
        add_route(out, route);
    buf_add_text(out, "</body></html>\n");
}

const char *api_manual_policy(struct arena *arena)
{
    AUTO_BUF struct buf hash = BUF_INIT(128);
    unsigned char digest[SHA256_SIZE];

    sha256(style, strlen(style), digest);
    base64_encode((struct str){ (const char *)digest, sizeof(digest) }, BASE64_STANDARD, &hash);
    return arena_printf(arena, "default-src 'none'; style-src 'sha256-%s'; frame-ancestors 'none'",
                        buf_text(&hash));
}

/* --- the calls ---------------------------------------------------------------------- */

void api_show_manual(struct api_call *call)
{
    AUTO_BUF struct buf page = BUF_INIT(BUF_NO_LIMIT);

    api_manual_page(api_routes, &page);
    api_answer_text(call, "text/html; charset=utf-8", buf_view(&page),
                    api_manual_policy(&call->arena));
}

void api_show_openapi(struct api_call *call)
{
    const struct value document = api_manual_openapi(&call->arena, api_routes);

    api_answer(call, call->route->status, &document);
}
