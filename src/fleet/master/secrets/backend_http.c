/* A server that answers GET with a document: Vault's KV, over HTTPS. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "fleet/master/secrets/backend.h"
#include "fleet/master/web.h"
#include "core/sys/clock.h"
#include "core/sys/fetch.h"

/* clang-format off */
static const struct param rows[] = {
    BACKEND_ROWS,
    PARAM("url",          STR,  struct backend, url, "what comes before the path: https://HOST:PORT/v1/secret/data", .kind_text = "URL", .flags = PARAM_REQUIRED),
    PARAM("token_file",   PATH, struct backend, token_file, "its first line is sent as the token; read for each request"),
    PARAM("token_header", STR,  struct backend, token_header, "the header that has it; as a bearer token in `Authorization`", .default_text = "X-Vault-Token"),
    PARAM("ca",           PATH, struct backend, ca, "CA certificates for the server"),
    PARAM("insecure",     BOOL, struct backend, insecure, "allow http:// to other machines", .default_text = "false"),
    { 0 },
};
/* clang-format on */

static void check_http(const struct backend *backend, const struct value *given,
                       struct diags *diags)
{
    const char *problem = web_check_url(backend->url, backend->insecure);

    if (!problem && strpbrk(backend->url, "?#"))
        problem = "must end where the path begins";
    if (problem)
        (void)value_diag(diags, value_point(given, "url"), "'secret_backends': the address %s",
                         problem);
    for (const char *p = backend->token_header; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '-') {
            (void)value_diag(diags, value_point(given, "token_header"),
                             "'secret_backends': '%.64s' is not the name of a header",
                             backend->token_header);
            break;
        }
}

/* Percent-encodes every byte that is special in a URL. */
static const char *make_backend_url(const struct backend *backend, const struct backend_call *call)
{
    AUTO_BUF struct buf url = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&url, backend->url);
    if (!str_ends(buf_view(&url), STR("/")))
        buf_add_char(&url, '/');
    for (const char *p = call->path; *p; p++)
        if (isalnum((unsigned char)*p) || strchr("-._~/", *p))
            buf_add_char(&url, *p);
        else
            buf_printf(&url, "%%%02X", (unsigned char)*p);
    return buf_copy(&url, call->arena).p;
}

static int add_backend_token(const struct backend *backend, const struct backend_call *call,
                             const char **ret_header, struct err *err)
{
    const bool is_bearer = strcasecmp(backend->token_header, "Authorization") == 0;
    struct str token;

    if (!backend->token_file)
        return 0;
    if (web_read_token(call->arena, backend->token_file, &token, err) < 0)
        return -1;
    *ret_header = arena_printf(call->arena, "%s: %s%.*s", backend->token_header,
                               is_bearer ? "Bearer " : "", STR_ARG(token));
    return 0;
}

static int get_answer(const struct backend *backend, const struct backend_call *call,
                      struct str *ret_bytes, struct err *err)
{
    struct fetch_options options = { .size_max = BACKEND_VALUE_MAX,
                                     .timeout = backend->timeout,
                                     .cancel = call->cancel,
                                     .headers = { "Accept: application/json" },
                                     .ca = backend->ca };

    if (add_backend_token(backend, call, &options.headers[1], err) < 0)
        return -1;
    return fetch(call->arena, make_backend_url(backend, call), &options, ret_bytes, err);
}

const struct backend_kind backend_kind_http = {
    .name = "http",
    .rows = rows,
    .check = check_http,
    .get = get_answer,
};
