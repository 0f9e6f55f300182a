#include "logs_test.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/checksum.h"
#include "core/data/frame.h"
#include "kepler/logs/jsonline.h"
#include "kepler/logs/segment_file.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"

/* The file of the segment that begins with line `first`. */
static const char *part_path(const char *folder, uint64_t first, enum segment_part part)
{
    char name[SEGMENT_FILE_NAME_SIZE];

    segment_file_name(first, part, name);
    return path_join(&arena, folder, name);
}

static struct str file_bytes(const char *path)
{
    struct str bytes;

    CHECK_INT(fs_read(&arena, path, SIZE_MAX / 2, &bytes, &err), 0);
    return bytes;
}

static void put_bytes(const char *path, struct str bytes)
{
    const struct fs_replace_options options = { .attr = FS_ATTR_KEEP, .sync = FS_NO_SYNC };

    CHECK_INT(fs_replace(path, bytes, &options, &err), 0);
}

/* Three blocks of one line each. */
static const char *three_blocks(void)
{
    const char *folder = log_folder();
    struct log_store *store = open_store(folder, NULL);

    write_lines(store, "web", "one\n");
    write_lines(store, "web", "two\n");
    write_lines(store, "web", "three\n");
    log_store_free(store);
    return folder;
}

TEST(a_missing_folder_has_no_lines)
{
    CHECK_STR(read_lines("/nonexistent/logs", NULL, ALL), "");
    CHECK_STR(read_lines("/nonexistent/logs", NULL, 5), "");
}

TEST(lines_are_read_in_stored_order)
{
    const char *folder = log_folder();
    struct log_store *store = open_store(folder, NULL);

    write_lines(store, "web", "a\nb\n");
    write_lines(store, "db", "c\n");
    write_lines(store, "web", "d\n");
    log_store_free(store);
    CHECK_STR(read_lines(folder, NULL, ALL), "1 web |a\n2 web |b\n3 db |c\n4 web |d\n");
    CHECK_STR(read_lines(folder, NULL, 3), "2 web |b\n3 db |c\n4 web |d\n");
    CHECK_STR(read_lines(folder, NULL, 4), "1 web |a\n2 web |b\n3 db |c\n4 web |d\n");
    CHECK_STR(read_lines(folder, NULL, 99), "1 web |a\n2 web |b\n3 db |c\n4 web |d\n");
    CHECK_STR(read_lines(folder, NULL, 0), "");
}

static bool is_even(void *self, const struct log_line *line)
{
    (void)self;
    return line->seq % 2 == 0;
}

TEST(filters_pick_services_hooks_levels_and_numbers)
{
    const char *folder = log_folder();
    struct log_store *store = open_store(folder, NULL);
    static const char *const web[] = { "web" }, *const both[] = { "db", "web" };
    struct log_source *hook, *errors;

    write_lines(store, "web", "a\n{\"level\":\"debug\",\"msg\":\"b\"}\n");
    write_lines(store, "db", "c\n");
    CHECK_INT(log_source_new(store, "web", "pre_start", SEGMENT_STDOUT, true, &hook, &err), 0);
    CHECK_INT(log_source_new(store, "web", NULL, SEGMENT_STDERR, true, &errors, &err), 0);
    log_source_add(hook, STR("d\n"));
    log_source_add(errors, STR("e\n"));
    log_source_free(hook);
    log_source_free(errors);
    write_lines(store, "other", "f\n");
    log_store_free(store);

    struct log_filter filter = { .services = web, .service_count = 1 };
    CHECK_STR(read_lines(folder, &filter, ALL),
              "1 web |a\n2 web |{\"level\":\"debug\",\"msg\":\"b\"}\n"
              "4 web.pre_start |d\n5 web! |e\n");
    CHECK_STR(read_lines(folder, &filter, 2), "4 web.pre_start |d\n5 web! |e\n");
    filter.no_hooks = true;
    CHECK_STR(read_lines(folder, &filter, 1), "5 web! |e\n");
    filter = (struct log_filter){ .hook = "pre_start" };
    CHECK_STR(read_lines(folder, &filter, ALL), "4 web.pre_start |d\n");
    filter = (struct log_filter){ .services = both, .service_count = 2, .after = 2 };
    CHECK_STR(read_lines(folder, &filter, ALL), "3 db |c\n4 web.pre_start |d\n5 web! |e\n");
    CHECK_STR(read_lines(folder, &filter, 99), "3 db |c\n4 web.pre_start |d\n5 web! |e\n");
    filter = (struct log_filter){ .levels = 1U << JSONLINE_DEBUG | 1U << JSONLINE_ERROR };
    CHECK_STR(read_lines(folder, &filter, ALL),
              "2 web |{\"level\":\"debug\",\"msg\":\"b\"}\n5 web! |e\n");
    CHECK_STR(read_lines(folder, &filter, 1), "5 web! |e\n");
    filter = (struct log_filter){ .match = is_even };
    CHECK_STR(read_lines(folder, &filter, 2), "4 web.pre_start |d\n6 other |f\n");
}

TEST(times_limit_the_blocks_read)
{
    const char *folder = log_folder();
    struct log_filter filter = { .since = 2 * CLOCK_SECOND, .until = 4 * CLOCK_SECOND };
    struct log_store *store;

    clock_fake(CLOCK_SECOND, CLOCK_SECOND);
    store = open_store(folder, NULL);
    for (int i = 1; i <= 5; i++) {
        write_lines(store, "web", "x\n");
        clock_turn(CLOCK_SECOND);
    }
    log_store_free(store);
    CHECK_STR(read_lines(folder, &filter, ALL), "2 web |x\n3 web |x\n");
    CHECK_STR(read_lines(folder, &filter, 1), "3 web |x\n");
}

/* Thousands of lines of two services over many spans. */
static const char *many_lines(void)
{
    const char *folder = log_folder();
    struct log_store *store =
        open_store(folder, &(struct log_store_options){ .max_size = 4 << 20 });
    struct log_source *web = open_source(store, "web"), *db = open_source(store, "db");
    char text[128];

    for (int i = 0; i < 20000; i++) {
        (void)snprintf(text, sizeof(text), "line %06d %080d\n", i, i);
        log_source_add(i % 100 == 99 ? db : web, str_from(text));
    }
    log_source_free(web);
    log_source_free(db);
    log_store_free(store);
    return folder;
}

static void check_many(const char *folder)
{
    static const char *const db[] = { "db" };
    const struct log_filter filter = { .services = db, .service_count = 1 };
    const struct log_filter late = { .after = 19998 };

    CHECK_INT(count_lines_of(folder, NULL), 20000);
    CHECK_INT(count_lines_of(folder, &filter), 200);
    CHECK_INT(count_lines_of(folder, &late), 2);
    CHECK(str_starts(str_from(read_lines(folder, NULL, 12345)), STR("7656 web |line 007655 ")));
    CHECK(str_starts(str_from(read_lines(folder, &filter, 150)), STR("5100 db |line 005099 ")));
}

TEST(an_index_is_optional)
{
    const char *folder = many_lines();
    struct segment_list list = { VEC_INIT };
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    check_many(folder);
    CHECK_INT(segment_file_list(fd, &list, &err), 0);
    CHECK(list.firsts.n >= 5);
    VEC_EACH (&list.firsts, first) {
        const char *path = part_path(folder, *first, SEGMENT_PART_INDEX);

        CHECK(file_bytes(path).n >= SEGMENT_INDEX_ENTRY ||
              *first == list.firsts.p[list.firsts.n - 1]);
        put_bytes(path, STR("this is no index, and it is longer than one record of an index would "
                            "be, by some bytes"));
    }
    check_many(folder);
    VEC_EACH (&list.firsts, first)
        CHECK_INT(fs_unlink(part_path(folder, *first, SEGMENT_PART_INDEX), &err), 0);
    check_many(folder);
    vec_done(&list.firsts);
    (void)close(fd);
}

TEST(a_segment_cut_at_any_byte_keeps_all_whole_blocks)
{
    const char *folder = three_blocks();
    const char *path = part_path(folder, 1, SEGMENT_PART_LOG);
    const struct str whole = file_bytes(path);
    const size_t block = (whole.n - SEGMENT_HEADER_SIZE - 2) / 3; /* "three" is longer by two */

    for (size_t n = SEGMENT_HEADER_SIZE; n < whole.n; n++) {
        const size_t left = (n - SEGMENT_HEADER_SIZE) / block;
        const char *want = left >= 2 ? "1 web |one\n2 web |two\n" : left == 1 ? "1 web |one\n" : "";
        struct log_store *store;

        put_bytes(path, str_slice(whole, 0, n));
        CHECK_STR(read_lines(folder, NULL, ALL), want);
        CHECK_STR(read_lines(folder, NULL, 9), want);
        store = open_store(folder, NULL);
        write_lines(store, "web", "next\n");
        log_store_free(store);
        CHECK_STR(read_lines(folder, NULL, ALL),
                  arena_printf(&arena, "%s%d web |next\n", want,
                               (int)(left > 2 ? 2 : left) + 1 + (left == 0)));
    }
}

/* What is read when the block `hurt` of three is damaged; with a head that is whole it tells how
 * many lines there were. A damaged head at the very end could be a block in the making. */
static const char *want_without(size_t hurt, bool head)
{
    static const char *const lines[] = { "1 web |one\n", "2 web |two\n", "3 web |three\n" };
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        if (i != hurt)
            buf_add_text(&out, lines[i]);
        else if (!head)
            buf_printf(&out, "%zu kepler ?|1 line lost: ", i);
        else if (i < 2)
            buf_printf(&out, "%zu kepler ?|an unknown number of lines lost: ", i);
    return buf_copy(&out, &arena).p;
}

/* The text without where the damage is. */
static const char *without_places(const char *text)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct str rest = str_from(text);

    while (rest.n > 0) {
        struct str line = str_cut(&rest, '\n');
        size_t at = str_find(line, STR(" lost: "), 0);

        buf_add_str(&out, at == STR_NONE ? line : str_slice(line, 0, at + strlen(" lost: ")));
        if (at == STR_NONE)
            buf_add_char(&out, '\n');
    }
    return buf_copy(&out, &arena).p;
}

TEST(a_flipped_bit_costs_at_most_one_block_and_is_reported)
{
    const char *folder = three_blocks();
    const char *path = part_path(folder, 1, SEGMENT_PART_LOG);
    const struct str whole = file_bytes(path);
    const size_t block = (whole.n - SEGMENT_HEADER_SIZE - 2) / 3;

    for (size_t i = 0; i < whole.n; i++) {
        char *bytes = arena_strndup(&arena, whole.p, whole.n);
        size_t hurt = i < SEGMENT_HEADER_SIZE ? 3 : (i - SEGMENT_HEADER_SIZE) / block;
        size_t in_block = (i - SEGMENT_HEADER_SIZE) - (hurt > 2 ? 2 : hurt) * block;
        const char *want;

        hurt = i >= SEGMENT_HEADER_SIZE && hurt > 2 ? 2 : hurt;
        want = want_without(hurt, in_block < SEGMENT_BLOCK_HEAD - FRAME_HEAD);
        bytes[i] = (char)(bytes[i] ^ (1 << i % 8));
        put_bytes(path, str_bytes(bytes, whole.n));
        CHECK_STR(without_places(read_lines(folder, NULL, ALL)), want);
    }
}

TEST(damage_is_reported_to_readers_whose_lines_it_may_affect)
{
    static const char *const web[] = { "web" }, *const other[] = { "other" };
    const struct log_filter wanted = { .services = web, .service_count = 1 };
    const struct log_filter unwanted = { .services = other, .service_count = 1 };
    const struct log_filter later = { .after = 2 };
    const char *folder = three_blocks();
    const char *path = part_path(folder, 1, SEGMENT_PART_LOG);
    const struct str whole = file_bytes(path);
    char *bytes = arena_strndup(&arena, whole.p, whole.n);

    bytes[str_find(whole, STR("two\n"), 0)] ^= 1;
    put_bytes(path, str_bytes(bytes, whole.n));
    CHECK_HAS(read_lines(folder, &wanted, ALL),
              "1 web |one\n1 kepler ?|1 line lost: 241 bytes of '0000000000000001.log' are damaged "
              "at offset 441\n3 web |three\n");
    CHECK_STR(read_lines(folder, &unwanted, ALL), "");
    CHECK_STR(read_lines(folder, &later, ALL), "3 web |three\n");
}

/* Three blocks, the last of them damaged at `at` bytes from its beginning, and then a fourth. */
static const char *read_after_damage(size_t at)
{
    const char *folder = three_blocks();
    const char *path = part_path(folder, 1, SEGMENT_PART_LOG);
    const struct str whole = file_bytes(path);
    char *bytes = arena_strndup(&arena, whole.p, whole.n);
    struct log_store *store;

    bytes[(whole.n - SEGMENT_HEADER_SIZE - 2) / 3 * 2 + SEGMENT_HEADER_SIZE + at] ^= 1;
    put_bytes(path, str_bytes(bytes, whole.n));
    store = open_store(folder, NULL);
    write_lines(store, "web", "next\n");
    log_store_free(store);
    return without_places(read_lines(folder, NULL, ALL));
}

TEST(a_damaged_block_at_the_end_stays_for_readers_to_report)
{
    CHECK_STR(read_after_damage(SEGMENT_BLOCK_HEAD + 3),
              "1 web |one\n2 web |two\n2 kepler ?|1 line lost: 4 web |next\n");
}

TEST(a_damaged_head_at_the_end_stays_for_readers_to_report)
{
    CHECK_STR(read_after_damage(3), "1 web |one\n2 web |two\n2 kepler ?|an unknown number of lines "
                                    "lost: 3 web |next\n");
}

TEST(a_service_cannot_forge_a_block_to_be_found_after_damage)
{
    const char *folder = log_folder();
    struct log_store *store = open_store(folder, NULL);
    struct log_source *source = open_source(store, "evil");
    const char *path;
    char *bytes;
    struct str whole;

    write_lines(store, "web", "true\n");
    path = part_path(folder, 1, SEGMENT_PART_LOG);
    whole = file_bytes(path);
    /* A block with the salt of a known file, as the text of a line. */
    bytes = arena_alloc(&arena, whole.n);
    memcpy(bytes, whole.p + SEGMENT_HEADER_SIZE, whole.n - SEGMENT_HEADER_SIZE);
    log_store_free((log_source_free(source), store));
    CHECK_INT(fs_unlink(path, &err), 0);

    store = open_store(folder, NULL);
    source = open_source(store, "evil");
    log_source_add(source, str_bytes(bytes, whole.n - SEGMENT_HEADER_SIZE));
    log_source_free(source);
    log_store_free(store);
    path = part_path(folder, 1, SEGMENT_PART_LOG);
    whole = file_bytes(path);
    bytes = arena_strndup(&arena, whole.p, whole.n);
    bytes[SEGMENT_HEADER_SIZE] ^= 1; /* the only block is damaged, what it holds is searched */
    put_bytes(path, str_bytes(bytes, whole.n));
    CHECK_STR(read_lines(folder, NULL, ALL), "");
}

/* --- segments of the format before frames ---------------------------------------------- */

#define OLD_SALT UINT64_C(0x0123456789abcdef)

static void add_numbers(struct buf *out, const uint64_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t number = htole64(numbers[i]);

        buf_add(out, &number, sizeof(number));
    }
}

static void add_old_header(struct buf *out)
{
    const size_t start = out->n;

    buf_add(out, "\x89kls\r\n\x1a\x31", 8);
    add_numbers(out, (uint64_t[]){ OLD_SALT, 1, 99, 0, 0, 0 }, 6);
    add_numbers(out, (uint64_t[]){ checksum(out->p + start, 56, OLD_SALT) }, 1);
}

/* A block with one line of a service, whose name has three letters. */
static void add_old_block(struct buf *out, uint64_t seq, const char *service, const char *text)
{
    AUTO_BUF struct buf body = BUF_INIT(BUF_NO_LIMIT), head = BUF_INIT(BUF_NO_LIMIT);
    struct segment_mask mask = { { 0 } };
    unsigned char entry[SEGMENT_ENTRY_HEAD];

    segment_entry_encode(&(struct segment_entry){ .kind = SEGMENT_SOURCE, .bytes = { service, 5 } },
                         entry);
    buf_add(&body, entry, sizeof(entry));
    buf_add_text(&body, service);
    buf_fill(&body, '\0', 2);
    segment_entry_encode(
        &(struct segment_entry){
            .kind = SEGMENT_LINES, .lines = 1, .seq = seq, .time = 5, .bytes = str_from(text) },
        entry);
    buf_add(&body, entry, sizeof(entry));
    buf_add_text(&body, text);
    segment_mask_add(&mask, service);
    add_numbers(&head,
                (uint64_t[]){ checksum(body.p, body.n, OLD_SALT), body.n | UINT64_C(1) << 32, seq,
                              seq + 1, 5, 5, mask.words[0], mask.words[1], mask.words[2] },
                9);
    buf_add(out, "\x89klb\r\n\x1a\x31", 8);
    add_numbers(out, (uint64_t[]){ checksum(head.p, head.n, OLD_SALT) }, 1);
    buf_add_str(out, buf_view(&head));
    buf_add_str(out, buf_view(&body));
}

/* Two blocks in the previous format, followed by `tail`. */
static const char *old_segment(const char *tail)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const char *folder = log_folder();

    add_old_header(&out);
    add_old_header(&out);
    add_old_block(&out, 1, "web", "one, and it is longer\n");
    add_old_block(&out, 2, "sql", "two\n");
    buf_add_text(&out, tail);
    log_store_free(open_store(folder, NULL));
    put_bytes(part_path(folder, 1, SEGMENT_PART_LOG), buf_view(&out));
    return folder;
}

TEST(a_segment_in_the_previous_format_is_read)
{
    const char *folder = old_segment("");
    const char *path = part_path(folder, 1, SEGMENT_PART_LOG);
    const struct str whole = file_bytes(path);
    char *bytes = arena_strndup(&arena, whole.p, whole.n);

    CHECK_STR(read_lines(folder, NULL, ALL), "1 web |one, and it is longer\n2 sql |two\n");
    CHECK_STR(read_lines(folder, NULL, 1), "2 sql |two\n");
    bytes[str_find(whole, STR("longer\n"), 0)] ^= 1;
    put_bytes(path, str_bytes(bytes, whole.n));
    CHECK_STR(without_places(read_lines(folder, NULL, ALL)),
              "0 kepler ?|1 line lost: 2 sql |two\n");
}

TEST(lines_after_an_old_format_segment_go_to_a_new_one)
{
    const char *folder = old_segment("\x89klb torn");
    struct log_store *store = open_store(folder, NULL);

    write_lines(store, "web", "next\n");
    log_store_free(store);
    CHECK_STR(read_lines(folder, NULL, ALL),
              "1 web |one, and it is longer\n2 sql |two\n3 web |next\n");
    CHECK(str_starts(file_bytes(part_path(folder, 3, SEGMENT_PART_LOG)), frame_magic()));
}

TEST(an_old_format_segment_is_swept_into_the_new_format)
{
    const char *folder = old_segment("");
    const char *path = part_path(folder, 1, SEGMENT_PART_LOG);
    struct log_store *store = open_store(folder, NULL);

    write_lines(store, "sql", "three\n");
    CHECK_INT(log_store_clear(store, "web", &err), 0);
    clean_all(store);
    log_store_free(store);
    CHECK_STR(read_lines(folder, NULL, ALL), "2 sql |two\n3 sql |three\n");
    CHECK(str_starts(file_bytes(path), frame_magic()));
}

TEST(a_follower_reads_on_across_segments)
{
    const char *folder = log_folder();
    struct log_store *store =
        open_store(folder, &(struct log_store_options){ .max_size = LOG_STORE_SEGMENT_MIN * 8 });
    const size_t n = LOG_STORE_SEGMENT_MIN + 2;
    char *text = arena_zalloc(&arena, n + 1);
    struct log_reader *reader;

    write_lines(store, "web", "before\n");
    CHECK_INT(log_reader_open(folder, NULL, &reader, &err), 0);
    CHECK_INT(log_reader_tail(reader, 0, &err), 0);
    CHECK_STR(read_rest(reader), "");
    write_lines(store, "web", "one\n");
    CHECK_STR(read_rest(reader), "2 web |one\n");

    for (size_t i = 0; i < n; i++)
        text[i] = i % 2 ? '\n' : 'x';
    write_lines(store, "web", text); /* fills the segment */
    write_lines(store, "web", "new segment\n");
    CHECK_HAS(read_rest(reader), " web |new segment\n");
    write_lines(store, "web", "and more\n");
    CHECK_HAS(read_rest(reader), " web |and more\n");
    CHECK_STR(read_rest(reader), "");
    log_reader_free(reader);
    log_store_free(store);
}

TEST(the_first_n_lines_are_n_lines)
{
    const char *folder = three_blocks();
    struct log_reader *reader;
    const struct log_line *line;

    CHECK_INT(log_reader_open(folder, NULL, &reader, &err), 0);
    for (uint64_t i = 1; i <= 2; i++) {
        CHECK_INT(log_reader_next(reader, &line, &err), 0);
        CHECK(line && line->seq == i);
    }
    log_reader_free(reader);
}
