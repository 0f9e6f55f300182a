#include "fleet/watchdog/slots.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/process.h"
#include "test.h"

static void make_slots(struct arena *arena, struct slots *ret)
{
    struct err err;

    slots_init(ret, arena, path_join(arena, test_folder(), "slots"), "daemon");
    CHECK_INT(fs_mkdirs(ret->folder, 0755, &err), 0);
}

static void put(const char *path, const char *content, mode_t mode)
{
    struct err err;

    CHECK_INT(fs_replace(path, str_from(content), NULL, &err), 0);
    CHECK_INT(chmod(path, mode), 0);
}

static const char *content_of(struct arena *arena, const char *path)
{
    struct str text;
    struct err err;

    CHECK_INT(fs_read(arena, path, 1024, &text, &err), 0);
    return text.p ? text.p : "";
}

static const char *hash_of(struct arena *arena, const struct slots *slots, enum keeper_place place)
{
    char hash[SHA256_HEX_SIZE];

    slots_hash(slots, place, hash);
    return arena_strdup(arena, hash);
}

TEST(the_first_slot_is_a_copy_of_the_installed_program_and_never_replaced)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *program = path_join(&arena, test_folder(), "program");
    struct slots slots;
    struct err err;

    make_slots(&arena, &slots);
    put(program, "one", 0755);
    CHECK_INT(slots_seed(&slots, program, &err), 0);
    CHECK_STR(content_of(&arena, slots.paths[KEEPER_CURRENT]), "one");
    put(program, "two", 0755);
    CHECK_INT(slots_seed(&slots, program, &err), 0);
    CHECK_STR(content_of(&arena, slots.paths[KEEPER_CURRENT]), "one");
}

TEST(a_swap_keeps_the_old_version_and_a_way_back_restores_it)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *program = path_join(&arena, test_folder(), "program");
    struct slots slots;
    struct err err;

    make_slots(&arena, &slots);
    put(program, "old", 0755);
    CHECK_INT(slots_seed(&slots, program, &err), 0);
    put(slots.paths[KEEPER_STAGING], "new", 0755);
    CHECK_INT(slots_swap_in(&slots, hash_of(&arena, &slots, KEEPER_STAGING), &err), 0);
    CHECK_STR(content_of(&arena, slots.paths[KEEPER_CURRENT]), "new");
    CHECK_STR(content_of(&arena, slots.paths[KEEPER_PREV]), "old");
    CHECK_STR(hash_of(&arena, &slots, KEEPER_STAGING), "");
    CHECK_INT(slots_swap_back(&slots, &err), 0);
    CHECK_STR(content_of(&arena, slots.paths[KEEPER_CURRENT]), "old");
    CHECK_STR(hash_of(&arena, &slots, KEEPER_PREV), "");
}

TEST(what_was_changed_after_it_was_verified_is_not_swapped_in)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *program = path_join(&arena, test_folder(), "program");
    const char *hash;
    struct slots slots;
    struct err err;

    make_slots(&arena, &slots);
    put(program, "old", 0755);
    CHECK_INT(slots_seed(&slots, program, &err), 0);
    put(slots.paths[KEEPER_STAGING], "new", 0755);
    hash = hash_of(&arena, &slots, KEEPER_STAGING);
    put(slots.paths[KEEPER_STAGING], "bad", 0755);
    CHECK_INT(slots_swap_in(&slots, hash, &err), -1);
    CHECK_INT(err.code, ERR_UNSAFE);
    CHECK_STR(content_of(&arena, slots.paths[KEEPER_CURRENT]), "old");
}

TEST(a_file_that_cannot_be_run_counts_as_an_empty_slot)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct slots slots;

    make_slots(&arena, &slots);
    put(slots.paths[KEEPER_CURRENT], "text", 0644);
    CHECK_STR(hash_of(&arena, &slots, KEEPER_CURRENT), "");
}

static const struct keeper_record full_record = {
    .state = UPDATE_SOAKING,
    .slots = { { "2.0", "bb" }, { "1.0", "aa" }, { "", "" } },
    .soak = 5,
    .soak_starts = 2,
    .note = "why",
    .failed = "1.9",
};

TEST(the_record_is_read_as_it_was_written)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct keeper_record back;
    struct slots slots;
    struct err err;

    make_slots(&arena, &slots);
    CHECK_INT(slots_read(&slots, &back, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_INT(slots_save(&slots, &full_record, &err), 0);
    CHECK_INT(slots_read(&slots, &back, &err), 0);
    CHECK_INT(back.state, UPDATE_SOAKING);
    CHECK_STR(back.slots[KEEPER_CURRENT].version, "2.0");
    CHECK_STR(back.slots[KEEPER_PREV].sha256, "aa");
    CHECK_INT(back.soak, 5);
    CHECK_INT(back.soak_starts, 2);
    CHECK_STR(back.note, "why");
    CHECK_STR(back.failed, "1.9");
}

TEST(a_damaged_record_is_an_error_whichever_byte_it_is)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct keeper_record back;
    struct slots slots;
    struct str whole;
    struct err err;

    make_slots(&arena, &slots);
    CHECK_INT(slots_save(&slots, &full_record, &err), 0);
    CHECK_INT(fs_read(&arena, slots.record, 65536, &whole, &err), 0);
    for (size_t i = 0; i < whole.n; i++) {
        char *bytes = arena_strndup(&arena, whole.p, whole.n);

        memcpy(bytes, whole.p, whole.n);
        bytes[i] ^= 1;
        CHECK_INT(fs_replace(slots.record, (struct str){ bytes, whole.n }, NULL, &err), 0);
        CHECK_INT(slots_read(&slots, &back, &err), -1);
        CHECK_INT(fs_replace(slots.record, (struct str){ whole.p, i }, NULL, &err), 0);
        CHECK_INT(slots_read(&slots, &back, &err), -1);
    }
}

TEST(a_daemon_that_outlives_its_watchdog_is_waited_for)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *const argv[] = { "/bin/sleep", "100", NULL };
    struct process_fd shared = { .as = 3 };
    struct lock other = LOCK_NONE;
    struct process_status status;
    struct process process;
    struct slots slots;
    struct err err;

    make_slots(&arena, &slots);
    CHECK_INT(slots_lock(&slots, &err), 0);
    shared.fd = slots.lock.fd;
    CHECK_INT(process_start(&(struct process_spec){ .argv = argv, .fds = &shared, .fd_count = 1 },
                            &process, &err),
              0);
    CHECK_INT(close(slots.lock.fd), 0); /* the watchdog is killed */
    CHECK_INT(lock_take(&other, slots.lock_file, LOCK_EXCLUSIVE, LOCK_TRY, NULL, &err), -1);
    CHECK_INT(err.code, ERR_BUSY);
    CHECK_INT(process_signal(&process, SIGKILL, &err), 0);
    CHECK_INT(process_wait(&process, CLOCK_NEVER, &status, &err), 0);
    CHECK_INT(slots_lock(&slots, &err), 0);
    process_done(&process);
    lock_drop(&slots.lock);
}
