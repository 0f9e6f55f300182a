#include "kepler/config/config_change.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "kepler/config/config.h"
#include "test.h"

static const struct config *load(struct arena *arena, const char *text)
{
    const struct config_source source = { .path = "/srv/kepler.yaml", .text = str_from(text) };
    struct diags diags = DIAGS_INIT(arena);
    const struct config *config = NULL;

    if (config_load(arena, &source, &config, &diags) < 0)
        CHECK_STR(diags.list.p[0].text, "");
    return config;
}

static void print_keys(const config_change_keys *keys, struct buf *out)
{
    struct err err;

    VEC_EACH (keys, key) {
        buf_printf(out, " %s ", key->key);
        CHECK_INT(json_print(out, &key->old, JSON_STYLE_COMPACT, &err), 0);
        buf_add_text(out, ">");
        CHECK_INT(json_print(out, &key->now, JSON_STYLE_COMPACT, &err), 0);
    }
}

/* "SERVICE KIND CAUSE KEYS" of each that differs, with keys outside of services before. */
static const char *compare(struct arena *arena, const char *old, const char *now)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct config *config = load(arena, now);
    struct config_changes changes = config_change_find(arena, load(arena, old), config);

    config_change_follow(&changes, config);
    print_keys(&changes.file, &out);
    for (size_t i = 0; i < changes.count; i++) {
        const struct config_change *one = &changes.services[i];

        if (one->kind == CONFIG_CHANGE_NONE)
            continue;
        buf_printf(&out, "%s %s%s%s", one->name, config_change_name(one->kind),
                   one->cause ? " with " : "", one->cause ? one->cause : "");
        print_keys(&one->keys, &out);
        buf_add_text(&out, "; ");
    }
    return arena_strdup(arena, buf_text(&out));
}

TEST(differences_are_of_values_and_not_of_their_places)
{
    static const struct {
        const char *old, *now, *expected;
    } cases[] = {
        { "services: {a: {run: x}, b: {run: y}}",
          "services:\n  b: {run: y}\n  # text\n  a: {run: x}\n", "" },
        { "services: {a: {run: x}}", "services: {a: {run: x, restart: 'no', stop_signal: TERM}}",
          "" },
        { "services: {a: {run: x}}", "services: {a: {run: y}}", "a restart run \"x\">\"y\"; " },
        { "services: {a: {run: x}}", "services: {b: {run: x}}", "b start; a stop; " },
        { "services: {a: {run: x}}", "services: {a: {run: x, stop_grace_period: 3s}}",
          "a in place stop_grace_period \"10s\">\"3s\"; " },
        { "services: {a: {run: x, logs: {retention: {on_stop: clear}}}}",
          "services: {a: {run: x, logs: {retention: {on_stop: retain}}}}",
          "a in place logs.retention.on_stop \"clear\">\"retain\"; " },
        { "services: {a: {run: x}}", "services: {a: {run: x, logs: {store: {stderr: false}}}}",
          "a restart logs.store.stderr true>false; " },
        { "services: {a: {run: x, environment: {A: 1.10}}}",
          "services: {a: {run: x, environment: {A: 1.1}}}",
          "a restart environment [\"A=***\"]>[\"A=***\"]; " },
        { "services: {a: {run: !lua return x}}", "services: {a: {run: return x}}",
          "a restart run \"return x\">\"return x\"; " },
        { "services: {a: {run: x, environment: [A=1]}}",
          "services: {a: {run: x, environment: [A=2, B=1]}}",
          "a restart environment [\"A=***\"]>[\"A=***\",\"B=***\"]; " },
        { "services: {a: {run: x}}",
          "services: {a: {run: x, hooks: {pre_start: {run: y, environment: [A=secret]}}}}", NULL },
        { "services: {a: {run: x}}", "kepler: {timeout: 5s}\nservices: {a: {run: x}}",
          " kepler.timeout null>\"5s\"" },
        { "services: {a: {run: x}}", "lua: y = 1\nservices: {a: {run: x}}", " lua null>\"y = 1\"" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const char *found = compare(&arena, cases[i].old, cases[i].now);

        if (cases[i].expected)
            CHECK_STR(found, cases[i].expected);
        else
            CHECK(strstr(found, "A=***") && !strstr(found, "secret"));
    }
}

TEST(only_edges_that_pass_restarts_on_are_followed_and_to_the_end)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *rest = "  b: {run: x, depends_on: {a: {restart: true}}}\n"
                       "  c: {run: x, depends_on: {b: {restart: true}}}\n"
                       "  d: {run: x, depends_on: [c]}\n";
    const char *old = arena_printf(&arena, "services:\n  a: {run: x}\n%s", rest);
    const char *now = arena_printf(&arena, "services:\n  a: {run: y}\n%s", rest);

    CHECK_STR(compare(&arena, old, now),
              "a restart run \"x\">\"y\"; b restart with a; c restart with b; ");
}
