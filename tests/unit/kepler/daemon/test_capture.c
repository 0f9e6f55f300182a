#include "kepler/daemon/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "kepler/daemon/log_thread.h"
#include "kepler/logs/log_reader.h"
#include "kepler/config/config.h"
#include "kepler/config/hook_phase.h"
#include "kepler/supervise/real_world.h"
#include "core/sys/path.h"
#include "test.h"

/* A daemon's loop, a log thread, and one config. */
struct desk {
    struct loop *loop;
    struct log_thread log_thread;
    struct capture capture;
    struct config_logs logs;
    struct service_process_sink sink;
    const char *folder;
    int news, flushes;
    bool keeps;
};

static struct arena arena = ARENA_INIT;
static struct err err;
static const struct real_tag web = { 0, "web", HOOK_PHASES }, hook = { 0, "web", HOOK_PRE_START };

static bool keeps(void *self, uint32_t service, enum service_process_stream stream)
{
    (void)service;
    (void)stream;
    return ((struct desk *)self)->keeps;
}

static void on_data(void *self)
{
    ((struct desk *)self)->news++;
}

static void on_flushed(void *self)
{
    ((struct desk *)self)->flushes++;
}

static void open_desk(struct desk *desk)
{
    *desk = (struct desk){ .loop = loop_new(&err), .keeps = true };
    desk->folder = path_join(&arena, test_folder(), "logs");
    CHECK(desk->loop);
    CHECK_INT(log_thread_start(&desk->log_thread, desk->loop, &err), 0);
    CHECK_INT(capture_open(&desk->capture, &desk->log_thread,
                           &(struct capture_options){ desk->folder, &desk->logs, keeps, on_data,
                                                      on_flushed, desk },
                           &err),
              0);
    desk->sink = capture_sink(&desk->capture);
}

static void close_desk(struct desk *desk)
{
    capture_close(&desk->capture);
    log_thread_stop(&desk->log_thread);
    loop_free(desk->loop);
}

static void flush(struct desk *desk)
{
    const uint64_t ticket = capture_flush(&desk->capture);

    while (!capture_is_flushed(&desk->capture, ticket)) {
        loop_turn(desk->loop);
        (void)usleep(100);
    }
}

/* The stored lines, "text\n" for each. */
static const char *stored(const struct desk *desk)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct log_line *line;
    struct log_reader *reader;

    CHECK_INT(log_reader_open(desk->folder, NULL, &reader, &err), 0);
    while (log_reader_next(reader, &line, &err) == 0 && line) {
        buf_add_text(&out, line->hook[0] ? "(hook) " : "");
        buf_add_text(&out, line->stream == SEGMENT_WARNINGS ? "(warning) " : "");
        buf_add_str(&out, line->text);
        buf_add_char(&out, '\n');
    }
    log_reader_free(reader);
    return buf_copy(&out, &arena).p;
}

/* A pipe that the capture reads; returns the end to write to. */
static int feed(struct desk *desk, const struct real_tag *tag)
{
    int ends[2];

    CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
    CHECK(desk->sink.take(desk->sink.self, tag, SERVICE_PROCESS_STDOUT, ends[0]));
    return ends[1];
}

static void put(int fd, const char *text)
{
    CHECK_INT(write(fd, text, strlen(text)), (long)strlen(text));
}

/* --- a thread that waits, as one does for a disk --------------------------------------- */

static struct stall {
    struct loop_message loop_message;
    sem_t begun, end;
} stall;

static void do_stall(struct loop_message *loop_message)
{
    (void)loop_message;
    (void)sem_post(&stall.begun);
    while (sem_wait(&stall.end) < 0)
        continue;
}

static void stall_begin(struct desk *desk)
{
    (void)sem_init(&stall.begun, 0, 0);
    (void)sem_init(&stall.end, 0, 0);
    log_thread_send(&desk->log_thread, &stall.loop_message, do_stall);
    while (sem_wait(&stall.begun) < 0)
        continue;
}

static void stall_end(void)
{
    (void)sem_post(&stall.end);
}

/* --- tests ------------------------------------------------------------------------------ */

TEST(pipes_notes_and_bytes_are_stored)
{
    struct desk desk;
    int fd;

    open_desk(&desk);
    fd = feed(&desk, &web);
    put(fd, "from the pipe\n");
    flush(&desk);
    desk.sink.add(desk.sink.self, &hook, SERVICE_PROCESS_STDOUT, STR("handed "));
    desk.sink.add(desk.sink.self, &hook, SERVICE_PROCESS_STDOUT, STR("over\n"));
    desk.sink.add(desk.sink.self, &hook, SERVICE_PROCESS_STDOUT, (struct str){ NULL, 0 });
    capture_note(&desk.capture, &web, WORLD_WARNING, "a note");
    flush(&desk);
    CHECK_STR(stored(&desk), "from the pipe\n(hook) handed over\n(warning) a note\n");
    CHECK_INT(capture_next_line(&desk.capture), 4);
    CHECK(desk.news > 0);
    CHECK_INT(desk.flushes, 2);
    put(fd, "the end is not lost");
    (void)close(fd);
    close_desk(&desk);
    CHECK_STR(stored(&desk),
              "from the pipe\n(hook) handed over\n(warning) a note\nthe end is not lost\n");
}

TEST(unstored_output_is_read_and_discarded)
{
    static const char line[] = "0123456789012345678901234567890123456789012345678901234567890123\n";
    struct desk desk;
    int fd;

    open_desk(&desk);
    desk.keeps = false;
    fd = feed(&desk, &web);
    for (int i = 0; i < 10000; i++) /* more than a pipe holds */
        put(fd, line);
    flush(&desk);
    (void)close(fd);
    CHECK_STR(stored(&desk), "");
    close_desk(&desk);
}

TEST(clearing_includes_unread_pipe_data)
{
    struct desk desk;
    int fd;

    open_desk(&desk);
    fd = feed(&desk, &web);
    stall_begin(&desk);
    put(fd, "last words\n");
    capture_clear(&desk.capture, "web");
    stall_end();
    flush(&desk);
    CHECK_STR(stored(&desk), "");
    put(fd, "later\n");
    flush(&desk);
    CHECK_STR(stored(&desk), "later\n");
    (void)close(fd);
    close_desk(&desk);
}

/* The thread is late: all of it is there at once when it looks. */
TEST(output_of_one_program_precedes_that_of_the_next)
{
    struct desk desk;
    int main_fd, held, again;

    open_desk(&desk);
    main_fd = feed(&desk, &web);
    flush(&desk);
    stall_begin(&desk);
    put(main_fd, "service\n");
    held = feed(&desk, &hook);
    put(held, "first hook\n"); /* another process keeps its pipe open */
    for (int i = 0; i < 2; i++) {
        int fd = feed(&desk, &hook);

        put(fd, i == 0 ? "second hook\n" : "third hook, without an end");
        (void)close(fd);
    }
    capture_note(&desk.capture, &web, WORLD_ERROR, "a note");
    again = feed(&desk, &web);
    put(again, "service again\n");
    stall_end();
    flush(&desk);
    CHECK_STR(stored(&desk), "service\n(hook) first hook\n(hook) second hook\n"
                             "(hook) third hook, without an end\na note\nservice again\n");
    put(held, "later\n"); /* and what it writes is read all the same */
    flush(&desk);
    CHECK(strstr(stored(&desk), "service again\n(hook) later\n"));
    (void)close(held);
    (void)close(again);
    (void)close(main_fd);
    close_desk(&desk);
}

/* A program has written before its second pipe is known. Followers wait for the number of lines. */
TEST(lines_read_for_a_newer_pipe_are_announced_at_once)
{
    struct desk desk;
    int older, newer, tries = 0;
    uint64_t before;

    open_desk(&desk);
    flush(&desk);
    before = capture_next_line(&desk.capture);
    stall_begin(&desk);
    older = feed(&desk, &web);
    put(older, "up\n");
    newer = feed(&desk, &hook);
    stall_end();
    while (capture_next_line(&desk.capture) == before && tries++ < 10000)
        (void)usleep(1000);
    CHECK_INT((long)(capture_next_line(&desk.capture) - before), 1);
    (void)close(older);
    (void)close(newer);
    close_desk(&desk);
}

/* Lines of their numbers until the pipe is full; returns how many. */
static int fill_pipe(int fd, int from)
{
    char line[16];

    for (int i = from;; i++) {
        const int n = snprintf(line, sizeof(line), "%08d\n", i);

        if (write(fd, line, (size_t)n) < 0) {
            CHECK_INT(errno, EAGAIN);
            return i - from;
        }
    }
}

TEST(a_stalled_disk_only_blocks_the_writers)
{
    AUTO_BUF struct buf want = BUF_INIT(BUF_NO_LIMIT);
    struct desk desk;
    uint64_t ticket;
    int fd, count;

    open_desk(&desk);
    fd = feed(&desk, &web);
    CHECK_INT(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    flush(&desk);
    stall_begin(&desk);
    count = fill_pipe(fd, 0); /* the pipe is all the room that there is */
    CHECK(count > 0);
    ticket = capture_flush(&desk.capture);
    capture_note(&desk.capture, &web, WORLD_ERROR, "note");
    CHECK_INT(desk.capture.flushed, ticket - 1);
    loop_turn(desk.loop);
    CHECK(!capture_is_flushed(&desk.capture, ticket));
    stall_end();
    flush(&desk);
    for (int i = 0; i < count; i++)
        buf_printf(&want, "%08d\n", i);
    buf_add_text(&want, "note\n");
    CHECK_STR(stored(&desk), buf_text(&want)); /* and nothing is lost */
    (void)close(fd);
    close_desk(&desk);
}

struct reader {
    struct service_process_waiter waiter;
    int called;
};

static void on_room(struct service_process_waiter *waiter)
{
    ((struct reader *)waiter)->called++;
}

TEST(captured_bytes_wait_for_room)
{
    static char block[64 << 10];
    struct reader first = { .waiter = { .fn = on_room } }, second = first, gone = first;
    struct desk desk;
    size_t handed = 0;

    memset(block, 'x', sizeof(block));
    block[sizeof(block) - 1] = '\n';
    open_desk(&desk);
    stall_begin(&desk);
    while (desk.sink.ask(desk.sink.self, &first.waiter)) {
        desk.sink.add(desk.sink.self, &web, SERVICE_PROCESS_STDOUT,
                      (struct str){ block, sizeof(block) });
        handed += sizeof(block);
    }
    CHECK_INT((long)handed, (long)CAPTURE_HELD_MAX);
    CHECK(!desk.sink.ask(desk.sink.self, &second.waiter));
    CHECK(!desk.sink.ask(desk.sink.self, &gone.waiter));
    service_process_waiter_leave(&gone.waiter);
    stall_end();
    while (first.called == 0 || second.called == 0) {
        loop_turn(desk.loop);
        (void)usleep(100);
    }
    CHECK_INT(first.called + second.called + gone.called, 2);
    CHECK(desk.sink.ask(desk.sink.self, &first.waiter));
    flush(&desk);
    CHECK_INT((long)strlen(stored(&desk)), (long)handed);
    close_desk(&desk);
}

TEST(configs_come_and_go_while_others_write)
{
    struct desk desk;
    int fd;

    open_desk(&desk);
    fd = feed(&desk, &web);
    for (int i = 0; i < 20; i++) {
        const char *folder = arena_printf(&arena, "%s.%d", desk.folder, i % 3);
        const struct capture_options options = { folder,  &desk.logs, keeps,
                                                 on_data, on_flushed, &desk };
        struct capture other;

        CHECK_INT(capture_open(&other, &desk.log_thread, &options, &err), 0);
        capture_note(&other, &web, WORLD_ERROR, "x");
        put(fd, "line\n");
        capture_close(&other);
        loop_turn(desk.loop);
    }
    (void)close(fd);
    close_desk(&desk);
    CHECK_INT((long)strlen(stored(&desk)), 20 * 5);
}
