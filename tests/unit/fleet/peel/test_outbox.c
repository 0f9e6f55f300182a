#include "fleet/peel/outbox.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/fs.h"
#include "test.h"

static struct err err;

static void ignore_stored(void *self, const char *about)
{
    (void)self;
    (void)about;
}

static void ignore_dropped(void *self, const char *about, const char *why)
{
    (void)self;
    (void)about;
    (void)why;
}

static struct outbox *open_box(const char *folder, size_t *ret_damaged)
{
    const struct outbox_listener listener = { ignore_stored, ignore_dropped, NULL };
    struct outbox *outbox = outbox_open(folder, &listener, ret_damaged, &err);

    CHECK(outbox != NULL);
    return outbox;
}

static uint64_t keep_message(struct outbox *outbox, const char *about, bool sync)
{
    const struct outbox_message message = {
        .subject = "a.b", .id = about, .about = about, .payload = STR("text")
    };
    uint64_t number;

    CHECK_INT(outbox_keep(outbox, &message, sync, &number, &err), 0);
    return number;
}

TEST(stored_messages_survive_a_restart)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = arena_printf(&arena, "%s/outbox", test_folder());
    size_t damaged;
    struct outbox *outbox = open_box(folder, &damaged);

    (void)keep_message(outbox, "one", false);
    outbox_send(outbox, keep_message(outbox, "two", true));
    CHECK_INT(outbox_count(outbox), 2);
    outbox_free(outbox);
    outbox = open_box(folder, &damaged);
    CHECK_INT(damaged, 0);
    CHECK(outbox_has(outbox, "one") && outbox_has(outbox, "two") && !outbox_has(outbox, "three"));
    CHECK(keep_message(outbox, "three", false) == 3);
    outbox_free(outbox);
}

TEST(a_torn_file_is_set_aside_and_an_empty_one_removed)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = arena_printf(&arena, "%s/outbox", test_folder());
    const char *torn = arena_printf(&arena, "%s/00000000000000000001.letter", folder);
    const char *empty = arena_printf(&arena, "%s/00000000000000000002.letter", folder);
    size_t damaged;
    struct outbox *outbox = open_box(folder, &damaged);
    struct fs_info info;
    struct str bytes;

    (void)keep_message(outbox, "one", false);
    outbox_free(outbox);
    outbox_free(open_box(folder, &damaged)); /* it was in the tray */
    CHECK_INT(damaged, 0);
    CHECK_INT(fs_read(&arena, torn, 4096, &bytes, &err), 0);
    CHECK_INT(fs_replace(torn, str_slice(bytes, 0, bytes.n - 1), NULL, &err), 0);
    CHECK_INT(fs_write(empty, STR(""), 0600, &err), 0);
    outbox = open_box(folder, &damaged);
    CHECK_INT(damaged, 1);
    CHECK_INT(outbox_count(outbox), 0);
    CHECK_INT(fs_stat(empty, &info, &err), 0);
    CHECK_INT(info.kind, FS_NONE);
    outbox_free(outbox);
}

static void replace_file(const char *path, struct str bytes)
{
    CHECK_INT(fs_replace(path, bytes, NULL, &err), 0);
}

TEST(the_message_in_the_tray_survives_a_restart_unless_it_was_cleared)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = arena_printf(&arena, "%s/outbox", test_folder());
    const char *tray = arena_printf(&arena, "%s/tray", folder);
    size_t damaged;
    struct outbox *outbox = open_box(folder, &damaged);
    struct fs_names names = { 0 };
    struct str bytes;
    char *crossed;

    (void)keep_message(outbox, "one", true);
    CHECK_INT(fs_list(&arena, folder, &names, &err), 0);
    CHECK_INT(names.list.n, 1); /* no file of its own */
    (void)keep_message(outbox, "two", true);
    outbox_free(outbox);
    CHECK_INT(fs_read(&arena, tray, 4096, &bytes, &err), 0);

    outbox = open_box(folder, &damaged);
    CHECK_INT(damaged, 0);
    CHECK_INT(outbox_count(outbox), 2);
    CHECK(outbox_has(outbox, "one") && outbox_has(outbox, "two"));
    (void)keep_message(outbox, "three", true);
    outbox_free(outbox);

    outbox = open_box(folder, &damaged);
    CHECK_INT(outbox_count(outbox), 3);
    outbox_free(outbox);
    crossed = arena_strndup(&arena, bytes.p, bytes.n);
    memset(crossed, 0, 4);
    replace_file(tray, (struct str){ crossed, bytes.n });
    outbox = open_box(folder, &damaged);
    CHECK_INT(damaged, 0);
    CHECK_INT(outbox_count(outbox), 3);
    outbox_free(outbox);
}

TEST(a_tray_that_was_not_written_whole_is_put_aside_and_there_is_another)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = arena_printf(&arena, "%s/outbox", test_folder());
    const char *tray = arena_printf(&arena, "%s/tray", folder);
    size_t damaged;
    struct outbox *outbox = open_box(folder, &damaged);
    struct str bytes;

    (void)keep_message(outbox, "one", true);
    outbox_free(outbox);
    CHECK_INT(fs_read(&arena, tray, 4096, &bytes, &err), 0);
    replace_file(tray, str_slice(bytes, 0, bytes.n - 1));
    outbox = open_box(folder, &damaged);
    CHECK_INT(damaged, 1);
    CHECK_INT(outbox_count(outbox), 0);
    (void)keep_message(outbox, "two", true);
    outbox_free(outbox);
    outbox = open_box(folder, &damaged);
    CHECK_INT(damaged, 0);
    CHECK(outbox_has(outbox, "two") && !outbox_has(outbox, "one"));
    outbox_free(outbox);
}
