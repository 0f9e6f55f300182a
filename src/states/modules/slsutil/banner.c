#include "states/modules/slsutil/banner.h"

#include "core/base/err.h"
#include "core/base/utf8.h"
#include "states/state/module.h"

#define ARGS      struct banner_args
#define WIDTH_MAX 4096
#define TEXT_MAX  ((size_t)1 << 20)

/* clang-format off */
const struct param banner_params[] = {
    PARAM("width", INT, ARGS, width, "characters of a line", .default_text = "72", .flags = PARAM_PRIMARY, PARAM_RANGE(1, WIDTH_MAX)),
    PARAM("commentchar", STR, ARGS, comment, "prefix of each line", .default_text = "#"),
    PARAM("borderchar", STR, ARGS, border, "one character of the border", .default_text = "#"),
    PARAM("blockstart", STR, ARGS, start, "a line before the box"),
    PARAM("blockend", STR, ARGS, end, "a line after the box"),
    PARAM("title", STR, ARGS, title, "the title", .default_text = "THIS FILE IS MANAGED BY SALT - DO NOT EDIT"),
    PARAM("text", STR, ARGS, text, "the text below it", .default_text = "The contents of this file are managed by Salt. Any changes to this file may be overwritten automatically and without warning."),
    PARAM("newline", BOOL, ARGS, newline, "end with a newline"),
    { 0 },
};
/* clang-format on */

/* The edges of a line, and the room between them. */
struct banner_frame {
    struct str comment, left, right; /* as given, without blanks at its end, at both ends */
    char border;
    size_t width, room;
};

static void add_banner_border(struct buf *out, const struct banner_frame *frame)
{
    buf_add_str(out, frame->comment);
    for (size_t i = frame->left.n + frame->right.n; i < frame->width; i++)
        buf_add_char(out, frame->border);
    buf_add_str(out, frame->right);
    buf_add_char(out, '\n');
}

static void add_blanks(struct buf *out, size_t n)
{
    while (n-- > 0)
        buf_add_char(out, ' ');
}

static void add_spacer(struct buf *out, const struct banner_frame *frame)
{
    buf_add_str(out, frame->comment);
    add_blanks(out, frame->width > 2 * frame->comment.n ? frame->width - 2 * frame->comment.n : 0);
    buf_add_str(out, frame->comment);
    buf_add_char(out, '\n');
}

/* As Python centers: the odd blank goes to the left when the width is odd, too. */
static void add_banner_line(struct buf *out, const struct banner_frame *frame, struct str line,
                            bool center)
{
    const size_t used = utf8_count(line), rest = frame->room > used ? frame->room - used : 0;
    const size_t before = center ? rest / 2 + (rest & frame->room & 1) : 0;

    buf_add_str(out, frame->left);
    buf_add_char(out, ' ');
    add_blanks(out, before);
    buf_add_str(out, line);
    add_blanks(out, rest - before);
    buf_add_char(out, ' ');
    buf_add_str(out, frame->right);
    buf_add_char(out, '\n');
}

/* Lines of whole words; a word that has no room in a line is cut. */
static void add_wrapped(struct buf *out, const struct banner_frame *frame, struct str text,
                        bool center)
{
    while ((text = str_trim(text)).n > 0) {
        size_t fits = utf8_offset(text, frame->room);

        if (fits < text.n && text.p[fits] != ' ') {
            size_t at = fits;

            while (at > 0 && text.p[at - 1] != ' ')
                at--;
            fits = at > 0 ? at : fits;
        }
        add_banner_line(out, frame, str_trim_right((struct str){ text.p, fits }), center);
        text = str_from_offset(text, fits);
    }
}

int banner_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct banner_args *want = args;
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct banner_frame frame = {
        .comment = str_from(want->comment),
        .left = str_trim_right(str_from(want->comment)),
        .right = str_trim(str_from(want->comment)),
        .border = want->border[0] ? want->border[0] : '#',
        .width = (size_t)want->width,
    };

    if (frame.width <= frame.left.n + frame.right.n + 2)
        return err_set(err, ERR_INVALID, "a width of %zu has no room for text", frame.width);
    frame.room = frame.width - frame.left.n - frame.right.n - 2;
    if (want->start)
        buf_printf(&out, "%s\n", want->start);
    add_banner_border(&out, &frame);
    add_spacer(&out, &frame);
    add_wrapped(&out, &frame, str_from(want->title), true);
    add_spacer(&out, &frame);
    add_wrapped(&out, &frame, str_from(want->text), false);
    add_banner_border(&out, &frame);
    if (want->end)
        buf_printf(&out, "%s\n", want->end);
    *ret = value_text(arena_strndup(run->arena, out.p, want->newline ? out.n : out.n - 1));
    return 0;
}
