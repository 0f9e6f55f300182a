#include "commands/cli/fleet/list.h"

#include <stdio.h>
#include <unistd.h>

#include "commands/cli/shared/command.h"
#include "core/base/arena.h"
#include "test.h"

static const char *print_bracketed(struct arena *arena, const void *record)
{
    return arena_printf(arena, "<%s>", value_get_text(record, "name"));
}

static const struct fleet_column columns[] = {
    FLEET_COLUMN("NAME", "name"),
    FLEET_COLUMN("CELL", NULL, .cell = print_bracketed),
    FLEET_COLUMN("ON", "on"),
    FLEET_COLUMN("COUNT", "inner.count"),
    FLEET_COLUMN("WORDS", "words", .empty = "-"),
    FLEET_COLUMN("SEEN", "seen", .empty = "-"),
    FLEET_COLUMN("PEEL", "peel", .is_peel = true),
};

static struct value make_record(struct arena *arena, const char *name, bool is_full)
{
    struct value_map *map = value_map_new(arena, 8), *inner = value_map_new(arena, 1);
    struct value_list *words = value_list_new(arena, 2);

    value_map_set(arena, inner, value_text("count"), value_int(is_full ? -3 : 0));
    if (is_full) {
        value_list_push(arena, words, value_text("a"));
        value_list_push(arena, words, value_text("b"));
    }
    value_map_set(arena, map, value_text("name"), value_text(name));
    value_map_set(arena, map, value_text("on"), value_bool(is_full));
    value_map_set(arena, map, value_text("inner"), value_map(inner));
    value_map_set(arena, map, value_text("words"), value_list(words));
    value_map_set(arena, map, value_text("seen"), is_full ? value_time(60, 5) : value_null());
    value_map_set(arena, map, value_text("peel"), value_text("web-01_example_com"));
    return value_map(map);
}

static const char *print_all(struct arena *arena, enum fleet_format format,
                             const struct fleet_list *list)
{
    static const struct program program = { .name = "tool" };
    struct cli cli = { .program = &program, .arena = arena };
    FILE *file = tmpfile();
    const int before = dup(STDOUT_FILENO);
    char *text = arena_zalloc(arena, 4096);

    (void)fflush(stdout);
    (void)dup2(fileno(file), STDOUT_FILENO);
    CHECK_INT(fleet_list_print(&cli, format, list), CLI_OK);
    (void)fflush(stdout);
    (void)dup2(before, STDOUT_FILENO);
    (void)close(before);
    rewind(file);
    CHECK(fread(text, 1, 4095, file) > 0);
    (void)fclose(file);
    return text;
}

TEST(columns_show_values_and_a_placeholder_for_empty_ones)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fleet_list list = FLEET_LIST_INIT(&arena, columns);

    fleet_list_add(&list, make_record(&arena, "x", true), NULL);
    fleet_list_add(&list, make_record(&arena, "y", false), NULL);
    CHECK_STR(print_all(&arena, FLEET_TEXT, &list),
              "NAME  CELL  ON   COUNT  WORDS  SEEN                  PEEL\n"
              "x     <x>   yes  -3     a b    1970-01-01T00:01:00Z  web-01.example.com\n"
              "y     <y>   no   0      -      -                     web-01.example.com\n");
}

TEST(a_list_for_programs_has_whole_values)
{
    static const struct fleet_column two[] = {
        FLEET_COLUMN("ID", "id"),
        FLEET_COLUMN("STATE", "state"),
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fleet_list list = FLEET_LIST_INIT(&arena, two);

    fleet_list_add_texts(&list, (const char *[]){ "a", "valid" });
    CHECK_STR(print_all(&arena, FLEET_YAML, &list), "- id: a\n  state: valid\n");
    CHECK_STR(print_all(&arena, FLEET_TEXT, &list), "ID  STATE\na   valid\n");
}
