#include "logs_test.h"

#include <endian.h>

#include "core/base/checksum.h"
#include "kepler/logs/cleared.h"
#include "core/sys/fs.h"

enum { MODE = 0600 };

static int open_folder(void)
{
    int fd = open(test_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    CHECK(fd >= 0);
    return fd;
}

TEST(the_last_record_of_a_service_counts)
{
    struct cleared cleared = { .size = 0 }, again = { .size = 0 };
    int folder = open_folder();

    CHECK_INT(cleared_load(&cleared, folder, &err), 0);
    CHECK_INT(cleared_find(&cleared, "web"), 0);
    CHECK_INT(cleared_add(&cleared, folder, "web", 5, MODE, &err), 0);
    CHECK_INT(cleared_add(&cleared, folder, "db", 7, MODE, &err), 0);
    CHECK_INT(cleared_add(&cleared, folder, "web", 9, MODE, &err), 0);
    CHECK_INT(cleared_load(&again, folder, &err), 0);
    CHECK_INT(again.records, 3);
    CHECK_INT(cleared_find(&again, "web"), 9);
    CHECK_INT(cleared_find(&again, "db"), 7);
    CHECK_INT(cleared_highest(&again), 9);
    CHECK_INT(cleared_rewrite(&cleared, folder, 8, MODE, &err), 0);
    CHECK_INT(cleared.records, 1);
    CHECK_INT(cleared_find(&cleared, "web"), 9);
    CHECK_INT(cleared_find(&cleared, "db"), 0);
    cleared_done(&cleared);
    cleared_done(&again);
    (void)close(folder);
}

TEST(a_torn_record_is_truncated_before_others_follow)
{
    struct cleared cleared = { .size = 0 };
    int folder = open_folder();
    const char *path = path_join(&arena, test_folder(), "cleared");
    struct str bytes;

    CHECK_INT(cleared_add(&cleared, folder, "web", 5, MODE, &err), 0);
    CHECK_INT(cleared_add(&cleared, folder, "db", 7, MODE, &err), 0);
    CHECK_INT(fs_read(&arena, path, CLEARED_FILE_MAX, &bytes, &err), 0);
    for (size_t n = bytes.n - 40; n < bytes.n; n++) {
        CHECK_INT(fs_replace(path, str_slice(bytes, 0, n), NULL, &err), 0);
        CHECK_INT(cleared_load(&cleared, folder, &err), 0);
        CHECK_INT(cleared_find(&cleared, "web"), 5);
        CHECK_INT(cleared_find(&cleared, "db"), 0);
        CHECK_INT(cleared_mend(&cleared, folder, &err), 0);
        CHECK_INT(cleared_add(&cleared, folder, "new", 8, MODE, &err), 0);
        CHECK_INT(cleared_load(&cleared, folder, &err), 0);
        CHECK_INT(cleared_find(&cleared, "new"), 8);
    }
    cleared_done(&cleared);
    (void)close(folder);
}

TEST(damage_costs_only_the_affected_record)
{
    struct cleared cleared = { .size = 0 };
    int folder = open_folder();
    const char *path = path_join(&arena, test_folder(), "cleared");
    struct str bytes;

    CHECK_INT(cleared_add(&cleared, folder, "web", 5, MODE, &err), 0);
    CHECK_INT(cleared_add(&cleared, folder, "db", 7, MODE, &err), 0);
    CHECK_INT(fs_read(&arena, path, CLEARED_FILE_MAX, &bytes, &err), 0);
    for (size_t i = 0; i < bytes.n; i++) {
        char *hurt = arena_strndup(&arena, bytes.p, bytes.n);

        hurt[i] = (char)(hurt[i] ^ 1);
        CHECK_INT(fs_replace(path, str_bytes(hurt, bytes.n), NULL, &err), 0);
        CHECK_INT(cleared_load(&cleared, folder, &err), 0);
        CHECK(cleared_find(&cleared, "web") == 5 || cleared_find(&cleared, "db") == 7);
    }
    cleared_done(&cleared);
    (void)close(folder);
}

TEST(a_file_with_a_torn_beginning_is_restarted)
{
    struct cleared cleared = { .size = 0 };
    int folder = open_folder();
    const char *path = path_join(&arena, test_folder(), "cleared");
    struct str bytes;

    CHECK_INT(cleared_add(&cleared, folder, "web", 5, MODE, &err), 0);
    CHECK_INT(fs_read(&arena, path, CLEARED_FILE_MAX, &bytes, &err), 0);
    for (size_t n = 0; n < bytes.n; n++) {
        CHECK_INT(fs_replace(path, str_slice(bytes, 0, n), NULL, &err), 0);
        CHECK_INT(cleared_load(&cleared, folder, &err), 0);
        CHECK_INT(cleared_mend(&cleared, folder, &err), 0);
        CHECK_INT(cleared_add(&cleared, folder, "new", 8, MODE, &err), 0);
        CHECK_INT(cleared_load(&cleared, folder, &err), 0);
        CHECK_INT(cleared_find(&cleared, "new"), 8);
    }
    cleared_done(&cleared);
    (void)close(folder);
}

/* A record of the format without frames. */
static void add_old_record(struct buf *out, const char *service, uint64_t seq)
{
    AUTO_BUF struct buf rest = BUF_INIT(BUF_NO_LIMIT);
    uint64_t check, number = htole64(seq);

    buf_add(&rest, &number, sizeof(number));
    buf_add_char(&rest, (char)strlen(service));
    buf_add_text(&rest, service);
    check = htole64(checksum(rest.p, rest.n, 0));
    buf_add(out, &check, sizeof(check));
    buf_add_str(out, buf_view(&rest));
}

TEST(a_file_in_the_previous_format_is_read_and_rewritten)
{
    AUTO_BUF struct buf old = BUF_INIT(BUF_NO_LIMIT);
    struct cleared cleared = { .size = 0 };
    int folder = open_folder();
    const char *path = path_join(&arena, test_folder(), "cleared");

    add_old_record(&old, "web", 5);
    add_old_record(&old, "db", 7);
    add_old_record(&old, "web", 9);
    buf_add_text(&old, "torn");
    CHECK_INT(fs_replace(path, buf_view(&old), NULL, &err), 0);
    CHECK_INT(cleared_load(&cleared, folder, &err), 0);
    CHECK_INT(cleared.records, 3);
    CHECK_INT(cleared_mend(&cleared, folder, &err), 0);
    CHECK_INT(cleared_add(&cleared, folder, "new", 11, MODE, &err), 0);
    CHECK_INT(cleared_load(&cleared, folder, &err), 0);
    CHECK(!cleared.old);
    CHECK_INT(cleared_find(&cleared, "web"), 9);
    CHECK_INT(cleared_find(&cleared, "db"), 7);
    CHECK_INT(cleared_find(&cleared, "new"), 11);
    cleared_done(&cleared);
    (void)close(folder);
}
