#include "commands/cli/fleet/progress.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/sys/clock.h"
#include "test.h"

static const char *peels[] = { "a", "b", "c_example", "d", "e" };

struct view {
    struct arena arena;
    struct fleet_answers answers;
    struct fleet_progress_row rows[ARRAY_LEN(peels)];
    struct fleet_progress progress;
};

static void open_view(struct view *view)
{
    *view = (struct view){ .arena = ARENA_INIT };
    fleet_answers_init(&view->answers, &view->arena,
                       &(struct param_strs){ ARRAY_LEN(peels), peels });
    view->progress = (struct fleet_progress){ .answers = &view->answers, .rows = view->rows };
}

static void note(struct view *view, const char *peel, enum exec_progress_kind type, uint32_t done,
                 const char *error)
{
    struct value_map *result = value_map_new(&view->arena, 2);
    const struct exec_progress message = {
        .peel_id = peel,
        .type = type,
        .text = "waiting for cmd.run",
        .done = done,
        .total = 8,
        .result = type == EXEC_STATE ? value_map(result) : value_null(),
    };

    value_map_set(&view->arena, result, value_text("name"), value_text("test.nop:x\x1b[31m"));
    value_map_set(&view->arena, result, value_text("error"), value_text(error));
    fleet_progress_note(&view->progress, str_from(peel), &message);
}

static void check_lines(const struct view *view, size_t rows, size_t columns, const char *lines)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 16);

    fleet_progress_draw(&view->progress, 3 * CLOCK_SECOND, (struct screen){ rows, columns }, &out);
    CHECK_STR(buf_text(&out), lines);
}

TEST(progress_of_a_fleet_has_failures_first_then_the_slowest)
{
    struct view view;

    open_view(&view);
    note(&view, "a", EXEC_STATE, 5, "");
    note(&view, "b", EXEC_STATE, 2, "");
    note(&view, "c_example", EXEC_STATE, 7, "broken");
    note(&view, "d", EXEC_QUEUED, 0, "");
    check_lines(&view, 24, 80,
                "c.example  7/8, 1 failed  test.nop:x?[31m\n"
                "b          2/8            test.nop:x?[31m\n"
                "a          5/8            test.nop:x?[31m\n"
                "d          queued         waiting for cmd.run\n"
                "e          no answer yet\n"
                "0/5 returned, 1 failed, 2 running, 1 queued, 3 s\n");
    arena_done(&view.arena);
}

TEST(progress_of_a_fleet_fits_the_screen_and_says_how_many_lines_are_hidden)
{
    struct view view;

    open_view(&view);
    note(&view, "b", EXEC_STATE, 2, "");
    check_lines(&view, 5, 40,
                "b  2/8            test.nop:x?[31m\n"
                "a  no answer yet\n"
                "0/5 returned, 0 failed, 1 running, 0 qu\n");
    check_lines(&view, 1, 80,
                "0/5 returned, 0 failed, 1 running, 0 queued, 3 s (5 more not shown)\n");
    arena_done(&view.arena);
}

TEST(progress_of_a_fleet_leaves_out_those_that_have_succeeded_and_strangers)
{
    struct view view;

    open_view(&view);
    for (size_t i = 0; i < 4; i++)
        view.answers.list[i].has_come = view.answers.list[i].success = true;
    view.answers.list[3].success = false;
    view.answers.come = 4;
    note(&view, "stranger", EXEC_STATE, 2, "");
    note(&view, "a", EXEC_STATE, 2, "late");
    check_lines(&view, 24, 80,
                "d  failed\n"
                "e  no answer yet\n"
                "4/5 returned, 1 failed, 0 running, 0 queued, 3 s\n");
    arena_done(&view.arena);
}
