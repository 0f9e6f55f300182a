#include "cli/columns.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

#define GAP 2

void columns_print_text(struct buf *out, const char *text)
{
    struct str rest = str_from(text ? text : "");

    while (rest.n > 0) {
        size_t n = utf8_length_at(rest);

        if (utf8_is_control(str_slice(rest, 0, n)))
            buf_add_char(out, '?');
        else
            buf_add(out, rest.p, n);
        rest = str_from_offset(rest, n);
    }
}

static size_t width_of(const char *cell)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    columns_print_text(&text, cell);
    return utf8_count(buf_view(&text));
}

static void end_line(struct buf *out)
{
    buf_cut(out, str_trim_right(buf_view(out)).n);
    buf_add_char(out, '\n');
}

void columns_print(struct buf *out, const char *const *cells, size_t columns, size_t rows)
{
    size_t widths[COLUMNS_MAX] = { 0 };

    assert(columns <= COLUMNS_MAX);
    for (size_t i = 0; i < columns * rows; i++)
        if (width_of(cells[i]) > widths[i % columns])
            widths[i % columns] = width_of(cells[i]);
    for (size_t i = 0; i < columns * rows; i++) {
        columns_print_text(out, cells[i]);
        if (i % columns == columns - 1)
            end_line(out);
        else
            buf_fill(out, ' ', widths[i % columns] + GAP - width_of(cells[i]));
    }
}
