#include "test.h"

#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/ksuid.h"
#include "undo/undo.h"
#include "sys/site.h"
#include "sys/fs.h"
#include "sys/path.h"

#define RUN_ID "0ujtsYcgvSTl8PAuAdqWYSMnLOv"

static const char *const refs[] = { "web", "db" };

/* A journal with two states, on disk below `folder`. */
static void make_journal(struct arena *arena, const char *folder)
{
    const struct undo_state one = {
        .name = "a.b:one", .module = "a.b", .id = "one", .level = 0, .retry = { 2, 5 }
    };
    const struct undo_state two = {
        .name = "a.b:two", .module = "a.b", .id = "two", .level = 3, .secret = true
    };
    struct undo *undo = undo_new(folder, RUN_ID, (struct param_strs){ 2, refs });
    AUTO_SITE struct site site = SITE_INIT;
    const struct value noted = value_int(42);
    uint32_t first, second;
    struct err err;

    CHECK(!undo_is_open(undo));
    CHECK_INT(undo_begin(undo, arena, &one, &first, &err), 0);
    CHECK_INT(undo_begin(undo, arena, &two, &second, &err), 0);
    CHECK(!undo_is_open(undo));
    CHECK_INT(site_walk(&site, path_join(arena, folder, "f"), 0, &err), 0);
    CHECK_INT(undo_keep(undo, arena, second, &site, IMAGE_WHOLE, "none", &err), 0);
    CHECK(undo_is_open(undo));
    CHECK_INT(undo_left(undo, arena, second, path_join(arena, folder, "f"), "folder", &err), 0);
    CHECK_INT(undo_note(undo, arena, first, "key", &noted, &err), 0);
    CHECK_INT(undo_end(undo, arena, first, OUTCOME_UNCHANGED, &err), 0);
    CHECK_INT(undo_sync(undo, &err), 0);
    undo_free(undo);
}

static struct str journal_bytes(struct arena *arena, const char *folder)
{
    struct str bytes = { NULL, 0 };
    struct err err;

    CHECK_INT(fs_read(arena, arena_printf(arena, "%s/undo/%s/journal", folder, RUN_ID), 1 << 20,
                      &bytes, &err),
              0);
    CHECK(bytes.p != NULL);
    return bytes;
}

TEST(a_journal_is_read_as_it_was_written)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    const struct value key = value_text("key");
    struct undo_run run;
    struct err err;

    CHECK_INT(fs_write(path_join(&arena, folder, "f"), STR("text"), 0640, &err), 0);
    make_journal(&arena, folder);
    CHECK_INT(undo_read(&arena, folder, RUN_ID, &run, &err), 0);
    CHECK_INT(run.refs.n, 2);
    CHECK_STR(run.refs.p[1], "db");
    CHECK_INT(run.states.n, 2);
    CHECK_STR(run.states.p[0].name, "a.b:one");
    CHECK_INT(run.states.p[0].retry.attempts, 2);
    CHECK(run.states.p[0].unchanged && !run.states.p[1].unchanged);
    CHECK(run.states.p[1].secret);
    CHECK_INT(value_map_find(run.states.p[0].notes, &key)->i, 42);
    CHECK_INT(run.states.p[1].images.n, 1);
    CHECK_INT(run.states.p[1].images.p[0].image.info.mode, 0640);
    CHECK(str_is(run.states.p[1].images.p[0].image.content, "text"));
    CHECK_INT(run.states.p[1].images.p[0].left.n, 2);
    CHECK(!run.reverted);
    CHECK_INT(run.size, journal_bytes(&arena, folder).n);
}

TEST(a_torn_tail_is_passed_over_at_every_length)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    struct str bytes;
    size_t last = 0;

    make_journal(&arena, folder);
    bytes = journal_bytes(&arena, folder);
    for (size_t n = 0; n <= bytes.n; n++) {
        struct undo_run run = { 0 };

        undo_decode(&arena, arena_str(&arena, str_slice(bytes, 0, n)), &run);
        CHECK(run.size <= n && run.size >= last);
        last = run.size;
    }
    CHECK_INT(last, bytes.n);
}

TEST(a_damaged_record_ends_the_journal)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    struct undo_run run = { 0 };
    struct str bytes;
    char *copy;

    make_journal(&arena, folder);
    bytes = journal_bytes(&arena, folder);
    copy = arena_strndup(&arena, bytes.p, bytes.n);
    copy[bytes.n - 3] ^= 1;
    undo_decode(&arena, (struct str){ copy, bytes.n }, &run);
    CHECK_INT(run.states.n, 2);
    CHECK(!run.states.p[0].unchanged);
    CHECK(run.size < bytes.n);
}

TEST(marks_of_a_revert_go_behind_what_is_sound)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    const char *path = arena_printf(&arena, "%s/undo/%s/journal", folder, RUN_ID);
    struct undo_run run;
    struct undo *undo;
    struct err err;

    make_journal(&arena, folder);
    CHECK_INT(truncate(path, (off_t)journal_bytes(&arena, folder).n - 2), 0);
    CHECK_INT(undo_read(&arena, folder, RUN_ID, &run, &err), 0);
    undo = undo_reopen(folder, &run, &err);
    CHECK(undo != NULL);
    CHECK_INT(undo_restored(undo, &arena, 1, &err), 0);
    CHECK_INT(undo_reverted(undo, &arena, &err), 0);
    undo_free(undo);
    CHECK_INT(undo_read(&arena, folder, RUN_ID, &run, &err), 0);
    CHECK(run.reverted && run.states.p[1].restored && !run.states.p[0].restored);
}

TEST(a_journal_of_states_that_changed_nothing_is_not_kept)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    const struct undo_state state = { .name = "a.b:one", .module = "a.b", .id = "one" };
    struct undo_ids ids;
    uint32_t number;
    struct err err;

    for (int changed = 0; changed < 2; changed++) {
        struct undo *undo = undo_new(folder, RUN_ID, (struct param_strs){ 2, refs });

        CHECK_INT(undo_begin(undo, &arena, &state, &number, &err), 0);
        CHECK_INT(
            undo_end(undo, &arena, number, changed ? OUTCOME_CHANGED : OUTCOME_UNCHANGED, &err), 0);
        CHECK_INT(undo_flush(undo, &err), 0);
        CHECK_INT(undo_is_open(undo), changed);
        CHECK(!undo_is_heavy(undo));
        undo_free(undo);
        CHECK_INT(undo_list(&arena, folder, &ids, &err), 0);
        CHECK_INT(ids.list.n, changed);
    }
}

TEST(old_runs_are_removed_beyond_the_limit)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    const int64_t now = INT64_C(1800000000);
    struct undo_ids ids;
    struct err err;

    for (int i = 0; i < UNDO_KEEP_RUNS + 5; i++) {
        char id[KSUID_SIZE];

        ksuid_new(now - 1000 + i, id);
        CHECK_INT(fs_mkdirs(arena_printf(&arena, "%s/undo/%s", folder, id), 0700, &err), 0);
    }
    CHECK_INT(fs_mkdirs(arena_printf(&arena, "%s/undo/notes", folder), 0700, &err), 0);
    CHECK_INT(undo_prune(folder, RUN_ID, now, true, &err), 0);
    CHECK_INT(undo_list(&arena, folder, &ids, &err), 0);
    CHECK_INT(ids.list.n, UNDO_KEEP_RUNS);
    CHECK_INT(
        undo_prune(folder, ids.list.p[9], now + (UNDO_KEEP_DAYS + 1) * INT64_C(86400), false, &err),
        0);
    CHECK_INT(undo_list(&arena, folder, &ids, &err), 0);
    CHECK_INT(ids.list.n, 1);
    CHECK_INT(access(arena_printf(&arena, "%s/undo/notes", folder), F_OK), 0);
}
