#include "commands/cli/fleet/top/view.h"

#include "core/base/mem.h"
#include "commands/cli/shared/keys.h"

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

static void show_list(struct top_view *view, enum top_panel list)
{
    view->list = list;
    list_view_rewind(&view->base);
}

/* A page covers the list until it is closed. */
static void press_on_page(struct top_view *view, int key)
{
    if (key == KEY_CTRL_C) {
        view->is_over = true;
    } else if (key == KEY_CTRL_Z) {
        view->is_suspended = true;
    } else if (key == 'q' || key == '?' || key == '\r' || key == '\n' || key == KEY_ESCAPE) {
        view->has_help = view->is_open = false;
        view->open[0] = '\0';
    }
}

void top_view_press(struct top_view *view, int key)
{
    if (view->has_help || view->is_open) {
        press_on_page(view, key);
        return;
    }
    if (list_view_press(&view->base, key))
        return;
    switch (key) {
    case 'q':
    case KEY_CTRL_C: view->is_over = true; break;
    case KEY_CTRL_Z: view->is_suspended = true; break;
    case '?': view->has_help = true; break;
    case '\r':
    case '\n': view->is_open = true; break;
    case 's': view->sort = (view->sort + 1) % TOP_SORTS; break;
    case 'r': view->reverse = !view->reverse; break;
    case '\t': show_list(view, (view->list + 1) % TOP_LISTS); break;
    default:
        if (key >= '1' && key < '1' + TOP_LISTS)
            show_list(view, (enum top_panel)(key - '1'));
    }
}
