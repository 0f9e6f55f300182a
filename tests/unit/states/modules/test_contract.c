/* Every module of the table keeps its promises, shown by its own example. */
#include "stage.h"

/* What the examples find in the folder. */
static const char setup[] = "echo here > present\n"
                            "printf 'setting=1\\n#hidden=1\\n' > hosts.conf\n"
                            "echo 'PermitRootLogin yes' > sshd_config\n"
                            "echo 'port=80' > app.conf\n"
                            "mkdir -p source/sub; echo a > source/a; echo b > source/sub/b\n"
                            "printf -- '--- a\n+++ b\n@@ -1 +1 @@\n-here\n+there\n' > here.patch\n"
                            "printf '[server]\\ndebug = 1\\n' > settings.ini\n"
                            "mkdir -p empty/er backups; touch backups/backup-20240101 "
                            "backups/backup-20240102 backups/other\n"
                            "echo 'tmpfs /scratch tmpfs defaults 0 0' > fstab-old\n"
                            "printf '#!/bin/sh\\necho made > \"$1\"\\n' > script.sh\n";

/* "x:\n  file.touch:\n    - name: ..." from an example: its keys become a list of maps. */
static struct str declare(struct stage *stage, const struct module *module)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct str rest = str_from(module->example);

    buf_printf(&out, "example:\n  %s:\n", module->name);
    while (rest.p && rest.n > 0 && !str_starts(rest, STR("{}"))) {
        const struct str line = str_cut(&rest, '\n');
        const bool nested = line.n > 0 && (line.p[0] == ' ' || line.p[0] == '-');

        buf_printf(&out, "    %s%.*s\n", nested ? "  " : "- ", STR_ARG(line));
    }
    return buf_copy(&out, &stage->arena);
}

static void load(struct stage *stage, const struct module *module)
{
    AUTO_BUF struct buf mistakes = BUF_INIT(BUF_NO_LIMIT);

    if (stage_load(stage, declare(stage, module), &mistakes) < 0)
        CHECK_STR(buf_text(&mistakes), module->name);
}

/* Run, and compare "name outcome" with what is expected, so that a failure names the module. */
static void run(struct stage *stage, const struct module *module, enum run_mode mode,
                const char *want)
{
    const struct state_result *result;

    stage_run(stage, mode);
    result = &stage->result.states.p[0];
    CHECK_STR(arena_printf(&stage->arena, "%s %s%s%s", module->name, stage_word(result),
                           result->error ? ": " : "", result->error ? result->error : ""),
              arena_printf(&stage->arena, "%s %s", module->name, want));
}

/* Examples without ROOT need a machine of their own: packages, services, accounts. */
static bool is_for_here(const struct module *module)
{
    return module->apply && strstr(module->example, "ROOT");
}

TEST(every_example_is_a_state_without_mistakes)
{
    for (size_t i = 0; i < module_count; i++) {
        struct stage stage;

        if (!module_table[i]->apply || str_starts(str_from(module_table[i]->name), STR("module.")))
            continue;
        stage_init(&stage);
        load(&stage, module_table[i]);
        stage_done(&stage);
    }
}

/* All that is there, and what is in it. */
static const char everything[] =
    "find . -path ./.data -prune -o -printf '%p %M %U %G %l\\n' | sort\n"
    "find . -path ./.data -prune -o -type f -exec cksum {} + | sort";

TEST(every_example_differs_is_applied_is_clean_and_is_reverted)
{
    size_t n = 0;

    for (size_t i = 0; i < module_count; i++) {
        const struct module *module = module_table[i];
        struct stage stage;
        struct str before;

        if (!is_for_here(module) || (module->flags & MODULE_ALWAYS))
            continue;
        stage_init(&stage);
        (void)stage_shell(&stage, str_from(setup));
        load(&stage, module);
        before = stage_shell(&stage, str_from(everything));
        run(&stage, module, RUN_TEST, "changed");
        run(&stage, module, RUN_APPLY, "changed");
        run(&stage, module, RUN_TEST, "ok");
        run(&stage, module, RUN_APPLY, "ok");
        stage_revert(&stage);
        CHECK_STR(stage_word(&stage.result.states.p[0]), "changed");
        CHECK_STR(stage_shell(&stage, str_from(everything)).p, before.p);
        run(&stage, module, RUN_TEST, "changed");
        stage_done(&stage);
        n++;
    }
    CHECK(n >= 25);
}

TEST(a_dry_run_reports_the_effect_of_a_watched_change_on_clean_states)
{
    for (size_t i = 0; i < module_count; i++) {
        const struct module *module = module_table[i];
        AUTO_BUF struct buf mistakes = BUF_INIT(BUF_NO_LIMIT);
        struct stage stage;
        const char *foretold;

        if (!is_for_here(module))
            continue;
        stage_init(&stage);
        (void)stage_shell(&stage, str_from(setup));
        load(&stage, module);
        run(&stage, module, RUN_APPLY, "changed");
        CHECK_INT(stage_load(&stage,
                             str_from(arena_printf(&stage.arena,
                                                   "%s\nchange:\n  test.succeed_with_changes:\n"
                                                   "    - watch_in: [example]\n",
                                                   declare(&stage, module).p)),
                             &mistakes),
                  0);
        stage_run(&stage, RUN_TEST);
        foretold = stage_word(&stage.result.states.p[1]);
        stage_run(&stage, RUN_APPLY);
        CHECK_STR(arena_printf(&stage.arena, "%s %s", module->name, foretold),
                  arena_printf(&stage.arena, "%s %s", module->name,
                               stage_word(&stage.result.states.p[1])));
        stage_done(&stage);
    }
}

TEST(a_dry_run_touches_nothing)
{
    for (size_t i = 0; i < module_count; i++) {
        const struct module *module = module_table[i];
        const struct str look =
            STR("find . -path ./.data -prune -o -printf '%p %M %T@ %l\\n' | sort");
        struct stage stage;
        struct str before;

        if (!is_for_here(module))
            continue;
        stage_init(&stage);
        (void)stage_shell(&stage, str_from(setup));
        load(&stage, module);
        before = stage_shell(&stage, look);
        run(&stage, module, RUN_TEST, "changed");
        CHECK_STR(stage_shell(&stage, look).p, before.p);
        stage_done(&stage);
    }
}

TEST(states_that_always_run_change_each_time)
{
    for (size_t i = 0; i < module_count; i++) {
        const struct module *module = module_table[i];
        struct stage stage;

        if (!is_for_here(module) || !(module->flags & MODULE_ALWAYS))
            continue;
        stage_init(&stage);
        (void)stage_shell(&stage, str_from(setup));
        load(&stage, module);
        run(&stage, module, RUN_TEST, "changed");
        run(&stage, module, RUN_APPLY, "changed");
        run(&stage, module, RUN_APPLY, "changed");
        CHECK_STR(stage_shell(&stage, STR("cat made")).p, "made\n");
        stage_done(&stage);
    }
}

TEST(states_that_run_at_once_make_the_same_folders)
{
    AUTO_BUF struct buf mistakes = BUF_INIT(BUF_NO_LIMIT);
    struct stage stage;

    stage_init(&stage);
    CHECK_INT(
        stage_load(&stage,
                   STR("{% for i in range(100) %}\n"
                       "f{{ i }}: {file.touch: [{name: 'ROOT/a/b/c/f{{ i }}'}, {makedirs: true}]}\n"
                       "{% endfor %}\n"),
                   &mistakes),
        0);
    stage_run(&stage, RUN_APPLY);
    CHECK_INT(stage.result.failed, 0);
    CHECK_INT(stage.result.changed, 100);
    stage_revert(&stage);
    /* Which state made which folder is luck, and so is which of them are empty when their maker is
     * reverted; the files are not. */
    CHECK_STR(stage_shell(&stage, STR("find . -name 'f*' | wc -l")).p, "0\n");
    stage_done(&stage);
}
