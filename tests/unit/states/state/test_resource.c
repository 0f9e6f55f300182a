#include "test.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "states/state/resource.h"
#include "states/state/services.h"

/* A shelf of books, with a colour and a board. */
struct shelf_args {
    const char *name, *colour, *board;
};

static struct {
    bool exists;
    const char *colour, *board;
    int64_t books;
    int changes;
} shelf;

static int find_shelf(struct state_run *run, const void *args, struct resource_seen *ret,
                      struct err *err)
{
    (void)run, (void)args, (void)err;
    *ret = (struct resource_seen){ shelf.exists, { shelf.colour, shelf.board }, NULL };
    return 0;
}

static int count_books(struct state_run *run, const void *args, int64_t *ret, struct err *err)
{
    (void)run, (void)args, (void)err;
    *ret = shelf.books;
    return 0;
}

static int define_shelf(struct state_run *run, const void *args, const struct resource_seen *now,
                        const struct resource_seen *as, struct err *err)
{
    (void)run, (void)args, (void)err;
    CHECK(now->exists == shelf.exists);
    shelf.exists = true;
    shelf.colour = as->values[0] ? as->values[0] : shelf.colour;
    shelf.board = as->values[1] ? as->values[1] : shelf.board;
    shelf.changes++;
    return 0;
}

static int drop_shelf(struct state_run *run, const void *args, struct err *err)
{
    (void)run, (void)args, (void)err;
    shelf.exists = false;
    shelf.changes++;
    return 0;
}

static const struct resource_attribute attributes[] = {
    { "colour", "colour", offsetof(struct shelf_args, colour), .loose = true },
    { "board", "board", offsetof(struct shelf_args, board), .fixed = true },
};
static const struct resource_contents books = { "books", "books", count_books };
static const struct resource shelf_resource = {
    .kind = "shelf",
    .name = offsetof(struct shelf_args, name),
    .attributes = attributes,
    .n = ARRAY_LEN(attributes),
    .contents = &books,
    .find = find_shelf,
    .define = define_shelf,
    .drop = drop_shelf,
};

/* --- a run ------------------------------------------------------------------------------ */

static int note_nothing(struct state_run *run, const char *key, const struct value *v,
                        struct err *err)
{
    (void)run, (void)key, (void)v, (void)err;
    return 0;
}

struct stage {
    struct arena arena;
    struct state_host host;
    struct state_run run;
    struct err err;
};

static const struct state_services services = { .note = note_nothing };

static void begin(struct stage *stage, struct value_map *notes)
{
    static int change;

    stage->host = (struct state_host){ .services = &services };
    stage->run = (struct state_run){
        .arena = &stage->arena,
        .host = &stage->host,
        .text = BUF_INIT(BUF_NO_LIMIT),
        .change = (struct change *)(void *)&change,
        .notes = notes,
    };
}

static void end(struct stage *stage)
{
    buf_done(&stage->run.text);
    arena_done(&stage->arena);
}

static const char *check(struct stage *stage, enum resource_goal goal,
                         const struct shelf_args *args)
{
    begin(stage, NULL);
    if (resource_check(&stage->run, &shelf_resource, goal, args, &stage->err) < 0)
        return stage->err.text;
    return buf_text(&stage->run.text);
}

static const struct shelf_args wanted = { "a", "red", "oak" };

TEST(what_a_dry_run_reports_is_what_a_run_changes)
{
    static const struct {
        enum resource_goal goal;
        bool exists;
        const char *colour, *text;
        int changes;
    } cases[] = {
        { RESOURCE_PRESENT, false, NULL, "shelf 'a' does not exist", 1 },
        { RESOURCE_PRESENT, true, "blue", "colour: blue -> red", 1 },
        { RESOURCE_PRESENT, true, "red", "shelf 'a' already exists", 0 },
        { RESOURCE_ABSENT, true, "red", "shelf 'a' exists", 1 },
        { RESOURCE_ABSENT, false, NULL, "shelf 'a' does not exist", 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct stage stage = { 0 };

        shelf.exists = cases[i].exists;
        shelf.colour = cases[i].colour;
        shelf.board = "oak";
        shelf.books = shelf.changes = 0;
        CHECK_STR(check(&stage, cases[i].goal, &wanted), cases[i].text);
        CHECK(stage.run.differs == (cases[i].changes > 0));
        buf_done(&stage.run.text);
        begin(&stage, NULL);
        CHECK_INT(resource_apply(&stage.run, &shelf_resource, cases[i].goal, &wanted, &stage.err),
                  0);
        CHECK_STR(buf_text(&stage.run.text), "");
        CHECK_INT(shelf.changes, cases[i].changes);
        CHECK(stage.run.unchanged == (cases[i].changes == 0));
        end(&stage);
    }
}

TEST(a_fixed_attribute_that_differs_is_an_error)
{
    struct stage stage = { 0 };

    shelf.exists = true;
    shelf.colour = "red";
    shelf.board = "pine";
    CHECK_STR(check(&stage, RESOURCE_PRESENT, &wanted),
              "shelf 'a' has board pine, want oak: this cannot be changed");
    end(&stage);
}

/* Applies, then reverts with what was noted. */
static int apply_and_revert(struct stage *stage, enum resource_goal goal)
{
    struct value_map *notes;

    begin(stage, NULL);
    CHECK_INT(resource_apply(&stage->run, &shelf_resource, goal, &wanted, &stage->err), 0);
    notes = stage->run.notes;
    shelf.changes = 0;
    begin(stage, notes);
    return resource_revert(&stage->run, &shelf_resource, goal, &wanted, &stage->err);
}

TEST(a_revert_drops_what_was_created_and_alters_what_was_altered)
{
    struct stage stage = { 0 };

    shelf.exists = false;
    shelf.books = 0;
    CHECK_INT(apply_and_revert(&stage, RESOURCE_PRESENT), 0);
    CHECK(!shelf.exists);
    CHECK_STR(buf_text(&stage.run.text), "removed shelf 'a'");
    buf_done(&stage.run.text);
    shelf.exists = true;
    shelf.colour = "blue";
    shelf.board = "oak";
    CHECK_INT(apply_and_revert(&stage, RESOURCE_PRESENT), 0);
    CHECK(shelf.exists);
    CHECK_STR(shelf.colour, "blue");
    CHECK_STR(buf_text(&stage.run.text), "shelf 'a' is as before");
    end(&stage);
}

TEST(a_removed_one_comes_back_only_if_nothing_was_in_it)
{
    struct stage stage = { 0 };

    shelf.exists = true;
    shelf.colour = "blue";
    shelf.board = "pine";
    shelf.books = 0;
    CHECK_INT(apply_and_revert(&stage, RESOURCE_ABSENT), 0);
    CHECK(shelf.exists);
    CHECK_STR(buf_text(&stage.run.text), "created shelf 'a' again");
    buf_done(&stage.run.text);
    shelf.books = 3;
    CHECK_INT(apply_and_revert(&stage, RESOURCE_ABSENT), -1);
    CHECK(!shelf.exists);
    CHECK_STR(stage.err.text, "shelf 'a' had 3 books: restore it from a backup");
    end(&stage);
}

TEST(journals_of_older_versions_have_attributes_as_a_list_and_no_mark)
{
    struct stage stage = { 0 };
    struct value_map *notes = value_map_new(&stage.arena, 1);
    struct value_list *before = value_list_new(&stage.arena, 2);

    value_list_push(&stage.arena, before, value_text("green"));
    value_list_push(&stage.arena, before, value_text("ash"));
    value_map_set(&stage.arena, notes, value_text("before"), value_list(before));
    shelf.exists = false;
    begin(&stage, notes);
    CHECK_INT(resource_revert(&stage.run, &shelf_resource, RESOURCE_ABSENT, &wanted, &stage.err),
              0);
    CHECK(shelf.exists);
    CHECK_STR(shelf.colour, "green");
    CHECK_STR(shelf.board, "ash");
    end(&stage);
}

TEST(a_run_that_noted_nothing_reverts_nothing)
{
    struct stage stage = { 0 };

    shelf.exists = false;
    shelf.changes = 0;
    begin(&stage, NULL);
    CHECK_INT(resource_revert(&stage.run, &shelf_resource, RESOURCE_ABSENT, &wanted, &stage.err),
              0);
    CHECK(stage.run.unchanged);
    CHECK_INT(shelf.changes, 0);
    end(&stage);
}
