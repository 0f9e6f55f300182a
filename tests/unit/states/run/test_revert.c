#include "scene.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "core/base/ksuid.h"
#include "states/run/revert.h"
#include "states/undo/undo.h"
#include "core/sys/site.h"
#include "core/sys/path.h"

static void revert_scope(struct scene *scene, const struct revert_options *options)
{
    struct err err = { 0 };

    scene->result = (struct run_result){ 0 };
    if (revert_run(&scene->arena, &scene->host, options, scene->sink, &scene->result, &err) < 0)
        CHECK_STR(err.text, "");
}

static void revert(struct scene *scene, const char *target, bool force)
{
    revert_scope(scene, &(struct revert_options){ .target = target, .force = force });
}

static void revert_all(struct scene *scene, const char *target)
{
    revert_scope(scene, &(struct revert_options){ .target = target, .scope = RECORDED_ALL });
}

TEST(a_revert_restores_the_old_content)
{
    struct scene scene;

    scene_init(&scene);
    scene_write(&scene, "old", "first\n");
    CHECK_INT(chmod(scene_path(&scene, "old"), 0640), 0);
    scene_apply(&scene, "ROOT/old: {file.managed: [{content: \"second\\n\"}]}\n"
                        "ROOT/a/b/new: {file.managed: [{content: x}]}\n");
    CHECK_STR(scene_read(&scene, "old"), "second\n");
    CHECK_STR(scene_read(&scene, "a/b/new"), "x");
    scene_done(&scene);

    scene_init_in(&scene, scene.root); /* a later process knows only the disk */
    revert(&scene, "case", false);
    CHECK_INT(scene.result.changed, 2);
    CHECK_INT(scene.result.failed, 0);
    CHECK_STR(scene_read(&scene, "old"), "first\n");
    CHECK(access(scene_path(&scene, "a"), F_OK) < 0);
    CHECK_HAS(
        scene_result(&scene, arena_printf(&scene.arena, "file.managed:%s/old", scene.root))->diff.p,
        "-second\n+first\n");
    struct stat st;
    CHECK_INT(stat(scene_path(&scene, "old"), &st), 0);
    CHECK_INT(st.st_mode & 07777, 0640);
    revert(&scene, "case", false);
    CHECK_INT(scene.result.states.n, 1);
    CHECK_STR(scene.result.states.p[0].diff.p, "nothing to revert (no apply recorded)");
    CHECK_STR(scene_outcome(&scene, "state.revert:case"), "ok");
    scene_done(&scene);
}

TEST(changes_by_others_are_kept_unless_forced)
{
    struct scene scene;

    scene_init(&scene);
    scene_write(&scene, "f", "0");
    scene_apply(&scene, "f: {file.managed: [{path: ROOT/f}, {content: '1'}]}\n"
                        "g: {file.managed: [{path: ROOT/g}, {content: '1'}]}\n");
    scene_write(&scene, "f", "mine");
    revert(&scene, "case", false);
    CHECK_STR(scene_outcome(&scene, "file.managed:f"), "failed");
    CHECK_HAS(scene_result(&scene, "file.managed:f")->error, "was changed since run");
    CHECK_STR(scene_outcome(&scene, "file.managed:g"), "changed");
    CHECK_STR(scene_read(&scene, "f"), "mine");
    revert(&scene, "case", true);
    CHECK_STR(scene_read(&scene, "f"), "0");
    CHECK_INT(scene.result.states.n, 1); /* g was done before */
    revert(&scene, "case", false);
    CHECK_STR(scene_outcome(&scene, "state.revert:case"), "ok");
    scene_done(&scene);
}

TEST(modules_revert_from_their_notes_and_some_cannot)
{
    struct scene scene;

    scene_init(&scene);
    scene_write(&scene, "n", "before");
    scene_apply(&scene, "n: {note.set: [{path: ROOT/n}, {content: after}]}\n"
                        "m: {note.set: [{path: ROOT/m}, {content: after}]}\n"
                        "c: {cmd.run: [{command: 'true'}]}\n");
    revert(&scene, "case", false);
    CHECK_STR(scene_read(&scene, "n"), "before");
    CHECK_STR(scene_read(&scene, "m"), "(none)");
    CHECK_STR(scene_outcome(&scene, "note.set:n"), "changed");
    CHECK_STR(scene_outcome(&scene, "cmd.run:c"), "ok");
    CHECK_STR(scene_result(&scene, "cmd.run:c")->diff.p, "cmd.run cannot be reverted");
    scene_done(&scene);
}

TEST(levels_are_reverted_backwards)
{
    struct scene scene;

    scene_init(&scene);
    scene_apply(&scene, "a: {file.managed: [{path: ROOT/f}, {content: '1'}]}\n"
                        "b: {file.managed: [{path: ROOT/f}, {content: '12'}, "
                        "{require: [{file: a}]}]}\n"
                        "c: {file.managed: [{path: ROOT/f}, {content: '123'}, "
                        "{require: [{file: b}]}]}\n");
    revert(&scene, "case", false);
    CHECK_INT(scene.result.changed, 3);
    CHECK_STR(scene.result.states.p[0].name, "file.managed:c");
    CHECK_STR(scene.result.states.p[2].name, "file.managed:a");
    CHECK_STR(scene_read(&scene, "f"), "(none)");
    scene_done(&scene);
}

TEST(an_unknown_run_is_an_error)
{
    const struct revert_options options = { .target = "0ujtsYcgvSTl8PAuAdqWYSMnLOv" };
    struct scene scene;
    struct err err;

    scene_init(&scene);
    CHECK_INT(revert_run(&scene.arena, &scene.host, &options, NULL, &scene.result, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_STR(err.text, "no run '0ujtsYcgvSTl8PAuAdqWYSMnLOv' is recorded");
    scene_done(&scene);
}

TEST(a_run_without_a_record_changed_nothing_or_is_too_old)
{
    struct revert_options options = { .target = "0ujtsYcgvSTl8PAuAdqWYSMnLOv", .has_run = true };
    struct scene scene;
    struct err err;

    scene_init(&scene);
    CHECK_INT(revert_run(&scene.arena, &scene.host, &options, NULL, &scene.result, &err), 0);
    CHECK_STR(scene.result.states.p[0].diff.p, "nothing to revert (no apply recorded)");
    for (int i = 0; i < UNDO_KEEP_LEAST; i++)
        scene_apply(&scene,
                    arena_printf(&scene.arena, "ROOT/x: {file.managed: [{content: \"%d\"}]}\n", i));
    CHECK_INT(revert_run(&scene.arena, &scene.host, &options, NULL, &scene.result, &err), -1);
    CHECK_STR(err.text, "run '0ujtsYcgvSTl8PAuAdqWYSMnLOv' has no record: it changed nothing, "
                        "or is too old");
    options.target = "aWgEPTl1tmebfsQzFP4bxwgy80V"; /* newer than all of them */
    scene.result = (struct run_result){ 0 };
    CHECK_INT(revert_run(&scene.arena, &scene.host, &options, NULL, &scene.result, &err), 0);
    CHECK_STR(scene.result.states.p[0].diff.p, "nothing to revert (no apply recorded)");
    scene_done(&scene);
}

TEST(a_reaction_run_is_reverted_by_its_job_id)
{
    const char *job = "rxn-0123456789abcdef0123456789abcdef";
    struct revert_options options = { .target = job, .has_run = true };
    struct scene scene;
    struct err err;

    scene_init(&scene);
    scene.host.run_id = job;
    scene_apply(&scene, "ROOT/x: {file.managed: [{content: new}]}\n");
    scene.result = (struct run_result){ 0 };
    CHECK_INT(revert_run(&scene.arena, &scene.host, &options, NULL, &scene.result, &err), 0);
    CHECK_INT(scene.result.changed, 1);
    CHECK(access(scene_path(&scene, "x"), F_OK) < 0);
    options.target = "rxn-f123456789abcdef0123456789abcdef";
    scene.result = (struct run_result){ 0 };
    CHECK_INT(revert_run(&scene.arena, &scene.host, &options, NULL, &scene.result, &err), 0);
    CHECK_STR(scene.result.states.p[0].diff.p, "nothing to revert (no apply recorded)");
    scene_done(&scene);
}

/* --- states that change one path at the same time ------------------------------------------ */

#define RACE_ID "0ujtsYcgvSTl8PAuAdqWYSMnLOv"

/* Two states of one level, `a` and `b`, in whatever order a test needs. */
struct race {
    struct scene scene;
    struct undo *undo;
    struct change changes[2];
    struct state_run a, b;
};

static struct state_run race_enter(struct race *race, int number)
{
    const struct undo_state state = { .name = number == 0 ? "file.managed:a" : "file.managed:b",
                                      .module = "file.managed",
                                      .id = number == 0 ? "a" : "b" };
    struct change *change = &race->changes[number];
    struct err err;

    change->undo = race->undo;
    CHECK_INT(undo_begin(race->undo, &state, &change->number, &err), 0);
    return (struct state_run){
        .arena = &race->scene.arena, .name = state.name, .host = &race->scene.host, .change = change
    };
}

static void race_begin(struct race *race)
{
    static const char *const refs[] = { "case" };

    memset(race, 0, sizeof(*race));
    scene_init(&race->scene);
    race->undo = undo_new(race->scene.host.data_dir,
                          &(struct undo_head){ RACE_ID, { 1, refs }, NULL, NULL });
    race->a = race_enter(race, 0);
    race->b = race_enter(race, 1);
}

static void race_write(struct race *race, struct state_run *run, const char *name, const char *text)
{
    struct err err;

    CHECK_INT(change_write(run, scene_path(&race->scene, name), str_from(text), NULL, &err), 0);
}

/* The image is on disk; what the state writes then comes later. */
static void race_keep(struct race *race, const struct state_run *run, const char *name,
                      const char *text)
{
    struct arena *arena = &race->scene.arena;
    AUTO_SITE struct site site = SITE_INIT;
    struct err err;

    CHECK_INT(site_walk(&site, scene_path(&race->scene, name), 0, &err), 0);
    CHECK_INT(undo_keep(race->undo, arena, run->change->number, &site, IMAGE_WHOLE,
                        image_mark_content(arena, str_from(text)), &err),
              0);
    CHECK_INT(undo_sync(race->undo, &err), 0);
}

static void race_revert(struct race *race, const char *target)
{
    undo_free(race->undo);
    revert(&race->scene, target, false);
    VEC_EACH (&race->scene.result.states, state)
        CHECK_STR(state->error ? state->error : "", "");
}

/* The last one to write is `a`, though its image came first. */
static void race_for_one_path(const char *target)
{
    struct race race;

    race_begin(&race);
    scene_write(&race.scene, "f", "old");
    race_keep(&race, &race.a, "f", "of a");
    race_keep(&race, &race.b, "f", "of b");
    scene_write(&race.scene, "f", "of b");
    scene_write(&race.scene, "f", "of a");
    race_revert(&race, target);
    CHECK_STR(scene_read(&race.scene, "f"), "old");
    scene_done(&race.scene);
}

TEST(changes_by_states_of_the_same_level_are_our_own)
{
    race_for_one_path("case");
}

TEST(changes_by_states_of_the_same_level_are_our_own_by_run_id)
{
    race_for_one_path(RACE_ID);
}

/* The other image belongs to a state that changed something else later and is reverted first. */
TEST(a_path_keeps_its_oldest_image)
{
    struct race race;

    race_begin(&race);
    scene_write(&race.scene, "f", "old");
    race_write(&race, &race.a, "f", "of a");
    race_write(&race, &race.b, "f", "of b");
    race_write(&race, &race.a, "g", "of a");
    race_revert(&race, "case");
    CHECK_STR(scene_read(&race.scene, "f"), "old");
    CHECK_STR(scene_read(&race.scene, "g"), "(none)");
    scene_done(&race.scene);
}

TEST(a_folder_removed_with_one_state_is_no_error_for_another)
{
    struct race race;
    struct err err;

    race_begin(&race);
    CHECK_INT(change_mkdir(&race.a, scene_path(&race.scene, "d"), NULL, &err), 0);
    race_write(&race, &race.a, "d/f", "of a");
    race_write(&race, &race.b, "d/f", "of b");
    race_write(&race, &race.a, "d/g", "of a");
    race_revert(&race, "case");
    CHECK(access(scene_path(&race.scene, "d"), F_OK) < 0);
    scene_done(&race.scene);
}

TEST(restored_attributes_survive_a_later_restore_of_the_content)
{
    const struct change_attr attr = { 0600, CHANGE_KEEP_ID, CHANGE_KEEP_ID };
    struct race race;
    struct stat st;
    struct err err;

    race_begin(&race);
    scene_write(&race.scene, "f", "old");
    CHECK_INT(chmod(scene_path(&race.scene, "f"), 0640), 0);
    CHECK_INT(change_attr(&race.a, scene_path(&race.scene, "f"), &attr, &err), 0);
    race_write(&race, &race.b, "f", "of b");
    race_write(&race, &race.a, "g", "of a");
    race_revert(&race, "case");
    CHECK_STR(scene_read(&race.scene, "f"), "old");
    CHECK_INT(stat(scene_path(&race.scene, "f"), &st), 0);
    CHECK_INT(st.st_mode & 07777, 0640);
    scene_done(&race.scene);
}

TEST(an_interrupted_revert_continues_between_two_states_of_one_path)
{
    struct race race;
    struct undo_run run;
    struct err err;

    race_begin(&race);
    scene_write(&race.scene, "f", "old");
    race_write(&race, &race.a, "f", "of a");
    race_write(&race, &race.b, "f", "of b");
    undo_free(race.undo);
    CHECK_INT(undo_read(&race.scene.arena, race.scene.host.data_dir, RACE_ID, &run, &err), 0);
    race.undo = undo_reopen(&run);
    scene_write(&race.scene, "f", "old");
    CHECK_INT(undo_restored(race.undo, race.a.change->number, &err), 0);
    race_revert(&race, "case");
    CHECK_STR(scene_read(&race.scene, "f"), "old");
    scene_done(&race.scene);
}

/* --- killed at any moment ------------------------------------------------------------------ */

#define KILL_FILES  40
#define KILL_ROUNDS 10

static const char *kill_states(struct scene *scene)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    for (int i = 0; i < KILL_FILES; i++)
        buf_printf(&text, "ROOT/d%d/f: {file.managed: [{content: \"new %d\\n\"}]}\n",
                   i % 4 * 10 + i, i);
    return buf_copy(&text, &scene->arena).p;
}

/* Apply in a child that is killed after a while; true: it came to its end before. */
static bool apply_and_kill(struct scene *scene, long nanoseconds)
{
    const struct timespec pause = { 0, nanoseconds };
    int status;
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        scene_run(scene, RUN_APPLY);
        _exit(0);
    }
    (void)nanosleep(&pause, NULL);
    (void)kill(pid, SIGKILL);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status);
}

static const char *file_now(struct scene *scene, int i)
{
    return scene_read(scene, arena_printf(&scene->arena, "d%d/f", i % 4 * 10 + i));
}

/* Odd files are there before. */
static const char *file_before(struct scene *scene, int i)
{
    return i % 2 ? arena_printf(&scene->arena, "old %d\n", i) : "(none)";
}

static void check_old_or_new(struct scene *scene)
{
    for (int i = 0; i < KILL_FILES; i++) {
        const char *now = file_now(scene, i);

        if (strcmp(now, file_before(scene, i)) != 0)
            CHECK_STR(now, arena_printf(&scene->arena, "new %d\n", i));
    }
}

static void make_old(struct scene *scene)
{
    struct err err;

    for (int i = 1; i < KILL_FILES; i += 2) {
        const char *name = arena_printf(&scene->arena, "d%d/f", i % 4 * 10 + i);

        CHECK_INT(fs_mkdirs(path_dirname(&scene->arena, scene_path(scene, name)), 0755, &err), 0);
        scene_write(scene, name, file_before(scene, i));
    }
}

TEST(a_run_killed_at_any_moment_leaves_files_old_or_new_and_can_be_reverted)
{
    unsigned seed = 7;
    int cut = 0;

    for (int round = 0; round < KILL_ROUNDS || cut == 0; round++) {
        struct scene scene;

        scene_init(&scene);
        make_old(&scene);
        scene_load(&scene, kill_states(&scene));
        for (int again = 0; again < 3; again++) {
            cut += !apply_and_kill(&scene, (long)(rand_r(&seed) % 12000000));
            check_old_or_new(&scene);
        }
        revert_all(&scene, "case");
        CHECK_INT(scene.result.failed, 0);
        for (int i = 0; i < KILL_FILES; i++)
            CHECK_STR(file_now(&scene, i), file_before(&scene, i));
        CHECK(access(scene_path(&scene, "d0"), F_OK) < 0); /* drafts of killed runs and all */
        scene_done(&scene);
    }
}

TEST(the_next_revert_finishes_a_killed_one)
{
    unsigned seed = 3;

    for (int round = 0; round < 10; round++) {
        const struct timespec pause = { 0, (long)(rand_r(&seed) % 6000000) };
        struct scene scene;
        pid_t pid;

        scene_init(&scene);
        make_old(&scene);
        scene_apply(&scene, kill_states(&scene));
        pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            revert(&scene, "case", false);
            _exit(0);
        }
        (void)nanosleep(&pause, NULL);
        (void)kill(pid, SIGKILL);
        CHECK_INT(waitpid(pid, NULL, 0), pid);
        check_old_or_new(&scene);
        revert(&scene, "case", false);
        CHECK_INT(scene.result.failed, 0);
        for (int i = 0; i < KILL_FILES; i++)
            CHECK_STR(file_now(&scene, i), file_before(&scene, i));
        scene_done(&scene);
    }
}

/* --- damage -------------------------------------------------------------------------------- */

#define LARGE_SIZE 40000

/* Files of all kinds of images: f0 to f4 are small, "large" is copied, "new" was not there. */
static const char *const damaged_names[] = { "f0", "f1", "f2", "f3", "f4", "large", "new" };

struct damaged_scene {
    struct scene scene;
    const char *folder;       /* of the run */
    struct str journal, copy; /* as the run left them */
};

static const char *content_of(struct scene *scene, const char *name, const char *when)
{
    char *large;

    if (strcmp(name, "large") != 0)
        return arena_printf(&scene->arena, "%s %s\n", when, name);
    large = arena_alloc(&scene->arena, LARGE_SIZE + 1);
    memset(large, when[0], LARGE_SIZE);
    large[LARGE_SIZE] = '\0';
    return large;
}

static struct str read_whole(struct damaged_scene *d, const char *name)
{
    struct str bytes;
    struct err err;

    CHECK_INT(fs_read(&d->scene.arena, path_join(&d->scene.arena, d->folder, name), 1 << 20, &bytes,
                      &err),
              0);
    CHECK(bytes.p != NULL);
    return bytes;
}

static void write_whole(struct damaged_scene *d, const char *name, struct str bytes)
{
    struct err err;

    CHECK_INT(fs_replace(path_join(&d->scene.arena, d->folder, name), bytes, NULL, &err), 0);
}

static const char *copy_name(struct damaged_scene *d)
{
    struct fs_names names = { 0 };
    struct err err;

    CHECK_INT(fs_list(&d->scene.arena, d->folder, &names, &err), 0);
    VEC_EACH (&names.list, name)
        if (strncmp(*name, "copy-", 5) == 0)
            return *name;
    CHECK(false);
    return NULL;
}

static void make_damaged_scene(struct damaged_scene *d)
{
    AUTO_BUF struct buf states = BUF_INIT((size_t)1 << 20);
    struct undo_places places;
    struct err err;

    scene_init(&d->scene);
    for (size_t i = 0; i < ARRAY_LEN(damaged_names); i++) {
        const char *name = damaged_names[i];

        if (strcmp(name, "new") != 0)
            scene_write(&d->scene, name, content_of(&d->scene, name, "old"));
        buf_printf(&states, "%s: {file.managed: [{path: ROOT/%s}, {content: \"now %s\\n\"}]}\n",
                   name, name, name);
    }
    scene_apply(&d->scene, buf_text(&states));
    CHECK_INT(d->scene.result.failed, 0);
    CHECK_INT(undo_list(&d->scene.arena, d->scene.host.data_dir, &places, &err), 0);
    CHECK_INT(places.list.n, 1);
    d->folder = places.list.p[0].folder;
    d->journal = read_whole(d, "journal");
    d->copy = read_whole(d, copy_name(d));
}

/* As the run left everything. */
static void set_back(struct damaged_scene *d)
{
    for (size_t i = 0; i < ARRAY_LEN(damaged_names); i++)
        scene_write(&d->scene, damaged_names[i],
                    arena_printf(&d->scene.arena, "now %s\n", damaged_names[i]));
    write_whole(d, "journal", d->journal);
    write_whole(d, copy_name(d), d->copy);
    (void)unlink(path_join(&d->scene.arena, d->folder, "marks"));
}

static size_t count_restored(struct damaged_scene *d)
{
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_LEN(damaged_names); i++) {
        const char *name = damaged_names[i];
        const char *was = strcmp(name, "new") == 0 ? "(none)" : content_of(&d->scene, name, "old");
        const char *is = scene_read(&d->scene, name);

        count += strcmp(is, was) == 0;
        CHECK(strcmp(is, was) == 0 ||
              strcmp(is, arena_printf(&d->scene.arena, "now %s\n", name)) == 0);
    }
    return count;
}

static struct str damage(struct damaged_scene *d, struct str bytes, unsigned *seed)
{
    char *copy = arena_strndup(&d->scene.arena, bytes.p, bytes.n);
    size_t at = (size_t)rand_r(seed) % bytes.n;

    if (rand_r(seed) % 4 == 0)
        return (struct str){ copy, at };
    copy[at] ^= (char)(1 << rand_r(seed) % 8);
    return (struct str){ copy, bytes.n };
}

/* 200 journals and copies with a flipped bit or a lost end: lost changes are reported, readable
 * ones restored, and the same run is reverted once its files are back from a backup. */
TEST(changes_lost_in_a_damaged_journal_are_reported_and_the_run_is_kept)
{
    struct damaged_scene d;
    unsigned seed = 1;

    make_damaged_scene(&d);
    for (int i = 0; i < 200; i++) {
        set_back(&d);
        if (i % 4 == 0)
            write_whole(&d, copy_name(&d), damage(&d, d.copy, &seed));
        else
            write_whole(&d, "journal", damage(&d, d.journal, &seed));
        revert(&d.scene, "case", false);
        CHECK_INT(run_result_is_success(&d.scene.result),
                  count_restored(&d) == ARRAY_LEN(damaged_names) && d.scene.result.failed == 0);
        if (count_restored(&d) < ARRAY_LEN(damaged_names))
            CHECK(d.scene.result.failed > 0);
        write_whole(&d, "journal", d.journal);
        write_whole(&d, copy_name(&d), d.copy);
        revert(&d.scene, "case", false);
        CHECK_INT(d.scene.result.failed, 0);
        CHECK_INT(count_restored(&d), ARRAY_LEN(damaged_names));
    }
    scene_done(&d.scene);
}

TEST(a_damaged_journal_is_reported_with_its_run_and_offset_and_force_drops_it)
{
    struct damaged_scene d;
    const char *name, *error;
    char *copy;

    make_damaged_scene(&d);
    copy = arena_strndup(&d.scene.arena, d.journal.p, d.journal.n);
    copy[str_find(d.journal, STR("old f2"), 0)] ^= 1;
    write_whole(&d, "journal", (struct str){ copy, d.journal.n });
    for (int round = 0; round < 2; round++) { /* it is tried again, and fails again */
        revert(&d.scene, "case", round == 1);
        CHECK_INT(d.scene.result.failed, 2);
        CHECK_HAS(scene_result(&d.scene, "file.managed:f2")->error,
                  "1 of its 2 records in the undo journal are lost");
        name = arena_printf(&d.scene.arena, "state.revert:%s", d.scene.result.run_id);
        error = scene_result(&d.scene, name)->error;
        CHECK_HAS(error,
                  "cannot be read (the checksum does not match); 1 of its 22 records are lost");
        CHECK_HAS(error, " bytes at offset ");
        CHECK_HAS(error, d.scene.result.run_id);
        CHECK_INT(count_restored(&d), ARRAY_LEN(damaged_names) - 1);
    }
    revert(&d.scene, "case", false);
    CHECK_STR(scene_outcome(&d.scene, "state.revert:case"), "ok");
    scene_done(&d.scene);
}

TEST(a_run_whose_reference_is_lost_is_reported_in_every_revert_by_reference)
{
    struct damaged_scene d;
    struct str seal;
    char *copy;

    make_damaged_scene(&d);
    copy = arena_strndup(&d.scene.arena, d.journal.p, d.journal.n);
    copy[str_find(d.journal, STR("refs"), 0)] ^= 1;
    write_whole(&d, "journal", (struct str){ copy, d.journal.n });
    revert(&d.scene, "case", false); /* the seal knows the references, too */
    CHECK_INT(count_restored(&d), ARRAY_LEN(damaged_names));
    CHECK(d.scene.result.failed > 0);
    set_back(&d);
    write_whole(&d, "journal", (struct str){ copy, d.journal.n });
    seal = read_whole(&d, "seal");
    copy = arena_strndup(&d.scene.arena, seal.p, seal.n);
    copy[seal.n - 1] ^= 1;
    write_whole(&d, "seal", (struct str){ copy, seal.n });
    revert(&d.scene, "case", false);
    CHECK_INT(d.scene.result.failed, 1);
    CHECK_HAS(d.scene.result.states.p[0].error, "does not say what was applied");
    scene_done(&d.scene);
}

TEST(a_clock_jump_does_not_change_the_order_of_reverts)
{
    struct scene scene;
    struct undo_places places;
    struct ksuid ksuid = { .seconds = KSUID_EPOCH + 5 };
    char id[KSUID_SIZE];
    struct err err;

    scene_init(&scene);
    scene_write(&scene, "f", "0");
    scene_apply(&scene, "f: {file.managed: [{path: ROOT/f}, {content: '1'}]}\n");
    scene_apply(&scene, "f: {file.managed: [{path: ROOT/f}, {content: '2'}]}\n");
    CHECK_INT(undo_list(&scene.arena, scene.host.data_dir, &places, &err), 0);
    CHECK_INT(places.list.n, 2);
    ksuid_print(&ksuid, id); /* the second run, with a clock that is years behind */
    CHECK_INT(rename(places.list.p[0].folder,
                     arena_printf(&scene.arena, "%s/undo/0000000002-%s", scene.host.data_dir, id)),
              0);
    (void)unlink(arena_printf(&scene.arena, "%s/undo/0000000002-%s/seal", scene.host.data_dir, id));
    revert_all(&scene, "case");
    CHECK_INT(scene.result.failed, 0);
    CHECK_STR(scene.result.run_id, id);
    CHECK_STR(scene_read(&scene, "f"), "0");
    scene_done(&scene);
}
