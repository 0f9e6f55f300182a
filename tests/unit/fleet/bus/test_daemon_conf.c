#include "fleet/bus/daemon_conf.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/sys/fs.h"
#include "test.h"

struct conf {
    const char *url, *addr;
    int64_t burst, interval;
    bool docs;
    int format;
    struct param_strs pins;
    const struct value *schedule;
};

#define ARGS struct conf
/* clang-format off */
static const struct param rows[] = {
    PARAM("nats_url",         STR,      ARGS, url, "servers", .default_text = "tls://nats:4222"),
    PARAM("enroll.addr",      STR,      ARGS, addr, "listener", .default_text = ":8443"),
    PARAM("enroll.rate.burst", INT,     ARGS, burst, "tokens", PARAM_RANGE(0, 1000)),
    PARAM("interval",         DURATION, ARGS, interval, "period", .default_text = "30s"),
    PARAM("api.docs_enabled", BOOL,     ARGS, docs, "the page", .aliases = "api-docs"),
    PARAM("log_format",       CHOICE,   ARGS, format, "lines", .choices = "json|text", .default_text = "json"),
    PARAM("pins",             STRS,     ARGS, pins, "keys"),
    PARAM("schedule",         MAP,      ARGS, schedule, "entries"),
    { 0 },
};
/* clang-format on */

static void refuse_plain(struct arena *arena, void *values, const struct value *given,
                         struct diags *diags)
{
    const struct conf *conf = values;

    (void)arena;
    if (strncmp(conf->url, "tls://", 6) != 0)
        (void)value_diag(diags, value_point(given, "nats_url"), "an address begins with tls://");
}

static struct daemon_conf daemon = {
    .program = "daemon",
    .summary = "a daemon",
    .file = "/nonexistent/daemon.yaml",
    .rows = rows,
    .size = sizeof(struct conf),
    .check = refuse_plain,
};

#define LINE(...)                                                                                  \
    (char *[]){ "daemon", __VA_ARGS__ },                                                           \
        (int)(sizeof((char *[]){ "daemon", __VA_ARGS__ }) / sizeof(char *))

struct outcome {
    int result;
    struct conf conf;
    struct buf errors, warnings;
};

static void read_conf(struct arena *arena, const char *yaml, char **argv, int argc,
                      struct outcome *ret)
{
    struct diags diags = DIAGS_INIT(arena), warnings = DIAGS_INIT(arena);
    const char *file = arena_printf(arena, "%s/c.yaml", test_folder());
    struct daemon_line line;
    struct err err;

    *ret = (struct outcome){ .errors = BUF_INIT(1 << 16), .warnings = BUF_INIT(1 << 16) };
    CHECK_INT(fs_replace(file, str_from(yaml), NULL, &err), 0);
    ret->result = daemon_conf_parse(&daemon, arena, argc - 1, argv + 1, &line, &diags);
    if (ret->result == 0) {
        line.file = file;
        ret->result = daemon_conf_read(&daemon, &line, arena, &ret->conf, &diags, &warnings);
    }
    diags_print(&diags, &ret->errors);
    diags_print(&warnings, &ret->warnings);
}

static void end(struct outcome *outcome)
{
    buf_done(&outcome->errors);
    buf_done(&outcome->warnings);
}

TEST(a_flag_wins_over_the_file_and_the_file_over_the_default)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct outcome got;

    read_conf(&arena,
              "enroll: {addr: ':1', rate: {burst: 7}}\npins: [a, b]\nschedule: {x: {y: 1}}\n",
              LINE("--enroll-addr", ":2", "--api-docs", "--log-format=text"), &got);
    CHECK_STR(buf_text(&got.errors), "");
    CHECK_STR(got.conf.url, "tls://nats:4222");
    CHECK_STR(got.conf.addr, ":2");
    CHECK_INT(got.conf.burst, 7);
    CHECK_INT(got.conf.interval, 30000000000);
    CHECK(got.conf.docs);
    CHECK_INT(got.conf.format, 1);
    CHECK_INT(got.conf.pins.n, 2);
    CHECK(value_path(got.conf.schedule, STR("x.y"), '.') != NULL);
    end(&got);
}

TEST(an_empty_list_flag_clears_the_list_of_the_file)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct outcome got;

    read_conf(&arena, "pins: [a, b]\n", LINE("--pins="), &got);
    CHECK_INT(got.conf.pins.n, 0);
    end(&got);
    read_conf(&arena, "pins: [a, b]\n", LINE("--pins", "c", "--pins", "d"), &got);
    CHECK_INT(got.conf.pins.n, 2);
    CHECK_STR(got.conf.pins.p[1], "d");
    end(&got);
}

TEST(all_mistakes_of_a_file_come_at_once_with_their_places)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct outcome got;

    read_conf(&arena, "enroll:\n  adr: x\n  rate: {burst: 2000}\napi: 3\ninterval: soon\n",
              LINE("--pins", "c"), &got);
    CHECK_INT(got.result, -1);
    CHECK_HAS(buf_text(&got.errors), "c.yaml:2:3: no key 'enroll.adr'");
    CHECK_HAS(buf_text(&got.errors), "did you mean 'enroll.addr'?");
    CHECK_HAS(buf_text(&got.errors), "c.yaml:3:17: ");
    CHECK_HAS(buf_text(&got.errors), "c.yaml:4:6: 'api' must be a map");
    CHECK_HAS(buf_text(&got.errors), "c.yaml:5:11: ");
    end(&got);
}

TEST(a_check_of_the_daemon_points_into_the_file)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct outcome got;

    read_conf(&arena, "pins: []\nnats_url: nats://a\n", LINE("--pins", "c"), &got);
    CHECK_INT(got.result, -1);
    CHECK_HAS(buf_text(&got.errors), "c.yaml:2:11: an address begins with tls://");
    end(&got);
}

TEST(an_unknown_key_is_a_warning_for_a_lenient_daemon_only)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct outcome got;

    daemon.lenient = true;
    read_conf(&arena, "colour: red\napi-docs: true\n", LINE("--pins", "c"), &got);
    CHECK_INT(got.result, 0);
    CHECK_HAS(buf_text(&got.warnings), "c.yaml:1:1: no key 'colour'");
    CHECK_HAS(buf_text(&got.warnings), "no key 'api-docs'");
    end(&got);
}

TEST(mistakes_of_flags_name_the_flag)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct outcome got;

    read_conf(&arena, "", LINE("--enroll-rate-burst", "many", "--shedule", "x", "--interval=x"),
              &got);
    CHECK_INT(got.result, -1);
    CHECK_HAS(buf_text(&got.errors), "--enroll-rate-burst");
    CHECK_HAS(buf_text(&got.errors), "unknown option '--shedule'");
    CHECK_HAS(buf_text(&got.errors), "--interval");
    end(&got);
}

TEST(a_missing_file_is_a_mistake_only_when_it_was_named)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct daemon_line line = { 0 };
    struct conf conf = { 0 };

    CHECK_INT(daemon_conf_read(&daemon, &line, &arena, &conf, &diags, &diags), 0);
    CHECK_STR(conf.addr, ":8443");
    line.file = "/nonexistent/other.yaml";
    CHECK_INT(daemon_conf_read(&daemon, &line, &arena, &conf, &diags, &diags), -1);
}

TEST(the_manual_has_keys_flags_and_defaults)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 16);

    daemon_conf_print_markdown(&daemon, &out);
    CHECK_HAS(buf_text(&out), "| `enroll.addr` | `--enroll-addr` | string | :8443 | listener |");
    CHECK_HAS(buf_text(&out), "`--api-docs-enabled`, `--api-docs`");
    CHECK_HAS(buf_text(&out), "| `schedule` | - | map | - | entries |");
}
