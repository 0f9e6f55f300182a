/* Cases that a user can read: states, what a dry run and a run say of them, what is on disk then,
 * what a second run says, and what is on disk after a revert. */
#include "stage.h"

static void add_lines(struct stage *stage, struct str text, struct buf *out)
{
    struct str rest = stage_hide(stage, text);

    while (rest.p && rest.n > 0) {
        const struct str line = str_cut(&rest, '\n');

        buf_printf(out, "    %.*s\n", STR_ARG(line));
    }
}

static void add_result(struct stage *stage, const struct state_result *result, bool whole,
                       struct buf *out)
{
    const struct value details =
        result->details ? value_map((struct value_map *)(uintptr_t)result->details) : value_null();

    buf_printf(out, "%s %s\n", stage_hide(stage, str_from(result->name)).p, stage_word(result));
    if (!whole)
        return;
    add_lines(stage, result->diff, out);
    if (result->error)
        add_lines(stage, str_from(arena_printf(&stage->arena, "error: %s", result->error)), out);
    for (size_t i = 0; details.kind == VALUE_MAP && i < details.map->count; i++) {
        const struct value_pair *pair = &details.map->pairs[i];

        if (pair->value.kind == VALUE_STR)
            add_lines(
                stage,
                str_from(arena_printf(&stage->arena, "%s = %s", pair->key.s.p, pair->value.s.p)),
                out);
    }
}

static void add_run(struct stage *stage, const char *title, bool whole, struct buf *out)
{
    buf_printf(out, "%s:\n", title);
    VEC_EACH (&stage->result.states, result)
        add_result(stage, result, whole, out);
}

static void add_shell(struct stage *stage, const char *title, struct str commands, struct buf *out)
{
    if (!commands.p)
        return;
    buf_printf(out, "%s:\n", title);
    add_lines(stage, stage_shell(stage, commands), out);
}

static int run_case(const struct golden *golden, struct buf *out)
{
    const struct str setup = golden_section(golden, "setup");
    AUTO_BUF struct buf mistakes = BUF_INIT(BUF_NO_LIMIT);
    struct stage stage;

    stage_init(&stage);
    if (setup.p)
        (void)stage_shell(&stage, setup);
    if (stage_load(&stage, golden_section(golden, "states"), &mistakes) < 0) {
        buf_add_str(out, stage_hide(&stage, buf_view(&mistakes)));
        stage_done(&stage);
        return -1;
    }
    stage_run(&stage, RUN_TEST);
    add_run(&stage, "dry run", true, out);
    stage_run(&stage, RUN_APPLY);
    add_run(&stage, "run", true, out);
    add_shell(&stage, "then", golden_section(golden, "show"), out);
    stage_run(&stage, RUN_TEST);
    add_run(&stage, "again", false, out);
    stage_revert(&stage);
    add_shell(&stage, "reverted", golden_section(golden, "show"), out);
    stage_done(&stage);
    return 0;
}

TEST(file_states_give_the_expected_files)
{
    test_golden("states/modules/files.txt", run_case);
}

TEST(folder_states_give_the_expected_trees)
{
    test_golden("states/modules/folders.txt", run_case);
}

TEST(texts_are_edited)
{
    test_golden("states/modules/edits.txt", run_case);
}

TEST(options_of_sections_are_edited)
{
    test_golden("states/modules/ini.txt", run_case);
}

TEST(commands_run)
{
    test_golden("states/modules/commands.txt", run_case);
}

TEST(mistakes_are_reported_before_anything_runs)
{
    test_golden("states/modules/mistakes.txt", run_case);
}
