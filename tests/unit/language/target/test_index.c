#include "language/target/index.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "language/target/target.h"
#include "test.h"

#define MACHINES 300
#define TARGETS  400
#define TERMS    6

/* Numbers by chance that are the same in every run. */
static uint32_t next_number(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static const char *const families[] = { "debian", "Debian", "redhat", "suse", "" };
static const char *const names[] = { "web", "db-", "app_", "Web." };

/* Facts of all shapes: texts, numbers, lists, maps, lists of maps, keys with dots, nothing. */
static struct value make_facts(struct arena *arena, uint32_t *state)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(arena);
    struct value facts;

    buf_printf(&text, "os: {family: '%s', version: '%u.%u'}\n", families[next_number(state) % 5],
               next_number(state) % 3, next_number(state) % 12);
    if (next_number(state) % 3)
        buf_printf(&text, "roles: [%s, r%u]\n", next_number(state) % 2 ? "web" : "db",
                   next_number(state) % 4);
    else if (next_number(state) % 2)
        buf_add_text(&text, "roles: []\n");
    if (next_number(state) % 2)
        buf_printf(&text, "mounts: [{name: /, size: %u}, {name: /var, size: %u}]\n",
                   next_number(state) % 4, next_number(state) % 4);
    if (next_number(state) % 4 == 0)
        buf_printf(&text, "a.b: %u\na: {b: %u, c: null}\n", next_number(state) % 3,
                   next_number(state) % 3);
    buf_printf(&text, "cpus: %u\nipv4: [10.0.%u.1]\n", next_number(state) % 9,
               next_number(state) % 3);
    if (yaml_parse(arena, "facts", buf_view(&text), NULL, &facts, &diags) < 0)
        fail_msg("%s", diags.list.p[0].text);
    return facts;
}

static const char *const terms[] = {
    "*",
    "web*",
    "db-1?",
    "app.1*",
    "Web_*",
    "[wd]*",
    "E@^web\\d$",
    "E@x$",
    "L@web1,db-2",
    "G@os.family:debian",
    "G@os:family",
    "G@os.family:*",
    "G@os.family:!=debian",
    "G@os.version:>=1.5",
    "P@os.family:^.e",
    "G@roles:web",
    "G@roles:*",
    "G@roles:!=web",
    "G@roles.0:db",
    "G@mounts:/var",
    "G@mounts.size:>2",
    "G@mounts.1.size:0",
    "G@a.b:1",
    "G@a:b:2",
    "G@a.c:none",
    "G@a.c:null",
    "G@cpus:>4",
    "G@cpus:3",
    "S@10.0.1.0/24",
    "I@x:y",
    "I@os.family:debian",
    "I@roles:web",
    "J@roles:^r[0-2]$",
    "G@missing:1",
    "G@missing:!=1",
    "P@roles:^r[0-2]$",
    "G@os.family:",
    "G@os:version",
};

static void add_expression(struct buf *out, uint32_t *state, unsigned depth)
{
    const uint32_t kind = next_number(state) % 6;

    if (kind < 2 || depth == 0) {
        buf_add_text(out, terms[next_number(state) % ARRAY_LEN(terms)]);
        return;
    }
    buf_add_text(out, kind == 5 ? "not (" : "(");
    add_expression(out, state, depth - 1);
    if (kind < 5) {
        buf_add_text(out, kind == 2 ? ") and (" : kind == 3 ? ") or (" : ") and not (");
        add_expression(out, state, depth - 1);
    }
    buf_add_char(out, ')');
}

static const struct target *parse(struct arena *arena, struct str text)
{
    struct diags diags = DIAGS_INIT(arena);
    const struct target *target = NULL;

    if (target_parse(arena, text, TARGET_COMPOUND, NULL, &target, &diags) < 0)
        fail_msg("%.*s: %s", STR_ARG(text), diags.list.p[0].text);
    return target;
}

struct crowd {
    struct arena arena;
    struct target_index *index;
    uint32_t state;
    char ids[MACHINES][32];
    struct value facts[MACHINES], settings[MACHINES];
    bool is_there[MACHINES];
};

static void put(struct crowd *crowd, size_t i)
{
    struct err err;

    crowd->facts[i] = make_facts(&crowd->arena, &crowd->state);
    crowd->is_there[i] = true;
    CHECK_INT(target_index_put(crowd->index, str_from(crowd->ids[i]), &crowd->facts[i], &err), 0);
    crowd->settings[i] = make_facts(&crowd->arena, &crowd->state);
    target_index_put_settings(crowd->index, str_from(crowd->ids[i]), &crowd->settings[i]);
}

static void init_crowd(struct crowd *crowd)
{
    crowd->index = target_index_new();
    crowd->state = 7;
    for (unsigned i = 0; i < MACHINES; i++) {
        (void)snprintf(crowd->ids[i], sizeof(crowd->ids[i]), "%s%u%s", names[i % ARRAY_LEN(names)],
                       i / 4, i % 4 == 2 ? "_x" : "");
        put(crowd, i);
    }
}

/* The index and a scan agree on a target. */
static void check_target(struct crowd *crowd, struct str text)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct target *target = parse(&arena, text);
    struct target_found found;
    struct map ids = MAP_INIT_IN(&arena);
    size_t expected = 0;
    struct err err;

    CHECK_INT(target_index_find(crowd->index, target, &arena, &found, &err), 0);
    VEC_EACH (&found.ids, id)
        (void)map_set(&ids, *id, crowd);
    CHECK_INT(map_count(&ids), found.ids.n);
    for (size_t i = 0; i < MACHINES; i++) {
        const struct target_subject subject = { str_from(crowd->ids[i]), &crowd->facts[i],
                                                &crowd->settings[i] };
        bool matches = false;

        if (!crowd->is_there[i])
            continue;
        CHECK_INT(target_match(target, &subject, &matches, &err), 0);
        expected += matches;
        if (matches != map_has(&ids, subject.id))
            fail_msg("%.*s: %s is %s", STR_ARG(text), crowd->ids[i],
                     matches ? "missing" : "too many");
    }
    CHECK_INT(found.ids.n, expected);
}

TEST(the_index_finds_the_same_machines_as_a_scan)
{
    struct crowd *crowd = mem_zalloc(sizeof(*crowd));

    init_crowd(crowd);
    for (size_t i = 0; i < ARRAY_LEN(terms); i++)
        check_target(crowd, str_from(terms[i]));
    for (unsigned i = 0; i < TARGETS; i++) {
        AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
        const size_t one = next_number(&crowd->state) % MACHINES;

        add_expression(&text, &crowd->state, 1 + i % TERMS);
        check_target(crowd, buf_view(&text));
        if (i % 3 == 0)
            put(crowd, one);
        if (i % 7 == 0) {
            target_index_remove(crowd->index, str_from(crowd->ids[one]));
            crowd->is_there[one] = false;
        }
    }
    target_index_free(crowd->index);
    arena_done(&crowd->arena);
    free(crowd);
}

/* web1 has the role web, db1 has none, and the settings of new1 are not known. */
TEST(a_machine_with_unknown_settings_is_never_meant_because_of_them)
{
    static const struct {
        const char *target;
        size_t found;
        bool has_new;
    } cases[] = {
        { "I@role:web", 1, false },
        { "not I@role:web", 1, false },
        { "not not I@role:web", 1, false },
        { "not (I@role:web or db1)", 0, false },
        { "not (I@role:web and db1)", 3, true },
        { "I@role:web or new1", 2, true },
        { "new1 or not I@role:web", 2, true },
        { "not (I@role:web and not new*)", 2, true },
        { "not J@role:w.b and not new1", 1, false },
        { "*", 3, true },
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct target_index *index = target_index_new();
    static const char *const ids[] = { "web1", "db1", "new1" };
    struct value facts = value_map(value_map_new(&arena, 0)), none = facts, web;
    struct err err;

    web = value_map(value_map_new(&arena, 1));
    value_map_set(&arena, web.map, value_text("role"), value_text("web"));
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        CHECK_INT(target_index_put(index, str_from(ids[i]), &facts, &err), 0);
    target_index_put_settings(index, STR("web1"), &web);
    target_index_put_settings(index, STR("db1"), &none);
    target_index_put_settings(index, STR("nobody"), &none);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct target_found found;
        bool has_new = false;

        CHECK_INT(target_index_find(index, parse(&arena, str_from(cases[i].target)), &arena, &found,
                                    &err),
                  0);
        VEC_EACH (&found.ids, id)
            has_new = has_new || str_eq_text(*id, "new1");
        if (found.ids.n != cases[i].found || has_new != cases[i].has_new)
            fail_msg("%s: %zu found", cases[i].target, found.ids.n);
    }
    target_index_free(index);
}

static bool count_down(void *self)
{
    return (*(int *)self)-- == 0;
}

TEST(a_target_that_takes_too_long_is_given_up)
{
    static const char *const targets[] = { "E@^web", "P@role:w.b", "web* or G@role:web" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct target_index *index = target_index_new();
    struct value facts = value_map(value_map_new(&arena, 0));
    struct target_found found;
    struct err err;

    for (int i = 0; i < 100; i++)
        CHECK_INT(target_index_put(index, str_from(arena_printf(&arena, "web%d", i)), &facts, &err),
                  0);
    for (size_t i = 0; i < ARRAY_LEN(targets); i++)
        for (int left = 50; left <= 1000; left += 950) {
            int rest = left;
            const struct target_limit limit = { count_down, &rest };

            CHECK_INT(target_index_find_within(index, parse(&arena, str_from(targets[i])), &limit,
                                               &arena, &found, &err),
                      left == 50 ? -1 : 0);
            if (left == 50)
                CHECK_INT(err.code, ERR_BUSY);
        }
    target_index_free(index);
}

TEST(paths_beyond_the_limit_replace_unused_ones)
{
    struct crowd *crowd = mem_zalloc(sizeof(*crowd));
    size_t bytes;

    init_crowd(crowd);
    for (unsigned i = 0; i < INDEX_COLUMNS_MAX; i++) {
        AUTO_BUF struct buf text = BUF_INIT(64);

        buf_printf(&text, "G@made.up.%u:1", i);
        check_target(crowd, buf_view(&text));
    }
    bytes = target_index_bytes(crowd->index);
    for (unsigned i = 0; i < 3 * INDEX_COLUMNS_MAX; i++) {
        AUTO_BUF struct buf text = BUF_INIT(64);

        buf_printf(&text, "G@more.up.%u:1 or G@os.family:debian", i);
        check_target(crowd, buf_view(&text));
    }
    CHECK(target_index_bytes(crowd->index) < bytes + bytes / 4);
    target_index_free(crowd->index);
    arena_done(&crowd->arena);
    free(crowd);
}

TEST(a_machine_that_changes_all_the_time_costs_no_memory)
{
    struct crowd *crowd = mem_zalloc(sizeof(*crowd));
    size_t bytes;

    init_crowd(crowd);
    check_target(crowd, STR("G@os.version:>1"));
    for (unsigned i = 0; i < 200; i++)
        put(crowd, 0);
    bytes = target_index_bytes(crowd->index);
    for (unsigned i = 0; i < 2000; i++)
        put(crowd, 0);
    CHECK(target_index_bytes(crowd->index) <= 2 * bytes);
    CHECK_INT(target_index_count(crowd->index), MACHINES);
    target_index_free(crowd->index);
    arena_done(&crowd->arena);
    free(crowd);
}
