#include "logs_test.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kepler/logs/log_writer.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "wait.h"

/* Files that do not count towards the limit: indexes and other small files. */
#define INDEX_ROOM ((uint64_t)16 << 10)

static uint64_t folder_size(const char *folder)
{
    struct fs_names names = { VEC_INIT };
    struct fs_info info;
    uint64_t size = 0;

    CHECK_INT(fs_list(&arena, folder, &names, &err), 0);
    VEC_EACH (&names.list, name) {
        CHECK_INT(fs_stat(path_join(&arena, folder, *name), &info, &err), 0);
        size += info.size;
    }
    return size;
}

/* `count` lines of about 100 bytes. */
static void write_many(struct log_store *store, const char *service, int count)
{
    struct log_source *source = open_source(store, service);
    char text[128];

    for (int i = 0; i < count; i++) {
        (void)snprintf(text, sizeof(text), "%s %06d %080d\n", service, i, i);
        log_source_add(source, str_from(text));
    }
    log_source_free(source);
    (void)log_store_flush(store, &err);
}

TEST(a_store_continues_where_it_ended)
{
    const char *folder = log_folder();

    for (int i = 0; i < 3; i++) {
        struct log_store *store = open_store(folder, NULL);

        write_lines(store, "web", "x\n");
        log_store_free(store);
    }
    CHECK_STR(read_lines(folder, NULL, ALL), "1 web |x\n2 web |x\n3 web |x\n");
}

TEST(a_store_has_one_writer)
{
    const char *folder = log_folder();
    struct log_store *store = open_store(folder, NULL), *other;

    CHECK_INT(log_store_open(folder, NULL, &other, &err), -1);
    CHECK_INT(err.code, ERR_BUSY);
    CHECK_HAS(err.text, "log store '");
    log_store_free(store);
    log_store_free(open_store(folder, NULL));
}

TEST(lines_wait_for_the_interval_or_the_batch)
{
    const char *folder = log_folder();
    struct log_store *store;
    struct log_source *source;

    clock_fake(CLOCK_SECOND, CLOCK_SECOND);
    store = open_store(folder, &(struct log_store_options){ .batch_lines = 3 });
    source = open_source(store, "web");
    CHECK(log_store_due(store) == CLOCK_NEVER);
    log_source_add(source, STR("a\n"));
    CHECK(log_store_due(store) == CLOCK_SECOND + LOG_STORE_FLUSH_INTERVAL);
    log_store_tick(store);
    CHECK_STR(read_lines(folder, NULL, ALL), "");
    clock_turn(LOG_STORE_FLUSH_INTERVAL);
    log_store_tick(store);
    CHECK_STR(read_lines(folder, NULL, ALL), "1 web |a\n");
    log_source_add(source, STR("b\nc\nd\n"));
    CHECK_STR(read_lines(folder, NULL, 3), "2 web |b\n3 web |c\n4 web |d\n");
    CHECK(log_store_due(store) == CLOCK_NEVER);
    log_source_free(source);
    CHECK_INT(log_store_stats(store).lines, 4);
    CHECK_INT(log_store_stats(store).flushes, 2);
    log_store_free(store);
}

static void on_data(void *self)
{
    ++*(int *)self;
}

TEST(followers_in_the_process_are_notified_of_each_write)
{
    struct log_store *store = open_store(log_folder(), NULL);
    int told = 0;

    log_store_on_data(store, on_data, &told);
    write_lines(store, "web", "x\n");
    CHECK_INT(told, 1);
    CHECK_INT(log_store_flush(store, &err), 0);
    CHECK_INT(told, 1);
    write_lines(store, "web", "x\n");
    CHECK_INT(told, 2);
    log_store_free(store);
}

TEST(the_oldest_segments_are_removed_at_the_size_limit)
{
    const char *folder = log_folder();
    const struct log_store_options options = { .max_size = (uint64_t)2 << 20 };
    struct log_store *store = open_store(folder, &options);

    write_many(store, "web", 100000); /* about 10 MiB */
    CHECK(folder_size(folder) <= (2U << 20) + INDEX_ROOM);
    CHECK(count_lines_of(folder, NULL) >= 8000);
    CHECK(str_starts(str_from(read_lines(folder, NULL, 1)), STR("100000 web |web 099999 ")));
    log_store_free(store);
}

TEST(a_size_limit_holds_at_every_moment)
{
    const char *folder = log_folder();
    const struct log_store_options options = { .max_size = (uint64_t)1 << 20 };
    struct log_store *store = open_store(folder, &options);

    for (int i = 0; i < 300; i++) {
        write_many(store, "web", 200);
        CHECK(folder_size(folder) <= options.max_size + INDEX_ROOM);
    }
    log_store_free(store);
}

TEST(expired_lines_are_hidden_before_their_segment_is_removed)
{
    const char *folder = log_folder();
    const struct log_store_options options = { .max_age = 3600 * CLOCK_SECOND };
    struct log_store *store;

    clock_fake(CLOCK_SECOND, CLOCK_SECOND);
    store = open_store(folder, &options);
    write_lines(store, "web", "old\n");
    clock_turn(1800 * CLOCK_SECOND);
    write_lines(store, "web", "newer\n");
    clock_turn(1801 * CLOCK_SECOND);
    CHECK_STR(read_lines(folder, NULL, ALL), "2 web |newer\n");
    CHECK_STR(read_lines(folder, NULL, 5), "2 web |newer\n");
    log_store_free(store);
    CHECK_STR(read_lines(folder, NULL, ALL), "2 web |newer\n");
    log_store_free(open_store(folder, NULL)); /* the limit is gone, the segment is not */
    CHECK_STR(read_lines(folder, NULL, ALL), "1 web |old\n2 web |newer\n");
}

TEST(cleaning_is_due_only_when_needed)
{
    const struct log_store_options options = { .max_age = 16 * 3600 * CLOCK_SECOND };
    const char *folder = log_folder();
    struct log_store *store;

    clock_fake(CLOCK_SECOND, CLOCK_SECOND);
    store = open_store(folder, NULL);
    CHECK(log_store_clean_due(store) == CLOCK_NEVER);
    write_lines(store, "web", "x\n");
    CHECK(log_store_clean_due(store) == clock_now());
    clean_all(store);
    CHECK(log_store_clean_due(store) == CLOCK_NEVER);
    CHECK_INT(log_store_clear(store, "web", &err), 0);
    CHECK(log_store_clean_due(store) == clock_now());
    clean_all(store);
    CHECK(log_store_clean_due(store) == CLOCK_NEVER);
    log_store_free(store);

    store = open_store(folder, &options);
    write_lines(store, "web", "y\n");
    clean_all(store);
    CHECK(log_store_clean_due(store) == clock_now() + 3600 * CLOCK_SECOND); /* the segment ends */
    clock_turn(3600 * CLOCK_SECOND);
    clean_all(store);
    CHECK(log_store_clean_due(store) == clock_now() + 15 * 3600 * CLOCK_SECOND + 1);
    clock_turn(15 * 3600 * CLOCK_SECOND + 1);
    clean_all(store);
    CHECK(log_store_clean_due(store) == CLOCK_NEVER);
    CHECK_INT(count_lines_of(folder, NULL), 0);
    log_store_free(store);
}

static int syncs;

/* In place of the C library's. */
int fdatasync(int fildes)
{
    syncs++;
    return (int)syscall(SYS_fdatasync, fildes);
}

TEST(a_store_that_syncs_does_so_after_each_write)
{
    const char *folder = log_folder();
    struct log_store *store = open_store(folder, NULL);

    write_lines(store, "web", "x\n");
    log_store_free(store);
    CHECK_INT(syncs, 0);
    store = open_store(folder, &(struct log_store_options){ .sync = true });
    write_lines(store, "web", "y\n");
    CHECK_INT(syncs, 1);
    write_lines(store, "web", "z\n");
    CHECK_INT(syncs, 2);
    log_store_free(store);
    CHECK_STR(read_lines(folder, NULL, ALL), "1 web |x\n2 web |y\n3 web |z\n");
}

TEST(lines_older_than_the_age_limit_are_removed)
{
    const char *folder = log_folder();
    const struct log_store_options options = { .max_age = 3600 * CLOCK_SECOND };
    struct log_store *store;

    clock_fake(CLOCK_SECOND, CLOCK_SECOND);
    store = open_store(folder, &options);
    write_lines(store, "web", "old\n");
    clock_turn(1800 * CLOCK_SECOND);
    clean_all(store);
    write_lines(store, "web", "newer\n");
    clock_turn(1801 * CLOCK_SECOND);
    clean_all(store);
    CHECK_STR(read_lines(folder, NULL, ALL), "2 web |newer\n");
    clock_turn(1801 * CLOCK_SECOND);
    clean_all(store);
    CHECK_STR(read_lines(folder, NULL, ALL), "");
    log_store_free(store);

    store = open_store(folder, &options);
    write_lines(store, "web", "next\n");
    log_store_free(store);
    CHECK_STR(read_lines(folder, NULL, ALL), "3 web |next\n"); /* numbers are not used again */
}

static const char *first_of_follower(const char *folder, bool all)
{
    static char text[64];
    const struct log_line *line;
    struct log_reader *reader;

    CHECK_INT(log_reader_open(folder, NULL, &reader, &err), 0);
    log_reader_keep_cleared(reader, all);
    CHECK_INT(log_reader_next(reader, &line, &err), 0);
    (void)snprintf(text, sizeof(text), "%.*s", line ? str_int(line->text.n) : 0,
                   line ? line->text.p : "");
    log_reader_free(reader);
    return text;
}

TEST(a_follower_from_the_start_sees_lines_cleared_early)
{
    const char *folder = log_folder();
    struct log_store *store = open_store(folder, NULL);

    write_lines(store, "web", "short-lived\n");
    CHECK_INT(log_store_clear(store, "web", &err), 0);
    CHECK_STR(first_of_follower(folder, false), "");
    CHECK_STR(first_of_follower(folder, true), "short-lived");
    log_store_free(store);
}

TEST(cleared_lines_vanish_at_once_and_their_space_after_a_sweep)
{
    const char *folder = log_folder();
    struct log_store *store = open_store(folder, NULL);
    uint64_t before;

    write_many(store, "web", 20000);
    write_many(store, "db", 100);
    CHECK_INT(log_store_clear(store, "web", &err), 0);
    CHECK_INT(count_lines_of(folder, NULL), 100);
    CHECK_INT(str_from(read_lines(folder, NULL, ALL)).p[0], '2');
    write_lines(store, "web", "after\n");
    CHECK_STR(read_lines(folder, NULL, 1), "20101 web |after\n");
    before = folder_size(folder);
    clean_all(store);
    CHECK(folder_size(folder) < before / 10);
    CHECK_INT(count_lines_of(folder, NULL), 101);
    CHECK_STR(read_lines(folder, NULL, 1), "20101 web |after\n");
    log_store_free(store);

    store = open_store(folder, NULL);
    CHECK_INT(count_lines_of(folder, NULL), 101);
    CHECK_INT(log_store_clear(store, "web", &err), 0);
    CHECK_INT(log_store_clear(store, "db", &err), 0);
    CHECK_STR(read_lines(folder, NULL, ALL), "");
    clean_all(store);
    log_store_free(store);
    CHECK_STR(read_lines(folder, NULL, ALL), "");
}

TEST(waiting_lines_are_cleared_too)
{
    const char *folder = log_folder();
    struct log_store *store = open_store(folder, NULL);
    struct log_source *source = open_source(store, "web");

    log_source_add(source, STR("waits\n"));
    CHECK_INT(log_store_clear(store, "web", &err), 0);
    log_source_add(source, STR("stays\n"));
    CHECK_INT(log_store_flush(store, &err), 0);
    CHECK_STR(read_lines(folder, NULL, ALL), "2 web |stays\n");
    CHECK_STR(read_lines(folder, NULL, 5), "2 web |stays\n");
    log_source_free(source);
    log_store_free(store);
}

TEST(clearing_often_does_not_fill_the_disk)
{
    const char *folder = log_folder();
    struct log_store *store = open_store(folder, NULL);
    struct fs_info info;
    bool more;

    write_lines(store, "web", "x\n");
    for (int i = 0; i < 5000; i++) {
        CHECK_INT(log_store_clear(store, i % 2 ? "web" : "db", &err), 0);
        if (i % 500 == 0)
            CHECK_INT(log_store_clean(store, &more, &err), 0);
    }
    CHECK_INT(fs_stat(path_join(&arena, folder, "cleared"), &info, &err), 0);
    CHECK(info.size < 2000 * 20);
    CHECK_STR(read_lines(folder, NULL, ALL), "");
    log_store_free(store);
}

TEST(a_reader_keeps_its_place_while_segments_are_removed)
{
    const char *folder = log_folder();
    const struct log_store_options options = { .max_size = (uint64_t)1 << 20 };
    struct log_store *store = open_store(folder, &options);
    const struct log_line *line;
    struct log_reader *reader;
    uint64_t last = 0;

    write_many(store, "web", 5000);
    CHECK_INT(log_reader_open(folder, NULL, &reader, &err), 0);
    CHECK_INT(log_reader_next(reader, &line, &err), 0);
    CHECK_INT(line->seq, 1);
    write_many(store, "web", 50000);
    for (;;) {
        CHECK_INT(log_reader_next(reader, &line, &err), 0);
        if (!line)
            break;
        CHECK(line->seq > last);
        last = line->seq;
    }
    CHECK_INT(last, 55000);
    log_reader_free(reader);
    log_store_free(store);
}

/* --- a full disk ------------------------------------------------------------------------ */

/* Adds up the reported losses, and counts all other lines. */
static void count_losses(const char *folder, uint64_t *ret_lost, uint64_t *ret_stored)
{
    const struct log_line *line;
    struct log_reader *reader;

    *ret_lost = *ret_stored = 0;
    CHECK_INT(log_reader_open(folder, NULL, &reader, &err), 0);
    for (;;) {
        CHECK_INT(log_reader_next(reader, &line, &err), 0);
        if (!line)
            break;
        if (line->lost) {
            CHECK_HAS(arena_str(&arena, line->text).p, " lines lost: No space left on device");
            *ret_lost += strtoull(line->text.p, NULL, 10);
        } else {
            ++*ret_stored;
        }
    }
    log_reader_free(reader);
}

TEST(a_full_disk_loses_lines_counts_them_and_never_blocks)
{
    const char *folder = log_folder();
    const struct log_store_options options = { .max_size = (uint64_t)64 << 20 };
    uint64_t told, stored, written = 100000;
    struct log_store *store;

    CHECK_INT(fs_mkdirs(folder, 0700, &err), 0);
    /* In a separate namespace, which ends with this process. */
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", folder, "tmpfs", 0, "size=2m") < 0) {
        print_message("skipped: cannot mount a small tmpfs here\n");
        return;
    }
    clock_fake(CLOCK_SECOND, CLOCK_SECOND);
    store = open_store(folder, &options);
    write_many(store, "web", 100000); /* about 10 MiB */
    CHECK(log_store_stats(store).lost > 50000);
    for (; log_store_stats(store).errnum == 0 && written < 200000; written += 100)
        write_many(store, "db", 100);
    CHECK_INT(log_store_stats(store).errnum, ENOSPC);
    CHECK_INT(log_store_flush(store, &err), -1);
    CHECK_STR(err.text, "write to the log store: No space left on device");

    CHECK_INT(mount("none", folder, "tmpfs", MS_REMOUNT, "size=8m"), 0);
    clock_turn(CLOCK_SECOND);
    write_lines(store, "web", "back\n");
    CHECK_INT(log_store_stats(store).errnum, 0);
    CHECK_HAS(read_lines(folder, NULL, 1), " web |back\n");
    count_losses(folder, &told, &stored);
    CHECK_INT(told, log_store_stats(store).lost);
    CHECK_INT(stored, written + 1 - told);
    log_store_free(store);
    CHECK_INT(umount2(folder, MNT_DETACH), 0);
}

/* A line, whether the disk takes it or not. */
static void say(struct log_store *store, const char *service)
{
    struct log_source *source = open_source(store, service);

    log_source_add(source, STR("a line of some length\n"));
    log_source_free(source);
}

TEST(losses_that_do_not_fit_a_block_are_reported_by_later_blocks)
{
    enum { SERVICES = 4000, ROUNDS = 20 };
    const char *folder = log_folder();
    struct log_store *store;
    uint64_t told, stored;

    CHECK_INT(fs_mkdirs(folder, 0700, &err), 0);
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", folder, "tmpfs", 0, "size=256k") < 0) {
        print_message("skipped: cannot mount a small tmpfs here\n");
        return;
    }
    clock_fake(CLOCK_SECOND, CLOCK_SECOND);
    store = open_store(folder, NULL);
    for (int i = 0; i < SERVICES * ROUNDS; i++)
        say(store, arena_printf(&arena, "s%d", i % SERVICES));
    CHECK(log_store_stats(store).lost > SERVICES);
    CHECK_INT(mount("none", folder, "tmpfs", MS_REMOUNT, "size=8m"), 0);
    for (int i = 0; i < 20; i++) {
        clock_turn(CLOCK_SECOND);
        say(store, "s0");
        (void)log_store_flush(store, &err);
    }
    count_losses(folder, &told, &stored);
    CHECK_INT(told, log_store_stats(store).lost);
    log_store_free(store);
    CHECK_INT(umount2(folder, MNT_DETACH), 0);
}

TEST(a_file_size_limit_begins_another_segment)
{
    const char *folder = log_folder();
    const struct rlimit limit = { 1 << 20, 1 << 20 };
    struct log_store *store;

    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    clock_fake(CLOCK_SECOND, CLOCK_SECOND);
    store = open_store(folder, NULL);
    for (int i = 0; i < 50; i++) {
        write_many(store, "web", 1000);
        clock_turn(CLOCK_SECOND);
        (void)log_store_flush(store, &err);
    }
    CHECK_INT(log_store_stats(store).errnum, 0);
    CHECK_INT(count_lines_of(folder, NULL), 50000);
    log_store_free(store);
}

/* --- an end without a goodbye --------------------------------------------------------- */

/* Writes numbered lines, and reports through the pipe how many a flush has acknowledged. */
static void write_until_killed(const char *folder, uint64_t from, int told)
{
    struct log_store *store =
        open_store(folder, &(struct log_store_options){ .max_size = 8 << 20 });
    struct log_source *source = open_source(store, "web");
    char text[64];

    for (uint64_t i = from;; i++) {
        (void)snprintf(text, sizeof(text), "number %" PRIu64 "\n", i);
        log_source_add(source, str_from(text));
        if (i % 7 == 0 && log_store_flush(store, &err) == 0 && write(told, &i, sizeof(i)) < 0)
            _exit(1);
    }
}

/* Every number up to `acknowledged`, without a gap, is there. */
static uint64_t check_numbers(const char *folder, uint64_t acknowledged)
{
    const struct log_line *line;
    struct log_reader *reader;
    uint64_t next = 1;

    CHECK_INT(log_reader_open(folder, NULL, &reader, &err), 0);
    for (;;) {
        CHECK_INT(log_reader_next(reader, &line, &err), 0);
        if (!line)
            break;
        CHECK(str_is(line->text, arena_printf(&arena, "number %" PRIu64, next)));
        next++;
        arena_clear(&arena);
    }
    log_reader_free(reader);
    CHECK(next > acknowledged);
    return next;
}

TEST(every_acknowledged_line_survives_kill_9)
{
    AUTO_BUF struct buf path = BUF_INIT(BUF_NO_LIMIT);
    uint64_t next = 1, acknowledged, last = 0;
    int ends[2];

    buf_add_text(&path, log_folder());
    for (unsigned round = 0; round < 40; round++) {
        pid_t pid;

        CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0)
            write_until_killed(buf_text(&path), next, ends[1]);
        (void)close(ends[1]);
        for (unsigned i = 0; i <= round * 5; i++)
            CHECK_INT(read(ends[0], &last, sizeof(last)), sizeof(last));
        CHECK_INT(kill(pid, SIGKILL), 0);
        CHECK_INT(waitpid(pid, NULL, 0), pid);
        while (read(ends[0], &acknowledged, sizeof(acknowledged)) == sizeof(acknowledged))
            last = acknowledged;
        (void)close(ends[0]);
        next = check_numbers(buf_text(&path), last);
    }
}

TEST(another_process_reads_while_lines_are_written)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const char *folder = log_folder();
    const struct log_line *line = NULL;
    struct log_reader *reader;
    uint64_t next = 1;
    pid_t pid;

    CHECK_INT(fs_mkdirs(folder, 0700, &err), 0);
    pid = fork();
    if (pid == 0) {
        struct log_store *store =
            open_store(folder, &(struct log_store_options){ .max_size = 64 << 20 });

        for (int i = 0; i < 100; i++)
            write_many(store, "web", 1000);
        log_store_free(store);
        _exit(0);
    }
    CHECK_INT(log_reader_open(folder, NULL, &reader, &err), 0);
    while (next <= 100000) {
        CHECK_INT(log_reader_next(reader, &line, &err), 0);
        if (!line) {
            wait_a_little();
            continue;
        }
        CHECK_INT(line->seq, next);
        buf_clear(&text);
        buf_printf(&text, "web %06d ", (int)((next - 1) % 1000));
        CHECK(str_starts(line->text, buf_view(&text)));
        next++;
    }
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    log_reader_free(reader);
}
