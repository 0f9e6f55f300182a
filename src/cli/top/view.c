#include "cli/top/view.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

enum { CTRL_C = 3, CTRL_Z = 26, DELETE = 127, BACKSPACE = 8 };

static const char *const sort_names[] = {
    [TOP_SORT_NAME] = "name",
    [TOP_SORT_DRIFT] = "drift",
    [TOP_SORT_SEEN] = "seen",
    [TOP_SORT_CONVERGED] = "converged",
};
_Static_assert(ARRAY_LEN(sort_names) == TOP_SORTS, "every order has a name");

const char *top_sort_name(enum top_sort sort)
{
    return sort_names[sort];
}

/* --- keys --------------------------------------------------------------------------- */

/* After Escape and a bracket or O. */
static const struct {
    const char *rest;
    int key;
} sequences[] = {
    { "[A", TOP_KEY_UP },   { "[B", TOP_KEY_DOWN },     { "OA", TOP_KEY_UP },
    { "OB", TOP_KEY_DOWN }, { "[5~", TOP_KEY_PAGE_UP }, { "[6~", TOP_KEY_PAGE_DOWN },
    { "[H", TOP_KEY_HOME }, { "[F", TOP_KEY_END },      { "OH", TOP_KEY_HOME },
    { "OF", TOP_KEY_END },  { "[1~", TOP_KEY_HOME },    { "[4~", TOP_KEY_END },
};

/* The length of a sequence that begins here: up to a byte from @ to ~. */
static size_t sequence_length(struct str bytes)
{
    size_t n = 2;

    while (n < bytes.n && (bytes.p[n] < '@' || bytes.p[n] > '~'))
        n++;
    return n < bytes.n ? n + 1 : bytes.n;
}

int top_key_next(struct str *bytes)
{
    int first;

    if (bytes->n == 0)
        return TOP_KEY_NONE;
    first = (unsigned char)bytes->p[0];
    *bytes = str_from_offset(*bytes, 1);
    if (first != 0x1b)
        return first;
    if (bytes->n == 0 || (bytes->p[0] != '[' && bytes->p[0] != 'O'))
        return TOP_KEY_ESCAPE;
    for (size_t i = 0; i < ARRAY_LEN(sequences); i++)
        if (str_starts(*bytes, str_from(sequences[i].rest))) {
            *bytes = str_from_offset(*bytes, strlen(sequences[i].rest));
            return sequences[i].key;
        }
    *bytes =
        str_from_offset(*bytes, sequence_length((struct str){ bytes->p - 1, bytes->n + 1 }) - 1);
    return TOP_KEY_OTHER;
}

/* --- filter ------------------------------------------------------------------------- */

static void set_filter(struct top_view *view, const char *text)
{
    (void)memmove(view->filter, text, strlen(text) + 1);
    view->selected = view->first = 0;
}

static void type_key(struct top_view *view, int key)
{
    size_t n = strlen(view->filter);

    if (key == '\r' || key == '\n') {
        view->is_typing = false;
    } else if (key == TOP_KEY_ESCAPE) {
        view->is_typing = false;
        set_filter(view, "");
    } else if (key == DELETE || key == BACKSPACE) {
        while (n > 0 && ((unsigned char)view->filter[n - 1] & 0xc0) == 0x80)
            n--;
        view->filter[n > 0 ? n - 1 : 0] = '\0';
        view->selected = view->first = 0;
    } else if (key >= ' ' && key < 256 && n + 1 < TOP_FILTER_SIZE) {
        view->filter[n] = (char)key;
        view->filter[n + 1] = '\0';
        view->selected = view->first = 0;
    }
}

/* --- moving ------------------------------------------------------------------------- */

static void show_list(struct top_view *view, enum top_list list)
{
    view->list = list;
    view->selected = view->first = 0;
}

static void move_cursor(struct top_view *view, size_t rows, bool down)
{
    if (down)
        view->selected += rows;
    else
        view->selected -= view->selected < rows ? view->selected : rows;
}

static void press_letter(struct top_view *view, int key)
{
    switch (key) {
    case 'q':
    case CTRL_C: view->is_over = true; break;
    case CTRL_Z: view->is_suspended = true; break;
    case '/': view->is_typing = true; break;
    case 's': view->sort = (view->sort + 1) % TOP_SORTS; break;
    case 'r': view->reverse = !view->reverse; break;
    case '\t': show_list(view, (view->list + 1) % TOP_LISTS); break;
    case 'g': view->selected = 0; break;
    case 'G': view->selected = SIZE_MAX / 2; break;
    default:
        if (key >= '1' && key < '1' + TOP_LISTS)
            show_list(view, (enum top_list)(key - '1'));
    }
}

void top_view_press(struct top_view *view, int key)
{
    const size_t page = view->page > 1 ? view->page - 1 : 1;

    if (view->is_typing && key != CTRL_C) {
        type_key(view, key);
        return;
    }
    switch (key) {
    case 'j':
    case TOP_KEY_DOWN: move_cursor(view, 1, true); break;
    case 'k':
    case TOP_KEY_UP: move_cursor(view, 1, false); break;
    case ' ':
    case TOP_KEY_PAGE_DOWN: move_cursor(view, page, true); break;
    case TOP_KEY_PAGE_UP: move_cursor(view, page, false); break;
    case TOP_KEY_HOME: view->selected = 0; break;
    case TOP_KEY_END: view->selected = SIZE_MAX / 2; break;
    case TOP_KEY_ESCAPE: set_filter(view, ""); break;
    default: press_letter(view, key);
    }
}

void top_view_clamp(struct top_view *view, size_t count, size_t page)
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
