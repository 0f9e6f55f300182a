/* Any text, any arguments: edits end, keep their limits, and change nothing the second time. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/matcher.h"
#include "core/edit/edit.h"

#define OUTPUT_MAX ((size_t)1 << 20)

/* The input, cut at bytes of 0: arguments first, the rest is the text. */
static struct str next_part(struct str *rest)
{
    struct str part = str_cut(rest, '\0');

    if (!rest->p)
        *rest = STR("");
    return part;
}

static int run_ends(unsigned how, struct str text, struct str a, struct buf *out)
{
    const struct edit_chunks chunks = {
        .p = &a, .n = 1, .ignore_blanks = how & 2, .header = how & 4
    };
    size_t lines;
    struct err err;

    return (how & 1 ? edit_prepend : edit_append)(text, &chunks, out, &lines, &err);
}

static int run_line(unsigned how, struct str text, struct str a, struct str b, struct buf *out)
{
    const struct edit_line args = {
        .mode = (enum edit_line_mode)(how & 3),
        .content = a,
        .match = how & 4 ? b : STR(""),
        .before = how & 8 ? b : STR(""),
        .indent = how & 16,
        .location = how & 32 ? EDIT_AT_START : EDIT_AT_END,
    };
    struct err err;

    return edit_line(text, &args, out, &err);
}

static int run_replace(unsigned how, struct str text, struct str a, struct str b, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct matcher *pattern = NULL;
    struct edit_replace args = {
        .repl = b, .append = how & 1, .literal = how & 2, .count = how & 4
    };
    size_t found;
    struct err err;

    if (matcher_new(&arena, a, MATCHER_MULTILINE | MATCHER_MANY, &pattern, NULL, &err) < 0)
        return -1;
    args.pattern = pattern;
    return edit_replace(text, &args, out, &found, &err);
}

static int run_comment(unsigned how, struct str text, struct str a, struct str b, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct matcher *pattern = NULL;
    struct edit_comment args = { .mark = a.n > 0 ? a : STR("#") };
    size_t found;
    struct err err;

    if (matcher_new(&arena, b, 0, &pattern, NULL, &err) < 0)
        return -1;
    args.pattern = pattern;
    return (how & 1 ? edit_uncomment : edit_comment)(text, &args, out, &found, &err);
}

static int run_keyvalue(unsigned how, struct str text, struct str a, struct str b, struct buf *out)
{
    const struct edit_pair pair = { a, b };
    const struct edit_keyvalue args = {
        .pairs = &pair,
        .n = 1,
        .separator = how & 1 ? STR(" ") : STR(" = "),
        .uncomment = how & 2 ? STR("#;") : STR(""),
        .count = how & 4 ? 1 : 0,
        .append = how & 8,
        .prepend = how & 16,
        .key_ignore_case = how & 32,
    };
    struct edit_keyvalue_found found;
    struct err err;

    return edit_keyvalue(text, &args, out, &found, &err);
}

static int run_block(unsigned how, struct str text, struct str a, struct buf *out)
{
    const struct edit_block args = {
        .start = STR("<"),
        .end = STR(">"),
        .content = a,
        .append = how & 1,
        .prepend = how & 2,
        .append_newline = how & 4,
    };
    enum edit_block_found found;
    struct err err;

    return edit_block(text, &args, out, &found, &err);
}

static int run(unsigned kind, unsigned how, struct str text, struct str a, struct str b,
               struct buf *out)
{
    switch (kind) {
    case 0: return run_ends(how, text, a, out);
    case 1: return run_line(how, text, a, b, out);
    case 2: return run_replace(how, text, a, b, out);
    case 3: return run_comment(how, text, a, b, out);
    case 4: return run_keyvalue(how, text, a, b, out);
    default: return run_block(how, text, a, out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_BUF struct buf once = BUF_INIT(OUTPUT_MAX), twice = BUF_INIT(OUTPUT_MAX);

    if (size < 2)
        return 0;

    const unsigned kind = data[0] % 6, how = data[1];
    struct str text = str_bytes(data + 2, size - 2);
    const struct str a = next_part(&text), b = next_part(&text);

    if (run(kind, how, text, a, b, &once) < 0)
        return 0;
    if (kind == 2) /* a pattern may turn a text back and forth for ever */
        return 0;
    if (run(kind, how, buf_view(&once), a, b, &twice) < 0 ||
        !str_eq(buf_view(&once), buf_view(&twice)))
        abort();
    return 0;
}
