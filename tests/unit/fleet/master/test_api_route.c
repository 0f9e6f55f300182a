#include "fleet/master/api/route.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/master/api/call.h"
#include "fleet/master/api/handlers.h"
#include "fleet/master/api/manual.h"
#include "test.h"

TEST(a_request_finds_its_route_by_method_and_path)
{
    static const struct {
        const char *method, *path;
        int status;
        const char *route, *name, *allowed;
    } cases[] = {
        { "POST", "/api/v1/jobs", 200, "/api/v1/jobs", "", "" },
        { "GET", "/api/v1/jobs/abc", 200, "/api/v1/jobs/{jid}", "abc", "" },
        { "HEAD", "/api/v1/jobs/abc", 200, "/api/v1/jobs/{jid}", "abc", "" },
        { "GET", "/api/v1/jobs/abc/stream", 200, "/api/v1/jobs/{jid}/stream", "abc", "" },
        { "POST", "/api/v1/enrollments/web.example.com/revoke", 200,
          "/api/v1/enrollments/{id}/revoke", "web.example.com", "" },
        { "DELETE", "/api/v1/jobs", 405, "", "", "POST, GET" },
        { "GET", "/api/v1/jobs/abc/cancel", 405, "", "", "POST" },
        { "GET", "/api/v1/jobs/", 404, "", "", "" },
        { "GET", "/api/v1/jobs//stream", 404, "", "", "" },
        { "GET", "/api/v1/jobs/a/b/c", 404, "", "", "" },
        { "GET", "/", 404, "", "", "" },
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct api_match match =
            api_route_find(api_routes, &arena, cases[i].method, cases[i].path);

        CHECK_INT(match.status, cases[i].status);
        CHECK_STR(match.route ? match.route->path : "", cases[i].route);
        CHECK_STR(match.name, cases[i].name);
        CHECK_STR(match.allowed ? match.allowed : "", cases[i].allowed);
    }
}

TEST(every_route_is_described_and_its_tables_are_valid)
{
    for (const struct api_route *route = api_routes; route->path; route++) {
        struct err err = { .text = "" };

        CHECK(route->fn && route->summary && route->details && route->status);
        CHECK(strcmp(route->method, "GET") != 0 || route->act < API_ACT_RUN_JOB);
        CHECK(strcmp(route->method, "GET") == 0 || route->act >= API_ACT_RUN_JOB);
        CHECK(!route->query == !route->query_size && !route->body == !route->body_size);
        CHECK((route->query ? params_check(route->query, &err) : 0) == 0);
        CHECK((route->body ? params_check(route->body, &err) : 0) == 0);
        CHECK_STR(err.text, "");
    }
}

/* Returns the mistakes in the body of a job, one per line. */
static const char *read_job(struct arena *arena, const char *text)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(arena);
    const void *body;

    (void)api_route_read_body(&api_routes[0], arena, str_from(text), &body, &diags);
    VEC_EACH (&diags.list, diag)
        buf_printf(&out, "%s%s", out.n > 0 ? "\n" : "", diag->text);
    return buf_copy(&out, arena).p;
}

TEST(mistakes_of_a_body_are_reported_together)
{
    static const struct {
        const char *body, *mistakes;
    } cases[] = {
        { "{\"target\":\"*\",\"function\":\"test.ping\"}", "" },
        { "{\"targets\":[\"web-01\",\"a.b\"],\"function\":\"test.ping\",\"timeout\":\"5m\"}", "" },
        { "{\"target\":\"*\",\"function\":\"rm\",\"max_failures\":1}",
          "'function': 'rm' is not the name of a function (family.name)\n"
          "'max_failures' requires 'batch'" },
        { "{\"target\":\"*\",\"targets\":[\"a\"],\"function\":\"a.b\",\"batch\":\"200%\"}",
          "'target' and 'targets' cannot both be given\n"
          "'batch': invalid batch size '200%': expected a number of peels (5) or a percentage "
          "(20%)" },
        { "{\"target\":\"*\",\"function\":\"a.b\",\"timeout\":\"1s\",\"node_timeout\":\"2s\"}",
          "'node_timeout' is longer than 'timeout', the time of the whole job" },
        { "{\"target\":\"*\",\"function\":\"a.b\",\"metadata\":{\"reactor_depth\":\"9\"}}",
          "'metadata': 'reactor_depth' is reserved" },
        { "7", "must be an object, got an integer" },
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_STR(read_job(&arena, cases[i].body), cases[i].mistakes);
}

TEST(a_body_is_read_with_its_defaults)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    const struct api_job_body *job;
    const void *body;

    CHECK(api_route_read_body(&api_routes[0], &arena,
                              STR("{\"target\":\"*\",\"function\":\"a.b\",\"args\":{\"n\":1}}"),
                              &body, &diags) == 0);
    job = body;
    CHECK_STR(job->function, "a.b");
    CHECK_INT(job->timeout, INT64_C(60) * 1000000000);
    CHECK(!job->has_timeout && !job->test && !job->jid);
    CHECK_INT(value_get_int(job->args, "n", 0), 1);
}

/* The roles that allow each act, before a job is known. */
TEST(a_token_has_the_permissions_of_an_operator_with_its_role)
{
    static const char *const expected[API_ACTS] = {
        [API_ACT_NONE] = "",
        [API_ACT_READ_JOBS] = "voa",
        [API_ACT_READ_RETURNS] = "voa",
        [API_ACT_READ_APPROVALS] = "voa",
        [API_ACT_READ_ENROLLMENTS] = "ea",
        [API_ACT_READ_PEELS] = "voa",
        [API_ACT_READ_FACTS] = "voa",
        [API_ACT_READ_SETTINGS] = "a",
        [API_ACT_READ_EVENTS] = "voa",
        [API_ACT_RESOLVE] = "voea",
        [API_ACT_RUN_JOB] = "oa",
        [API_ACT_CANCEL_JOB] = "oa",
        [API_ACT_APPROVE_JOB] = "oa",
        [API_ACT_REJECT_JOB] = "oa",
        [API_ACT_APPROVE_ENROLLMENT] = "ea",
        [API_ACT_REJECT_ENROLLMENT] = "ea",
        [API_ACT_REVOKE_ENROLLMENT] = "ea",
        [API_ACT_PAUSE_ENROLLMENT] = "a",
        [API_ACT_SEND_EVENT] = "oa",
    };
    static const char letters[] = "voea";
    static const char *const all[] = { "*" };

    for (int act = 0; act < API_ACTS; act++)
        for (int role = 0; role < OPERATOR_ROLES; role++) {
            const struct operator_policy policy = { .name = "api:x",
                                                    .role = (enum operator_role)role,
                                                    .target = "*",
                                                    .functions = { 1, all } };
            const struct api_asker asker = { .user = "api:x", .token = "x", .policy = &policy };
            struct err why;

            CHECK((api_may_begin(&asker, (enum api_act)act, 100, &why) == 0) ==
                  (strchr(expected[act], letters[role]) != NULL));
        }
}

TEST(a_token_of_an_operator_ends_with_the_operator)
{
    static const char *const all[] = { "*" };
    struct operator_key key = { .public_key = "U", .expires = { .seconds = 200 } };
    struct operator_policy policy = { .name = "ann",
                                      .role = OPERATOR_ADMIN,
                                      .target = "*",
                                      .functions = { 1, all },
                                      .keys = { { &key, 1, 1 } } };
    const struct api_asker ann = {
        .user = "ann", .token = "x", .policy = &policy, .is_named = true
    };
    struct err why;

    CHECK(api_may_begin(&ann, API_ACT_READ_JOBS, 100, &why) == 0);
    CHECK(api_may_begin(&ann, API_ACT_PAUSE_ENROLLMENT, 100, &why) < 0);
    CHECK_STR(why.text, "permission denied: 'ann' requires admin.creds, or a token with its "
                        "own 'admin' role");
    CHECK(api_may_begin(&ann, API_ACT_READ_JOBS, 200, &why) < 0);
    CHECK_STR(why.text, "the credentials of operator 'ann' have expired");
    policy.removed = true;
    CHECK(api_may_begin(&ann, API_ACT_READ_JOBS, 100, &why) < 0);
    CHECK_STR(why.text, "operator 'ann' was removed");
    CHECK(api_may_begin(&(struct api_asker){ .user = "" }, API_ACT_READ_JOBS, 100, &why) < 0);
}

TEST(every_api_call_has_a_description)
{
    for (const struct api_route *route = api_routes; route->path; route++)
        CHECK(route->is_open == (route->act == API_ACT_NONE));
}

TEST(harmful_request_ids_are_replaced)
{
    CHECK(api_request_id_is_sane("4f9c-ab/12:3.4@x+y="));
    CHECK(!api_request_id_is_sane(""));
    CHECK(!api_request_id_is_sane("a b"));
    CHECK(!api_request_id_is_sane("a\nstatus=200"));
    CHECK(!api_request_id_is_sane("\""));
}

TEST(a_page_is_a_range_of_the_items)
{
    static const struct {
        struct api_page page;
        size_t count, from, to;
    } cases[] = {
        { { 10, 0 }, 3, 0, 3 }, { { 2, 0 }, 3, 0, 2 }, { { 2, 2 }, 3, 2, 3 },
        { { 2, 9 }, 3, 3, 3 },  { { 1, 0 }, 0, 0, 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t from, to;

        api_page_range(&cases[i].page, cases[i].count, &from, &to);
        CHECK_INT(from, cases[i].from);
        CHECK_INT(to, cases[i].to);
    }
}

TEST(the_manual_has_every_route)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf page = BUF_INIT(BUF_NO_LIMIT), text = BUF_INIT(BUF_NO_LIMIT);
    const struct value document = api_manual_openapi(&arena, api_routes);
    struct err err;

    api_manual_page(api_routes, &page);
    CHECK(json_print(&text, &document, JSON_STYLE_COMPACT, &err) == 0);
    for (const struct api_route *route = api_routes; route->path; route++) {
        const struct value *item = value_get(value_get(&document, "paths"), route->path);
        const char *method = strcmp(route->method, "GET") == 0 ? "get" : "post";

        CHECK(strstr(buf_text(&page), route->path) != NULL);
        CHECK_STR(value_get_text(value_get(item, method), "summary"), route->summary);
    }
    CHECK(strstr(buf_text(&page), "<script") == NULL);
    CHECK(strstr(api_manual_policy(&arena), "style-src 'sha256-") != NULL);
}
