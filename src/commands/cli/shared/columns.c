#include "commands/cli/shared/columns.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/utf8.h"
#include "commands/cli/shared/color.h"

#define GAP 2

static void print_safely(struct buf *out, struct str character)
{
    if (utf8_is_control(character))
        buf_add_char(out, '?');
    else
        buf_add_str(out, character);
}

void columns_print_text(struct buf *out, const char *text)
{
    struct str rest = str_from(text ? text : "");

    while (rest.n > 0) {
        const struct str character = str_slice(rest, 0, utf8_length_at(rest));

        print_safely(out, character);
        rest = str_from_offset(rest, character.n);
    }
}

/* How much of the beginning stays as it is: a line break, a tab, or a colour of ours. */
static size_t kept_length(struct str text)
{
    return text.p[0] == '\n' || text.p[0] == '\t' ? 1 : color_length_at(text);
}

void columns_print_lines(struct buf *out, struct str text)
{
    while (text.n > 0) {
        const size_t kept = kept_length(text);
        const struct str part = str_slice(text, 0, kept ? kept : utf8_length_at(text));

        if (kept)
            buf_add_str(out, part);
        else
            print_safely(out, part);
        text = str_from_offset(text, part.n);
    }
}

void columns_write(struct str text)
{
    AUTO_BUF struct buf shown = BUF_INIT(BUF_NO_LIMIT);

    if (isatty(STDOUT_FILENO)) {
        columns_print_lines(&shown, text);
        text = buf_view(&shown);
    }
    (void)fwrite(text.p, 1, text.n, stdout);
}

static size_t measure_cell(const char *cell)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    columns_print_text(&text, cell);
    return utf8_count(buf_view(&text));
}

static void end_column_line(struct buf *out)
{
    buf_cut(out, str_trim_right(buf_view(out)).n);
    buf_add_char(out, '\n');
}

void columns_print(struct buf *out, const char *const *cells, size_t columns, size_t rows)
{
    size_t widths[COLUMNS_MAX] = { 0 };

    assert(columns <= COLUMNS_MAX);
    for (size_t i = 0; i < columns * rows; i++)
        if (measure_cell(cells[i]) > widths[i % columns])
            widths[i % columns] = measure_cell(cells[i]);
    for (size_t i = 0; i < columns * rows; i++) {
        columns_print_text(out, cells[i]);
        if (i % columns == columns - 1)
            end_column_line(out);
        else
            buf_fill(out, ' ', widths[i % columns] + GAP - measure_cell(cells[i]));
    }
}
