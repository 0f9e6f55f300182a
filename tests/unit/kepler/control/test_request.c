#include "kepler/control/request.h"

#include "test.h"

#define BIT(name) RIGHT_BIT(RIGHT_##name)

static uint64_t start_rights(enum request_kind kind, struct request_start args)
{
    args.config = "/srv/kepler.yaml";
    return request_rights(kind, &args);
}

TEST(a_request_needs_its_right_and_those_of_its_fields)
{
    static const char *const pairs[] = { "A=1" };
    const struct param_strs given = { 1, pairs };

    CHECK_INT(start_rights(REQUEST_START, (struct request_start){ 0 }), BIT(START));
    CHECK_INT(start_rights(REQUEST_START, (struct request_start){ .environment = given }),
              BIT(START));
    CHECK_INT(
        start_rights(REQUEST_START, (struct request_start){ .no_deps = true, .overrides = given }),
        BIT(START) | BIT(START_NO_DEPS) | BIT(START_ENV));
    CHECK_INT(start_rights(REQUEST_START, (struct request_start){ .follow = true, .logs = true }),
              BIT(START) | BIT(LOGS));
    CHECK_INT(start_rights(REQUEST_RUN,
                           (struct request_start){ .start_clean = true, .hardening = "none" }),
              BIT(RUN) | BIT(RUN_START_CLEAN) | BIT(RUN_HARDENING));
    CHECK_INT(start_rights(REQUEST_RESTART, (struct request_start){ .follow = true }),
              BIT(RESTART) | BIT(SUBSCRIBE));
    CHECK_INT(start_rights(REQUEST_RECREATE, (struct request_start){ .flags = given }),
              BIT(RECREATE) | BIT(RECREATE_ENV));
    CHECK_INT(
        request_rights(REQUEST_STOP, &(struct request_stop){ .clean = true, .signal = "KILL" }),
        BIT(STOP) | BIT(STOP_CLEAN) | BIT(STOP_SIGNAL));
    CHECK_INT(request_rights(REQUEST_LOGS, &(struct request_logs){ .query = "x" }),
              BIT(LOGS) | BIT(LOGS_SEARCH));
    CHECK_INT(request_rights(REQUEST_LOGS, &(struct request_logs){ .query = "x", .sql = true }),
              BIT(LOGS) | BIT(LOGS_SEARCH) | BIT(LOGS_SEARCH_SQL));
    CHECK_INT(
        request_rights(REQUEST_METRICS, &(struct request_metrics){ .query = "x", .sql = true }),
        BIT(MONITOR) | BIT(MONITOR_SEARCH) | BIT(MONITOR_SEARCH_SQL));
    CHECK_INT(request_rights(REQUEST_WHY, &(struct request_ask){ 0 }), BIT(STATUS));
    CHECK_INT(request_rights(REQUEST_INSPECT, &(struct request_ask){ .with_flags = true }),
              BIT(INSPECT));
}

TEST(requests_without_a_config_need_no_right)
{
    CHECK_INT(request_rights(REQUEST_PING, &(struct request_ping){ 0 }), 0);
    CHECK_INT(request_rights(REQUEST_PRUNE, &(struct request_prune){ .force = true }), 0);
    CHECK_INT(request_get(REQUEST_PRUNE)->scope, REQUEST_DAEMON);
    CHECK_INT(request_get(REQUEST_SHUTDOWN)->scope, REQUEST_DAEMON);
    CHECK(!request_config(REQUEST_CHECK, &(struct request_check){ .config = "/x", .text = "" }));
    CHECK_STR(request_config(REQUEST_WAIT, &(struct request_wait){ .config = "/x" }), "/x");
}
