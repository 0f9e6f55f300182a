#include "logs_test.h"

#include "logs/cleared.h"
#include "sys/fs.h"

enum { MODE = 0600 };

static int open_folder(void)
{
    int fd = open(test_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    CHECK(fd >= 0);
    return fd;
}

TEST(the_last_word_on_a_service_counts)
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

TEST(a_torn_record_is_cut_off_before_others_follow)
{
    struct cleared cleared = { .size = 0 };
    int folder = open_folder();
    const char *path = path_join(&arena, test_folder(), "cleared");
    struct str bytes;

    CHECK_INT(cleared_add(&cleared, folder, "web", 5, MODE, &err), 0);
    CHECK_INT(cleared_add(&cleared, folder, "db", 7, MODE, &err), 0);
    CHECK_INT(fs_read(&arena, path, CLEARED_FILE_MAX, &bytes, &err), 0);
    for (size_t n = bytes.n - 18; n < bytes.n; n++) {
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
