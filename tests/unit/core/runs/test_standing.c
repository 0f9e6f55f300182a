#include "core/runs/standing.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/runs/agent.h"
#include "core/runs/question.h"
#include "core/sys/fs.h"
#include "core/sys/lock.h"
#include "core/sys/path.h"
#include "test.h"

struct scene {
    struct arena arena;
    const char *folder;
};

static void keep(struct scene *scene, bool is_run, const char *name, bool success, int64_t changed)
{
    const struct standing_mark mark = { .name = name,
                                        .success = success,
                                        .changed = { changed, 0 },
                                        .error = success ? "" : "it broke" };
    struct standing ended = { 0 };
    struct err err;

    if (is_run)
        VEC_PUSH_IN(&scene->arena, &ended.runs.list, mark);
    else
        VEC_PUSH_IN(&scene->arena, &ended.states.list, mark);
    CHECK_INT(standing_keep(scene->folder, &ended, &err), 0);
}

static struct standing_answer find(struct scene *scene, const char *name)
{
    const char *names[] = { name };
    struct standing_reply reply;
    struct err err = { 0 };

    CHECK_INT(
        standing_ask(&scene->arena, scene->folder, (struct param_strs){ 1, names }, &reply, &err),
        0);
    return reply.list.p[0];
}

TEST(the_last_run_of_a_state_counts_and_its_last_change_is_kept)
{
    struct scene scene = { .arena = ARENA_INIT, .folder = test_folder() };

    CHECK(!find(&scene, "/etc/motd").known);
    keep(&scene, false, "file.managed:/etc/motd", true, 5);
    CHECK(find(&scene, "/etc/motd").success && find(&scene, "file.managed:/etc/motd").success);
    keep(&scene, false, "file.managed:/etc/motd", false, 0);
    CHECK(find(&scene, "/etc/motd").known && !find(&scene, "/etc/motd").success);
    CHECK_STR(find(&scene, "/etc/motd").error, "it broke");
    CHECK_INT(find(&scene, "/etc/motd").changed.seconds, 5);
    keep(&scene, false, "file.managed:/etc/motd", true, 0);
    CHECK(find(&scene, "/etc/motd").success);
    CHECK_STR(find(&scene, "/etc/motd").error, "");
    CHECK_INT(find(&scene, "/etc/motd").changed.seconds, 5);
    arena_done(&scene.arena);
}

TEST(repeated_success_without_a_change_waits_for_no_lock)
{
    struct scene scene = { .arena = ARENA_INIT, .folder = test_folder() };
    struct lock lock = LOCK_NONE;
    struct err err;

    keep(&scene, false, "file.managed:/etc/motd", true, 5);
    keep(&scene, false, "file.managed:/etc/motd", true, 0);
    CHECK_INT(lock_take(&lock, path_join(&scene.arena, scene.folder, "standing.lock"),
                        LOCK_EXCLUSIVE, LOCK_TRY, NULL, &err),
              0);
    keep(&scene, false, "file.managed:/etc/motd", true, 0);
    lock_drop(&lock);
    arena_done(&scene.arena);
}

TEST(states_of_one_id_must_all_have_succeeded)
{
    struct scene scene = { .arena = ARENA_INIT, .folder = test_folder() };

    keep(&scene, false, "pkg.installed:nginx", true, 3);
    keep(&scene, false, "service.running:nginx", false, 9);
    CHECK(!find(&scene, "nginx").success);
    CHECK_INT(find(&scene, "nginx").changed.seconds, 9);
    CHECK(find(&scene, "pkg.installed:nginx").success);
    arena_done(&scene.arena);
}

TEST(a_reference_is_found_when_no_state_is_called_so_and_highstate_is_always_the_run)
{
    struct scene scene = { .arena = ARENA_INIT, .folder = test_folder() };

    keep(&scene, true, "web", true, 0);
    keep(&scene, true, "highstate", true, 0);
    keep(&scene, false, "cmd.run:highstate", false, 0);
    CHECK(find(&scene, "web").success && find(&scene, "highstate").success);
    keep(&scene, false, "cmd.run:web", false, 0);
    CHECK(!find(&scene, "web").success);
    arena_done(&scene.arena);
}

TEST(a_run_that_changes_nothing_leaves_the_file_alone)
{
    struct scene scene = { .arena = ARENA_INIT, .folder = test_folder() };
    const char *path = path_join(&scene.arena, scene.folder, STANDING_FILE);
    struct stat before, after;

    keep(&scene, true, "highstate", true, 7);
    CHECK_INT(stat(path, &before), 0);
    keep(&scene, true, "highstate", true, 0);
    CHECK_INT(stat(path, &after), 0);
    CHECK_INT(before.st_ino, after.st_ino);
    CHECK_INT(before.st_mode & 0777, 0600);
    arena_done(&scene.arena);
}

TEST(a_run_that_succeeds_again_finds_out_without_reading_the_marks)
{
    struct scene scene = { .arena = ARENA_INIT, .folder = test_folder() };
    const char *path = path_join(&scene.arena, scene.folder, STANDING_FILE);
    struct stat before, after;

    keep(&scene, false, "cmd.run:a", true, 7);
    keep(&scene, false, "cmd.run:b", true, 8); /* its names are the last to be written */
    CHECK_INT(stat(path, &before), 0);
    keep(&scene, false, "cmd.run:a", true, 0);
    keep(&scene, false, "cmd.run:b", true, 0);
    CHECK_INT(stat(path, &after), 0);
    CHECK_INT(before.st_ino, after.st_ino);
    CHECK_INT(find(&scene, "b").changed.seconds, 8);
    keep(&scene, false, "cmd.run:b", true, 9);
    CHECK_INT(find(&scene, "b").changed.seconds, 9);
    arena_done(&scene.arena);
}

TEST(a_failure_of_the_same_states_is_never_taken_for_their_success)
{
    struct scene scene = { .arena = ARENA_INIT, .folder = test_folder() };

    for (int round = 0; round < 2; round++) {
        keep(&scene, false, "cmd.run:a", true, 0);
        CHECK(find(&scene, "a").success);
        keep(&scene, false, "cmd.run:a", false, 0);
        CHECK(!find(&scene, "a").success);
    }
    keep(&scene, false, "cmd.run:b", true, 0);
    keep(&scene, false, "cmd.run:a", true, 0);
    CHECK(find(&scene, "a").success && find(&scene, "b").success);
    arena_done(&scene.arena);
}

/* One flipped bit: the names at its end still fit. */
static void flip_bit(struct scene *scene, const char *path)
{
    struct str bytes;
    struct err err;
    char *copy;

    CHECK_INT(fs_read(&scene->arena, path, STANDING_MAX, &bytes, &err), 0);
    copy = arena_strndup(&scene->arena, bytes.p, bytes.n);
    copy[bytes.n / 2] ^= 1;
    CHECK_INT(fs_replace(path, (struct str){ copy, bytes.n }, NULL, &err), 0);
}

TEST(a_record_with_a_flipped_bit_is_written_anew_by_the_same_run)
{
    struct scene scene = { .arena = ARENA_INIT, .folder = test_folder() };
    const char *path = path_join(&scene.arena, scene.folder, STANDING_FILE);

    keep(&scene, false, "cmd.run:a", true, 0);
    flip_bit(&scene, path);
    keep(&scene, false, "cmd.run:a", true, 0);
    CHECK(find(&scene, "a").success);
    arena_done(&scene.arena);
}

TEST(a_damaged_record_is_reported_and_the_next_run_begins_anew)
{
    struct scene scene = { .arena = ARENA_INIT, .folder = test_folder() };
    const char *path = path_join(&scene.arena, scene.folder, STANDING_FILE);
    const char *names[] = { "highstate" };
    struct standing_reply reply;
    struct err err;

    keep(&scene, true, "highstate", true, 7);
    CHECK_INT(fs_replace(path, STR("nonsense"), NULL, &err), 0);
    CHECK_INT(
        standing_ask(&scene.arena, scene.folder, (struct param_strs){ 1, names }, &reply, &err),
        -1);
    CHECK_HAS(err.text, "checksum");
    keep(&scene, true, "highstate", true, 8);
    CHECK(find(&scene, "highstate").success);
    arena_done(&scene.arena);
}

TEST(the_oldest_marks_go_when_there_are_too_many)
{
    struct scene scene = { .arena = ARENA_INIT, .folder = test_folder() };
    struct standing many = { 0 };
    struct err err;

    keep(&scene, false, "cmd.run:oldest", true, 0);
    for (int i = 0; i < STANDING_MARKS; i++)
        VEC_PUSH_IN(&scene.arena, &many.states.list,
                    ((struct standing_mark){
                        arena_printf(&scene.arena, "cmd.run:%d", i), true, { 0 }, "" }));
    CHECK_INT(standing_keep(scene.folder, &many, &err), 0);
    CHECK(!find(&scene, "oldest").known);
    CHECK(find(&scene, "0").success && find(&scene, "cmd.run:49999").success);
    arena_done(&scene.arena);
}

/* Answers one packet with these bytes. */
static pid_t pose_as_agent(struct scene *scene, struct str bytes)
{
    const struct unixsock at = agent_socket(&scene->arena, scene->folder);
    struct err err;
    int fd = -1;
    pid_t pid;

    CHECK_INT(unixsock_listen(&at, 0600, &fd, &err), 0);
    pid = fork();
    if (pid == 0) {
        struct pollfd one = { .fd = fd, .events = POLLIN };
        char packet[4096];
        int client;

        (void)poll(&one, 1, -1);
        client = accept(fd, NULL, NULL);
        (void)!read(client, packet, sizeof(packet));
        (void)!write(client, bytes.p, bytes.n);
        _exit(0);
    }
    (void)close(fd);
    return pid;
}

TEST(an_agent_that_answers_nonsense_is_an_error)
{
    static const struct {
        const char *bytes;
        const char *says;
    } cases[] = {
        { "\x81", "the agent" },
        { "\x80", "did not answer for all states" },
        { "\x81\xa5"
          "error"
          "\xa4"
          "busy",
          "the agent has no answer: busy" },
        { "\x81\xa7"
          "answers"
          "\x91\x81\xa4"
          "name"
          "\xa1"
          "x",
          "answered for another state" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scene scene = { .arena = ARENA_INIT, .folder = test_folder() };
        const pid_t pid = pose_as_agent(&scene, str_from(cases[i].bytes));
        const char *names[] = { "highstate" };
        struct standing_reply reply;
        struct err err;

        CHECK_INT(
            standing_ask(&scene.arena, scene.folder, (struct param_strs){ 1, names }, &reply, &err),
            -1);
        CHECK_HAS(err.text, cases[i].says);
        CHECK_INT(waitpid(pid, NULL, 0), pid);
        arena_done(&scene.arena);
    }
}

TEST(a_question_has_limits)
{
    struct scene scene = { .arena = ARENA_INIT, .folder = test_folder() };
    const char *names[STANDING_NAMES_MAX + 1];
    struct standing_question question;
    struct value packet;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        names[i] = "highstate";
    question.names = (struct param_strs){ ARRAY_LEN(names), names };
    packet = record_value(&scene.arena, &standing_question_type, &question);
    CHECK(standing_is_question(&packet));
    CHECK_INT(record_read(&scene.arena, &standing_question_type, 0, &packet, &question, &err), -1);
    CHECK_HAS(err.text, "more than 64 states");
    arena_done(&scene.arena);
}

TEST(the_tables_are_sound)
{
    struct err err;

    CHECK_INT(record_check(&standing_question_type, &err), 0);
    CHECK_INT(record_check(&standing_reply_type, &err), 0);
}
