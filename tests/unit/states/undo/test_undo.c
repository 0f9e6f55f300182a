#include "test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "core/data/frame.h"
#include "states/undo/restore.h"
#include "states/undo/undo.h"
#include "core/sys/site.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define ROOM   65536
#define RUN_ID "0ujtsYcgvSTl8PAuAdqWYSMnLOv"
#define FOLDER "0000000001-" RUN_ID

static const char *const refs[] = { "web", "db" };

/* A journal with two states, on disk below `folder`. */
static void make_journal(struct arena *arena, const char *folder)
{
    const struct undo_state one = {
        .name = "a.b:one", .module = "a.b", .id = "one", .level = 0, .retry = { 2, 5, 0 }
    };
    const struct undo_state two = {
        .name = "a.b:two", .module = "a.b", .id = "two", .level = 3, .secret = true
    };
    struct undo *undo =
        undo_new(folder, &(struct undo_head){ RUN_ID, { 2, refs }, "state.apply", "user ada" });
    AUTO_SITE struct site site = SITE_INIT;
    const struct value noted = value_int(42);
    uint32_t first, second;
    struct err err;

    CHECK(!undo_is_open(undo));
    CHECK_INT(undo_begin(undo, &one, &first, &err), 0);
    CHECK_INT(undo_begin(undo, &two, &second, &err), 0);
    CHECK(!undo_is_open(undo));
    CHECK_INT(site_walk(&site, path_join(arena, folder, "f"), 0, &err), 0);
    CHECK_INT(undo_keep(undo, arena, second, &site, IMAGE_WHOLE, "none", &err), 0);
    CHECK(undo_is_open(undo));
    CHECK_INT(undo_left(undo, second, path_join(arena, folder, "f"), "folder", &err), 0);
    CHECK_INT(undo_note(undo, first, "key", &noted, &err), 0);
    CHECK_INT(undo_end(undo, first, OUTCOME_UNCHANGED, &err), 0);
    CHECK_INT(undo_sync(undo, &err), 0);
    undo_free(undo);
}

static struct str journal_bytes(struct arena *arena, const char *folder)
{
    struct str bytes = { NULL, 0 };
    struct err err;

    CHECK_INT(fs_read(arena, arena_printf(arena, "%s/undo/" FOLDER "/journal", folder), 1 << 20,
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
    CHECK(!run.reverted && run.named && run.sealed && !undo_is_damaged(&run));
    CHECK_INT(run.records, 7);
    CHECK_INT(run.place.number, 1);
}

TEST(outcomes_are_stored_as_words)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();

    make_journal(&arena, folder);
    CHECK(str_find(journal_bytes(&arena, folder), STR("\xa7outcome\xa9unchanged"), 0) != STR_NONE);
}

/* The second record of the journal, as if a later program had written it. */
TEST(a_record_of_a_newer_version_is_reported_and_the_others_are_read)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    struct undo_run run = { .place = { .id = RUN_ID } };
    struct frame_scan scan = { 0 };
    struct frame frame;
    struct str bytes;
    struct err err;
    char *copy;

    make_journal(&arena, folder);
    bytes = journal_bytes(&arena, folder);
    copy = arena_strndup(&arena, bytes.p, bytes.n);
    CHECK_INT(frame_file_open(&scan, bytes, "zester undo journal", &err), 0);
    CHECK_INT(frame_next(&scan, &frame), FRAME_WHOLE);
    CHECK_INT(frame_next(&scan, &frame), FRAME_WHOLE);
    frame_head_encode((uint16_t)(frame.version + 1), scan.salt, frame.payload, copy + frame.offset);
    undo_decode(&arena, (struct str){ copy, bytes.n }, &run);
    CHECK_INT(run.gaps.n, 1);
    CHECK_HAS(run.gaps.p[0].why, "written by a newer version of zester");
    CHECK_INT(run.states.n, 2);
    CHECK(undo_is_damaged(&run));
}

TEST(a_truncated_journal_reports_the_number_of_lost_records)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    const char *path = arena_printf(&arena, "%s/undo/" FOLDER "/journal", folder);
    struct str bytes;

    make_journal(&arena, folder);
    bytes = journal_bytes(&arena, folder);
    for (size_t n = bytes.n; n-- > 0;) {
        struct undo_run run;
        struct err err;

        CHECK_INT(truncate(path, (off_t)n), 0);
        CHECK_INT(undo_read(&arena, folder, RUN_ID, &run, &err), 0);
        CHECK(undo_is_damaged(&run));
        CHECK(run.named); /* the seal knows */
        CHECK_INT(run.records + run.missing, 7);
        CHECK_HAS(undo_describe_damage(&arena, &run), "of its 7 records are lost");
    }
}

TEST(a_killed_run_may_have_a_torn_tail)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    struct undo_run run;
    struct err err;

    make_journal(&arena, folder);
    CHECK_INT(unlink(arena_printf(&arena, "%s/undo/" FOLDER "/seal", folder)), 0);
    CHECK_INT(truncate(arena_printf(&arena, "%s/undo/" FOLDER "/journal", folder),
                       (off_t)journal_bytes(&arena, folder).n - 3),
              0);
    CHECK_INT(undo_read(&arena, folder, RUN_ID, &run, &err), 0);
    CHECK(!undo_is_damaged(&run) && !run.sealed);
    CHECK_INT(run.records, 6);
}

/* Bit by bit: one record is lost, wherever the bit is, and what the others say is read. */
TEST(a_flipped_bit_costs_one_record_and_is_reported)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    const char *path = arena_printf(&arena, "%s/undo/" FOLDER "/journal", folder);
    size_t untouched = 0;
    struct str bytes;

    make_journal(&arena, folder);
    bytes = journal_bytes(&arena, folder);
    for (size_t at = 0; at < bytes.n; at++) {
        AUTO_ARENA struct arena scratch = ARENA_INIT;
        char *copy = arena_strndup(&scratch, bytes.p, bytes.n);
        struct undo_run run;
        struct err err;

        copy[at] ^= (char)(1 << at % 8);
        CHECK_INT(fs_replace(path, (struct str){ copy, bytes.n }, NULL, &err), 0);
        CHECK_INT(undo_read(&scratch, folder, RUN_ID, &run, &err), 0);
        untouched += !undo_is_damaged(&run);
        if (undo_is_damaged(&run))
            CHECK(run.gaps.n == 1 && run.missing == 1 && run.records == 6);
    }
    CHECK_INT(untouched, 2 * (24 + 8 + strlen("zester undo journal"))); /* the copies of the salt */
}

TEST(a_state_without_its_begin_record_keeps_its_images)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    const char *path = arena_printf(&arena, "%s/undo/" FOLDER "/journal", folder);
    struct undo_run run;
    struct str bytes;
    struct err err;
    char *copy;

    make_journal(&arena, folder);
    bytes = journal_bytes(&arena, folder);
    copy = arena_strndup(&arena, bytes.p, bytes.n);
    copy[str_find(bytes, STR("a.b:two"), 0)] ^= 4;
    CHECK_INT(fs_replace(path, (struct str){ copy, bytes.n }, NULL, &err), 0);
    CHECK_INT(undo_read(&arena, folder, RUN_ID, &run, &err), 0);
    CHECK_INT(run.states.n, 2);
    CHECK(run.states.p[1].lost && run.states.p[1].hidden && run.states.p[1].images.n == 1);
    CHECK_STR(run.states.p[1].name, "state 2 of run " RUN_ID);
}

TEST(revert_marks_are_stored_beside_the_journal)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    const char *marks = arena_printf(&arena, "%s/undo/" FOLDER "/marks", folder);
    struct fs_info info;
    struct undo_run run;
    struct str before;
    struct undo *undo;
    struct err err;

    make_journal(&arena, folder);
    before = journal_bytes(&arena, folder);
    for (uint32_t state = 0; state < 2; state++) { /* each revert is another process */
        CHECK_INT(undo_read(&arena, folder, RUN_ID, &run, &err), 0);
        undo = undo_reopen(&run);
        CHECK_INT(undo_restored(undo, state, &err), 0);
        undo_free(undo);
        CHECK_INT(undo_read(&arena, folder, RUN_ID, &run, &err), 0);
        CHECK(run.states.p[state].restored && !run.reverted);
        CHECK_INT(fs_stat(marks, &info, &err), 0);
        CHECK_INT(truncate(marks, (off_t)info.size + 11), 0); /* a torn tail */
    }
    CHECK(run.states.p[0].restored && run.states.p[1].restored);
    undo = undo_reopen(&run);
    CHECK_INT(undo_reverted(undo, &err), 0);
    undo_free(undo);
    CHECK_INT(undo_read(&arena, folder, RUN_ID, &run, &err), 0);
    CHECK(run.reverted && !undo_is_damaged(&run));
    CHECK(str_eq(before, journal_bytes(&arena, folder)));
}

/* --- journals of the version before there were numbers and seals ------------------------- */

/* A run that changed a small file, a large file and a link, as that version wrote it. */
static const char old_journal[] =
    "3f000000c7ba7f9728b44c8884a67265636f7264a372756ea26964bb334d41426f617444524668757567644249"
    "3744544d754139704e41a474696d65ce6afa39b3a47265667391a37765627c000000a54cfb01c0f4ad5d88a672"
    "65636f7264a5626567696ea46e616d65bd66696c652e616273656e743a2f746d702f7a73616d706c652f6c696e"
    "6ba66d6f64756c65ab66696c652e616273656e74a26964b12f746d702f7a73616d706c652f6c696e6ba56c6576"
    "656c00a6736563726574c2a8617474656d70747300a8696e74657276616c0096000000b55f02c18a0db1ea84a6"
    "7265636f7264a5696d616765a5737461746500a5696d6167658aa470617468c4112f746d702f7a73616d706c65"
    "2f6c696e6ba577686f6c65c3a46b696e64a46c696e6ba46d61726bc40a6c696e6b3a7468657265a46d6f6465cd"
    "01ffa375696400a367696400a56d74696d65cf18e85a3a53c8998fa46e6f646500a6746172676574c405746865"
    "7265a46c656674c4046e6f6e6580000000cae0d54d5d92aac288a67265636f7264a5626567696ea46e616d65bf"
    "66696c652e6d616e616765643a2f746d702f7a73616d706c652f6c61726765a66d6f64756c65ac66696c652e6d"
    "616e61676564a26964b22f746d702f7a73616d706c652f6c61726765a56c6576656c00a6736563726574c2a861"
    "7474656d70747300a8696e74657276616c001c0000009bb501f4150c89bd83a67265636f7264a3656e64a57374"
    "61746500a76f7574636f6d65017e000000c3bb6743814ea56888a67265636f7264a5626567696ea46e616d65be"
    "66696c652e6d616e616765643a2f746d702f7a73616d706c652f6d6f7464a66d6f64756c65ac66696c652e6d61"
    "6e61676564a26964b12f746d702f7a73616d706c652f6d6f7464a56c6576656c00a6736563726574c2a8617474"
    "656d70747300a8696e74657276616c0012010000465b8403b2ded1f984a67265636f7264a5696d616765a57374"
    "61746502a5696d6167658aa470617468c4112f746d702f7a73616d706c652f6d6f7464a577686f6c65c3a46b69"
    "6e64a466696c65a46d61726bc44566696c653a3031643039643139633231333961343661656266623537373738"
    "3064313233643733393665393732303162633765616432313061326562666638323339646565a46d6f6465cd01"
    "a0a375696400a367696400a56d74696d65cf18e85a3a53882fa4a46e6f646500a7636f6e74656e74c4046f6c64"
    "0aa46c656674c44566696c653a3761613761353335393137336430356236336366643638326533633338343837"
    "66336362346637663164363036353966653539666162313530353937376434631101000088f6e64cda3e791284"
    "a67265636f7264a5696d616765a5737461746501a5696d6167658aa470617468c4122f746d702f7a73616d706c"
    "652f6c61726765a577686f6c65c3a46b696e64a466696c65a46d61726bc44566696c653a363238353333326533"
    "303732623237653562303935633563376436653337656164643230313232306562313436393466396432643031"
    "37376332356136346165a46d6f6465cd01a4a375696400a367696400a56d74696d65cf18e85a3a5405a28fa46e"
    "6f646500a4636f7079a6636f70792d31a46c656674c44566696c653a3531303162363133303464363236393330"
    "366539343563356538623965326233313136313161656538666535623832373166333764656432363939363764"
    "63641c0000001c0269394f6886f783a67265636f7264a3656e64a5737461746502a76f7574636f6d65011c0000"
    "00e446fef9c04c894183a67265636f7264a3656e64a5737461746501a76f7574636f6d6501600000002477d1ed"
    "799c58b888a67265636f7264a5626567696ea46e616d65af636d642e72756e3a72657374617274a66d6f64756c"
    "65a7636d642e72756ea26964a772657374617274a56c6576656c01a6736563726574c2a8617474656d70747300"
    "a8696e74657276616c001c0000002112f66a8c92caa683a67265636f7264a3656e64a5737461746503a76f7574"
    "636f6d6502";

static struct str old_bytes(struct arena *arena)
{
    AUTO_BUF struct buf out = BUF_INIT(ROOM);

    for (size_t i = 0; old_journal[i]; i += 2) {
        const char pair[3] = { old_journal[i], old_journal[i + 1], '\0' };

        buf_add_char(&out, (char)strtol(pair, NULL, 16));
    }
    return buf_copy(&out, arena);
}

TEST(an_old_journal_is_read)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct undo_run run = { .place = { .id = RUN_ID } };
    const struct undo_entry *entry;

    undo_decode_old(&arena, old_bytes(&arena), &run);
    CHECK(run.named && !undo_is_damaged(&run));
    CHECK_STR(run.refs.p[0], "web");
    CHECK_INT(run.states.n, 4);
    entry = &run.states.p[0];
    CHECK_STR(entry->name, "file.absent:/tmp/zsample/link");
    CHECK_STR(entry->images.p[0].image.target, "there");
    entry = &run.states.p[1];
    CHECK_STR(entry->images.p[0].image.copy, "copy-1");
    entry = &run.states.p[2];
    CHECK_INT(entry->images.p[0].image.info.mode, 0640);
    CHECK(str_is(entry->images.p[0].image.content, "old\n"));
    CHECK(!entry->unchanged);
}

TEST(damage_in_an_old_journal_is_reported)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct str bytes = old_bytes(&arena);

    for (size_t at = 0; at < bytes.n; at++) {
        struct undo_run run = { .place = { .id = RUN_ID } };
        char *copy = arena_strndup(&arena, bytes.p, bytes.n);

        copy[at] ^= (char)(1 << at % 8);
        undo_decode_old(&arena, (struct str){ copy, bytes.n }, &run);
        CHECK(undo_is_damaged(&run));
    }
}

TEST(a_journal_without_changes_is_not_kept)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    const struct undo_state state = { .name = "a.b:one", .module = "a.b", .id = "one" };
    struct undo_places ids;
    uint32_t number;
    struct err err;

    for (int changed = 0; changed < 2; changed++) {
        struct undo *undo =
            undo_new(folder, &(struct undo_head){ RUN_ID, { 2, refs }, "state.apply", "user ada" });

        CHECK_INT(undo_begin(undo, &state, &number, &err), 0);
        CHECK_INT(undo_end(undo, number, changed ? OUTCOME_CHANGED : OUTCOME_UNCHANGED, &err), 0);
        CHECK_INT(undo_flush(undo, &err), 0);
        CHECK_INT(undo_is_open(undo), changed);
        CHECK(!undo_is_heavy(undo));
        undo_free(undo);
        CHECK_INT(undo_list(&arena, folder, &ids, &err), 0);
        CHECK_INT(ids.list.n, changed);
    }
}

/* Folders of runs, each a second after the one before, the first at `time`. */
static void make_folders(struct arena *arena, const char *folder, int64_t time, int first,
                         int count)
{
    struct err err;

    for (int i = 0; i < count; i++) {
        char id[KSUID_SIZE];

        ksuid_new(time + i, id);
        CHECK_INT(
            fs_mkdirs(arena_printf(arena, "%s/undo/%010d-%s", folder, first + i, id), 0700, &err),
            0);
    }
}

static size_t count_runs(struct arena *arena, const char *folder)
{
    struct undo_places places;
    struct err err;

    CHECK_INT(undo_prune(folder, RUN_ID, false, &err), 0);
    CHECK_INT(undo_list(arena, folder, &places, &err), 0);
    return places.list.n;
}

TEST(old_runs_are_removed_beyond_the_limit)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    const int64_t now = INT64_C(1800000000);
    struct undo_places places;
    struct err err;

    make_folders(&arena, folder, now, 1, UNDO_KEEP_RUNS + 5);
    CHECK_INT(fs_mkdirs(arena_printf(&arena, "%s/undo/notes", folder), 0700, &err), 0);
    CHECK_INT(count_runs(&arena, folder), UNDO_KEEP_RUNS);
    CHECK_INT(undo_list(&arena, folder, &places, &err), 0);
    CHECK_INT(places.list.p[0].number, UNDO_KEEP_RUNS + 5);
    CHECK_INT(places.list.p[UNDO_KEEP_RUNS - 1].number, 6);
    CHECK_INT(access(arena_printf(&arena, "%s/undo/notes", folder), F_OK), 0);
}

TEST(a_clock_jump_does_not_expire_all_runs)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    const int64_t now = INT64_C(1800000000), jump = 400 * INT64_C(86400);

    make_folders(&arena, folder, now, 1, 50);
    make_folders(&arena, folder, now + jump, 51, 1);
    CHECK_INT(count_runs(&arena, folder), 51);
    make_folders(&arena, folder, now + 60, 52, 5); /* the clock is right again */
    CHECK_INT(count_runs(&arena, folder), 56);
    make_folders(&arena, folder, now + jump, 57, UNDO_KEEP_LEAST); /* the time has really come */
    CHECK_INT(count_runs(&arena, folder), UNDO_KEEP_LEAST + 1);
}

TEST(runs_are_ordered_by_number)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder(), *next;
    const int64_t now = INT64_C(1800000000);
    struct undo_places places;
    char id[KSUID_SIZE];
    struct err err;

    ksuid_new(now + 5000, id); /* of the older version */
    CHECK_INT(fs_mkdirs(arena_printf(&arena, "%s/undo/%s", folder, id), 0700, &err), 0);
    make_folders(&arena, folder, now + 1000, 1, 1);
    make_folders(&arena, folder, now, 2, 1); /* after the clock went back */
    CHECK_INT(undo_list(&arena, folder, &places, &err), 0);
    CHECK_INT(places.list.n, 3);
    for (size_t i = 0; i < 3; i++)
        CHECK_INT(places.list.p[i].number, 2 - i);
    CHECK_INT(undo_next_folder(&arena, folder, RUN_ID, &next, &err), 0);
    CHECK_STR(next, arena_printf(&arena, "%s/undo/0000000003-" RUN_ID, folder));
}

/* --- images ------------------------------------------------------------------------------ */

static int restore_image(struct arena *arena, const struct image *image, const char *folder,
                         bool *ret_changed, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(ROOM);
    AUTO_SITE struct site site = SITE_INIT;
    struct restore restore;

    restore_init(&restore, arena, folder);
    if (restore_find(&restore, image, &site, err) < 0 ||
        restore_put(&restore, image, &site, &out, ret_changed, err) < 0)
        return -1;
    return restore_finish(&restore, &out, ret_changed, err);
}

TEST(set_id_bits_are_restored_with_the_owner)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder(), *path = path_join(&arena, folder, "f");
    AUTO_SITE struct site site = SITE_INIT;
    struct fs_info info;
    struct image image;
    bool changed = false;
    struct err err;

    if (geteuid() != 0)
        return;
    CHECK_INT(fs_write(path, STR("text"), 0640, &err), 0);
    CHECK_INT(chown(path, 12, 12), 0);
    CHECK_INT(chmod(path, 06755), 0);
    CHECK_INT(site_walk(&site, path, 0, &err), 0);
    CHECK_INT(image_take(&arena, &site, IMAGE_ATTRIBUTES, folder, NULL, &image, &err), 0);
    CHECK_INT(chown(path, 0, 0), 0);
    CHECK_INT(chmod(path, 06755), 0); /* the owner alone differs */
    CHECK_INT(restore_image(&arena, &image, folder, &changed, &err), 0);
    CHECK_INT(fs_stat(path, &info, &err), 0);
    CHECK(changed && info.uid == 12 && info.gid == 12);
    CHECK_INT(info.mode, 06755);
}

TEST(a_damaged_or_missing_copy_is_not_restored)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder(), *path = path_join(&arena, folder, "f"), *copy;
    char *large = arena_alloc(&arena, 2 * IMAGE_INLINE_MAX);
    AUTO_SITE struct site site = SITE_INIT;
    struct image image;
    struct err err;

    memset(large, 'x', 2 * IMAGE_INLINE_MAX);
    CHECK_INT(fs_write(path, (struct str){ large, 2 * IMAGE_INLINE_MAX }, 0640, &err), 0);
    CHECK_INT(site_walk(&site, path, 0, &err), 0);
    CHECK_INT(image_take(&arena, &site, IMAGE_WHOLE, folder, "copy", &image, &err), 0);
    copy = path_join(&arena, folder, "copy");
    CHECK_INT(fs_replace(path, STR("new"), NULL, &err), 0);
    for (int missing = 0; missing < 2; missing++) {
        bool changed = false;
        struct str now;

        CHECK_INT(missing ? unlink(copy) : truncate(copy, 17), 0);
        CHECK_INT(restore_image(&arena, &image, folder, &changed, &err), -1);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK_HAS(err.text, missing ? "is missing; not changed" : "is damaged; not changed");
        CHECK_INT(fs_read(&arena, path, ROOM, &now, &err), 0);
        CHECK(str_is(now, "new") && !changed);
    }
}
