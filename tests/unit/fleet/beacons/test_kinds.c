/* What the kinds of beacons see on a machine, and what they say of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "fleet/beacons/section.h"
#include "fleet/beacons/tracker.h"
#include "core/data/json.h"
#include "core/data/yaml.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "test.h"

/* A beacon without an agent. */
struct beacon {
    struct arena arena;
    const struct beacon_kind *kind;
    const struct beacon_common *args;
    void *memory;
    struct tracker tracker;
};

static void open_beacon(struct beacon *beacon, const char *kind, const char *text)
{
    struct diags diags = DIAGS_INIT(&beacon->arena);
    struct value section;

    beacon->kind = beacon_kind_find(kind);
    CHECK(yaml_parse(&beacon->arena, "t", str_from(text), NULL, &section, &diags) == 0);
    beacon->args = section_read(&beacon->arena, beacon->kind, &section, &diags);
    CHECK(beacon->args != NULL);
    beacon->memory = calloc(1, beacon->kind->memory_size + 1);
}

static void close_beacon(struct beacon *beacon)
{
    if (beacon->kind->forget)
        beacon->kind->forget(beacon->memory);
    free(beacon->memory);
    tracker_done(&beacon->tracker);
    arena_done(&beacon->arena);
}

/* The data of the events of one look, as JSON, each after a blank. */
static const char *look(struct beacon *beacon)
{
    const struct tracker_rule rule = { .every = !beacon->args->onchangeonly,
                                       .tells_absence = beacon->kind->tells_absence };
    struct beacon_look one = { &beacon->arena, beacon->memory };
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    struct beacon_readings readings = { 0 };
    struct tracker_changes changes = { 0 };
    struct err err = { 0 };

    if (beacon->kind->observe(&one, beacon->args, &readings, &err) < 0)
        CHECK_STR(err.text, "");
    (void)tracker_feed(&beacon->tracker, &rule, &readings, 0, &beacon->arena, &changes);
    VEC_EACH (&changes.list, change) {
        struct value data = value_map(value_map_new(&beacon->arena, 4));

        beacon->kind->say(&beacon->arena, change, data.map);
        buf_add_text(&out, out.n > 0 ? " " : "");
        CHECK(json_print(&out, &data, JSON_STYLE_COMPACT, &err) == 0);
    }
    return buf_copy(&out, &beacon->arena).p;
}

static void write_file(const char *path, const char *text)
{
    const struct fs_replace_options options = { .attr = { 0644, FS_KEEP, FS_KEEP } };
    struct err err;

    CHECK(fs_replace(path, str_from(text), &options, &err) == 0);
}

TEST(files_are_created_modified_and_deleted)
{
    struct beacon beacon = { 0 };
    const char *folder = test_folder(), *a = path_join(&beacon.arena, folder, "a"),
               *b = path_join(&beacon.arena, folder, "b");

    write_file(a, "one");
    open_beacon(&beacon, "file",
                arena_printf(&beacon.arena, "{files: [%s, /no/such/file]}", folder));
    CHECK_STR(look(&beacon), "");
    CHECK_STR(look(&beacon), "");
    write_file(b, "new");
    CHECK_STR(look(&beacon),
              arena_printf(&beacon.arena, "{\"path\":\"%s\",\"change\":\"created\"}", b));
    write_file(a, "other");
    CHECK_STR(look(&beacon),
              arena_printf(&beacon.arena, "{\"path\":\"%s\",\"change\":\"modified\"}", a));
    CHECK(unlink(a) == 0);
    CHECK_STR(look(&beacon),
              arena_printf(&beacon.arena, "{\"path\":\"%s\",\"change\":\"deleted\"}", a));
    close_beacon(&beacon);
}

TEST(folders_below_are_watched_only_when_asked_for)
{
    struct beacon flat = { 0 }, deep = { 0 };
    const char *folder = test_folder(), *below = path_join(&flat.arena, folder, "x/y");
    struct err err;

    CHECK(fs_mkdirs(below, 0755, &err) == 0);
    open_beacon(&flat, "file", arena_printf(&flat.arena, "{files: %s}", folder));
    open_beacon(&deep, "file", arena_printf(&deep.arena, "{files: %s, recurse: true}", folder));
    (void)look(&flat);
    (void)look(&deep);
    write_file(path_join(&flat.arena, below, "f"), "");
    CHECK_STR(look(&flat), "");
    CHECK(strstr(look(&deep), "/x/y/f\",\"change\":\"created\"") != NULL);
    close_beacon(&flat);
    close_beacon(&deep);
}

static void add_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "a");

    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

TEST(lines_of_a_log_are_found_across_rotation_and_truncation)
{
    struct beacon beacon = { 0 };
    const char *path = path_join(&beacon.arena, test_folder(), "log");

#define LINE(text) arena_printf(&beacon.arena, "{\"path\":\"%s\",\"line\":\"%s\"}", path, text)
    write_file(path, "an old error\n");
    open_beacon(&beacon, "log", arena_printf(&beacon.arena, "{files: {%s: 'error \\d'}}", path));
    CHECK_STR(look(&beacon), "");
    add_text(path, "fine\nerror 1\nerr");
    CHECK_STR(look(&beacon), LINE("error 1"));
    add_text(path, "or 2\n");
    CHECK_STR(look(&beacon), LINE("error 2"));
    add_text(path, "error 3\n");
    CHECK(rename(path, arena_printf(&beacon.arena, "%s.1", path)) == 0);
    write_file(path, "error 4\n");
    CHECK_STR(look(&beacon),
              arena_printf(&beacon.arena, "%s %s", LINE("error 3"), LINE("error 4")));
    CHECK(truncate(path, 0) == 0);
    (void)look(&beacon);
    add_text(path, "error 5\n");
    CHECK_STR(look(&beacon), LINE("error 5"));
    close_beacon(&beacon);
}

TEST(a_look_reports_twenty_lines_and_counts_the_rest)
{
    struct beacon beacon = { 0 };
    const char *path = path_join(&beacon.arena, test_folder(), "log");

    write_file(path, "");
    open_beacon(&beacon, "log", arena_printf(&beacon.arena, "{files: {%s: e}}", path));
    (void)look(&beacon);
    for (int i = 0; i < 30; i++)
        add_text(path, "e\n");
    CHECK(strstr(look(&beacon), "\"more\":10") != NULL);
    close_beacon(&beacon);
}

TEST(a_program_that_runs_is_found_by_its_name)
{
    struct beacon beacon = { 0 };
    const char *said;

    open_beacon(&beacon, "process",
                "{processes: [test_kinds, no-such-program], onchangeonly: false}");
    said = look(&beacon);
    CHECK(strstr(said, "{\"process\":\"test_kinds\",\"running\":true,\"previous\":null,") != NULL);
    CHECK(strstr(said, "{\"process\":\"no-such-program\",\"running\":false,\"previous\":null,"
                       "\"count\":0}") != NULL);
    close_beacon(&beacon);
}

TEST(levels_of_this_machine_are_over_limits_that_are_low_enough)
{
    static const struct {
        const char *kind, *low, *high, *said;
    } rows[] = {
        { "memory", "{over: 0}", "{over: 100}", "\"used_percent\":" },
        { "disk", "{paths: {/: 0, /no/such: 0}}", "{paths: {/: 100}}", "\"path\":\"/\"," },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct beacon low = { 0 }, high = { 0 };
        const char *said;

        open_beacon(&low, rows[i].kind, rows[i].low);
        open_beacon(&high, rows[i].kind, rows[i].high);
        said = look(&low);
        CHECK(strstr(said, rows[i].said) != NULL);
        CHECK(strstr(said, "\"state\":\"over\",\"previous\":\"ok\"}") != NULL);
        CHECK_STR(look(&high), "");
        close_beacon(&low);
        close_beacon(&high);
    }
}

TEST(the_load_is_reported_with_its_average)
{
    struct beacon beacon = { 0 };
    const char *said;

    open_beacon(&beacon, "load", "{five: 1000000, onchangeonly: false}");
    said = look(&beacon);
    CHECK(strstr(said, "{\"average\":\"five\",\"one\":") != NULL);
    CHECK(strstr(said, "\"state\":\"ok\",\"previous\":\"ok\"}") != NULL);
    close_beacon(&beacon);
}
