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
struct bench {
    struct arena arena;
    const struct beacon_kind *kind;
    const struct beacon_common *args;
    void *memory;
    struct tracker tracker;
};

static void open_bench(struct bench *bench, const char *kind, const char *text)
{
    struct diags diags = DIAGS_INIT(&bench->arena);
    struct value section;

    bench->kind = beacon_kind_find(kind);
    CHECK(yaml_parse(&bench->arena, "t", str_from(text), NULL, &section, &diags) == 0);
    bench->args = section_read(&bench->arena, bench->kind, &section, &diags);
    CHECK(bench->args != NULL);
    bench->memory = calloc(1, bench->kind->memory_size + 1);
}

static void close_bench(struct bench *bench)
{
    if (bench->kind->forget)
        bench->kind->forget(bench->memory);
    free(bench->memory);
    tracker_done(&bench->tracker);
    arena_done(&bench->arena);
}

/* The data of the events of one look, as JSON, each after a blank. */
static const char *look(struct bench *bench)
{
    const struct tracker_rule rule = { .every = !bench->args->onchangeonly,
                                       .tells_absence = bench->kind->tells_absence };
    struct beacon_look one = { &bench->arena, bench->memory };
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    struct beacon_readings readings = { 0 };
    struct tracker_changes changes = { 0 };
    struct err err = { 0 };

    if (bench->kind->observe(&one, bench->args, &readings, &err) < 0)
        CHECK_STR(err.text, "");
    (void)tracker_feed(&bench->tracker, &rule, &readings, 0, &bench->arena, &changes);
    VEC_EACH (&changes.list, change) {
        struct value data = value_map(value_map_new(&bench->arena, 4));

        bench->kind->say(&bench->arena, change, data.map);
        buf_add_text(&out, out.n > 0 ? " " : "");
        CHECK(json_print(&out, &data, JSON_STYLE_COMPACT, &err) == 0);
    }
    return buf_copy(&out, &bench->arena).p;
}

static void write_file(const char *path, const char *text)
{
    const struct fs_replace_options options = { .attr = { 0644, FS_KEEP, FS_KEEP } };
    struct err err;

    CHECK(fs_replace(path, str_from(text), &options, &err) == 0);
}

TEST(files_are_created_modified_and_deleted)
{
    struct bench bench = { 0 };
    const char *folder = test_folder(), *a = path_join(&bench.arena, folder, "a"),
               *b = path_join(&bench.arena, folder, "b");

    write_file(a, "one");
    open_bench(&bench, "file", arena_printf(&bench.arena, "{files: [%s, /no/such/file]}", folder));
    CHECK_STR(look(&bench), "");
    CHECK_STR(look(&bench), "");
    write_file(b, "new");
    CHECK_STR(look(&bench),
              arena_printf(&bench.arena, "{\"path\":\"%s\",\"change\":\"created\"}", b));
    write_file(a, "other");
    CHECK_STR(look(&bench),
              arena_printf(&bench.arena, "{\"path\":\"%s\",\"change\":\"modified\"}", a));
    CHECK(unlink(a) == 0);
    CHECK_STR(look(&bench),
              arena_printf(&bench.arena, "{\"path\":\"%s\",\"change\":\"deleted\"}", a));
    close_bench(&bench);
}

TEST(folders_below_are_watched_only_when_asked_for)
{
    struct bench flat = { 0 }, deep = { 0 };
    const char *folder = test_folder(), *below = path_join(&flat.arena, folder, "x/y");
    struct err err;

    CHECK(fs_mkdirs(below, 0755, &err) == 0);
    open_bench(&flat, "file", arena_printf(&flat.arena, "{files: %s}", folder));
    open_bench(&deep, "file", arena_printf(&deep.arena, "{files: %s, recurse: true}", folder));
    (void)look(&flat);
    (void)look(&deep);
    write_file(path_join(&flat.arena, below, "f"), "");
    CHECK_STR(look(&flat), "");
    CHECK(strstr(look(&deep), "/x/y/f\",\"change\":\"created\"") != NULL);
    close_bench(&flat);
    close_bench(&deep);
}

static void add_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "a");

    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

TEST(lines_of_a_log_are_found_across_rotation_and_truncation)
{
    struct bench bench = { 0 };
    const char *path = path_join(&bench.arena, test_folder(), "log");

#define LINE(text) arena_printf(&bench.arena, "{\"path\":\"%s\",\"line\":\"%s\"}", path, text)
    write_file(path, "an old error\n");
    open_bench(&bench, "log", arena_printf(&bench.arena, "{files: {%s: 'error \\d'}}", path));
    CHECK_STR(look(&bench), "");
    add_text(path, "fine\nerror 1\nerr");
    CHECK_STR(look(&bench), LINE("error 1"));
    add_text(path, "or 2\n");
    CHECK_STR(look(&bench), LINE("error 2"));
    add_text(path, "error 3\n");
    CHECK(rename(path, arena_printf(&bench.arena, "%s.1", path)) == 0);
    write_file(path, "error 4\n");
    CHECK_STR(look(&bench), arena_printf(&bench.arena, "%s %s", LINE("error 3"), LINE("error 4")));
    CHECK(truncate(path, 0) == 0);
    (void)look(&bench);
    add_text(path, "error 5\n");
    CHECK_STR(look(&bench), LINE("error 5"));
    close_bench(&bench);
}

TEST(a_look_reports_twenty_lines_and_counts_the_rest)
{
    struct bench bench = { 0 };
    const char *path = path_join(&bench.arena, test_folder(), "log");

    write_file(path, "");
    open_bench(&bench, "log", arena_printf(&bench.arena, "{files: {%s: e}}", path));
    (void)look(&bench);
    for (int i = 0; i < 30; i++)
        add_text(path, "e\n");
    CHECK(strstr(look(&bench), "\"more\":10") != NULL);
    close_bench(&bench);
}

TEST(a_program_that_runs_is_found_by_its_name)
{
    struct bench bench = { 0 };
    const char *said;

    open_bench(&bench, "process",
               "{processes: [test_kinds, no-such-program], onchangeonly: false}");
    said = look(&bench);
    CHECK(strstr(said, "{\"process\":\"test_kinds\",\"running\":true,\"previous\":null,") != NULL);
    CHECK(strstr(said, "{\"process\":\"no-such-program\",\"running\":false,\"previous\":null,"
                       "\"count\":0}") != NULL);
    close_bench(&bench);
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
        struct bench low = { 0 }, high = { 0 };
        const char *said;

        open_bench(&low, rows[i].kind, rows[i].low);
        open_bench(&high, rows[i].kind, rows[i].high);
        said = look(&low);
        CHECK(strstr(said, rows[i].said) != NULL);
        CHECK(strstr(said, "\"state\":\"over\",\"previous\":\"ok\"}") != NULL);
        CHECK_STR(look(&high), "");
        close_bench(&low);
        close_bench(&high);
    }
}

TEST(the_load_is_reported_with_its_average)
{
    struct bench bench = { 0 };
    const char *said;

    open_bench(&bench, "load", "{five: 1000000, onchangeonly: false}");
    said = look(&bench);
    CHECK(strstr(said, "{\"average\":\"five\",\"one\":") != NULL);
    CHECK(strstr(said, "\"state\":\"ok\",\"previous\":\"ok\"}") != NULL);
    close_bench(&bench);
}
