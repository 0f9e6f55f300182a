#include "scene.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "states/run/owed.h"
#include "core/sys/path.h"

/* A service that restarts when its file changes; the restart fails while ROOT/broken is there. */
#define STATES(content)                                                                            \
    "conf: {file.managed: [{path: ROOT/conf}, {content: '" content "'}]}\n"                        \
    "restart: {cmd.run: [{command: 'echo r >> ROOT/log; test ! -e ROOT/broken'}, "                 \
    "{onlyif: 'true'}, {creates: /}, {watch: [{file: conf}]}]}\n"                                  \
    "build: {cmd.run: [{command: 'echo b >> ROOT/log2'}, {onchanges: [{file: conf}]}]}\n"

static size_t debts(struct scene *scene)
{
    struct owed_debts list;
    struct err err;

    CHECK_INT(owed_list(&scene->arena, scene->host.data_dir, &list, &err), 0);
    return list.list.n;
}

TEST(a_failed_reaction_is_due_in_the_next_run)
{
    struct scene scene;
    const char *run_id;

    scene_init(&scene);
    scene_write(&scene, "broken", "");
    scene_apply(&scene, STATES("1"));
    run_id = scene.result.run_id;
    CHECK_STR(scene_outcome(&scene, "cmd.run:restart"), "failed");
    CHECK_INT(debts(&scene), 1);

    scene_run(&scene, RUN_APPLY); /* nothing changes, but it is still due, and fails again */
    CHECK_STR(scene_outcome(&scene, "file.managed:conf"), "ok");
    CHECK_STR(scene_outcome(&scene, "cmd.run:restart"), "failed");
    CHECK_INT(debts(&scene), 1);

    scene_run(&scene, RUN_TEST);
    CHECK_STR(scene_outcome(&scene, "cmd.run:restart"), "changed");
    CHECK_INT(debts(&scene), 1);

    CHECK_INT(unlink(scene_path(&scene, "broken")), 0);
    scene_run(&scene, RUN_APPLY);
    CHECK_STR(scene_outcome(&scene, "cmd.run:restart"), "changed");
    CHECK_STR(
        scene_result(&scene, "cmd.run:restart")->cause,
        arena_printf(&scene.arena, "owed since run %s: file.managed:conf had changed", run_id));
    CHECK_INT(debts(&scene), 0);

    scene_run(&scene, RUN_APPLY); /* once is enough */
    CHECK_STR(scene_outcome(&scene, "cmd.run:restart"), "ok");
    CHECK_STR(scene_read(&scene, "log"), "r\nr\nr\n");
    CHECK_STR(scene_read(&scene, "log2"), "b\n");
    scene_done(&scene);
}

TEST(a_reaction_that_was_skipped_by_a_failure_is_due_in_the_next_run)
{
    static const char *const states =
        "conf: {file.managed: [{path: ROOT/conf}, {content: '1'}]}\n"
        "gate: {cmd.run: [{command: 'test ! -e ROOT/broken'}, {require: [{file: conf}]}]}\n"
        "build: {cmd.run: [{command: 'echo b >> ROOT/log'}, {onchanges: [{file: conf}]}, "
        "{require: [{cmd: gate}]}]}\n";
    struct scene scene;

    scene_init(&scene);
    scene_write(&scene, "broken", "");
    scene_apply(&scene, states);
    CHECK_STR(scene_outcome(&scene, "cmd.run:build"), "require_failed");
    CHECK_INT(unlink(scene_path(&scene, "broken")), 0);
    scene_run(&scene, RUN_APPLY);
    CHECK_STR(scene_outcome(&scene, "file.managed:conf"), "ok");
    CHECK_STR(scene_outcome(&scene, "cmd.run:build"), "changed");
    scene_run(&scene, RUN_APPLY);
    CHECK_STR(scene_outcome(&scene, "cmd.run:build"), "onchanges_not_met");
    CHECK_STR(scene_read(&scene, "log"), "b\n");
    CHECK_INT(debts(&scene), 0);
    scene_done(&scene);
}

TEST(a_reaction_is_recorded_before_the_change)
{
    struct scene scene;

    scene_init(&scene);
    /* the watched command sees the debt of its watcher on disk */
    scene_apply(&scene, "a: {cmd.run: [{command: 'test $(ls ROOT/data/owed | wc -l) -eq 1'}]}\n"
                        "b: {cmd.run: [{command: 'true'}, {watch: [{cmd: a}]}]}\n");
    CHECK_STR(scene_outcome(&scene, "cmd.run:a"), "changed");
    CHECK_INT(debts(&scene), 0);
    scene_done(&scene);
}

TEST(a_debt_can_be_waived)
{
    struct scene scene;
    struct err err;
    bool found;

    scene_init(&scene);
    scene_write(&scene, "broken", "");
    scene_apply(&scene, STATES("1"));
    CHECK_INT(owed_waive(scene.host.data_dir, "cmd.run:restart", &found, &err), 0);
    CHECK(found);
    CHECK_INT(owed_waive(scene.host.data_dir, "cmd.run:restart", &found, &err), 0);
    CHECK(!found);
    scene_run(&scene, RUN_APPLY);
    CHECK_STR(scene_outcome(&scene, "cmd.run:restart"), "ok");
    scene_done(&scene);
}

TEST(watchers_of_a_failed_source_owe_a_reaction_but_do_not_run)
{
    struct scene scene;

    scene_init(&scene);
    scene_apply(&scene, "a: {cmd.run: [{command: 'test -e ROOT/ok'}]}\n"
                        "b: {cmd.run: [{command: 'echo b >> ROOT/log'}, {watch: [{cmd: a}]}]}\n");
    CHECK_STR(scene_outcome(&scene, "cmd.run:b"), "require_failed");
    CHECK_INT(debts(&scene), 1);
    scene_write(&scene, "ok", "");
    scene_run(&scene, RUN_APPLY);
    CHECK_STR(scene_read(&scene, "log"), "b\n");
    CHECK_INT(debts(&scene), 0);
    scene_done(&scene);
}

TEST(a_state_with_an_unmet_condition_owes_nothing)
{
    static const char *const states =
        "a: {file.managed: [{path: ROOT/a}, {content: '1'}]}\n"
        "b: {file.managed: [{path: ROOT/b}, {content: '1'}]}\n"
        "both: {cmd.run: [{command: 'echo x >> ROOT/log'}, {watch: [{file: a}]}, "
        "{onchanges: [{file: b}]}]}\n"
        "fails: {cmd.run: [{command: 'echo x >> ROOT/log'}, {watch: [{file: a}]}, "
        "{onfail: [{file: b}]}]}\n";
    struct scene scene;

    scene_init(&scene);
    scene_write(&scene, "b", "1");
    scene_apply(&scene, states);
    CHECK_STR(scene_outcome(&scene, "file.managed:a"), "changed");
    CHECK_STR(scene_outcome(&scene, "cmd.run:both"), "onchanges_not_met");
    CHECK_STR(scene_outcome(&scene, "cmd.run:fails"), "onfail_not_met");
    CHECK_INT(debts(&scene), 0);
    scene_run(&scene, RUN_APPLY);
    CHECK_STR(scene_outcome(&scene, "cmd.run:both"), "onchanges_not_met");
    scene_done(&scene);
}

TEST(a_source_failed_without_a_change_leaves_no_debt)
{
    static const char *const states =
        "a: {file.managed: [{path: ROOT/folder/a}, {content: '1'}]}\n"
        "b: {cmd.run: [{command: 'echo b >> ROOT/log'}, {onchanges: [{file: a}]}]}\n"
        "c: {cmd.run: [{command: 'test -e ROOT/ok'}, {unless: 'test -e ROOT/ok'}]}\n"
        "d: {cmd.run: [{command: 'echo d >> ROOT/log'}, {onchanges: [{cmd: c}]}]}\n";
    struct scene scene;

    scene_init(&scene);
    scene_write(&scene, "folder", "in the way");
    scene_apply(&scene, states);
    CHECK_STR(scene_outcome(&scene, "file.managed:a"), "failed");
    CHECK_STR(scene_outcome(&scene, "cmd.run:c"), "failed");
    CHECK_INT(debts(&scene), 0);
    CHECK_INT(unlink(scene_path(&scene, "folder")), 0);
    CHECK_INT(mkdir(scene_path(&scene, "folder"), 0755), 0);
    scene_write(&scene, "folder/a", "1");
    scene_write(&scene, "ok", "");
    scene_run(&scene, RUN_APPLY);
    CHECK_STR(scene_outcome(&scene, "file.managed:a"), "ok");
    CHECK_STR(scene_outcome(&scene, "cmd.run:b"), "onchanges_not_met");
    CHECK_STR(scene_outcome(&scene, "cmd.run:d"), "onchanges_not_met");
    scene_done(&scene);
}

TEST(watchers_of_a_source_failed_after_a_change_owe_a_reaction)
{
    static const char *const states =
        "a: {file.managed: [{path: ROOT/a}, {content: '1'}, {check_cmd: 'test -e ROOT/ok'}]}\n"
        "b: {cmd.run: [{command: 'echo b >> ROOT/log'}, {onchanges: [{file: a}]}]}\n";
    struct scene scene;

    scene_init(&scene);
    scene_apply(&scene, states);
    CHECK_STR(scene_outcome(&scene, "file.managed:a"), "failed");
    CHECK_INT(debts(&scene), 1);
    scene_run(&scene, RUN_APPLY);
    CHECK_STR(scene_outcome(&scene, "file.managed:a"), "ok");
    CHECK_STR(scene_outcome(&scene, "cmd.run:b"), "changed");
    CHECK_INT(debts(&scene), 0);
    scene_done(&scene);
}

TEST(a_watch_any_state_owes_a_reaction_to_the_failed_source)
{
    static const char *const states =
        "a: {file.managed: [{path: ROOT/a}, {content: '1'}, {check_cmd: 'test -e ROOT/ok'}]}\n"
        "b: {file.managed: [{path: ROOT/b}, {content: '1'}]}\n"
        "one: {cmd.run: [{command: 'echo one >> ROOT/log'}, {onchanges_any: [{file: a}, {file: "
        "b}]}]}\n"
        "two: {cmd.run: [{command: 'echo two >> ROOT/log2'}, {creates: /}, "
        "{watch_any: [{file: a}, {file: b}]}]}\n";
    struct scene scene;

    scene_init(&scene);
    scene_write(&scene, "b", "1");
    scene_apply(&scene, states);
    CHECK_STR(scene_outcome(&scene, "file.managed:a"), "failed");
    CHECK_STR(scene_outcome(&scene, "cmd.run:one"), "onchanges_not_met");
    CHECK_STR(scene_outcome(&scene, "cmd.run:two"), "ok");
    CHECK_INT(debts(&scene), 2);
    scene_run(&scene, RUN_APPLY);
    CHECK_STR(scene_outcome(&scene, "file.managed:a"), "ok");
    CHECK_STR(scene_read(&scene, "log"), "one\n");
    CHECK_STR(scene_read(&scene, "log2"), "two\n");
    CHECK_INT(debts(&scene), 0);
    scene_done(&scene);
}

/* --- changes of all tries ------------------------------------------------------------------- */

/* The first check fails, the second finds the file in order. */
#define RETRIED                                                                                    \
    "a: {file.managed: [{path: ROOT/a}, {content: '1'}, {retry: {attempts: 2, interval: 0}}, "     \
    "{check_cmd: 'echo . >> ROOT/tries; test $(wc -l < ROOT/tries) -gt 1'}]}\n"                    \
    "b: {cmd.run: [{command: 'echo b >> ROOT/log'}, {onchanges: [{file: a}]}]}\n"

TEST(a_change_by_the_first_try_counts_after_the_second)
{
    struct scene scene;

    scene_init(&scene);
    scene_apply(&scene, RETRIED);
    CHECK_STR(scene_outcome(&scene, "file.managed:a"), "changed");
    CHECK(strstr(scene_result(&scene, "file.managed:a")->diff.p, "+1") != NULL);
    CHECK_STR(scene_outcome(&scene, "cmd.run:b"), "changed");
    CHECK_STR(scene_read(&scene, "log"), "b\n");
    CHECK_INT(debts(&scene), 0);
    scene_run(&scene, RUN_APPLY);
    CHECK_STR(scene_outcome(&scene, "file.managed:a"), "ok");
    CHECK_STR(scene_outcome(&scene, "cmd.run:b"), "onchanges_not_met");
    scene_done(&scene);
}

TEST(a_failed_command_counts_as_a_change_even_if_not_needed_later)
{
    struct scene scene;

    scene_init(&scene);
    scene_apply(&scene,
                "a: {cmd.run: [{command: 'touch ROOT/made; false'}, {creates: ROOT/made}, "
                "{retry: {attempts: 1, interval: 0}}]}\n"
                "b: {cmd.run: [{command: 'echo b >> ROOT/log'}, {onchanges: [{cmd: a}]}]}\n");
    CHECK_STR(scene_outcome(&scene, "cmd.run:a"), "changed");
    CHECK_STR(scene_outcome(&scene, "cmd.run:b"), "changed");
    scene_done(&scene);
}

/* --- on disk ------------------------------------------------------------------------------- */

#define STATE      "cmd.run:restart"
#define STATE_FILE "407d77d31dd326c17a9b348d280eb338377af5f2813db8f910a54d68a53c3a9d"
/* The same for STATE of `web`, to SOURCE. */
#define NEW_FILE "9ade674042c8df8f3146d78846f90cabdffeda637e6536881e06d9574215526f"
#define RUN_ID   "0ujtsYcgvSTl8PAuAdqWYSMnLOv"
#define OTHER_ID "0ujtsYcgvSTl8PAuAdqWYSMnLOw"

/* The debt of STATE as the version before frames wrote it. */
static const char old_debt[] =
    "\x84\xa5\x73\x74\x61\x74\x65\xaf\x63\x6d\x64\x2e\x72\x75\x6e\x3a\x72\x65\x73\x74\x61\x72"
    "\x74\xa6\x73\x6f\x75\x72\x63\x65\xbe\x66\x69\x6c\x65\x2e\x6d\x61\x6e\x61\x67\x65\x64\x3a"
    "\x2f\x74\x6d\x70\x2f\x7a\x73\x61\x6d\x70\x6c\x65\x2f\x6d\x6f\x74\x64\xa3\x72\x75\x6e\xbb"
    "\x33\x4d\x41\x42\x6f\x61\x74\x44\x52\x46\x68\x75\x75\x67\x64\x42\x49\x37\x44\x54\x4d\x75"
    "\x41\x39\x70\x4e\x41\xa5\x73\x69\x6e\x63\x65\xce\x6a\xfa\x39\xb3";

static struct owed_debts list_debts(struct arena *arena, const char *folder)
{
    struct owed_debts debts;
    struct err err;

    CHECK_INT(owed_list(arena, folder, &debts, &err), 0);
    return debts;
}

#define SOURCE     "file.managed:conf"
#define OLD_SOURCE "file.managed:/tmp/zsample/motd"

/* A state of the file `web` that watches both. */
static struct owed_state state_of(const char *file, const char *name)
{
    static const char *const web[] = { "web" }, *const db[] = { "db" };
    static const char *const sources[] = { SOURCE, OLD_SOURCE };
    static const struct param_strs files[] = { { 1, web }, { 1, db } };

    return (struct owed_state){ name, &files[strcmp(file, "db") == 0], { 2, sources } };
}

static void add_debt_of(const char *folder, const char *file, const char *state)
{
    struct err err;
    struct owed *owed = owed_open(folder, RUN_ID, OWED_LEAVE_DRAFTS, &err);
    const struct owed_state known = state_of(file, state);

    CHECK(owed != NULL);
    CHECK_INT(owed_expect(owed, &known, SOURCE, &err), 0);
    owed_free(owed);
}

static void add_debt(const char *folder, const char *state)
{
    add_debt_of(folder, "web", state);
}

static size_t count_owed(struct owed *owed, const char *file, const char *state)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct owed_state known = state_of(file, state);
    struct owed_found found;

    owed_find(owed, &arena, &known, &found);
    return found.list.n;
}

static void settle(struct owed *owed, const char *state)
{
    const struct owed_state known = state_of("web", state);
    struct err err;

    CHECK_INT(owed_settle(owed, &known, NULL, &err), 0);
}

static void put_file(const char *folder, const char *name, struct str bytes)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *owed = path_join(&arena, folder, "owed");
    struct err err;

    CHECK_INT(fs_mkdirs(owed, 0700, &err), 0);
    CHECK_INT(fs_replace(path_join(&arena, owed, name), bytes, NULL, &err), 0);
}

TEST(an_old_debt_is_read_and_settled)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    struct owed_debts debts;
    struct owed *owed;
    struct err err;

    put_file(folder, STATE_FILE, (struct str){ old_debt, sizeof(old_debt) - 1 });
    debts = list_debts(&arena, folder);
    CHECK_INT(debts.list.n, 1);
    CHECK_STR(debts.list.p[0].state, STATE);
    CHECK_STR(debts.list.p[0].source, "file.managed:/tmp/zsample/motd");
    CHECK_INT(debts.list.p[0].since, 1794783667);
    owed = owed_open(folder, OTHER_ID, OWED_REMOVE_DRAFTS, &err);
    CHECK_INT(count_owed(owed, "web", STATE), 1);
    settle(owed, STATE);
    owed_free(owed);
    CHECK_INT(list_debts(&arena, folder).list.n, 0);
}

TEST(a_draft_of_a_killed_run_is_no_debt_and_is_removed)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    struct owed_debts debts;
    struct owed *owed;
    struct err err;

    put_file(folder, ".zester-0123456789abcdef", (struct str){ old_debt, sizeof(old_debt) - 1 });
    debts = list_debts(&arena, folder);
    CHECK_INT(debts.list.n + debts.damaged.n, 0);
    owed = owed_open(folder, OTHER_ID, OWED_REMOVE_DRAFTS, &err);
    CHECK_INT(count_owed(owed, "web", STATE), 0);
    owed_free(owed);
    CHECK_INT(list_debts(&arena, folder).drafts.n, 0);
}

TEST(a_damaged_debt_is_reported_and_stays_due)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    const char *path = arena_printf(&arena, "%s/owed/" NEW_FILE, folder);
    struct str whole;
    struct err err;

    add_debt(folder, STATE);
    add_debt(folder, "cmd.run:other");
    CHECK_INT(fs_read(&arena, path, 65536, &whole, &err), 0);
    for (size_t at = 0; at < whole.n; at++) {
        struct owed *owed;
        struct owed_debts debts;
        char *copy = arena_strndup(&arena, whole.p, whole.n);

        copy[at] ^= (char)(1 << at % 8);
        put_file(folder, NEW_FILE, (struct str){ copy, at % 2 ? at : whole.n });
        debts = list_debts(&arena, folder);
        CHECK_INT(debts.list.n, 1);
        CHECK_INT(debts.damaged.n, 1);
        CHECK_STR(debts.damaged.p[0].file, NEW_FILE);
        owed = owed_open(folder, OTHER_ID, OWED_REMOVE_DRAFTS, &err);
        CHECK_INT(count_owed(owed, "web", "cmd.run:other"), 1);
        CHECK_INT(count_owed(owed, "web", "cmd.run:third"), 0);
        CHECK_INT(count_owed(owed, "web", STATE), 1);
        settle(owed, STATE);
        owed_free(owed);
        CHECK_INT(list_debts(&arena, folder).damaged.n, 0);
    }
}

TEST(waive_accepts_exactly_the_listed_names)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    struct err err;
    bool found;

    add_debt(folder, STATE);
    CHECK_INT(owed_waive(folder, "cmd.run:other", &found, &err), 0);
    CHECK(!found);
    CHECK_INT(owed_waive(folder, STATE, &found, &err), 0);
    CHECK(found);
    CHECK_INT(owed_waive(folder, STATE, &found, &err), 0);
    CHECK(!found);
    put_file(folder, STATE_FILE, STR("damaged"));
    CHECK_INT(owed_waive(folder, STATE_FILE, &found, &err), 0);
    CHECK(found);
    CHECK_INT(list_debts(&arena, folder).damaged.n, 0);
}

TEST(debts_of_two_files_are_separate_and_waived_by_file)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    struct owed *owed;
    struct err err;
    bool found;

    add_debt(folder, STATE);
    owed = owed_open(folder, OTHER_ID, OWED_REMOVE_DRAFTS, &err);
    CHECK_INT(count_owed(owed, "db", STATE), 0);
    CHECK_INT(count_owed(owed, "web", STATE), 1);
    owed_free(owed);

    add_debt_of(folder, "db", STATE);
    CHECK_INT(owed_waive(folder, STATE, &found, &err), -1);
    CHECK(strstr(err.text, "use 'db:" STATE "' or 'web:" STATE "'") != NULL);
    CHECK_INT(owed_waive(folder, "db:" STATE, &found, &err), 0);
    CHECK(found);
    CHECK_INT(list_debts(&arena, folder).list.n, 1);
    CHECK_STR(list_debts(&arena, folder).list.p[0].files.p[0], "web");
    CHECK_INT(owed_waive(folder, STATE, &found, &err), 0);
    CHECK(found);
}

static bool has_no_web(const void *user, const char *file)
{
    (void)user;
    return strcmp(file, "web") != 0;
}

TEST(a_debt_of_a_removed_file_is_settled_by_a_state_with_the_same_source)
{
    const char *folder = test_folder();
    const struct owed_state watcher = state_of("db", STATE);
    const struct owed_state other = { STATE, watcher.files, { 0 } };
    struct owed *owed;
    struct owed_found found;
    struct err err;

    add_debt(folder, STATE);
    owed = owed_open(folder, OTHER_ID, OWED_REMOVE_DRAFTS, &err);
    owed_adopt(owed, has_no_web, NULL);
    {
        AUTO_ARENA struct arena arena = ARENA_INIT;

        owed_find(owed, &arena, &other, &found);
        CHECK_INT(found.list.n, 0);
        CHECK_INT(owed_settle(owed, &other, NULL, &err), 0);
    }
    CHECK_INT(count_owed(owed, "db", STATE), 1);
    CHECK_INT(owed_settle(owed, &watcher, NULL, &err), 0);
    CHECK_INT(count_owed(owed, "db", STATE), 0);
    owed_free(owed);
}

TEST(a_debt_without_a_change_is_dropped_and_an_older_one_stays)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    const struct owed_state known = state_of("web", STATE);
    struct owed *owed;
    struct err err;

    add_debt(folder, STATE);
    owed = owed_open(folder, RUN_ID, OWED_REMOVE_DRAFTS, &err); /* the job was delivered again */
    CHECK_INT(count_owed(owed, "web", STATE), 1);
    CHECK_INT(owed_expect(owed, &known, SOURCE, &err), 0);
    CHECK_INT(owed_expect(owed, &known, OLD_SOURCE, &err), 0);
    CHECK_INT(list_debts(&arena, folder).list.n, 2);
    CHECK_INT(owed_drop(owed, &known, SOURCE, &err), 0);
    CHECK_INT(owed_drop(owed, &known, OLD_SOURCE, &err), 0);
    CHECK_INT(list_debts(&arena, folder).list.n, 1);
    CHECK_STR(list_debts(&arena, folder).list.p[0].source, SOURCE);
    owed_free(owed);
}

/* Writes debts until it is killed. */
static void write_debts(const char *folder)
{
    struct err err;
    struct owed *owed = owed_open(folder, RUN_ID, OWED_REMOVE_DRAFTS, &err);

    for (int i = 0;; i = (i + 1) % 4) {
        char state[32];
        struct owed_state known;

        (void)snprintf(state, sizeof(state), "cmd.run:%d", i);
        known = state_of("web", state);
        (void)owed_expect(owed, &known, SOURCE, &err);
        (void)owed_settle(owed, &known, NULL, &err);
    }
}

TEST(a_run_killed_while_writing_debts_leaves_whole_ones)
{
    const char *folder = test_folder();
    unsigned seed = 3;

    for (int round = 0; round < 60; round++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const struct timespec pause = { 0, (long)(rand_r(&seed) % 4000000) };
        struct owed_debts debts;
        int status;
        pid_t pid = fork();

        if (pid == 0)
            write_debts(folder);
        (void)nanosleep(&pause, NULL);
        (void)kill(pid, SIGKILL);
        CHECK_INT(waitpid(pid, &status, 0), pid);
        debts = list_debts(&arena, folder);
        CHECK_INT(debts.damaged.n, 0);
        VEC_EACH (&debts.list, debt) {
            struct err err;
            bool found;

            CHECK_INT(owed_waive(folder, debt->state, &found, &err), 0);
            CHECK(found);
        }
        debts = list_debts(&arena, folder);
        CHECK_INT(debts.list.n, 0);
        CHECK(debts.drafts.n <= 1); /* the next run removes it */
    }
}
