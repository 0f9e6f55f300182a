/* Pieces of a file that grows, as lines. */
#include "fleet/beacons/tail.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "test.h"

static int add_line(void *self, struct str line, struct err *err)
{
    struct buf *out = self;

    (void)err;
    buf_printf(out, "[%.*s]", STR_ARG(line));
    return 0;
}

static int refuse_line(void *self, struct str line, struct err *err)
{
    (void)self;
    (void)line;
    return err_set(err, ERR_LIMIT, "no more");
}

TEST(lines_are_whole_however_they_come)
{
    static const char *const pieces[] = { "one\ntw", "o", "\n\nthree\r\nfo", "ur\n", "rest" };
    AUTO_BUF struct buf out = BUF_INIT(4096);
    struct tail tail = { 0 };
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
        CHECK(tail_feed(&tail, str_from(pieces[i]), add_line, &out, &err) == 0);
    CHECK_STR(buf_text(&out), "[one][two][][three][four]");
    tail_clear(&tail);
}

TEST(the_rest_of_a_long_line_is_passed_over)
{
    static char line[TAIL_LINE_MAX * 3];
    AUTO_BUF struct buf out = BUF_INIT(4 * TAIL_LINE_MAX);
    struct tail tail = { 0 };
    struct err err;

    memset(line, 'x', sizeof(line));
    for (int whole = 0; whole < 2; whole++) {
        buf_clear(&out);
        if (whole)
            line[sizeof(line) - 1] = '\n';
        CHECK(tail_feed(&tail, (struct str){ line, sizeof(line) }, add_line, &out, &err) == 0);
        if (!whole)
            CHECK(tail_feed(&tail, STR("y\nnext\n"), add_line, &out, &err) == 0);
        CHECK(out.n == TAIL_LINE_MAX + 2 + (whole ? 0 : strlen("[next]")));
    }
    tail_clear(&tail);
}

TEST(an_error_ends_it)
{
    struct tail tail = { 0 };
    struct err err;

    CHECK(tail_feed(&tail, STR("a\nb\n"), refuse_line, NULL, &err) < 0);
    CHECK_STR(err.text, "no more");
    tail_clear(&tail);
}
