#include "core/runs/record_log.h"

#include <pthread.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/frame.h"
#include "core/data/record.h"
#include "core/runs/record_file.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "test.h"

#define ENTRY_MAX ((size_t)1 << 20)

struct word {
    const char *text;
    int64_t number;
};

static const struct record_field word_fields[] = {
    RECORD("text", TEXT, struct word, text, RECORD_REQUIRED),
    RECORD("number", INT, struct word, number, 0),
    { 0 },
};
static const struct record_type word_type = RECORD_TYPE("word", struct word, word_fields, 0);

static struct record_log log_at(const char *path)
{
    return (struct record_log){ .path = path, .purpose = "words", .version = 1, .max = ENTRY_MAX };
}

/* Two records: a text, and the same once more with a number. */
static int add(const struct record_log *log, const char *text, int64_t number, struct err *err)
{
    const struct word first = { text, 0 }, second = { text, number };
    const struct record_part parts[] = { { &word_type, &first }, { &word_type, &second } };
    struct record_log_writer writer;
    int status;

    if (record_log_open(&writer, log, err) < 0)
        return -1;
    status = record_log_add(&writer, parts, ARRAY_LEN(parts), err);
    record_log_close(&writer);
    return status;
}

static const char *first_of(struct arena *arena, const struct record_log *log)
{
    struct word word = { "", 0 };
    struct err err;

    return record_log_read_first(arena, log, &word_type, 4096, &word, &err) == 0
               ? word.text
               : arena_strdup(arena, err.text);
}

static int64_t number_of(struct arena *arena, const struct record_log *log)
{
    struct word word = { "", -1 };
    struct err err;

    return record_log_read_part(arena, log, &word_type, 1, &word, &err) == 0 ? word.number : -2;
}

static struct str read_all(struct arena *arena, const char *path)
{
    struct str bytes;
    struct err err;

    CHECK_INT(fs_read(arena, path, 4 * ENTRY_MAX, &bytes, &err), 0);
    return bytes;
}

static void replace(const char *path, struct str bytes)
{
    struct err err;

    CHECK_INT(fs_replace(path, bytes, NULL, &err), 0);
}

TEST(the_last_entry_counts)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct record_log log = log_at(path_join(&arena, test_folder(), "log"));
    struct word word;
    struct err err;

    CHECK_INT(record_log_read_first(&arena, &log, &word_type, 4096, &word, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    for (int64_t i = 1; i <= 3; i++) {
        CHECK_INT(add(&log, arena_printf(&arena, "word %d", (int)i), i, &err), 0);
        CHECK_STR(first_of(&arena, &log), arena_printf(&arena, "word %d", (int)i));
        CHECK_INT(number_of(&arena, &log), i);
    }
    CHECK_INT(record_log_read_part(&arena, &log, &word_type, 2, &word, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
}

TEST(a_file_does_not_grow_for_ever)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct record_log log = log_at(path_join(&arena, test_folder(), "log"));
    size_t most = 0;
    struct err err;

    for (int64_t i = 0; i < 2000; i++) {
        AUTO_ARENA struct arena once = ARENA_INIT;
        size_t n;

        CHECK_INT(add(&log, "a word that is stored again and again", i, &err), 0);
        n = read_all(&once, log.path).n;
        most = n > most ? n : most;
    }
    CHECK(most <= RECORD_LOG_ROOM);
    CHECK(most > RECORD_LOG_ROOM / 2); /* it is not replaced each time */
    CHECK_INT(number_of(&arena, &log), 1999);
}

TEST(an_entry_that_was_cut_off_leaves_the_one_before_it)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct record_log log = log_at(path_join(&arena, test_folder(), "log"));
    size_t before;
    struct str bytes;
    struct err err;

    CHECK_INT(add(&log, "first", 1, &err), 0);
    before = read_all(&arena, log.path).n;
    CHECK_INT(add(&log, "second", 2, &err), 0);
    bytes = read_all(&arena, log.path);
    for (size_t n = before; n < bytes.n; n++) {
        AUTO_ARENA struct arena once = ARENA_INIT;

        replace(log.path, str_slice(bytes, 0, n));
        /* the frame at the end has nothing in it */
        CHECK_STR(first_of(&once, &log), n < bytes.n - FRAME_HEAD ? "first" : "second");
        CHECK_INT(number_of(&once, &log), n < bytes.n - FRAME_HEAD ? 1 : 2);
        CHECK_INT(add(&log, "third", 3, &err), 0);
        CHECK_STR(first_of(&once, &log), "third");
        CHECK_INT(number_of(&once, &log), 3);
    }
}

TEST(a_flipped_bit_costs_one_entry_at_most)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct record_log log = log_at(path_join(&arena, test_folder(), "log"));
    struct str bytes;
    struct err err;

    CHECK_INT(add(&log, "first", 1, &err), 0);
    CHECK_INT(add(&log, "second", 2, &err), 0);
    bytes = read_all(&arena, log.path);
    for (size_t i = 0; i < bytes.n; i++) {
        AUTO_ARENA struct arena once = ARENA_INIT;
        char *copy = arena_strndup(&once, bytes.p, bytes.n);
        int64_t number;

        copy[i] ^= 4;
        replace(log.path, (struct str){ copy, bytes.n });
        number = number_of(&once, &log);
        CHECK(number == 1 || number == 2);
    }
}

TEST(a_large_entry_is_alone_in_its_file_and_its_beginning_is_read_alone)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct record_log log = log_at(path_join(&arena, test_folder(), "log"));
    char *large = arena_alloc(&arena, ENTRY_MAX);
    const struct word first = { "large", 0 }, second = { large, 7 };
    const struct record_part parts[] = { { &word_type, &first }, { &word_type, &second } };
    struct record_log_writer writer;
    struct err err;

    memset(large, 'x', ENTRY_MAX - 1);
    large[ENTRY_MAX / 2] = '\0';
    CHECK_INT(add(&log, "small", 1, &err), 0);
    CHECK_INT(record_log_open(&writer, &log, &err), 0);
    CHECK_INT(record_log_add(&writer, parts, ARRAY_LEN(parts), &err), 0);
    record_log_close(&writer);
    CHECK_STR(first_of(&arena, &log), "large");
    CHECK_INT(number_of(&arena, &log), 7);
    CHECK_INT(add(&log, "small", 2, &err), 0);
    CHECK_STR(first_of(&arena, &log), "small");
    CHECK(read_all(&arena, log.path).n < ENTRY_MAX / 4);

    memset(large, 'x', ENTRY_MAX - 1);
    large[ENTRY_MAX - 1] = '\0';
    CHECK_INT(record_log_open(&writer, &log, &err), 0);
    CHECK_INT(record_log_add(&writer, parts, ARRAY_LEN(parts), &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    record_log_close(&writer);
    CHECK_INT(number_of(&arena, &log), 2);
}

TEST(a_file_of_one_record_is_read_and_then_replaced)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct record_log log = log_at(path_join(&arena, test_folder(), "log"));
    const struct word word = { "alone", 0 };
    struct err err;

    CHECK_INT(record_file_write(
                  &(struct record_file){
                      .path = log.path, .type = &word_type, .version = 1, .max = ENTRY_MAX },
                  &word, &err),
              0);
    CHECK_STR(first_of(&arena, &log), "alone");
    CHECK_INT(add(&log, "new", 3, &err), 0);
    CHECK_INT(number_of(&arena, &log), 3);
}

TEST(a_folder_that_does_not_exist_is_not_made)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct record_log log = log_at(path_join(&arena, test_folder(), "not/there"));
    struct err err;

    CHECK_INT(add(&log, "word", 1, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
}

/* Each reads the number that is there and adds one: none may be lost, also when the file is
 * replaced meanwhile. */
static void *count_up(void *self)
{
    const struct record_log *log = self;

    for (int i = 0; i < 400; i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct record_log_writer writer;
        struct word word = { "a text that fills the file so that it is replaced sometimes", 0 };
        const struct record_part parts[] = { { &word_type, &word }, { &word_type, &word } };
        struct err err;
        int64_t number;

        CHECK_INT(record_log_open(&writer, log, &err), 0);
        number = number_of(&arena, log);
        word.number = number > 0 ? number + 1 : 1;
        CHECK_INT(record_log_add(&writer, parts, ARRAY_LEN(parts), &err), 0);
        record_log_close(&writer);
    }
    return NULL;
}

TEST(writers_wait_for_each_other)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct record_log log = log_at(path_join(&arena, test_folder(), "log"));
    pthread_t threads[4];

    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        CHECK_INT(pthread_create(&threads[i], NULL, count_up, &log), 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_INT(number_of(&arena, &log), 1600);
}
