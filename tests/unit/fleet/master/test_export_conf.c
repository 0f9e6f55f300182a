#include "fleet/master/export/export_conf.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "test.h"

/* The mistakes as text; "" when there is none. */
static const char *read_conf(struct arena *arena, const char *text, struct export_confs *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 16);
    struct diags diags = DIAGS_INIT(arena);
    struct value given;

    CHECK_INT(yaml_parse(arena, "master.yaml", str_from(text), NULL, &given, &diags), 0);
    if (export_conf_read(arena, &given, ret, &diags) == 0)
        return "";
    diags_print(&diags, &out);
    return buf_copy(&out, arena).p;
}

TEST(an_entry_has_defaults)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct export_confs confs;
    const struct export_conf *conf;

    CHECK_STR(read_conf(&arena, "- {name: siem, url: 'https://siem.example/in'}", &confs), "");
    conf = export_conf_find(&confs, "siem");
    CHECK(conf && !export_conf_find(&confs, "other"));
    CHECK_INT(conf->batch, 1);
    CHECK_INT(conf->timeout, INT64_C(10000000000));
    CHECK(!conf->jobs && !conf->token_file && !conf->ca);
    CHECK(export_conf_matches(conf, "web-01/any/thing"));
}

TEST(patterns_match_keys_like_rule_patterns)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct export_confs confs;
    const struct export_conf *conf;

    CHECK_STR(read_conf(&arena,
                        "- {name: a, url: 'https://h/', match: ['_master/*', '*/deploy/end']}",
                        &confs),
              "");
    conf = export_conf_find(&confs, "a");
    CHECK(export_conf_matches(conf, "_master/peel/web-01/offline"));
    CHECK(export_conf_matches(conf, "web-01/deploy/end"));
    CHECK(!export_conf_matches(conf, "web-01/deploy/begin"));
}

static const struct {
    const char *text, *problem; /* "": none */
} cases[] = {
    { "- {name: a, url: 'http://localhost:80/x'}", "" },
    { "- {name: a, url: 'http://127.0.0.1'}", "" },
    { "- {name: a, url: 'http://127.200.1.9:8080?x'}", "" },
    { "- {name: a, url: 'http://[::1]:8080/'}", "" },
    { "- {name: a, url: 'http://siem.example/', insecure: true}", "" },
    { "- {name: a, url: 'https://h/', match: [], jobs: true}", "" },
    { "- {name: a, url: 'http://siem.example/'}", "is not encrypted" },
    { "- {name: a, url: 'http://127.0.0.1.evil.example/'}", "is not encrypted" },
    { "- {name: a, url: 'http://localhost.evil.example/'}", "is not encrypted" },
    { "- {name: a, url: 'http://evil.example#@localhost/'}", "is not encrypted" },
    { "- {name: a, url: 'http://localhost@evil.example/'}", "a user name" },
    { "- {name: a, url: 'https://user:pass@h/'}", "a user name" },
    { "- {name: a, url: 'https://'}", "no host" },
    { "- {name: a, url: 'https:///x'}", "no host" },
    { "- {name: a, url: 'ftp://h/'}", "must begin with https://" },
    { "- {name: a, url: 'h'}", "must begin with https://" },
    { "- {name: a, url: \"https://h/\\r\\nX: y\"}", "control characters" },
    { "- {name: 'A b', url: 'https://h/'}", "a name has up to 32" },
    { "- {name: '', url: 'https://h/'}", "a name has up to 32" },
    { "- {name: 'a.b', url: 'https://h/'}", "a name has up to 32" },
    { "- {name: a}", "url" },
    { "- {url: 'https://h/'}", "name" },
    { "- {name: a, url: 'https://h/', batch: 0}", "batch" },
    { "- {name: a, url: 'https://h/', batch: 101}", "batch" },
    { "- {name: a, url: 'https://h/', timeout: 10ms}", "timeout" },
    { "- {name: a, url: 'https://h/', token_file: relative}", "token_file" },
    { "- {name: a, url: 'https://h/', jobz: true}", "jobz" },
    { "- {name: a, url: 'https://h/', match: []}", "nothing to send" },
    { "- {name: a, url: 'https://h/'}\n- {name: a, url: 'https://h/'}", "duplicate name" },
    { "- text", "export" },
};

TEST(invalid_entries_are_refused_with_a_reason)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct export_confs confs;
        const char *said = read_conf(&arena, cases[i].text, &confs);

        if (cases[i].problem[0] ? !strstr(said, cases[i].problem) : said[0] != '\0')
            CHECK_STR(said, cases[i].text);
    }
}

TEST(the_limit_error_names_the_limit)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(1 << 16);
    struct export_confs confs;

    for (int i = 0; i <= EXPORTERS_MAX; i++)
        buf_printf(&text, "- {name: e%d, url: 'https://h/'}\n", i);
    CHECK(strstr(read_conf(&arena, buf_text(&text), &confs), "17 entries, the limit is 16"));
}
