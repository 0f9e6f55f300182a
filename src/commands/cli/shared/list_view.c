#include "commands/cli/shared/list_view.h"

#include <stdint.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/utf8.h"
#include "commands/cli/shared/keys.h"

/* --- filter ------------------------------------------------------------------------- */

static void set_filter(struct list_view *view, const char *text)
{
    (void)memmove(view->filter, text, strlen(text) + 1);
    view->selected = view->first = 0;
}

static void type_key(struct list_view *view, int key)
{
    size_t n = strlen(view->filter);

    if (key == '\r' || key == '\n') {
        view->is_typing = false;
    } else if (key == KEY_ESCAPE) {
        view->is_typing = false;
        set_filter(view, "");
    } else if (key == KEY_DELETE || key == KEY_BACKSPACE) {
        while (n > 0 && ((unsigned char)view->filter[n - 1] & 0xc0) == 0x80)
            n--;
        view->filter[n > 0 ? n - 1 : 0] = '\0';
        view->selected = view->first = 0;
    } else if (key >= ' ' && key < 256 && n + 1 < LIST_VIEW_FILTER_SIZE) {
        view->filter[n] = (char)key;
        view->filter[n + 1] = '\0';
        view->selected = view->first = 0;
    }
}

/* --- moving ------------------------------------------------------------------------- */

static void move_cursor(struct list_view *view, size_t rows, bool down)
{
    if (down)
        view->selected += rows;
    else
        view->selected -= view->selected < rows ? view->selected : rows;
}

void list_view_rewind(struct list_view *view)
{
    view->selected = view->first = 0;
}

bool list_view_press(struct list_view *view, int key)
{
    const size_t page = view->page > 1 ? view->page - 1 : 1;

    if (view->is_typing && key != KEY_CTRL_C) {
        type_key(view, key);
        return true;
    }
    switch (key) {
    case 'j':
    case KEY_DOWN: move_cursor(view, 1, true); return true;
    case 'k':
    case KEY_UP: move_cursor(view, 1, false); return true;
    case ' ':
    case KEY_PAGE_DOWN: move_cursor(view, page, true); return true;
    case KEY_PAGE_UP: move_cursor(view, page, false); return true;
    case 'g':
    case KEY_HOME: view->selected = 0; return true;
    case 'G':
    case KEY_END: view->selected = SIZE_MAX / 2; return true;
    case KEY_ESCAPE: set_filter(view, ""); return true;
    case '/': view->is_typing = true; return true;
    default: return false;
    }
}

void list_view_clamp(struct list_view *view, size_t count, size_t page)
{
    view->page = page;
    if (view->selected >= count)
        view->selected = count > 0 ? count - 1 : 0;
    if (view->first > view->selected)
        view->first = view->selected;
    if (page > 0 && view->selected >= view->first + page)
        view->first = view->selected - page + 1;
    if (view->first + page > count)
        view->first = count > page ? count - page : 0;
}

/* --- drawing ------------------------------------------------------------------------ */

void list_view_line(const struct list_view *view, struct str text, enum color color,
                    bool is_selected, struct buf *out)
{
    if (view->rows > 0)
        text = str_slice(text, 0, utf8_offset(text, view->columns));
    if (is_selected && view->color)
        buf_add_text(out, "\x1b[7m");
    color_begin(out, color, view->color);
    buf_add_str(out, text);
    if (view->color && (is_selected || color != COLOR_NONE))
        buf_add_text(out, COLOR_OFF);
    buf_add_char(out, '\n');
}
